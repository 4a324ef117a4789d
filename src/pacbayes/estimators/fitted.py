"""A fitted model as one value: the classifiers, what was planned, observed and found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from pacbayes._utils.arrays import FloatArray, Labels, cached_property
from pacbayes.certificates.batch import Batch, batch_of
from pacbayes.certificates.certify import Certificates, certify
from pacbayes.certificates.decisions import Threshold
from pacbayes.certificates.find import Found
from pacbayes.certificates.grids import confidence, on_grid
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.refit import Refit
from pacbayes.certificates.rules import FixedRule
from pacbayes.certificates.voting import (
    Counts,
    vote_of_answers,
)
from pacbayes.data.duplicates import Overlap, overlap
from pacbayes.data.rows import hashed_rows, number_of_rows, row_hashes
from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.evidence import Counted, Evidence
from pacbayes.ensemble.members import Coding, Members


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit leaves; every number and every sentence about the model is a function of it."""

    members: Members
    plan: Plan
    evidence: Evidence
    found: Found
    #: The same recipe on all rows, which predicts where it is clear.
    refit: Refit | None = None

    @cached_property
    def certificates(self) -> Certificates:
        """By way of predicting; each holds alone."""
        return certify(self.plan, self.evidence, self.found, self.members.params)

    @cached_property
    def classifiers(self) -> ClassifierSet:
        """The classifiers with their answers to the validation rows."""
        return ClassifierSet(self.members, self.evidence, self.plan.division)

    @property
    def prior(self) -> FloatArray:
        """The prior weights."""
        number = len(self.members)
        return np.full(number, 1.0 / number) if self.plan.prior is None else self.plan.prior

    @cached_property
    def best_index(self) -> int:
        """The classifier that predicts where one alone does."""
        return self.rule("best").index

    def rule(self, voting: str) -> FixedRule:
        """Return the rule that predicts, with its weights."""
        return self.certificates.rule(voting).resolved(self.certificates.case)

    def weights(self, voting: str) -> Counts:
        """Return the weights of the rule that predicts, in whole multiples of 2^-52."""
        return self.rule(voting).weights

    @cached_property
    def vote(self) -> Counted | None:
        """The errors of the vote that predicts; None where no row validates all classifiers.

        Of a vote that the validation rows chose they are only shown: a limit of these errors would not hold.
        """
        if self.plan.division.shared is None:
            return None
        said = vote_of_answers(self.weights("majority"), self.evidence.answers, self.evidence.labels)
        return self.evidence.count_answers(said[None], self.plan.division)

    def overlap(self, X: Any) -> Overlap | None:
        """Return how many rows equal rows of the fit; None where it is not known."""
        known = self.plan.known_rows
        return None if known is None else overlap(known, hashed_rows(X, self.plan.key))

    def batch(self, voting: str) -> CountedBatch:
        """Return what counts the rows of a batch, given block by block; raise where nothing is proved of one."""
        nothing = batch_of(self.plan, self.certificates.case, self.certificates.rule(voting))
        return CountedBatch(self.plan, nothing, None if self.refit is None else partial(self.covered, voting))

    # -- predicting --------------------------------------------------------------------------------------------------

    def predict(self, voting: str, X: Any) -> Labels:
        """Return the labels of rows, in a way of predicting."""
        certified = self.certified(voting, X)
        return certified if self.refit is None else self._refitted(self.refit, X, certified)

    def certified(self, voting: str, X: Any) -> Labels:
        """Return the labels that the certified rule gives rows."""
        coding = Coding(self.members.classes)
        codes = self._say(voting, X, self.members.prepared(X), coding)
        return np.asarray(coding.labels[codes])

    def covered(self, voting: str, X: Any) -> NDArray[np.bool_]:
        """Return for which rows the certified rule gives the same label as `predict`."""
        certified = self.certified(voting, X)
        if self.refit is None:
            return np.ones(certified.size, dtype=np.bool_)
        return np.asarray(self._refitted(self.refit, X, certified) == certified)

    def _refitted(self, refit: Refit, X: Any, certified: Labels) -> Labels:
        """Return labels of the refit where it is clear, and the certified ones elsewhere."""
        clear, said, _ = refit.clear(X)
        # The longer of two types of text.
        labels = certified.astype(np.result_type(certified, said))
        labels[clear] = said[clear]
        return labels

    def _say(self, voting: str, X: Any, prepared: Any, coding: Coding) -> Any:
        rule, reached = self.rule(voting), None
        if isinstance(self.plan.target, Threshold):
            reached = self.certificates[voting].reached
        if reached is None or not reached.passed:
            # Hashes of the rows as they were given: the last bits of a prepared row may depend on the rows around it.
            return rule.predict(self.members, prepared, lambda: row_hashes(X, self.plan.key), coding)
        code, soft = self.evidence.code_of(reached.positive), self.plan.soft
        probable = on_grid(soft.soft.spread(soft.shares(self.members, prepared), 2)[:, code]) >= reached.threshold
        return np.where(probable, code, 1 - code)

    def probabilities(self, X: Any) -> FloatArray:
        """Return the mean probabilities of the soft vote, of all classes, shape (n, classes)."""
        soft = self.plan.soft
        shares = soft.shares(self.members, self.members.prepared(X))
        return self.with_refit(X, soft.soft.spread(shares, int(self.members.classes.size)))

    def with_refit(self, X: Any, certified: FloatArray) -> FloatArray:
        """Return probabilities of the certified rule, with those of the refit where it is clear."""
        if self.refit is None:
            return certified
        clear, _, probabilities = self.refit.clear(X)
        return np.where(clear[:, None], probabilities, certified)

    def confidence(self, voting: str, X: Any) -> FloatArray:
        """Return how sure the soft vote is of the labels that a way of predicting gives rows, on the grid."""
        prepared, soft = self.members.prepared(X), self.plan.soft
        scores = soft.confidences(soft.shares(self.members, prepared), int(self.members.classes.size))
        return confidence(scores, self._say(voting, X, prepared, Coding(self.members.classes)))


