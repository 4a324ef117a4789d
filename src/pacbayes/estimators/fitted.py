"""State of a fitted model: members, plan, validation predictions and posterior."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from pacbayes._utils.arrays import FloatArray, Labels, cached_property
from pacbayes.certificates.batch import Batch, empty_batch
from pacbayes.certificates.certify import Certificates, certify
from pacbayes.certificates.decisions import ThresholdResult
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.posteriors import Posteriors
from pacbayes.certificates.rules import FixedRule, Refit
from pacbayes.certificates.sets import SetResult
from pacbayes.certificates.thresholds import confidence, round_to_grid
from pacbayes.certificates.voting import SOFT, IntegerWeights, weighted_vote
from pacbayes.data.duplicates import Overlap, measure_overlap
from pacbayes.data.encoder import TableEncoder
from pacbayes.data.rows import count_rows, row_hashes, sorted_row_hashes
from pacbayes.ensemble.classifier_set import ClassifierSet
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Coding, CompositeMembers, Members
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions


def current_date() -> str:
    """Return the current date in UTC, or that in SOURCE_DATE_EPOCH [1]_, for reproducible files.

    References
    ----------
    .. [1] https://reproducible-builds.org/specs/source-date-epoch/
    """
    return time.strftime("%Y-%m-%d", time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())))


@dataclass(frozen=True, eq=False)
class Fitted:
    """State of a fitted model, from which its certificates, predictions and reports are computed."""

    members: Members
    plan: Plan
    predictions: ValidationPredictions
    posteriors: Posteriors
    #: The model trained on all rows, used where its margin is large enough; None without a refit.
    refit: Refit | None = None
    #: Date of the fit, which reports and model cards show.
    date: str = field(default_factory=current_date)

    @cached_property
    def certificates(self) -> Certificates:
        """Certificates by voting; each is valid on its own, not jointly."""
        return certify(self.plan, self.predictions, self.posteriors, self.members.params)

    @cached_property
    def classifiers(self) -> ClassifierSet:
        """The classifiers with their validation predictions."""
        return ClassifierSet(self.members, self.predictions, self.plan.split)

    @cached_property
    def table_encoder(self) -> TableEncoder | None:
        """The default preprocessor of the classifiers; None if they use another preprocessor or none."""
        members: Any = self.members.parts[0] if isinstance(self.members, CompositeMembers) else self.members
        if isinstance(members, KernelSVMs):
            step = members.preprocessor
        else:
            step = getattr(members[0], "named_steps", {}).get("preprocessor")
        return step if isinstance(step, TableEncoder) else None

    @property
    def prior(self) -> FloatArray:
        """The prior weights."""
        number = len(self.members)
        return np.full(number, 1.0 / number) if self.plan.prior is None else self.plan.prior

    @cached_property
    def best_index(self) -> int:
        """Index of the classifier used by ``voting="best"``."""
        return self.rule("best").index

    def rule(self, voting: str) -> FixedRule:
        """Rule used for predictions with `voting`."""
        return self.certificates.rule(voting).resolve(self.certificates.inputs)

    def weights(self, voting: str) -> IntegerWeights:
        """Weights of the rule used for predictions with `voting`, as integer multiples of 2^-52."""
        return self.rule(voting).weights

    @cached_property
    def vote_error_counts(self) -> ErrorCounts | None:
        """Validation errors of the majority vote; None if the classifiers share no validation set.

        If the vote was chosen on the validation set, the errors are for display only: a binomial bound from them would
        not be valid.
        """
        if self.plan.split.shared is None:
            return None
        codes = weighted_vote(self.weights("majority"), self.predictions.y_pred, self.predictions.labels)
        return self.predictions.count_rule_errors(codes[None], self.plan.split)

    def overlap(self, X: Any) -> Overlap | None:
        """Overlap of X with the rows of the fit; None if rows cannot be compared."""
        fitted_rows = self.plan.row_fingerprints
        return None if fitted_rows is None else measure_overlap(fitted_rows, sorted_row_hashes(X, self.plan.key))

    def batch(self, voting: str) -> CountedBatch:
        """Accumulator for the certificate of a batch; raise if batches cannot be certified."""
        empty = empty_batch(self.plan, self.certificates.inputs, self.certificates.rule(voting))
        return CountedBatch(self.plan, empty, None if self.refit is None else partial(self.covered, voting))

    # -- predictions -------------------------------------------------------------------------------------------------

    def predict(self, voting: str, X: Any) -> Labels:
        """Predict labels by `voting`."""
        certified = self.predict_certified(voting, X)
        return certified if self.refit is None else self._predict_refitted(self.refit, X, certified)

    def predict_certified(self, voting: str, X: Any) -> Labels:
        """Predict labels by the certified rule."""
        coding = Coding(self.members.classes)
        codes = self._predict_codes(voting, X, self.members.preprocess(X), coding)
        return np.asarray(coding.labels[codes])

    def covered(self, voting: str, X: Any) -> NDArray[np.bool_]:
        """Mask of the rows for which the certified rule predicts the same label as `predict`."""
        certified = self.predict_certified(voting, X)
        if self.refit is None:
            return np.ones(certified.size, dtype=np.bool_)
        return np.asarray(self._predict_refitted(self.refit, X, certified) == certified)

    def _predict_refitted(self, refit: Refit, X: Any, certified: Labels) -> Labels:
        """Predict with the refitted vote where its margin is large enough, and with the certified rule otherwise."""
        clear, refit_labels, _ = refit.predict(X)
        # Use the longer of the two string dtypes.
        labels = certified.astype(np.result_type(certified, refit_labels))
        labels[clear] = refit_labels[clear]
        return labels

    def _predict_codes(self, voting: str, X: Any, preprocessed: Any, coding: Coding) -> Any:
        rule, result = self.rule(voting), self.certificates[voting].decision
        if not isinstance(result, ThresholdResult) or not result.passed:
            # Hash the raw rows: the last bits of a preprocessed row may depend on the rest of the batch.
            return rule.predict(self.members, preprocessed, lambda: row_hashes(X, self.plan.key), coding)
        code, soft = self.predictions.encode_class(result.positive), self.plan.soft
        positive = (
            round_to_grid(soft.soft.expand(soft.mean_probabilities(self.members, preprocessed), 2)[:, code])
            >= result.threshold
        )
        return np.where(positive, code, 1 - code)

    def probabilities(self, X: Any) -> FloatArray:
        """Mean calibrated probabilities of the soft vote, shape (n, classes)."""
        soft = self.plan.soft
        probabilities = soft.mean_probabilities(self.members, self.members.preprocess(X))
        return self.replace_by_refit_probabilities(X, soft.soft.expand(probabilities, int(self.members.classes.size)))

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Prediction sets, shape (n, n_classes)."""
        result, soft = self.certificates[SOFT].decision, self.plan.soft
        assert isinstance(result, SetResult)
        means = soft.mean_probabilities(self.members, self.members.preprocess(X))
        return result.predict_set(soft.grid_probabilities(means, int(self.members.classes.size)), soft.winners(means))

    def replace_by_refit_probabilities(self, X: Any, certified: FloatArray) -> FloatArray:
        """Replace probabilities by those of the refitted vote where its margin is large enough."""
        if self.refit is None:
            return certified
        clear, _, probabilities = self.refit.predict(X)
        return np.where(clear[:, None], probabilities, certified)

    def confidence(self, voting: str, X: Any) -> FloatArray:
        """Confidence of the soft vote in the labels that `voting` predicts, rounded to the grid of thresholds."""
        preprocessed, soft = self.members.preprocess(X), self.plan.soft
        scores = soft.margins(soft.mean_probabilities(self.members, preprocessed), int(self.members.classes.size))
        return confidence(scores, self._predict_codes(voting, X, preprocessed, Coding(self.members.classes)))


