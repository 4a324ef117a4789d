"""Output of `pacbayes certify`: files, first screen, tables and JSON."""

import hashlib
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.files import write_file
from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import PLURAL
from pacbayes.certificates.decisions import min_rows_required
from pacbayes.certificates.levels import clopper_pearson_lower
from pacbayes.certificates.metric_bounds import MetricBound
from pacbayes.certificates.voting import POSTERIOR, PRIMARY, SOFT
from pacbayes.cli.data import TARGET_HINT, Choices, Data
from pacbayes.cli.interrupted import on_interrupt_report
from pacbayes.cli.show import Note, print_json, print_lines, print_tables
from pacbayes.data.rejections import format_names
from pacbayes.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT
from pacbayes.data.split import GROUP
from pacbayes.ensemble.members import CompositeMembers
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.report.guarantee import describe_rule
from pacbayes.report.record import versions
from pacbayes.report.tables import bounds_table, certificate_table, metric_table, weight_groups, weight_table
from pacbayes.report.view import ReportView

# Last line of the output without --details: the assumption that is violated most often.
_MORE = "Assumes independent rows (see pacbayes help assumptions). More: --details, --report FILE.html."
# Values of --recall to suggest for a class that is often missed; the first that its validation rows can certify.
_RECALLS = (0.9, 0.8, 0.7, 0.6, 0.5)


def write_files(
    args: SimpleNamespace, view: ReportView, name: str, notes: list[str]
) -> tuple[list[str], Exception | None]:
    """Write the model and the report; return messages and the first error.

    Called before anything is printed, because the reader of a pipe may close it.  The caller raises the error after
    printing the certificate, so that the result is not lost if the disk is full.
    """
    messages: list[str] = []
    first_error: Exception | None = None
    outputs: dict[str, tuple[Path | None, Callable[[Path], str]]] = {
        "--save": (args.save, lambda path: _save_model(path, view)),
        "--report": (args.report, lambda path: _write_report(path, view, name, notes)),
    }
    for option, (path, write) in outputs.items():
        if path is None:
            continue
        try:
            messages.append(write(path))
        except OSError as error:
            first_error = first_error or OSError(f"{option}: cannot write {str(path)!r}: {error.strerror or error}")
        except Exception as error:  # no error may suppress the certificate
            first_error = first_error or error
    return messages, first_error


def _save_model(path: Path, view: ReportView) -> str:
    from pacbayes.files.model_file import save

    digest = save(view.model, path)
    on_interrupt_report(lambda: f"the model is saved in {str(path)!r}")
    return f"Model saved in {path} (SHA-256 {digest})."


def _write_report(path: Path, view: ReportView, name: str, notes: list[str]) -> str:
    from pacbayes.report.page import render

    # The report does not refer to command-line options.
    page = render(view, f"Certificate for {name}", [line.replace(TARGET_HINT, "") for line in notes])
    write_file(path, page.encode("utf-8"))
    on_interrupt_report(lambda: f"the report is saved in {str(path)!r}")
    return f"Report written to {path}."


def print_certified(
    view: ReportView, data: Data, choices: Choices, args: SimpleNamespace, remarks: list[str], note: Note
) -> None:
    """Print the certificate, all tables with --details, or JSON."""
    if args.json:
        print_json(_as_dict(view, data, choices, args, remarks))
        return
    note("")
    parts, lines = (
        metric_table(view),
        (*view.certificate.text_lines, *(bound.sentence for bound in _bounds_for_other_shares(view, args))),
    )
    if args.details:
        print_lines(*lines, view.certificate.main_assumption, "")
        note(_prediction_rule(view))
        tables = [certificate_table(view), parts, bounds_table(view), weight_table(view)]
    else:
        print_lines(*lines, _test_error(view), _suggest_option(view), _MORE)
        tables = [parts]
    for remark in remarks:
        note(remark)
    print_tables([table for table in tables if table is not None], note)


def _bounds_for_other_shares(view: ReportView, args: SimpleNamespace) -> list[MetricBound]:
    """Bound on the error rate for the shares in --slice-shares; empty without this option."""
    return [] if args.slice_shares is None else [view.certificate.with_slice_shares(args.slice_shares)]


def _suggest_option(view: ReportView) -> str:
    """Suggest an option that increases the recall of a class that is often missed; empty if there is none."""
    certificate = view.certificate
    if certificate.minority_class_missed is None or certificate.unit == GROUP or certificate.refit:
        return ""
    if len(view.model.classes_) > 2 or view.classifiers.prefit:
        return "" if certificate.metrics else "For a bound on every class: --by-class."
    if view.voting != SOFT:
        return ""
    # Decisions are tested with all of delta.  A recall that these rows cannot certify is not suggested.
    label, rows = certificate.minority_class_missed.of, int(certificate.minority_class_missed.rows)
    delta = certificate.delta
    suggested = next((recall for recall in _RECALLS if recall < clopper_pearson_lower(rows, rows, delta)), None)
    needed = (
        f"at least {min_rows_required('recall', _RECALLS[0], delta)} validation {PLURAL[certificate.unit]} of class "
    )
    needed += f"{label!r}; there are {rows}"
    if suggested is None:
        return f"A higher recall requires more data: {needed} (for a recall of {_RECALLS[0]})."
    reason = "" if suggested == _RECALLS[0] else f" ({_RECALLS[0]} requires {needed})"
    return f"For a higher recall: --positive {shlex.quote(str(label))} --recall {suggested}{reason}."


