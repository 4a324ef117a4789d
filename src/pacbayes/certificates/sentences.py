"""Texts of certificates: assumptions, rules, decisions, metrics, batches, comparisons and monitors.

The functions format result objects.  The modules of these objects import this one, hence the type `Any`.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

import numpy as np

from pacbayes._utils.words import (
    PLURAL,
    format_confidence,
    format_delta,
    format_level,
    format_params,
    format_share,
    format_significant_up,
    percent_down,
    percent_up,
)
from pacbayes.data.split import DISTINCT, GROUP, Split

# Longer class names are truncated.
_MAX_LABEL_LENGTH = 40


def format_label(label: Any) -> str:
    """Format a class label.

    Examples
    --------
    >>> format_label("no"), format_label(np.int64(1)), len(format_label("x" * 500))
    ("'no'", '1', 41)
    """
    text = repr(label.item() if isinstance(label, np.generic) else label)
    return text if len(text) <= _MAX_LABEL_LENGTH else text[:_MAX_LABEL_LENGTH] + "…"


def format_required(share: float) -> str:
    """Format a user-defined share without binary rounding: 0.02 is 2.0 %.

    Examples
    --------
    >>> format_required(0.02), format_required(0.0125), format_required(0.3)
    ('2.0 %', '1.25 %', '30.0 %')
    """
    written = 100 * Decimal(repr(float(share)))
    tenths = written.quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return f"{tenths if tenths == written else written.normalize():f} %"


def capitalise(text: str) -> str:
    """Convert the first letter to upper case."""
    return f"{text[0].upper()}{text[1:]}"


def _with_confidence(delta: float) -> str:
    return f"With {format_confidence(delta)} confidence"


def _duplicates_clause(unit: str, end: str = "") -> str:
    return f", duplicates counted once{end}" if unit == DISTINCT else ""


def _format_errors(number: float) -> str:
    return f"{round(number)} error{'' if number == 1 else 's'}"


# -- assumptions -------------------------------------------------------------------------------------------------------

#: Assumptions about the prior, by `Plan.prior_kind`.
PRIORS = {
    "uniform": "The prior is uniform over the classifiers, whose list was fixed without looking at the data.",
    "given": "The prior was specified by the user, without looking at the validation rows.",
    "training rows": "The prior was computed from the parameters of the classifiers and the training rows alone.",
    "cross-validation": "The prior was computed by cross-validation within the training rows alone.",
    "parameters": "The prior was computed from the parameters of the classifiers, without the validation rows.",
}
ALONE = (
    "The certificate holds on its own at its level, not jointly with those of other voting rules; distance, delta and "
    "voting were fixed before results were seen."
)
ROW_WISE_PREDICTION = (
    "The prediction for a row, preprocessing included, depends on that row alone, not on the rest of the batch."
)
AVERAGED_OVER_DRAWS = (
    "The bound is on the average over random draws of classifiers; random_state was chosen without the data."
)
KEYED = (
    "The bound is for the draws of this key, one deterministic classifier; random_state, which fixed the key, was "
    "chosen without the data."
)
NO_METRICS = (
    "Metrics have no bounds: the rule that predicts is a posterior that was optimised on the validation rows, for "
    "which none are proved."
)
METRICS_ASSUMPTION = (
    "The bounds of metrics hold jointly with that of the error rate and use a share of {share:g} of its level. Those "
    "of a class or slice are about new examples of it. Slices were assigned without looking at other rows or labels; "
    "classes and costs were fixed without looking at the validation rows."
)
ABSTENTION_ASSUMPTION = (
    "An example is accepted if its confidence score, fixed on the training rows, reaches a threshold. Thresholds were "
    "tested in an order fixed on the training rows, each at the whole of delta."
)
THRESHOLD_ASSUMPTION = (
    "The positive class is predicted if its probability reaches a threshold. Thresholds were tested in an order fixed "
    "on the training rows, each requirement at the whole of delta. Other metrics at this threshold are observations, "
    "not guarantees."
)
COST_THRESHOLD_ASSUMPTION = (
    "The positive class is predicted if its probability reaches the threshold with the smallest mean cost on the "
    "training rows. Costs were fixed without looking at the validation rows. Metrics at this threshold are "
    "observations, not guarantees."
)
COST_THEOREM = "Betting bound of the mean cost of a rule fixed on the training rows, with a bet fixed there too."
THRESHOLD_THEOREM = "Exact binomial tests of the requirements, in a fixed order, of a rule fixed on the training rows."
SETS_THEOREM = (
    "Split conformal sets whose threshold passes the exact binomial test of the coverage, with probabilities fixed "
    "before validation."
)
SETS_ASSUMPTION = (
    "A set contains the most probable class and those whose probability reaches a threshold from the validation rows. "
    "The coverage holds for this threshold, at level delta; the sizes of the sets are observations, not guarantees."
)
REFIT = (
    "The refitted classifier was trained on all rows, and nothing is assumed about it. The bound counts its errors on "
    "covered predictions, which the certified classifier makes too; nothing is guaranteed for the others."
)
#: Assumptions of a batch, in addition to those of its certificate.
BATCH_ASSUMPTIONS = (
    "The rows of the batch are independent draws from the distribution of the validation rows, and the model was not "
    "fitted with any of them.",
    "Number and choice of the rows in the batch do not depend on their values, labels or predictions.",
    "The statement is about one batch. Several batches share the validation rows: for k joint statements, fit with "
    "delta / k.",
)
COUNTS_ASSUMPTION = (
    "There are no duplicates, groups of dependent rows or rows that were used in training, which counts do not show."
)
#: Assumptions of a comparison of two classifiers on rows.
COMPARISON_ASSUMPTIONS = (
    "The rows are independent draws from the population that the difference is about.",
    "Neither classifier was trained, tuned or chosen with these rows.",
    "The prediction for a row depends on that row alone.",
)
#: Assumptions of a comparison of two classifiers on groups.
GROUP_COMPARISON_ASSUMPTIONS = (
    "The groups are independent draws from the population that the difference is about; rows of a group may depend on "
    "each other in any way.",
    "The difference is that of the per-group error rates, averaged over groups: every group has the same weight.",
    "Neither classifier was trained, tuned or chosen with rows of these groups.",
    COMPARISON_ASSUMPTIONS[2],
)


def _sampling(unit: str, user_split: bool) -> tuple[str, ...]:
    """Assumptions about sampling; after a user-defined split, about the validation set only."""
    drawn = "The validation" if user_split else "The"
    training = "; nothing is assumed about the training rows" if user_split else ""
    if unit == DISTINCT:
        return (
            f"{drawn} rows that differ in features or class are independent draws from the distribution of new "
            f"originals{training}. Equal rows are duplicates, made after sampling; how often a row was duplicated does "
            "not depend on other rows.",
        )
    if unit == GROUP:
        return (
            f"{drawn} groups are independent draws from the distribution of new groups{training}. Rows of a group may "
            "depend on each other in any way.",
            "The bound is on the per-group error rate, averaged over new groups, not on the error rate of all rows: "
            "every group has the same weight, whatever its size.",
        )
    return (f"{drawn} rows are independent draws from the distribution of new examples{training}.",)


def split_assumptions(splits: Split) -> tuple[str, ...]:
    """Assumptions about the training set and the validation set."""
    m, units, unit = splits.m, PLURAL[splits.unit], splits.unit
    if splits.prefit:
        return (
            f"These {m} {units} were not used to train, tune or choose anything: no classifier, and nothing that was "
            "fitted or chosen before (scaling, features, thresholds, early stopping, the list of classifiers). They "
            "were selected without looking at the labels.",
            *_sampling(unit, False),
            "The primary classifier or weights, if any, were fixed before the errors were known.",
        )
    total, fitted = splits.n_train + m, "with everything fitted inside (scaling, kernel width)"
    others = {DISTINCT: f"the other {m}, each taken once,", GROUP: f"the rows of the other {m}"}.get(
        unit, f"the other {m}"
    )
    if splits.kind == "shared":
        rows = (
            f"{splits.n_train} of {total} {units} were used to train all classifiers, {fitted}; {others} were only "
            "used to count errors."
        )
    else:
        rows = (
            f"Each classifier was trained on its own random {splits.n_train} of {total} {units}, {fitted}; {others} "
            "were only used to count its errors."
        )
    how = "by the user, without using the labels" if splits.own else "at random, without using the labels"
    return (
        f"{rows} The {units} were split {how}.",
        *_sampling(unit, splits.own),
        "Nothing outside this estimator has seen the validation rows: no scaler before it in a Pipeline, no "
        "GridSearchCV around it. Put fitted steps inside: CertifiedClassifier(pipeline).",
    )


def describe_delta_shares(hedge: float, prefit: bool) -> tuple[str, ...]:
    """Sentence on the division of delta between the primary rule and the others; empty if it is not divided."""
    if hedge == 1.0:
        return ()
    when = "before validation" if prefit else "on the training rows"
    if hedge == 0.0:
        return (f"The rule that predicts was fixed {when}; the validation rows were only used to count its errors.",)
    return (
        f"The primary rule, fixed {when}, has {format_share(1.0 - hedge)} of delta; rules chosen on the validation "
        f"rows share {format_share(hedge)}. Predictions use the rule with the smallest bound.",
    )


# -- rules and claims --------------------------------------------------------------------------------------------------

_SOFT, _SINGLE = "the soft vote", "the classifier"
_NAMES = {
    "soft": _SOFT,
    "majority": "the majority vote",
    "best": "the best single classifier",
    "stochastic": "the stochastic classifier",
}


def holds_for(voting: str, keyed: bool, single: bool) -> str:
    """Name of the certified classifier; `keyed` if draws use a fixed key."""
    return _SINGLE if single else _NAMES[voting] + (" with its key" if keyed else "")


def doubled_bound_theorem(theorem: str) -> str:
    """Source of the bound on a majority vote that is twice that of the draws."""
    return (
        "Twice the bound of the stochastic classifier: the price of a guarantee for the vote, whose error rate is "
        f"usually lower. {theorem}"
    )


def describe_cv_choice(name: str, tried: int, number: int, folds: int) -> str:
    """Describe a classifier that was chosen by cross-validation, with the number of candidates."""
    among = f"all {tried}" if tried == number else f"{tried} of {number}"
    how = f"{folds}-fold cross-validation within" if folds > 1 else "their errors on a part of"
    return f"{name}, chosen among {among} by {how} the training rows"


def format_classifier(index: int, params: Any) -> str:
    """Format the index and the parameters of a classifier."""
    return f"classifier {index} ({format_params(params)})"


# -- decisions ---------------------------------------------------------------------------------------------------------

#: Metrics that `Threshold` can require: names, and "at least" or "at most".
THRESHOLD_METRICS = {
    "recall": ("recall", "at least"),
    "precision": ("precision", "at least"),
    "fpr": ("false positive rate", "at most"),
}
_INFORMATION = "This is information, not a guarantee."


def selective_summary_line(result: Any) -> str:
    """Short outcome of `Abstain`."""
    most = format_required(result.max_error)
    if not result.passed:
        return f"Accepts nothing: {most} was not certified"
    return f"Error rate at most {most} on accepted examples; {percent_down(result.acceptance_rate)} accepted"


def selective_claim(result: Any, delta: float, classifier: str) -> str:
    """Guarantee of `Abstain`."""
    most = format_required(result.max_error)
    if result.passed:
        return (
            f"{_with_confidence(delta)}, the error rate of {classifier} on the examples that it "
            f"accepts{_duplicates_clause(result.unit, ',')} is at most {most}."
        )
    text = f"{capitalise(classifier)} accepts no example: no confidence threshold could be certified at {most}."
    if result.smallest_max_error is None:
        return text
    smallest = format_required(result.smallest_max_error)
    return f"{text} The smallest error rate that would have passed is {smallest}. {_INFORMATION}"


def selective_observed(result: Any) -> str:
    """Format the validation results of `Abstain`; empty if no threshold passed."""
    if not result.passed:
        return ""
    return (
        f"{_format_errors(result.errors)} on {result.accepted} accepted of {result.m} validation {PLURAL[result.unit]} "
        f"(acceptance rate {format_share(result.acceptance_rate)})."
    )


def selective_details(result: Any) -> list[str]:
    """Describe the tests of the thresholds of `Abstain`."""
    outcome = "the loosest that passed is used" if result.passed else "the first failed"
    return [f"Thresholds tested: {result.tested}; {outcome}."]


def join_metrics(shares: dict[str, str], positive: Any) -> str:
    """Join bounds of metrics of a class; `shares` are texts by the name of the metric.

    Examples
    --------
    >>> join_metrics({"recall": "90.0 %", "fpr": "5.0 %"}, "late")
    "the recall of class 'late' is at least 90.0 % and its false positive rate at most 5.0 %"
    """
    parts: list[str] = []
    for name, text in shares.items():
        title, side = THRESHOLD_METRICS[name]
        parts.append(
            f"{f'its {title}' if parts else f'the {title} of class {format_label(positive)} is'} {side} {text}"
        )
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def requirements(required: dict[str, float], positive: Any) -> str:
    """Join the requirements of `Threshold`."""
    return join_metrics({name: format_required(share) for name, share in required.items()}, positive)


def threshold_summary_line(result: Any) -> str:
    """Short outcome of `Threshold`."""
    if result.cost_bound is not None:
        return (
            f"Mean cost at most {format_significant_up(result.cost_bound)}"
            if result.passed
            else "No useful bound of the cost"
        )
    required = [(*THRESHOLD_METRICS[name], share) for name, share in result.decision.required.items()]
    text = " and ".join(f"{title} {side} {format_required(share)}" for title, side, share in required)
    return capitalise(text) if result.passed else f"Not certified: {text}"


def threshold_claim(result: Any, delta: float, classifier: str) -> str:
    """Guarantee of `Threshold`."""
    if result.cost_bound is not None:
        most, once = format_significant_up(result.cost_bound), _duplicates_clause(result.unit)
        if result.passed:
            threshold = result.formatted_threshold
            return f"{_with_confidence(delta)}, the mean cost at the threshold {threshold} is at most {most}{once}."
        return (
            f"There is no useful bound of the mean cost: with {format_confidence(delta)} confidence, it is at most "
            f"{most}. {capitalise(classifier)} uses the default threshold."
        )
    required = requirements(result.decision.required, result.positive)
    if result.passed:
        at = f"at the threshold {result.formatted_threshold}"
        return f"{_with_confidence(delta)}, {at} {required}{_duplicates_clause(result.unit)}."
    why = next(
        (
            _too_few_rows_message(result, *unattainable_requirements)
            for unattainable_requirements in result.unattainable_requirements
        ),
        None,
    ) or _bounds_at_first_threshold(result)
    return (
        f"No threshold could be certified at which {required}. {why} {capitalise(classifier)} uses the default "
        "threshold."
    )


def _too_few_rows_message(result: Any, name: str, rows: int, needed: int, least: float) -> str:
    """Message for a requirement that this number of validation rows cannot meet, even without errors."""
    of = "the other class" if name == "fpr" else f"class {format_label(result.positive)}"
    best = f"; the best possible bound is {_bound_in_words(name, least)}" if rows else ""
    return (
        f"Not enough data: a {THRESHOLD_METRICS[name][0]} of {format_required(result.decision.required[name])} "
        f"requires at least {needed} validation {PLURAL[result.unit]} of {of}, but there are {rows}{best}."
    )


def _bounds_at_first_threshold(result: Any) -> str:
    """Bounds at the first tested threshold, each valid on its own."""
    bounds = {name: _bound_in_words(name, result.error_bound(name)) for name in result.decision.required}
    every = result.predicted_positives == result.m
    all_rows = f", where every row is predicted {format_label(result.positive)}" if every else ""
    return (
        f"At the first threshold tested, {result.formatted_threshold}{all_rows}, "
        f"{join_metrics(bounds, result.positive)}, each on its own. {_INFORMATION}"
    )


def _bound_in_words(name: str, most: float) -> str:
    """Format the bound of a metric whose error rate is at most `most`."""
    return percent_up(most) if name == "fpr" else percent_down(1.0 - most)


def threshold_details(result: Any) -> list[str]:
    """Describe the tests of the thresholds of `Threshold`, and the counts at the threshold."""
    label, units = format_label(result.positive), PLURAL[result.unit]
    tested = f"Thresholds tested: {result.tested}"
    if result.cost_bound is not None:
        tested = "The threshold has the smallest mean cost on the training rows"
    rule = f"the prediction is {label} if its probability is at least {result.formatted_threshold}"
    return [
        f"{tested}; {rule if result.passed else 'the first failed'}.",
        f"At this threshold, {result.true_positives} of {result.positives} validation {units} of the class and "
        f"{result.false_positives} of {result.m - result.positives} others are predicted {label}.",
    ]


def threshold_observed(result: Any) -> str:
    """Observed metrics at the threshold in use; empty if no threshold passed."""
    if not result.passed:
        return ""
    values = {title: getattr(result, name) for name, (title, _) in THRESHOLD_METRICS.items()}
    shares = ", ".join(f"{title} {'–' if share is None else format_share(share)}" for title, share in values.items())
    total = (
        ""
        if result.total_cost is None
        else f"Cost of {result.total_cost:g} in total on {_format_validation_rows(result)}. "
    )
    return f"{total}Observed at {result.formatted_threshold}, not guaranteed: {shares}."


def _format_validation_rows(result: Any) -> str:
    return f"{result.m} validation {PLURAL[result.unit]}"


def sets_summary_line(result: Any) -> str:
    """Short outcome of `PredictionSet`."""
    least = f"{format_required(result.decision.coverage)}{' in every class' if result.decision.by_class else ''}"
    if not result.passed:
        return f"No useful sets at a coverage of {least}"
    return f"Coverage at least {least}; {_mean_size(result)}"


def _mean_size(result: Any) -> str:
    return f"{result.mean_size:.1f} of {len(result.classes)} classes on average"


def sets_claim(result: Any, delta: float) -> str:
    """Guarantee of `PredictionSet`."""
    least = format_required(result.decision.coverage)
    if not result.passed:
        return f"Every set contains every class: {_why_no_threshold(result)}"
    every = " of every class" if result.decision.by_class else ""
    what = f"contains the true class for at least {least} of new examples{every}{_duplicates_clause(result.unit)}"
    return f"{_with_confidence(delta)}, the prediction set {what}."


def _why_no_threshold(result: Any) -> str:
    """Reason why no class can be left out of a set."""
    least, most = format_required(result.decision.coverage), max(result.rows) if result.decision.by_class else result.m
    if most < result.needed:
        of = " of a class" if result.decision.by_class else ""
        units = PLURAL[result.unit]
        return f"a coverage of {least} requires at least {result.needed} validation {units}{of}, but there are {most}."
    return "too many validation rows have a class with a probability of 0."


def sets_observed(result: Any) -> str:
    """Sizes and coverage of the validation sets; empty if every set contains every class."""
    if not result.passed:
        return ""
    rows = f"{sum(result.covered)} of {result.m} validation {PLURAL[result.unit]}"
    return f"Sets have {_mean_size(result)} and contain the true class of {rows}."


def mean_sizes(result: Any) -> str:
    """Mean size of the sets of each class, for notebooks."""
    sizes = zip(result.classes, result.mean_sizes, strict=True)
    return "; ".join(f"class {format_label(name)}: {'–' if size is None else f'{size:.2f}'}" for name, size in sizes)


def sets_details(result: Any) -> list[str]:
    """Describe how the sets of `PredictionSet` are computed."""
    least = sorted({q for q in result.thresholds if q >= 0.0})
    if not least:
        return []
    reached = f"{least[0]:.4g}" if len(least) == 1 else f"the threshold of the class, {least[0]:.4g} to {least[-1]:.4g}"
    lines = [f"A set contains the most probable class, and all classes whose probability is at least {reached}."]
    if result.in_every_set:
        names = ", ".join(map(format_label, result.in_every_set))
        lines.append(f"Included in every set because of too few rows: {names}.")
    return lines


# -- metrics -----------------------------------------------------------------------------------------------------------


class MetricWords(NamedTuple):
    """Title of a metric, and the template of its validation counts."""

    title: str
    observed: str


_ERROR_COUNT = "{errors} on {rows} validation {units}"

#: All metrics, in the order of tables; `METRICS` defines them.
WORDS: dict[str, MetricWords] = {
    "error": MetricWords("error rate", _ERROR_COUNT),
    "recall": MetricWords("recall", "{count} true positives among {rows} validation {units} of the class"),
    "precision": MetricWords("precision", "{count} true positives among {rows} predictions of the class"),
    "f1": MetricWords("F1", "{count} true positives among {rows} validation {units} of the class or predicted as it"),
    "specificity": MetricWords(
        "specificity", "{count} true negatives among {rows} validation {units} of other classes"
    ),
    "balanced_error": MetricWords("balanced error rate", _ERROR_COUNT),
    "youden": MetricWords("Youden's index", "{count} true positives and negatives among {rows} validation {units}"),
    "auc": MetricWords("AUC", "{share} of the pairs of a validation row of the class and another are in order"),
    "cost": MetricWords("mean cost", "{count} in total on {rows} validation {units}"),
}


def metric_label(metric: Any) -> str:
    """Name of a bounded metric; for the error rate of a class or slice, the name of the class or slice."""
    title = WORDS[metric.name].title
    if metric.kind == "all":
        return title
    if metric.kind == "shares":
        return f"{title} with the shares {', '.join(f'{name!r}: {share:g}' for name, share in metric.of.items())}"
    label = format_label(metric.of)
    where = f"{metric.column} = {label}" if metric.column else f"{metric.kind} {label}"
    return where if metric.name == "error" else f"{title} of {where}"


def metric_value(metric: Any) -> str:
    """Bound of a metric, rounded conservatively."""
    if metric.name == "cost":
        return f"at most {format_significant_up(metric.bound)}"
    return f"at most {percent_up(metric.bound)}" if metric.side == "upper" else f"at least {percent_down(metric.bound)}"


def metric_claim(metric: Any) -> str:
    """Guarantee about a metric."""
    value, once = metric_value(metric), _duplicates_clause(metric.unit) if metric.is_partial_error else ""
    if metric.is_partial_error and metric.unit == GROUP:
        once = f", averaged over new groups with this {metric.kind}"
    if not metric.covered:
        return f"{'error rate ' if metric.is_partial_error else ''}{value}{once}"
    if metric.name == "error":
        return f"{value} covered and wrong{once}"
    return f"{value}, counting covered predictions only"


def metric_observed(metric: Any) -> str:
    """Format the validation counts of a bounded metric."""
    if metric.is_partial_error and metric.unit == GROUP:
        share = format_share(metric.count / metric.rows) if metric.rows else "no"
        return f"{share} errors per group on {metric.rows} validation groups with it"
    count = f"{metric.count:g}" if metric.name == "cost" else str(metric.count)
    share = format_share(metric.count / metric.rows) if metric.rows else "none"
    return WORDS[metric.name].observed.format(
        share=share, count=count, errors=_format_errors(metric.count), rows=metric.rows, units=PLURAL[metric.unit]
    )


def metric_sentence(metric: Any) -> str:
    """Guarantee and counts of a metric as a sentence."""
    return f"{capitalise(str(metric))}."


# -- batches -----------------------------------------------------------------------------------------------------------


def batch_text(batch: Any) -> str:
    """Guarantee of a batch."""
    start, rows = f"{_with_confidence(batch.delta)} over sample and batch", batch.rows
    if batch.wrong == rows > 0:
        every = "the prediction" if rows == 1 else f"all {rows} predictions"
        return f"{start}, there is no useful bound: {every} may be wrong."
    text = f"at most {batch.wrong} of these {rows} predictions are wrong"
    if rows == 1:
        text = "this prediction is correct"
    elif batch.wrong == 0:
        text = f"none of these {rows} predictions is wrong"
    uncovered, duplicates = "", ""
    if batch.not_covered:
        uncovered = f", counting {batch.not_covered} not covered"
    if batch.seen:
        equal = "1 row equals a row" if batch.seen == 1 else f"{batch.seen} rows equal rows"
        duplicates = f" {equal} that the model was fitted with: if they are the same examples, the bound does not hold."
    return f"{start}, {text}{uncovered}. This holds for one batch, not jointly with the certificate.{duplicates}"


def batch_explained(batch: Any) -> str:
    """Guarantee, source and assumptions of a batch, one per line."""
    counts = f"{_format_errors(batch.errors)} on {batch.m} validation rows"
    theorem = f"Exact hypergeometric bound from {counts}, at level {format_level(batch.level)}."
    return "\n".join([batch_text(batch), theorem, *_as_assumptions(BATCH_ASSUMPTIONS)])


def _as_assumptions(sentences: tuple[str, ...]) -> list[str]:
    return [f"Assumption: {sentence}" for sentence in sentences]


# -- comparisons -------------------------------------------------------------------------------------------------------


def difference_text(difference: Any) -> str:
    """Bounds on the difference of two error rates."""
    (a, b), low, high = difference.names, difference.lower, difference.upper
    of = "" if difference.of is None else f" on examples of class {difference.of!r}"
    rate = f"the error rate of {b}{of}"
    if difference.groups is not None:
        rate = f"the per-group error rate of {b}{of}, averaged over new groups,"
    if low > 0.0 or high < 0.0:
        least, most, side = (low, high, "higher") if low > 0.0 else (-high, -low, "lower")
        least_points, most_points = percentage_points(least, ROUND_FLOOR), percentage_points(most, ROUND_CEILING)
        text = f"at least {least_points} and at most {most_points} percentage points {side} than that of {a}"
    else:
        more, less = percentage_points(high, ROUND_CEILING), percentage_points(-low, ROUND_CEILING)
        text = f"at most {more} percentage points higher and at most {less} lower than that of {a}"
    return f"{_with_confidence(difference.delta)}, {rate} is {text}."


def difference_explained(difference: Any) -> str:
    """Guarantee, counts and assumptions of a comparison, one per line."""
    (a, b), m, both = difference.names, difference.m, difference.both
    rows, method = f"{m} rows", "exact, from the rows on which only one is wrong"
    if difference.groups is not None:
        rows, method = f"{rows} in {difference.groups} groups", "betting bounds on the differences of the groups"
    errors = [f"{k} ({format_share(k / m)})" for k in (both + difference.only_a, both + difference.only_b)]
    lines = [
        difference_text(difference),
        f"Errors on {rows}: {errors[0]} of {a}, {errors[1]} of {b}; {both} of both, {difference.only_a} of {a} alone, "
        f"{difference.only_b} of {b} alone.",
        f"Both bounds are {method}, each at half of delta.",
    ]
    return "\n".join([*lines, *_as_assumptions(difference.assumptions)])


def difference_title(difference: Any) -> str:
    """Short outcome of a comparison."""
    if difference.better:
        return f"{difference.better} has the lower error rate"
    return "Neither {} nor {} was shown to have the lower error rate".format(*difference.names)


def percentage_points(share: float, rounding: str) -> str:
    """Format a share in percentage points with one decimal; never "-0.0"."""
    return str((100 * Decimal(share)).quantize(Decimal("0.1"), rounding=rounding) + Decimal(0))


def four_digits(share: float, rounding: str) -> str:
    """Format a share with four digits; never "-0.0000"."""
    return str(Decimal(share).quantize(Decimal("0.0001"), rounding=rounding) + Decimal(0))


# -- ledgers -----------------------------------------------------------------------------------------------------------


def statement_text(statement: Any) -> str:
    """Format the bounds that an attempt tests."""
    of = f"of class {format_label(statement.pos_label)} at least"
    parts = {"at_most": "error rate at most", "recall": f"recall {of}", "precision": f"precision {of}"}
    shares = {text: getattr(statement, name) for name, text in parts.items()}
    return ", ".join(f"{text} {format_required(share)}" for text, share in shares.items() if share is not None)


def attempt_text(attempt: Any) -> str:
    """Format the outcome of an attempt, its level and the remaining budget."""
    outcome = f"{'Passed' if attempt.passed else 'Not passed'}: {attempt.statement}."
    counts = ""
    if attempt.told is not None:
        named = {"at_most": "errors on {} rows", "recall": "hits on {} rows", "precision": "hits on {} predictions"}
        counts = f" Counts: {', '.join(f'{k} {named[name].format(n)}' for name, (k, n) in attempt.told.items())}."
    before = ", made before" if attempt.repeated else ""
    left = format_share(attempt.left / attempt.delta)
    return (
        f"{outcome}{counts} Attempt {attempt.number}{before}, at level {format_level(attempt.level)}; {left} of delta "
        "is left."
    )


def cost_of_counts(values: int) -> str:
    """Warning about the cost of revealing the counts of an attempt."""
    return (
        f"revealing the counts divides the remaining delta by {values}, the number of possible values, so that "
        "later attempts are unlikely to pass"
    )


# -- monitors ----------------------------------------------------------------------------------------------------------


def monitor_text(monitor: Any) -> str:
    """Outcome of a monitor, observed error rate, and interpretation."""
    rows, units = monitor.rows, PLURAL[monitor.unit]
    alarm = "Alarm" if monitor.alarm else "No alarm"
    when = f"in {rows}" if monitor.alarm_at is None else f"after {monitor.alarm_at} of {rows}"
    bound = f"the bound is {written_percent(monitor.bound)}{_duplicates_clause(monitor.unit)}"
    observed = ""
    if rows:
        share = format_share(monitor.errors / rows)
        observed = f"{_format_errors(monitor.errors)} ({share}); "
        if monitor.unit == GROUP:
            observed = f"{share} errors per group on average; "
    return f"{alarm} for {monitor.about} {when} {units}: {observed}{bound}. {_interpretation(monitor)}"


def _interpretation(monitor: Any) -> str:
    if monitor.alarm:
        return (
            "Either the data have changed, or the certificate was false from the start, or this is a false alarm: the "
            f"probability of any false alarm, ever, is at most {format_delta(monitor.alpha)}."
        )
    if monitor.bound >= 1.0:
        return "There can be no alarm for a bound of 100 %."
    return (
        f"The largest e-value was {monitor.largest_e_value:.3g}; an alarm requires {monitor.needed:.6g}. Without an "
        "alarm, the certificate may still be violated: a small change takes many rows to detect."
    )


# A bound with at most this number of characters was entered by a user.
_MAX_WRITTEN = 6


def written_percent(bound: float) -> str:
    """Format a bound, rounded up; a short one without binary rounding: 0.05 is 5.0 %."""
    return format_required(bound) if len(repr(bound)) <= _MAX_WRITTEN else percent_up(bound)


# -- certificates ------------------------------------------------------------------------------------------------------


def certificate_summary_line(certificate: Any) -> str:
    """Short bound, with a warning if it does not beat the majority-class baseline."""
    if certificate.decision is not None:
        return str(certificate.decision.summary_line)
    most = percent_up(certificate.bound)
    if most == percent_up(1.0):
        return "No useful guarantee"
    warning = ", no better than the majority-class baseline" if certificate.beats_baseline is False else ""
    bound = f"At most {most} of predictions covered and wrong" if certificate.refit else f"Error rate at most {most}"
    return bound + warning


def _classifier(certificate: Any) -> str:
    """Name of the certified classifier in a guarantee; "this classifier" for the default voting."""
    name = certificate.holds_for
    return "this classifier" if name in (_SOFT, _SINGLE) else str(name)


def certificate_sentence(certificate: Any) -> str:
    """Guarantee in one sentence."""
    delta, unit, classifier = certificate.delta, certificate.unit, _classifier(certificate)
    if certificate.decision is not None:
        return str(certificate.decision.claim(delta, classifier))
    most = "100 %" if certificate.vacuous else percent_up(certificate.bound)
    if certificate.refit:
        whom = (
            "the rows of a new group, averaged over groups,"
            if unit == GROUP
            else f"new examples{_duplicates_clause(unit)}"
        )
        text = f"at most {most} of {whom} get a wrong prediction on which the refitted and the certified model agree"
    elif unit == GROUP:
        text = f"the per-group error rate of {classifier}, averaged over new groups, is at most {most}"
    else:
        text = f"the error rate of {classifier} on new examples{_duplicates_clause(unit, ',')} is at most {most}"
    return f"{_with_confidence(delta)}, {text}{': no useful guarantee' if certificate.vacuous else ''}."


def certificate_observations(certificate: Any) -> tuple[str, ...]:
    """Sentences on observed errors, the majority-class baseline, and often missed classes."""
    results = (_observed_errors(certificate), _baseline_comparison(certificate))
    if certificate.decision is not None:
        results = (certificate.decision.observed, "")
    by_class = {missed.of: missed for missed in certificate.missed}
    missed = by_class.get(certificate.positive, certificate.minority_class_missed)
    return tuple(sentence for sentence in (*results, missed and str(missed)) if sentence)


def certificate_text_lines(certificate: Any) -> tuple[str, ...]:
    """Lines of a certificate: the guarantee, the validation results with the baseline, and misses of a class."""
    results, baseline = certificate_observations(certificate), _baseline_comparison(certificate)
    if certificate.decision is None and baseline:
        results = (" ".join(results[:2]), *results[2:])
    return (certificate_sentence(certificate), *results)


def _observed_errors(certificate: Any) -> str:
    """Observed errors on the validation rows."""
    share, m, errors = (
        format_share(certificate.empirical_risk),
        certificate.m,
        certificate.empirical_risk * certificate.m,
    )
    before = " before the refit" if certificate.refit else ""
    if certificate.unit == GROUP:
        return f"{share} errors per validation group{before}, averaged over {m} groups."
    rows = f"{m} validation {PLURAL[certificate.unit]}"
    if certificate.distance != "binomial":
        return f"{share} errors on {rows}, averaged over the classifiers."
    if abs(errors - round(errors)) < 1e-6:
        return f"{_format_errors(round(errors))} on {rows}{before}."
    # With independent splits, the classifier may have more validation rows than m.
    return f"{share} errors on at least {rows}."


def _baseline_comparison(certificate: Any) -> str:
    """Comparison with the majority-class baseline; empty if it has no bound."""
    baseline = certificate.majority_class
    if baseline is None:
        return ""
    return worse_than_baseline(certificate) or f"{capitalise(baseline.note)}: at most {percent_up(baseline.bound)}."


def worse_than_baseline(certificate: Any) -> str:
    """Warning if the bound does not beat the majority-class baseline, else empty."""
    if certificate.beats_baseline is not False:
        return ""
    baseline = certificate.majority_class
    return f"No better than the {baseline.note}: at most {percent_up(baseline.bound)}."


def main_assumption(certificate: Any) -> str:
    """Sentence on the assumption that is violated most often, independence; empty without assumptions."""
    sentence = next((sentence for sentence in certificate.assumptions if "independent draws" in sentence), "")
    return sentence and f"Assumes that {sentence[0].lower()}{sentence[1:]}"


def certificate_text(certificate: Any) -> str:
    """Lines of a certificate, bounds of metrics, and the main assumption."""
    metrics = [metric.sentence for metric in certificate.metrics]
    assumption = f"Assumes that {PLURAL[certificate.unit]} are independent (see explain())."
    return "\n".join([*certificate.text_lines, *metrics, assumption])


def missed_text(missed: Any) -> str:
    """Sentence on the misclassified validation rows of a class."""
    return f"Class {missed.of!r}: {missed.missed} of {missed.rows} validation rows misclassified."


def baseline_observed(baseline: Any) -> str:
    """Observed error rate of a baseline, in brackets."""
    of = "per validation group" if baseline.unit == GROUP else "on the validation rows"
    return "" if baseline.empirical_risk is None else f" ({format_share(baseline.empirical_risk)} errors {of})"


def baseline_text(baseline: Any) -> str:
    """Guarantee of a baseline."""
    bound = "not available" if baseline.bound is None else f"at most {percent_up(baseline.bound)}{baseline.observed}"
    return f"{bound}: {baseline.note}"


def origin(certificate: Any, optimised: bool) -> str:
    """How the rule used for prediction was chosen."""
    if certificate.source == "training rows":
        return "fixed on the training rows"
    if certificate.source == "fixed before validation":
        return "fixed before validation"
    if optimised:
        return "optimised on the validation rows"
    return "fixed before validation, chosen on the validation rows"


def certificate_explained(certificate: Any) -> str:
    """Certificate, source, assumptions, alternatives and baselines, one per line."""
    lines = [*certificate.text_lines, "Details:", certificate.theorem]
    if certificate.refit:
        lines.append(
            "The model was refitted on all rows. A prediction is covered if the certified model, "
            f"{certificate.holds_for}, predicts the same class; covered(X) is the mask."
        )
    lines += [metric.sentence for metric in certificate.metrics]
    if certificate.decision is not None:
        lines += certificate.decision.details
    elif certificate.alternatives:
        number = len(certificate.alternatives) + 1
        lines.append(f"Of {number} rules, the one with the smallest bound: {certificate.rule}, {certificate.origin}.")
    if certificate.lower is not None:
        lines.append(f"Simultaneous lower bound: {percent_down(certificate.lower)}.")
    if certificate.copies is not None:
        lines.append(f"Validation rows equal to a training row in features and class: {certificate.copies}.")
    lines += _as_assumptions(certificate.assumptions)
    alternative = "Not jointly, on all examples" if certificate.abstains else "Alternative"
    lines += [f"{alternative}: {claim}." for claim in certificate.alternatives]
    return "\n".join(lines + [f"Baseline, {name}: {baseline}" for name, baseline in certificate.baselines.items()])
