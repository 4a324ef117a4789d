"""Categories of new examples that no classifier saw in training."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pacbayes.data.files.columns import Columns

if TYPE_CHECKING:
    import pandas as pd


def never_seen(X: "pd.DataFrame", columns: Columns, model: Any) -> list[str]:
    """Return for every column with categories that are new to a model how many examples hold them, in words."""
    if not columns.categorical:
        return []
    known: dict[str, set[Any]] = {name: set() for name in columns.categorical}
    for encoder in _encoders(model):
        for name, values in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
            known[str(name)] |= {_plain(value) for value in values.tolist()}
    said = []
    for name in columns.categorical:
        new = [value for value in map(_plain, X[name].tolist()) if value not in known[name]]
        if new:
            distinct = [repr(value[:40]) if isinstance(value, str) else "missing" for value in dict.fromkeys(new)]
            shown = ", ".join(distinct[:5]) + (", ..." if len(distinct) > 5 else "")
            examples = f"{len(new)} of {len(X)} examples hold"
            said.append(f"Column {name!r}: {examples} a category that was not in the training data ({shown}).")
    return said


def _encoders(model: Any) -> Iterator[Any]:
    """Yield the fitted encoders: one, or with independent splits one for each classifier."""
    from pacbayes.classifiers.svm.shared import SharedMembers

    classifiers = model.classifiers_
    if isinstance(classifiers.members, SharedMembers):
        yield classifiers.members.task.prepare.named_transformers_["categories"]
        return
    shared = classifiers.splits is not None and classifiers.splits.kind == "shared"
    for i in range(1 if shared else len(classifiers)):
        yield classifiers[i].named_steps["prepare"].named_transformers_["categories"]


def _plain(value: Any) -> Any:
    """Return a category; None for a missing one, as NaN differs from itself."""
    return None if value is None or value != value else value
