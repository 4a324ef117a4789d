"""`pacbayes certify --counts`: certify a classifier by its confusion matrix, from a database or a cluster."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import MAX_SAMPLE_SIZE
from pacbayes.cli.costs import read_cost
from pacbayes.cli.model import metric_names, parse_positive
from pacbayes.cli.new_rows import match_spelling
from pacbayes.cli.show import Note, print_json, print_lines, warnings_as_notes
from pacbayes.data.io import ReadOptions, open_table
from pacbayes.data.rejections import format_option
from pacbayes.data.spelling import check_spellings, to_label_strings
from pacbayes.data.targets import suggest_columns

if TYPE_CHECKING:
    from pacbayes.certificates import Certificate

_COLUMNS = ("true", "predicted", "count")


def certify_counts_file(args: SimpleNamespace, note: Note) -> "Certificate":
    """Certify a classifier by its confusion matrix, and print the certificate."""
    from pacbayes._utils.checks import check_level, warn_if_large_delta
    from pacbayes.certificates import certify_counts

    with warnings_as_notes(note):
        warn_if_large_delta(check_level(args.delta))
    confusion, classes = read_counts(args.counts, args.sep)
    cost = read_cost(args.cost, classes)
    metrics = (*metric_names(args), *(() if cost is None else (cost,)))
    certificate = certify_counts(
        confusion,
        classes=classes,
        delta=args.delta,
        metrics=metrics,
        pos_label=parse_positive(args.positive, classes.tolist()),
    )
    note(f"{args.counts}: {certificate.m} rows, {classes.size} classes.")
    if args.json:
        print_json(
            {"certificate": " ".join(certificate.text_lines), "classes": classes} | {"details": certificate.to_dict()}
        )
    elif args.details:
        print_lines(certificate.explain())
    else:
        print_lines(
            *certificate.text_lines, *(bound.sentence for bound in certificate.metrics), certificate.assumptions[-1]
        )
    return certificate


def read_counts(path: Path, sep: str | None) -> tuple[Rows, NDArray[Any]]:
    """Read a confusion matrix and its classes from a table with a row for each pair of true and predicted class.

    Counts of repeated pairs, such as those of several partitions, are added.
    """
    file = open_table(path, ReadOptions(sep, hint=format_option))
    for name in _COLUMNS:
        if name not in file.columns:
            raise ValueError(
                f"{str(path)!r} must have the columns {', '.join(_COLUMNS)}, but has no {name!r}; "
                f"{suggest_columns(file.columns, [name])}"
            )
    frame = file.read(verbatim=_COLUMNS[:2])
    for name in _COLUMNS:
        if frame[name].isna().any():
            row = int(frame[name].isna().to_numpy().argmax()) + 1
            raise ValueError(f"column {name!r} of {str(path)!r} has a missing value in row {row}")
    counts = frame["count"].to_numpy()
    if counts.dtype.kind not in "iu" or counts.min() < 0:
        raise ValueError(f"column 'count' of {str(path)!r} must contain numbers of rows")
    # Sums of 64-bit integers may overflow without an error.
    if sum(counts.tolist()) > MAX_SAMPLE_SIZE:
        raise ValueError(f"column 'count' of {str(path)!r} must have a sum of at most 2**53")
    true = to_label_strings(frame["true"])
    check_spellings(set(true.tolist()), f"column 'true' of {str(path)!r}")
    predicted = match_spelling(true, to_label_strings(frame["predicted"]), "column 'predicted'")
    classes, codes = np.unique(np.concatenate([true, predicted]).astype(str), return_inverse=True)
    confusion = np.zeros((classes.size, classes.size), dtype=np.int64)
    np.add.at(confusion, (codes[: true.size], codes[true.size :]), counts.astype(np.int64))
    return confusion, classes
