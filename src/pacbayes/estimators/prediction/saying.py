"""What a rule says of rows: by draws, by the vote of all, or by one classifier."""

import numpy as np

from pacbayes.certificates.posterior_choice import Counts
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.draws import draw_classifiers
from pacbayes.estimators.prediction.voters import Voters, majority, number_of_rows
from pacbayes.numeric.arrays import Codes


def said_by(voting: str, parts: Counts, voters: Voters, asked: AskedRows, key: bytes) -> Codes:
    """Return the numbers of the labels that weights `parts` give rows in a way of predicting."""
    rows = asked.taken
    if voting == "majority":
        return majority(voters, rows, parts)
    if voting == "stochastic":
        return voters.predict_assigned(rows, draw_classifiers(asked.given, parts, key))
    return voters.predict_assigned(rows, np.full(number_of_rows(rows), np.argmax(parts), dtype=np.intp))