def _test_error(view: ReportView) -> str:
    """Sentence on the errors on the test rows; empty without a test file."""
    if view.observed is None:
        return ""
    errors, rows = view.observed.errors_among_accepted(view.voting)
    accepted = "accepted " if view.certificate.abstains else ""
    return f"{errors} errors on {rows} {accepted}test rows."


def _prediction_rule(view: ReportView) -> str:
    """Describe how the model predicts, and the certified rule."""
    classifiers, distance, n_distances = view.classifiers, view.posterior.distance, len(view.plan.distances)
    if view.certificate.rule == PRIMARY:
        rule = "primary, fixed before validation"
    elif view.certificate.rule != POSTERIOR:
        rule = f"{view.certificate.rule}, the one with the smallest bound"
    else:
        rule = f"distance {distance}" if n_distances == 1 else f"the best of {n_distances} distances, {distance}"
    units = PLURAL[classifiers.unit]
    return f"{describe_rule(view)} Rule: {rule}; delta {view.plan.delta:g}; {classifiers.m} validation {units}."


def unknown_classes(labels: NDArray[Any], view: ReportView) -> list[str]:
    """Remarks on test rows with classes that are not in the training data."""
    unknown = ~np.isin(labels, view.model.classes_)
    if not unknown.any():
        return []
    names = sorted({str(label) for label in labels[unknown].tolist()})
    return [
        f"{np.count_nonzero(unknown)} of {len(labels)} test rows have a class that is not in the data "
        f"({format_names(names, 5)}): each counts as an error."
    ]


def _as_dict(
    view: ReportView, data: Data, choices: Choices, args: SimpleNamespace, remarks: list[str]
) -> dict[str, Any]:
    """Convert the result to JSON types; shares are between 0 and 1, bounds are not rounded."""
    model, classifiers, observed = view.model, view.classifiers, view.observed
    assert classifiers.splits is not None
    names = ("distance", "delta", "bound", "lower_bound", "empirical_risk", "kl", "beta", "n_effective")
    posteriors = [
        {name: getattr(posterior, name) for name in names} for posterior in (view.posterior, *view.posteriors)
    ]
    return {
        "versions": versions(),
        "certificate": " ".join(view.certificate.text_lines),
        "assumption": view.certificate.main_assumption,
        "remarks": remarks,
        "data": _data_as_dict(data, choices),
        # With defaults filled in, so that the result can be reproduced.
        "settings": {
            "kernel": _kernel(view),
            "candidates": args.candidates if args.predictions is None else "predictions",
            "classifiers": len(classifiers),
            "unit": classifiers.unit,
            "duplicates_in_training": classifiers.copies,
            "n_train": classifiers.splits.n_train,
            "n_validation": classifiers.m,
            "distance": model.distances_,
            "hedge": model.hedge_,
            "voting": view.voting,
            "estimator": type(model).__name__,
            "parameters": model.get_params(deep=False),
            "classifier_parameters": classifiers.params,
        },
        "certificates": {voting: certificate.to_dict() for voting, certificate in model.certificates_.items()},
        "slice_shares": next(map(asdict, _bounds_for_other_shares(view, args)), None),
        "vote_errors": model.vote_errors_,
        "posterior": posteriors[0] if model.hedge_ else None,
        "bounds": posteriors[1:],
        "weights": [
            {name: getattr(group, name) for name in ("label", "number", "weight", "risk")}
            for group in weight_groups(view)
            if group.weight > 0.0
        ],
        "test": None
        if observed is None
        else {"errors": observed.errors, "rows": observed.rows, "majority_class_errors": observed.baseline_errors},
    }


def _kernel(view: ReportView) -> str | None:
    """Kernel of the trained SVMs, whose default depends on the size of the data."""
    members = view.classifiers.members
    for part in members.parts if isinstance(members, CompositeMembers) else (members,):
        if isinstance(part, KernelSVMs):
            return part.settings.kernel
    return getattr(view.model, "kernel", None)


def _data_as_dict(data: Data, choices: Choices) -> dict[str, Any]:
    """Sizes, file format and fingerprints of the data, as JSON types."""
    return {
        "name": data.name,
        "rows": len(data.y),
        "target": data.target,
        "classes": data.class_names,
        "numeric": data.schema.kinds(NUMBER, BOOLEAN),
        "categorical": data.schema.kinds(CATEGORY),
        "dates": data.schema.kinds(DATE),
        "text": data.schema.kinds(TEXT),
        "missing": data.missing,
        "options": asdict(choices),
        "groups": None if data.groups is None else len(set(data.groups.tolist())),
        "unlabelled_rows_dropped": data.skipped,
        "sha256": {
            "file": None if data.path is None else hashlib.sha256(data.path.read_bytes()).hexdigest(),
            # By column: the layout of a data frame depends on how it was made.
            "rows": fingerprint([(name, np.ascontiguousarray(column)) for name, column in data.X.items()]),
            "labels": fingerprint(data.y),
            "groups": None if data.groups is None else fingerprint(data.groups),
        },
    }
