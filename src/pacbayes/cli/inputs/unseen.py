"""Categories of new examples that no classifier saw in training."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pacbayes.data.files.columns import Columns

if TYPE_CHECKING:
    import pandas as pd


# So many new categories of a column are named.
_NAMED = 5


class Unseen:
    """How many examples of a file, block by block, hold categories that are new to a model."""

    def __init__(self, columns: Columns, model: Any) -> None:
        self._known: dict[str, set[Any]] = {name: set() for name in columns.categorical}
        for encoder in _encoders(model) if columns.categorical else ():
            for name, values in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
                self._known[str(name)] |= {_plain(value) for value in values.tolist()}
        self._rows = 0
        self._counts = dict.fromkeys(columns.categorical, 0)
        self._first: dict[str, list[Any]] = {name: [] for name in columns.categorical}

    def count(self, X: "pd.DataFrame") -> None:
        """Look through the next block."""
        self._rows += len(X)
        for name, known in self._known.items():
            new = [value for value in map(_plain, X[name].tolist()) if value not in known]
            self._counts[name] += len(new)
            # One more than are named, to know that there are more.
            self._first[name] = list(dict.fromkeys([*self._first[name], *new]))[: _NAMED + 1]

    def said(self) -> list[str]:
        """Return for every column with new categories how many examples hold them, in words."""
        lines = []
        for name, count in self._counts.items():
            if count:
                distinct = [repr(one[:40]) if isinstance(one, str) else "missing" for one in self._first[name]]
                shown = ", ".join(distinct[:_NAMED]) + (", ..." if len(distinct) > _NAMED else "")
                examples = f"{count} of {self._rows} examples hold"
                lines.append(f"Column {name!r}: {examples} a category that was not in the training data ({shown}).")
        return lines


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
