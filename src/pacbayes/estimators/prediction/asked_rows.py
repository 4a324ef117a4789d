"""Rows that a fitted estimator is asked about."""

from dataclasses import dataclass
from typing import Any

from pacbayes.data.rows import pick_rows
from pacbayes.estimators.prediction.voters import number_of_rows
from pacbayes.numeric.arrays import Rows


@dataclass(frozen=True)
class AskedRows:
    """Rows as the user gives them, by which a classifier is drawn, and prepared where the classifiers need that.

    The last bits of a prepared row may depend on the rows around it; those of the given row do not.
    """

    given: Any
    prepared: Any = None

    @property
    def taken(self) -> Any:
        """The rows as the classifiers take them."""
        return self.given if self.prepared is None else self.prepared

    def __len__(self) -> int:
        return number_of_rows(self.given)

    def pick(self, which: Rows) -> "AskedRows":
        """Return some of the rows."""
        prepared = None if self.prepared is None else pick_rows(self.prepared, which)
        return AskedRows(pick_rows(self.given, which), prepared)
