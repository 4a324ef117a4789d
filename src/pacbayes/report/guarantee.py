"""Sentences of reports and model cards: predictions, validation results, assumptions and errors by class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray
from pacbayes._utils.words import PLURAL, format_delta, format_share, percent_up, truncate
from pacbayes.certificates.certificate import MAJORITY_CLASS, Baseline, Missed
from pacbayes.certificates.decisions import SelectiveResult, ThresholdResult
from pacbayes.certificates.sentences import format_label
from pacbayes.certificates.thresholds import round_to_grid
from pacbayes.certificates.voting import POSTERIOR, weighted_vote
from pacbayes.data.split import GROUP
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

# Maximum numbers of columns of a confusion matrix, rows of other tables, listed errors and warnings about classes.
_MAX_COLUMNS, _MAX_ROWS, _MAX_ERRORS, _MAX_WARNINGS = 6, 10, 6, 3
_MAX_LABEL_LENGTH = 30
# Counts that differ more from an integer are means over draws, and are shown with a decimal.
_ROUNDING = 1e-9
# A class with less than this share of the rows is rare.
_RARE = 0.1
# The sampling assumption and its violations, by sampling unit.
_SAMPLING = {
    "example": (
        "The rows are independent, and new examples come from the same distribution.",
        "Time series, several rows of one person, duplicates, hand-picked rows and distribution shift violate this.",
    ),
    "group": (
        "The groups are independent, and new groups come from the same distribution.",
        "One person in two groups, groups of one family or hospital, hand-picked groups and distribution shift violate "
        "this. Every group has the same weight, whatever its size.",
    ),
}
_DUPLICATES_COUNT_ONCE = "Equal rows were treated as duplicates and counted once."
_SAMPLING["distinct example"] = (_SAMPLING["example"][0], f"{_SAMPLING['example'][1]} {_DUPLICATES_COUNT_ONCE}")
_USER_SPLIT = ("The split does not depend on the labels.", "It was user-defined: by time, by place, by file.")
_CERTIFIED_MODEL_IS_DEPLOYED = (
    "The deployed model is the certified model.",
    "The guarantee is void after retraining, with another threshold, or if predictions are overruled.",
)
_COVERED = ("Only covered predictions count.", "Nothing is guaranteed for the others.")
_ALWAYS_ASSUMED = (
    (
        "No classifier was trained on its validation set.",
        "Scaling, imputation, feature selection or class balancing on all rows violates this without leaving a trace.",
    ),
    (
        "Everything was fixed before validation:",
        "the list of classifiers, settings, the random seed. Trying several and keeping the best voids the guarantee.",
    ),
)
_LABELS = ("The labels define the errors.", "A prediction that differs from its label is an error, even a wrong label.")


def describe_rule(view: ReportView) -> str:
    """Describe how the model predicts."""
    number, used, result = len(view.classifiers), np.count_nonzero(view.model.weights_), view.certificate.decision
    if used == 1:
        voters = "a single classifier" if number == 1 else f"classifier {view.only_classifier} of {number}"
    else:
        voters = f"all {number} classifiers" if used == number else f"{used} of {number} trained classifiers"
    if view.predicts_by_probabilities:
        average = f"according to {voters}" if used == 1 else f"averaged over {voters}"
        if isinstance(result, ThresholdResult) and result.passed:
            label = format_label(result.positive)
            return f"Predicts {label} if its probability, {average}, is at least {result.formatted_threshold}."
        return f"Predicts the class with the highest probability, {average}."
    if used == 1:
        return f"Predicts with {voters}."
    if view.voting == "majority":
        return f"Predicts by a weighted majority vote of {voters}."
    return f"Predicts each new example with one of {used} classifiers, drawn at random with fixed weights."


def result_sentences(view: ReportView) -> list[str]:
    """Describe how the model predicts, and the validation results, below the certificate."""
    certificate = view.certificate
    refit = (
        "The model was refitted on all rows. A prediction is covered if the certified classifier predicts the same "
        "class."
    )
    # Shown separately, as warnings.
    warnings = (certificate.worse_than_baseline, str(certificate.minority_class_missed))
    results = [sentence for sentence in certificate.observations if sentence not in warnings]
    abstains = isinstance(certificate.decision, SelectiveResult) and certificate.decision.passed
    acceptance = "The acceptance rate on new examples is not guaranteed."
    return [describe_rule(view), *([refit] if certificate.refit else []), *results, *([acceptance] if abstains else [])]


def describe_test_errors(view: ReportView) -> str:
    """Describe the errors on the test set; empty without a test set."""
    test = view.observed
    if test is None:
        return ""
    errors, rows = test.errors_among_accepted(view.voting)
    if view.certificate.abstains:
        error_rate = f", with an error rate of {format_share(errors / rows)} ({errors} errors)" if rows else ""
        text = f"It accepted {rows} of {test.rows} test rows ({format_share(rows / test.rows)}){error_rate}."
    else:
        covered = "" if test.covered is None else f", {test.covered} of them covered"
        text = f"{errors} errors on {test.rows} test rows ({format_share(errors / test.rows)}){covered}."
    return f"{text} This is an observation, not part of the guarantee."


def summarise_assumptions(view: ReportView) -> list[tuple[str, str]]:
    """Short assumptions, each with its typical violations."""
    failures = f"It does for up to {format_delta(view.certificate.delta)} of samples, even if all assumptions hold."
    long_run = "The bound is for the long run: a small number of new examples may have more errors."
    return [
        _SAMPLING[view.certificate.unit],
        *([_USER_SPLIT] if view.plan.split.own else []),
        *_ALWAYS_ASSUMED,
        _COVERED if view.certificate.refit else _CERTIFIED_MODEL_IS_DEPLOYED,
        _LABELS,
        ("The bound did not fail by chance.", f"{failures} {long_run}"),
    ]


def compare_with_baselines(view: ReportView) -> dict[str, Baseline]:
    """Bounds of the model and of its baselines, by label."""
    certificate = view.certificate
    label = "this model, wrong and covered" if certificate.refit else "this model"
    how = "fixed before validation" if view.plan.split.prefit else "chosen by cross-validation"
    baselines = view.model.certificates_["best"].baselines
    return {
        label: Baseline(min(certificate.bound, 1.0), view.validation_risk(view.voting), describe_rule(view)),
        f"one classifier, {how} (holdout)": baselines["holdout"],
        "majority-class baseline": baselines[MAJORITY_CLASS],
    }


def format_baseline(baseline: Baseline) -> str:
    """Format the bound of a baseline as a percentage, rounded up, if available."""
    return "not available" if baseline.bound is None else percent_up(baseline.bound)


@dataclass(frozen=True, eq=False)
class Confusion:
    """Confusion matrix of the certified classifier on the validation set."""

    #: Predicted labels: the classes, followed by labels that are not classes.
    labels: tuple[str, ...]
    #: Shape (classes, labels); for a stochastic posterior, means over the draws.
    counts: FloatArray
    #: Number of rejected rows of each class; None if all rows are accepted.
    rejected: NDArray[np.int64] | None = None
    #: Sampling unit, for table headings.
    rows: str = "rows"

    @classmethod
    def from_view(cls, view: ReportView) -> "Confusion | None":
        """Confusion matrix of a model; None if not available."""
        if why_no_confusion(view):
            return None
        predictions, unit = view.model._fitted.predictions, view.plan.split.unit
        y_true, accepted, labels = predictions.y_true.astype(np.intp), _accepted_mask(view), predictions.labels.tolist()

        def count(codes: NDArray[Any]) -> NDArray[np.int64]:
            cells = (y_true * len(labels) + codes)[accepted]
            return np.bincount(cells, minlength=predictions.n_classes * len(labels)).reshape(-1, len(labels))

        if view.voting == "stochastic" and view.certificate.rule == POSTERIOR:
            support = np.flatnonzero(view.weights)
            counts = np.asarray(sum(view.weights[i] * count(predictions.y_pred[i]) for i in support))
        else:
            counts = count(_validation_codes(view)).astype(np.float64)
        rejected = None if accepted.all() else np.bincount(y_true[~accepted], minlength=predictions.n_classes)
        names = tuple(truncate(" ".join(str(label).split()), _MAX_LABEL_LENGTH) for label in labels)
        return cls(names, counts, rejected, "rows" if unit == GROUP else PLURAL[unit])

    @property
    def _class_counts(self) -> list[tuple[str, float, float, float]]:
        """Name, number of rows, number of accepted rows and number of errors among these, for each class."""
        accepted = self.counts.sum(axis=1)
        sizes = accepted + (0 if self.rejected is None else self.rejected)
        errors = accepted - np.diagonal(self.counts)
        return list(zip(self.labels, sizes.tolist(), accepted.tolist(), errors.tolist(), strict=False))

    @property
    def by_class(self) -> TextTable:
        """Errors of each class, or of the classes with the most errors."""
        classes, notes = self._class_counts, []
        if len(classes) > _MAX_ROWS:
            classes = sorted(classes, key=lambda row: -row[3])[:_MAX_ROWS]
            notes.append(f"The {_MAX_ROWS} of {len(self.counts)} classes with the most errors.")
        if (np.abs(self.counts - np.rint(self.counts)) > _ROUNDING).any():
            notes.append("Means over random draws.")
        rows = []
        for name, size, accepted, errors in classes:
            row = {"class": name, f"validation {self.rows}": format_count(size), "accepted": format_count(accepted)}
            if self.rejected is None:
                del row["accepted"]
            error_rate = format_share(errors / accepted) if accepted else "–"
            rows.append(row | {"errors": format_count(errors), "error rate": error_rate})
        return TextTable.from_dicts("Errors by class", rows, " ".join(notes))

    @property
    def table(self) -> TextTable:
        """Confusion matrix, or a list of the most frequent errors if there are many classes."""
        title, names = "Confusion matrix", self.labels
        if len(names) > _MAX_COLUMNS:
            wrong = self.counts.copy()
            np.fill_diagonal(wrong, 0.0)
            order = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_ERRORS]
            cells = [np.unravel_index(k, wrong.shape) for k in order]
            errors = [(names[i], names[j], format_count(wrong[i, j])) for i, j in cells if wrong[i, j] > 0]
            return TextTable(title, ("true class", "predicted class", self.rows), errors, "The most frequent errors.")
        # Labels with equal strings, such as 1 and "1", have separate columns.
        columns, counts = ["true class", *(f"predicted {name}" for name in names)], self.counts
        if self.rejected is not None:
            columns.append("rejected")
            counts = np.column_stack([counts, self.rejected])
        rows = [(name, *map(format_count, line)) for name, line in zip(names, counts.tolist(), strict=False)]
        return TextTable(title, tuple(columns), rows)

    def warnings(self, bound: float) -> list[str]:
        """Warnings about classes with low recall or without validation rows, which the overall bound hides."""
        total, sentences = sum(size for _, size, *_ in self._class_counts), []
        for name, size, accepted, errors in self._class_counts:
            if size == 0:
                sentences.append(f"Class {name} has no validation rows: its error rate is unknown.")
            elif Missed(None, accepted, errors).hides_minority_class(bound):
                rare = "rare and " if size < _RARE * total else ""
                rows = f"{format_count(errors)} of its {format_count(accepted)} validation {self.rows}"
                sentences.append(f"Class {name} is {rare}often missed: {rows} are misclassified.")
        more = len(sentences) - _MAX_WARNINGS
        return [*sentences[:_MAX_WARNINGS], *([f"The same holds for {more} more classes."] if more > 0 else [])]


def why_no_confusion(view: ReportView) -> str:
    """Reason why there is no confusion matrix; empty if there is one."""
    if isinstance(view.certificate.decision, SelectiveResult) and not view.certificate.decision.passed:
        return "The classifier abstains on all rows."
    if view.plan.split.shared is None:
        return "Not available: the classifiers share no validation set."
    return ""


def format_count(count: Any) -> str:
    """Format a number of rows; means have one decimal.

    Examples
    --------
    >>> format_count(3.0), format_count(2.26)
    ('3', '2.3')
    """
    return str(round(count)) if abs(count - round(count)) <= _ROUNDING else f"{count:.1f}"


def _validation_codes(view: ReportView) -> NDArray[Any]:
    """Label codes that the certified classifier predicts for the validation rows."""
    fitted, certificate, plan = view.model._fitted, view.certificate, view.plan
    predictions = fitted.predictions
    if isinstance(certificate.decision, ThresholdResult) and certificate.decision.passed:
        assert predictions.scores is not None
        assert certificate.decision.threshold is not None
        code = predictions.encode_class(certificate.decision.positive)
        positive = (
            round_to_grid(predictions.scores[plan.fixed_rules.index(plan.soft)]) >= certificate.decision.threshold
        )
        return np.where(positive, code, 1 - code)
    tested = fitted.certificates.rule(view.voting).validation_predictions(fitted.certificates.inputs, 0.0)
    if tested is not None:
        return np.asarray(tested[0])
    return weighted_vote(fitted.weights(view.voting), predictions.y_pred, predictions.labels)


def _accepted_mask(view: ReportView) -> BoolArray:
    """Mask of the accepted validation rows."""
    predictions, result = view.model._fitted.predictions, view.certificate.decision
    if not isinstance(result, SelectiveResult):
        return np.ones(predictions.y_true.size, dtype=np.bool_)
    assert predictions.scores is not None
    assert result.threshold is not None
    primary = view.plan.fixed_rules.index(view.plan.primary_rules[view.voting])
    return np.asarray(round_to_grid(predictions.scores[primary]) >= result.threshold)
