"""The errors of rules that were fixed on the training rows, counted on the validation rows: all of them in one pass."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.posterior_choice import Counts
from pacbayes.certificates.questions.by_class import PartErrors
from pacbayes.certificates.rules.rule import Rule
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.draws import draw_classifiers
from pacbayes.estimators.prediction.voters import Voters, winners_of
from pacbayes.numeric.arrays import Codes

# Answers of all classifiers that are held at once.
_ANSWERS = 4_000_000


def tested(
    rules: Sequence[Rule],
    voters: Voters,
    rows: AskedRows,
    codes: Codes,
    key: bytes,
    count: Callable[[NDArray[np.bool_]], int | GroupErrors],
    count_parts: Callable[[NDArray[np.bool_]], PartErrors] | None,
) -> tuple[Rule, ...]:
    """Return the rules with their errors on rows that no weight has seen; `count` makes errors of wrong rows.

    So does `count_parts`, where it is given, class by class and in slices.

    Each classifier is asked about each row once, whatever the number of rules.  A vote has the same bits as `majority`
    gives it when predicting, and a draw is that of the same key.
    """
    chosen = np.flatnonzero(np.any([rule.parts > 0 for rule in rules], axis=0))
    n = len(rows)
    wrong = np.empty((len(rules), n), dtype=bool)
    step = max(1, _ANSWERS // chosen.size)
    for start in range(0, n, step):
        block = np.arange(start, min(start + step, n))
        part = rows if block.size == n else rows.pick(block)
        answers = voters.answers(part.taken, chosen)
        for place, found in enumerate(_predicted(rules, voters, part, answers, chosen, key)):
            wrong[place, block] = found != codes[block]
    return tuple(
        replace(rule, errors=count(mine), in_parts=None if count_parts is None else count_parts(mine))
        for rule, mine in zip(rules, wrong, strict=True)
    )


def _predicted(
    rules: Sequence[Rule], voters: Voters, rows: AskedRows, answers: Codes, chosen: Codes, key: bytes
) -> list[Codes]:
    """Return what each rule says of the rows, from the answers of the chosen classifiers."""
    voting = [place for place, rule in enumerate(rules) if rule.voting == "majority"]
    votes = _votes(answers, np.array([rules[place].parts[chosen] for place in voting]), voters)
    by_place = dict(zip(voting, votes, strict=True))
    everyone = np.arange(answers.shape[1])
    found = []
    for place, rule in enumerate(rules):
        if rule.voting == "majority":
            found.append(by_place[place])
        elif rule.voting == "stochastic":
            drawn = draw_classifiers(rows.given, rule.parts, key)
            found.append(answers[np.searchsorted(chosen, drawn), everyone])
        else:
            found.append(answers[np.searchsorted(chosen, rule.index)])
    return found


def _votes(answers: Codes, parts: Counts, voters: Voters) -> Codes:
    """Return the winners of several votes, shape (votes, n): whole numbers below 2^53, exact in any order."""
    if len(parts) == 0:
        return np.empty((0, answers.shape[1]), dtype=np.intp)
    weights = parts.astype(np.float64)
    sums = np.zeros((len(parts), answers.shape[1], voters.labels.size))
    for code in np.unique(answers).tolist():
        sums[:, :, code] = weights @ (answers == code)
    return winners_of(sums, voters)
