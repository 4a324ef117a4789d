r"""A refit on all rows: which of its answers the certificate covers.

The rule `h` was certified: :math:`R(h) \le B` with probability :math:`1-\delta`.  Then with the same probability, for
every `g` at once, however it was trained,

.. math:: P(g \text{ wrong and } g = h) \le B,

because where `g` errs and says what `h` says, `h` errs.  An answer is *covered* where `h` gives it too, which takes no
label to see: equation (covered) of docs/mathematics.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Labels
from pacbayes.certificates.rules import SoftVote
from pacbayes.certificates.voting import SOFT
from pacbayes.ensemble.members import Members

#: By how much the largest mean probability must be ahead of the next for the refit to answer.
LEAD = 0.2
#: Risks whose limits carry over to covered answers: means of losses that an answer has or has not.
CARRIED = ("error", "balanced_error", "cost")
#: Ways of predicting that one rule stands behind, the same for every row.
VOTINGS = (SOFT, "majority", "best")


@dataclass(frozen=True, eq=False)
class Refit:
    """The whole recipe once more, on all rows: classifiers and their soft vote."""

    members: Members
    rule: SoftVote

    def clear(self, X: Any) -> tuple[NDArray[np.bool_], Labels, FloatArray]:
        """Return for which rows it is clear, what it says of every row, and its probabilities of all classes."""
        shares = self.rule.shares(self.members, self.members.prepared(X))
        classes = self.members.classes
        said, probabilities = (
            np.asarray(classes[self.rule.winners(shares)]),
            self.rule.soft.spread(shares, classes.size),
        )
        if shares.shape[1] == 1:
            return np.ones(len(shares), dtype=np.bool_), said, probabilities
        first_two = np.partition(shares, shares.shape[1] - 2, axis=1)[:, -2:]
        return first_two[:, 1] - first_two[:, 0] > LEAD, said, probabilities