class CountedBatch:
    """Accumulator of a batch that arrives in blocks: counts rows, rows used in `fit`, and rows not covered."""

    def __init__(self, plan: Plan, empty: Batch, covered: Callable[[Any], NDArray[np.bool_]] | None) -> None:
        self._empty, self._rows, self._key = empty, 0, plan.key
        self._covered, self._not_covered = covered, 0
        self._fitted_rows, self._hashes = plan.row_fingerprints, [np.empty(0, dtype=np.int64)]

    def add(self, X: Any) -> None:
        """Add a block of rows."""
        self._rows += count_rows(X)
        if self._covered is not None:
            self._not_covered += int(np.count_nonzero(~self._covered(X)))
        hashes = None if self._fitted_rows is None else sorted_row_hashes(X, self._key)
        if hashes is None:  # the overlap is unknown if one block cannot be compared
            self._fitted_rows = None
        else:
            self._hashes.append(hashes)

    @property
    def _overlap(self) -> Overlap | None:
        return None if self._fitted_rows is None else measure_overlap(self._fitted_rows, np.concatenate(self._hashes))

    @property
    def overlap_message(self) -> str | None:
        """Message if more rows than expected by chance were used to build the model; None otherwise."""
        overlapping = self._overlap
        return f"{overlapping.summary} behind the model" if overlapping is not None and overlapping.is_large else None

    def batch(self) -> Batch:
        """Certificate of the batch; raise if its rows are not new."""
        if self.overlap_message is not None:
            raise ValueError(f"X must contain new rows, but {self.overlap_message}")
        seen = 0 if self._overlap is None else self._overlap.seen
        return replace(self._empty, rows=self._rows, not_covered=self._not_covered, seen=seen)