class CountedBatch:
    """Counts the new rows of a batch, block by block: those that a model was fitted with, and those not covered."""

    def __init__(self, plan: Plan, nothing: Batch, covered: Callable[[Any], NDArray[np.bool_]] | None) -> None:
        self._nothing, self._rows, self._key = nothing, 0, plan.key
        self._covered, self._not_covered = covered, 0
        self._known, self._hashes = plan.known_rows, [np.empty(0, dtype=np.int64)]

    def add(self, X: Any) -> None:
        """Count the rows of the next block."""
        self._rows += number_of_rows(X)
        if self._covered is not None:
            self._not_covered += int(np.count_nonzero(~self._covered(X)))
        hashes = None if self._known is None else hashed_rows(X, self._key)
        if hashes is None:  # then nothing is known of the whole
            self._known = None
        else:
            self._hashes.append(hashes)

    @property
    def _met(self) -> Overlap | None:
        return None if self._known is None else overlap(self._known, np.concatenate(self._hashes))

    @property
    def not_new(self) -> str | None:
        """How many rows equal rows that the model was fitted with, where chance does not explain it; else None."""
        met = self._met
        return f"{met.said} behind the model" if met is not None and met.is_large else None

    def batch(self) -> Batch:
        """Return how many answers are wrong at most, or raise if the rows are not new."""
        met = self._met
        if met is not None and met.is_large:
            raise ValueError(f"X must hold rows that the model was not fitted with, but {met.said} behind the model")
        seen = 0 if met is None else met.seen
        return replace(self._nothing, rows=self._rows, not_covered=self._not_covered, seen=seen)


def cv_results(params: list[dict[str, Any]], counted: CrossValidation, n: int) -> dict[str, Any]:
    """Return scores by classifier, NaN for those that were not cross-validated; these share the last rank.

    The mean is over rows, not over folds, so that those of rank 1 have the fewest errors.  Of the `n` training rows
    those in folds for which nothing could be trained have a log-loss, and no error.

    Examples
    --------
    >>> counted = CrossValidation(np.array([0, 2]), np.array([[1, 0], [0, 3]]), np.array([5, 5]))
    >>> found = cv_results([{"C": 1.0}, {"C": 2.0}, {"C": 4.0}], counted, 10)
    >>> found["mean_test_score"], found["rank_test_score"]
    (array([0.9, nan, 0.7]), array([1, 3, 2], dtype=int32))
    """
    names = sorted({name for one in params for name in one})
    columns: dict[str, Any] = {f"param_{name}": _column(params, name) for name in names}
    folds = [k for k in range(counted.sizes.size) if counted.sizes[k] > 0]
    scores = 1.0 - counted.errors[:, folds] / counted.sizes[folds]
    for k in range(counted.sizes.size):
        own = scores[:, folds.index(k)] if k in folds else np.full(counted.candidates.size, np.nan)
        columns[f"split{k}_test_score"] = _spread(len(params), counted, own)
    if folds:
        mean = np.average(scores, axis=1, weights=counted.sizes[folds])
        std = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1, weights=counted.sizes[folds]))
    else:
        mean = std = np.full(counted.candidates.size, np.nan)
    ranks = np.full(len(params), counted.candidates.size + 1, dtype=np.int32)
    ranks[counted.candidates] = rankdata(counted.totals, method="min")
    if counted.log_losses is not None:
        columns["mean_log_loss"] = _spread(len(params), counted, counted.log_losses / n)
    return columns | {
        "params": list(params),
        "mean_test_score": _spread(len(params), counted, mean),
        "std_test_score": _spread(len(params), counted, std),
        "rank_test_score": ranks,
    }


def _column(params: list[dict[str, Any]], name: str) -> Any:
    values = np.empty(len(params), dtype=object)
    for i, one in enumerate(params):  # one by one: values may be sequences themselves
        values[i] = one.get(name)
    return np.ma.MaskedArray(values, mask=[name not in one for one in params])


def _spread(number: int, counted: CrossValidation, values: FloatArray) -> FloatArray:
    spread = np.full(number, np.nan)
    spread[counted.candidates] = values
    return spread
