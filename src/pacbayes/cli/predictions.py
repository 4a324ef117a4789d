"""A table of predictions, a column for each classifier, as rows and classifiers of which each reads its own column."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import did_you_mean
from pacbayes.bounds.registry import CATONI
from pacbayes.certificates.voting import SOFT
from pacbayes.cli.data import TARGET_HINT, Choices, Data, left_out, take_groups
from pacbayes.cli.model import CertifyOptions
from pacbayes.cli.new_rows import no_class
from pacbayes.data.class_names import aligned, as_labels, from_cells
from pacbayes.data.columns import Columns, check_classes
from pacbayes.data.reading import divide_columns, labelled, listed, read_frame, target_of
from pacbayes.data.refusals import in_shell

if TYPE_CHECKING:
    import pandas as pd

# What has a meaning for a table of predictions; any other choice is refused, also one that is yet to be invented.
_READING = ("target", "drop", "sep", "group", "skip_unlabelled")
_CERTIFYING = ("delta", "distances", "seed", "grouped", "hedge", "voting", "positive", "limits")


@dataclass(frozen=True)
class ColumnClassifier:
    """A classifier whose answers are in a table; its rows are the rows of that table."""

    column: str

    def predict(self, X: "pd.DataFrame") -> NDArray[Any]:
        """Return what stands in its column."""
        return X[self.column].to_numpy()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the name of its column, by which tables and reports call it."""
        return {"column": self.column}


def read_predictions(path: Path, choices: Choices) -> Data:
    """Return a table of predictions: a column for each classifier, and one with the true classes."""
    apart = [] if choices.group is None else [choices.group]
    frame = read_frame(path, as_text=apart, sep=choices.sep)
    for option, names in (("--drop", choices.drop), ("--group", apart)):
        unknown = sorted(set(names) - set(frame.columns))
        if unknown:
            like = did_you_mean(unknown, frame.columns)
            raise ValueError(f"{option} must name columns of {str(path)!r}, got {listed(unknown)}{like}")
    frame = frame.drop(columns=list(choices.drop))
    target = target_of(frame.drop(columns=apart), choices.target, path, in_shell)
    kept = frame[target].notna().to_numpy() if choices.skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = labelled(frame, target, path) if choices.skip_unlabelled else (frame, 0)
    frame, groups = take_groups(frame, choices, path)
    answers, labels = divide_columns(frame, target, path, in_shell, choices.sep)
    check_classes(labels, target)
    # As text, and as written: what pandas makes of a text depends on the others in its column.
    names = tuple(str(name) for name in answers.columns)
    written = read_frame(path, as_text=(target, *names), sep=choices.sep)[kept].reset_index(drop=True)
    is_text = labels.dtype.kind in "OU"
    y = as_labels(written[target])
    classes = sorted(set(y.tolist()))
    number = "one classifier" if len(names) == 1 else f"{len(names)} classifiers"
    notes = [f"{path}: {len(y)} examples, predictions of {number}, {len(classes)} classes."]
    if choices.target is None:
        notes.append(f"The true class is the last column, {target!r}{TARGET_HINT}.")
    if choices.skip_unlabelled:
        notes.append(left_out(skipped))
    said = {}
    for name in names:
        said[name], lines = _checked(written[name], name, y, is_text, path)
        notes += lines
    X = answers.assign(**said)
    return Data(str(path), X, y, classes, Columns((), names, {}), target, notes, path, skipped, choices.group, groups)


def refuse_others(choices: Choices, options: CertifyOptions, files: dict[str, Any]) -> None:
    """Raise if something was asked for that a table of predictions has no use for."""
    given = [name for name, value in files.items() if value is not None]
    if "--save" in given:
        raise ValueError("--save is for classifiers; of those behind --predictions only the answers are here")
    questions = {"--slice": choices.slice is not None, "--cost": options.cost is not None}
    questions |= {name: value is not None for name, value in options.targets.items()}
    for name in (name for name, wanted in questions.items() if wanted):
        raise ValueError(f"{name} is for classifiers that are trained here: leave out {name}")
    for asked, usual, known in ((choices, Choices(None), _READING), (options, CertifyOptions.usual(), _CERTIFYING)):
        names = [one.name for one in fields(asked) if one.name not in known]
        given += ["--" + name.replace("_", "-") for name in names if getattr(asked, name) != getattr(usual, name)]
    if options.voting == SOFT:
        raise ValueError("--voting soft is for classifiers that are trained here: predictions have no probabilities")
    if given:
        raise ValueError(f"--predictions trains nothing and reads nothing else; leave out {', '.join(given)}")
    if CATONI in options.distances:
        raise ValueError(
            "--distance catoni takes its C from training examples, which --predictions does not have: fix it "
            "beforehand, as in --distance 'catoni(0.4)'"
        )


def certified_columns(data: Data, options: CertifyOptions, proposal: str | None) -> Any:
    """Return a fitted estimator whose classifiers are the columns of a table."""
    from pacbayes.estimators.classifier import CertifiedClassifier

    names = [str(name) for name in data.X.columns]
    return CertifiedClassifier.from_fitted(
        [ColumnClassifier(name) for name in names],
        data.X,
        data.y,
        proposal=None if proposal is None else names.index(proposal),
        groups=data.groups,
        distance=options.distances[0] if len(options.distances) == 1 else list(options.distances),
        delta=options.delta,
        hedge=options.resolved_hedge(),
        voting=options.voting,
        limits=options.limits,
        pos_label=options.positive_of(data.class_names),
        random_state=options.seed,
    )


def check_proposal(proposal: str | None, data: Data, options: CertifyOptions) -> None:
    """Raise if the proposed classifier is no column, or if a hedge was asked for without one."""
    names = [str(name) for name in data.X.columns]
    if proposal is not None and proposal not in names:
        raise ValueError(
            f"--proposal must be one of the columns {listed(names)}, got {proposal!r}{did_you_mean([proposal], names)}"
        )
    if proposal is None and options.limits and len(names) > 1:
        raise ValueError("--limits (and --by-class) of several classifiers needs --proposal NAME, fixed beforehand")
    if proposal is None and options.resolved_hedge() not in ("auto", 1.0):
        raise ValueError(f"--hedge below 1 needs --proposal NAME, the classifier fixed beforehand; got {options.hedge}")


def _checked(
    column: "pd.Series[Any]", name: str, y: NDArray[Any], is_text: bool, path: Path
) -> tuple[NDArray[Any], list[str]]:
    """Return a column in the words of the classes, and what is to be known of it; raise if it holds none of them."""
    where = f"column {name!r} of {str(path)!r}"
    gaps = column.isna().to_numpy()
    if gaps.any():
        raise ValueError(f"{where} lacks a prediction in {gaps.sum()} examples, the first being {gaps.argmax() + 1}")
    classes = set(y.tolist())
    said = from_cells(as_labels(column).tolist(), classes, where)
    answers = np.array(said, dtype=object) if is_text else aligned(said, y.tolist(), where)
    if not classes & set(answers.tolist()):
        known = listed(sorted(classes))
        raise ValueError(f"{where} holds none of the classes {known}, but {said[0]!r}; --drop leaves it out")
    return answers, no_class(answers, y, name)[1]