def cv_results(params: list[dict[str, Any]], counts: CrossValidation, n: int) -> dict[str, Any]:
    """Cross-validation results in the format of `GridSearchCV`.

    Classifiers that were not cross-validated have NaN scores and share the last rank.  Means are over rows, not over
    folds, so that the classifiers of rank 1 have the fewest errors.  Of the `n` training rows, those in folds for which
    nothing could be trained contribute to the log-loss but not to the errors.

    Examples
    --------
    >>> counts = CrossValidation(np.array([0, 2]), np.array([[1, 0], [0, 3]]), np.array([5, 5]))
    >>> results = cv_results([{"C": 1.0}, {"C": 2.0}, {"C": 4.0}], counts, 10)
    >>> results["mean_test_score"], results["rank_test_score"]
    (array([0.9, nan, 0.7]), array([1, 3, 2], dtype=int32))
    """
    names = sorted({name for setting in params for name in setting})
    columns: dict[str, Any] = {f"param_{name}": _masked_column(params, name) for name in names}
    folds = [k for k in range(counts.sizes.size) if counts.sizes[k] > 0]
    scores = 1.0 - counts.errors[:, folds] / counts.sizes[folds]
    for k in range(counts.sizes.size):
        fold_scores = scores[:, folds.index(k)] if k in folds else np.full(counts.candidates.size, np.nan)
        columns[f"split{k}_test_score"] = _for_all_classifiers(len(params), counts, fold_scores)
    if folds:
        mean = np.average(scores, axis=1, weights=counts.sizes[folds])
        std = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1, weights=counts.sizes[folds]))
    else:
        mean = std = np.full(counts.candidates.size, np.nan)
    ranks = np.full(len(params), counts.candidates.size + 1, dtype=np.int32)
    ranks[counts.candidates] = rankdata(counts.totals, method="min")
    if counts.log_losses is not None:
        columns["mean_log_loss"] = _for_all_classifiers(len(params), counts, counts.log_losses / n)
    return columns | {
        "params": list(params),
        "mean_test_score": _for_all_classifiers(len(params), counts, mean),
        "std_test_score": _for_all_classifiers(len(params), counts, std),
        "rank_test_score": ranks,
    }


def _masked_column(params: list[dict[str, Any]], name: str) -> Any:
    values = np.empty(len(params), dtype=object)
    for i, setting in enumerate(params):  # element by element: a value may be a sequence itself
        values[i] = setting.get(name)
    return np.ma.MaskedArray(values, mask=[name not in setting for setting in params])


def _for_all_classifiers(n_classifiers: int, counts: CrossValidation, values: FloatArray) -> FloatArray:
    """Insert NaN for classifiers that were not cross-validated."""
    column = np.full(n_classifiers, np.nan)
    column[counts.candidates] = values
    return column
