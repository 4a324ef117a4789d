r"""Refit on all rows, with a certificate for its covered predictions.

The certified rule `h` has :math:`R(h) \le B` with probability :math:`1-\delta`.  Then with the same probability, for
every `g` simultaneously, however it was trained,

.. math:: P(g \text{ wrong and } g = h) \le B,

because `h` is wrong wherever `g` is wrong and agrees with `h`.  A prediction of `g` is *covered* if `h` agrees, which
can be checked without the label: equation (covered) of docs/mathematics.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Labels
from pacbayes.certificates.rules import SoftVote
from pacbayes.certificates.voting import SOFT
from pacbayes.ensemble.members import Members

#: Minimum margin of the largest mean probability for the refitted classifier to predict.
MARGIN = 0.2
#: Metrics whose bounds hold for covered predictions: means of non-negative losses.
COVERED_METRICS = ("error", "balanced_error", "cost")
#: Ways of predicting with a single deterministic rule.
VOTINGS = (SOFT, "majority", "best")


@dataclass(frozen=True, eq=False)
class Refit:
    """Classifiers trained on all rows with the same recipe, and their soft vote."""

    members: Members
    rule: SoftVote

    def predict(self, X: Any) -> tuple[NDArray[np.bool_], Labels, FloatArray]:
        """Predict rows: whether the margin is large enough, the labels, and the probabilities of all classes."""
        means = self.rule.mean_probabilities(self.members, self.members.preprocess(X))
        classes = self.members.classes
        labels = np.asarray(classes[self.rule.winners(means)])
        probabilities = self.rule.soft.expand(means, classes.size)
        if means.shape[1] == 1:
            return np.ones(len(means), dtype=np.bool_), labels, probabilities
        first_two = np.partition(means, means.shape[1] - 2, axis=1)[:, -2:]
        return first_two[:, 1] - first_two[:, 0] > MARGIN, labels, probabilities
