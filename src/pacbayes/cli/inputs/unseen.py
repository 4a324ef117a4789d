"""Categories of new examples that no classifier saw in training."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


# So many new categories of a column are named.
_NAMED = 5


class Unseen:
    """How many examples of a file, block by block, hold categories that are new to a model."""

    def __init__(self, model: Any) -> None:
        self._known: dict[str, set[Any]] = {}
        for encoder in _encoders(model):
            for name, values in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
                self._known.setdefault(str(name), set()).update(_plain(value) for value in values.tolist())
        self._rows = 0
        self._counts = dict.fromkeys(self._known, 0)
        self._first: dict[str, list[Any]] = {name: [] for name in self._known}

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
                distinct = [_shown(one) for one in self._first[name]]
                shown = ", ".join(distinct[:_NAMED]) + (", ..." if len(distinct) > _NAMED else "")
                examples = f"{count} of {self._rows} examples hold"
                lines.append(f"Column {name!r}: {examples} a category that was not in the training data ({shown}).")
        return lines


def _encoders(model: Any) -> Iterator[Any]:
    """Yield the fitted encoders, where the model has such as `preparation` makes: one, or one for each classifier."""
    from pacbayes.classifiers.svm.shared import SharedMembers

    classifiers = model.classifiers_
    if isinstance(classifiers.members, SharedMembers):
        steps = [classifiers.members.task.prepare]
    else:
        shared = classifiers.splits is not None and classifiers.splits.kind == "shared"
        number = 1 if shared else len(classifiers)
        steps = [getattr(classifiers[i], "named_steps", {}).get("prepare") for i in range(number)]
    for prepare in steps:
        encoder = getattr(prepare, "named_transformers_", {}).get("categories")
        if hasattr(encoder, "categories_") and hasattr(encoder, "feature_names_in_"):
            yield encoder


def _shown(category: Any) -> str:
    return "missing" if category is None else repr(category[:40] if isinstance(category, str) else category)


def _plain(value: Any) -> Any:
    """Return a category; None for a missing one, as NaN differs from itself."""
    return None if value is None or value != value else value
