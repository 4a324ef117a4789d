"""All words: of certificates and their assumptions, claims, decisions, limits, batches, comparisons and monitors.

The values hold numbers, and call the functions here with themselves; `Any` stands for them, as they stand below.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from pacbayes._utils.words import (
    OF_NEW,
    PLURAL,
    confidence,
    counted_once,
    digits_up,
    failure,
    format_level,
    format_params,
    format_share,
    percent_down,
    percent_up,
)
from pacbayes.data.split import DISTINCT, EXAMPLE, GROUP, Split

# -- assumptions -------------------------------------------------------------------------------------------------------

#: Where a prior came from, by `Plan.prior_kind`.
PRIORS = {
    "uniform": "The prior is uniform over the classifiers, whose list was fixed without looking at the data.",
    "given": "The prior was given, and chosen without looking at the validation rows.",
    "training rows": "The prior was computed from the classifiers' parameters and the training rows alone.",
    "cross-validation": "The prior was computed from errors in cross-validation within the training rows alone.",
    "parameters": "The prior was computed from the classifiers' parameters, without looking at the validation rows.",
}
ALONE = (
    "This certificate holds alone at its level, not jointly with those of the other ways of predicting; distance, "
    "delta and way of predicting were fixed before their results were seen."
)
BY_ROW = (
    "What a classifier, with all that prepares its rows, says of a row depends on that row alone, not on the rows "
    "it is asked about together with it."
)
#: What is assumed of the draws: on average over them, or of those of one key.
AVERAGED = "The bound is on the average over the draws of classifiers; random_state was chosen without the data."
KEYED = (
    "The bound is for the draws of this key, which is certified as it is; random_state, which fixed it, was chosen "
    "without the data."
)
#: What is said where limits were asked for.
NO_METRICS = (
    "There are no other limits: the rule that predicts is a posterior that the validation rows chose, of which none "
    "are proved."
)
METRICS_ASSUMPTION = (
    "The limits of classes, slices and other risks hold at once with the bound: they have {share:g} of the rule's "
    "level, and are about new examples of that class or slice. The slice of a row was fixed without a look at other "
    "rows or labels, and which classes there are, and what answers cost, without a look at the validation rows."
)
#: And where a target was.
TARGET = (
    "It answers an example if a score of confidence, fixed on the training rows, is large enough; thresholds were "
    "tested one after the other in an order fixed on the training rows, each at the whole of delta."
)
THRESHOLD = (
    "It answers by a threshold of the probability of one class; thresholds were tested one after the other in an order "
    "fixed on the training rows, each target at the whole of delta. Only the targets are certified: other numbers at "
    "that threshold are shown as they were observed."
)
#: After a refit.
REFIT = (
    "All rows trained the refitted classifier, and nothing is assumed of it. Bounded are its answers that the "
    "certified classifier gives too; of the others nothing is guaranteed."
)
#: What a statement about a batch rests on, beside what its certificate does.
BATCH_ASSUMPTIONS = (
    "The rows of the batch are independent draws from the distribution that the validation rows came from, and the "
    "model was not fitted with any of them.",
    "Which rows are in the batch, and how many, was not decided by their values, labels or answers.",
    "It is one statement about one batch. Several batches lean on the same validation rows: for k of them at once fit "
    "with delta / k.",
)
#: What a certificate from counts cannot check.
COUNTED = (
    "Counts show no rows: duplicates, rows of one group and rows that were used in training were not looked for, and "
    "each of them breaks the guarantee."
)
#: What a comparison rests on.
ROWS_COMPARED = (
    "The rows are independent draws from the population that the difference is about.",
    "Neither classifier was trained, tuned or chosen with these rows.",
    "What a classifier says of a row depends on that row alone.",
)
#: And with groups.
GROUPS_COMPARED = (
    "The groups are independent draws from the population that the difference is about; rows of one group may depend "
    "on each other in any way.",
    "The difference is of error rates within a group, on average over groups: every group counts once, whatever its "
    "size.",
    "Neither classifier was trained, tuned or chosen with rows of these groups.",
    ROWS_COMPARED[2],
)
# What must hold of what was drawn.
_DRAWN = {
    EXAMPLE: ("The rows are independent draws from the distribution that new examples come from.",),
    DISTINCT: (
        "Rows equal in features and class are one example that was copied after sampling. The distinct rows are "
        "independent draws from the distribution that new originals come from, and how often one was copied was not "
        "decided by looking at others.",
    ),
    GROUP: (
        "The groups are independent draws from the distribution that new groups come from; rows of one group may "
        "depend on each other in any way.",
        "Bounded is the mean over new groups of the share of errors among a group's rows. Every group counts once, "
        "whatever its size: it is not the share of errors among all rows.",
    ),
}
# And where the user divided: whatever the training rows are, only those that validate need be such draws.
_GIVEN = {
    unit: tuple(
        line.replace("The rows are", "Whatever rows trained, the validation rows are")
        .replace("The distinct rows are", "Whatever rows trained, the distinct validation rows are")
        .replace("The groups are", "Whatever groups trained, the validation groups are")
        for line in lines
    )
    for unit, lines in _DRAWN.items()
}


def roles(splits: Split) -> tuple[str, ...]:
    """Say which rows did what, and what must hold outside."""
    m, all_units, what = splits.m, splits.n_train + splits.m, PLURAL[splits.unit]
    if splits.prefit:
        return _elsewhere(m, what, splits.unit)
    others = f"the other {m} only counted"
    if splits.unit == GROUP:
        others = f"the rows of the other {m} only counted"
    elif splits.unit == DISTINCT:
        others = f"the other {m}, each taken once, only counted"
    if splits.kind == "shared":
        trained = "trained all classifiers, with everything fitted inside them (scaling, kernel width)"
        rows = f"{splits.n_train} of {all_units} {what} {trained}; {others} their errors."
    else:
        rows = (
            f"For each classifier {splits.n_train} {what} of {all_units}, drawn for it alone, trained it, "
            f"with everything fitted inside it (scaling, kernel width); {others} its errors."
        )
    if splits.own:
        by, drawn = f"The user divided the {what}; their labels must have had no part in that.", _GIVEN[splits.unit]
    else:
        by, drawn = f"The {what} were divided at random without looking at the labels.", _DRAWN[splits.unit]
    return (
        f"{rows} {by}",
        *drawn,
        "Nothing outside this estimator has seen the validation rows: not a scaler fitted before it in a Pipeline, "
        "not a GridSearchCV around it. What is fitted belongs inside: CertifiedClassifier(pipeline).",
    )


def _elsewhere(m: int, what: str, unit: str) -> tuple[str, ...]:
    """Say what somebody must ensure whose classifiers were trained on rows that are not here."""
    return (
        f"These {m} {what} trained, tuned and chose nothing: no classifier, and nothing that was fitted or chosen "
        "before (scaling, features, thresholds, early stopping, which classifiers are on the list). Which "
        f"{what} count errors was decided without looking at the labels.",
        *_DRAWN[unit],
        "What was proposed, if anything, was fixed before the errors were known.",
    )


def shares_of_delta(hedge: float, elsewhere: bool) -> tuple[str, ...]:
    """Say how delta was divided; nothing where it was not."""
    if hedge == 1.0:
        return ()
    if hedge == 0.0:
        fixed = "beforehand" if elsewhere else "on the training rows alone"
        return (f"What predicts was fixed {fixed}; the validation rows only counted its errors.",)
    proposed = "was proposed beforehand" if elsewhere else "the training rows proposed"
    return (
        f"Of delta, {format_share(1.0 - hedge)} was given to what {proposed} and {format_share(hedge)} "
        "to what the validation rows might show. Of all these rules the one with the smallest bound predicts.",
    )


# -- rules and claims --------------------------------------------------------------------------------------------------

#: When a rule was fixed, by way of predicting.
FIXED = {
    "soft": "its classifiers, their probabilities and weights were fixed before any validation row was looked at",
    "best": "the classifier was fixed before any validation row was looked at",
    "majority": "the weights of the vote were fixed before any validation row was looked at",
    "stochastic": "weights and key of the draws were fixed before any validation row was looked at, and it is "
    "certified for this key",
}
_NAMES = {
    "soft": "the soft vote",
    "majority": "the majority vote",
    "best": "the best single classifier",
    "stochastic": "the stochastic classifier",
}


def holds_for(voting: str, keyed: bool, alone: bool) -> str:
    """Name the classifier that a certificate holds for; `keyed` draws are those of one key."""
    return "the classifier" if alone else _NAMES[voting] + (" with its key" if keyed else "")


def doubled(theorem: str) -> str:
    """Say where the bound of a vote comes from that is twice that of draws."""
    return (
        "Twice the stochastic classifier's bound: the price of a guarantee for the vote, which usually errs less than "
        f"the stochastic classifier. {theorem}"
    )


def chosen_within(named: str, tried: int, number: int, folds: int) -> str:
    """Say which classifier was chosen by cross-validation within the training rows, and among how many."""
    among = f"all {tried}" if tried == number else f"{tried} of {number}"
    return f"{named}, chosen among {among} by {folds}-fold cross-validation within the training rows"


def classifier(index: int, params: Any) -> str:
    """Name a classifier by its number and parameters."""
    return f"classifier {index} ({format_params(params)})"


def format_label(label: Any) -> str:
    """Return a label as it is written in a sentence.

    Examples
    --------
    >>> format_label("no"), format_label(np.int64(1)), len(format_label("x" * 500))
    ("'no'", '1', 41)
    """
    text = repr(label.item() if isinstance(label, np.generic) else label)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


# Longer names of classes are cut.
_LONGEST = 40

# -- decisions ---------------------------------------------------------------------------------------------------------

#: What there may be targets of, in words, and on which side of the target they are to lie.
MEASURES = {
    "recall": ("recall", "recall", "at least"),
    "precision": ("the precision", "precision", "at least"),
    "fpr": ("the false positive rate", "false positive rate", "at most"),
}


def format_max_error(decision: float) -> str:
    """Return a target as a person wrote it: 0.02 is 2.0 %, not the double next to it.

    Examples
    --------
    >>> format_max_error(0.02), format_max_error(0.0125), format_max_error(0.3)
    ('2.0 %', '1.25 %', '30.0 %')
    """
    written = 100 * Decimal(repr(float(decision)))
    tenths = written.quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return f"{tenths if tenths == written else written.normalize():f} %"


def answered_headline(answered: Any) -> str:
    """Return the outcome of `Abstain` in the fewest words."""
    decision = format_max_error(answered.max_error)
    if not answered.passed:
        return f"Answers nothing: {decision} was not reached"
    return f"At most {decision} errors among the {percent_down(answered.share)} that it answers"


def answered_claim(answered: Any, sure: str, who: str) -> str:
    """Return the guarantee of `Abstain`, after `sure`: with which probability; `who` is what it is about."""
    decision = format_max_error(answered.max_error)
    if answered.passed:
        return (
            f"{sure} {who} errs on at most {decision} of the examples that it answers{counted_once(answered.unit)}; it "
            f"answered {format_share(answered.share)} of the validation {PLURAL[answered.unit]}."
        )
    said = (
        f"{_capital(who)} answers no example: where the training rows expected at most {decision} errors, the "
        "validation rows did not confirm it."
    )
    if answered.smallest_max_error is None:
        return said
    would = format_max_error(answered.smallest_max_error)
    return f"{said} The smallest target that would have passed is {would}, which is information and no guarantee."


def answered_details(answered: Any) -> list[str]:
    """Return how the threshold of `Abstain` was found."""
    if not answered.passed:
        return [f"The threshold that the training rows put first did not pass; {answered.tested} tested."]
    return [
        f"Of {answered.tested} thresholds tested in an order fixed on the training rows, each at the whole of delta, "
        "it is the loosest that passed."
    ]


def measures(shares: dict[str, str], positive: Any) -> str:
    """Return shares of measures of a class in words; `shares` are texts by the name of the measure."""
    parts: list[str] = []
    for name, text in shares.items():
        first, later, side = MEASURES[name]
        of = f"{first} of class {_label(positive)} is"
        parts.append(f"its {later} {side} {text}" if parts else f"{of} {side} {text}")
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def targets(asked: dict[str, float], positive: Any) -> str:
    """Return the targets of `Threshold` in words."""
    return measures({name: format_max_error(share) for name, share in asked.items()}, positive)


def reached_headline(reached: Any) -> str:
    """Return the outcome of `Threshold` in the fewest words."""
    asked = reached.decision.required.items()
    said = " and ".join(f"{MEASURES[name][1]} {MEASURES[name][2]} {format_max_error(share)}" for name, share in asked)
    return _capital(said) if reached.passed else f"Not reached: {said}"


def reached_claim(reached: Any, sure: str, who: str) -> str:
    """Return the guarantee of `Threshold`, after `sure`: with which probability; `who` is what it is about."""
    words = targets(reached.decision.required, reached.positive)
    if reached.passed:
        once = " Each example counts once, however often it is copied." if reached.unit == DISTINCT else ""
        return f"{sure} at the threshold {reached.shown} {words}.{once}"
    why = next((_too_few(reached, *lacking) for lacking in reached.lacking), None) or _shown_first(reached)
    return f"No threshold was shown to reach the target: {words}. {why} {_capital(who)} predicts as without a target."


def _too_few(reached: Any, name: str, rows: int, needed: int, least: float) -> str:
    """Say which target the validation rows cannot reach, however well they are told apart."""
    of = "the other class" if name == "fpr" else f"class {_label(reached.positive)}"
    best = f", which can show {_bound_in_words(name, least)} at best." if rows else "."
    return (
        f"Not enough data: a {MEASURES[name][1]} of {format_max_error(reached.decision.required[name])} takes at least "
        f"{needed} validation {PLURAL[reached.unit]} of {of}, there are {rows}{best}"
    )


def _shown_first(reached: Any) -> str:
    """Say what the rows show at the threshold that was tested first, each bound alone."""
    bounds = {name: _bound_in_words(name, reached.limit(name)) for name in reached.decision.required}
    every = reached.answered == reached.m
    all_rows = f", where every row is answered {_label(reached.positive)}" if every else ""
    return (
        f"At the one that was tested first, {reached.shown}{all_rows}, {measures(bounds, reached.positive)}, each "
        "alone: this is information and no guarantee."
    )


def reached_details(reached: Any) -> list[str]:
    """Return how the threshold of `Threshold` was found, and what was observed."""
    rule = f"An example is answered {reached.positive!r} if its probability of that is at least {reached.shown}"
    start = f"{rule}." if reached.passed else "The threshold that the training rows put first did not pass."
    number = f"{reached.tested} {'was' if reached.tested == 1 else 'were'} tested"
    return [
        f"{start} Thresholds are tested in an order fixed on the training rows, every target at the whole of delta, up "
        f"to the first failure; {number}.",
        f"There {reached.hits} of {reached.positives} validation {PLURAL[reached.unit]} of the class and "
        f"{reached.errors_of_others} of {reached.m - reached.positives} others are answered so.",
    ]


def reached_observed(reached: Any) -> str:
    """Return what the validation rows showed at the threshold in use; empty where nothing passed."""
    if not reached.passed:
        return ""
    seen = {MEASURES[name][1]: getattr(reached, name) for name in MEASURES}
    shares = ", ".join(f"{name} {'–' if share is None else format_share(share)}" for name, share in seen.items())
    return f"Observed at {reached.shown}, and not guaranteed: {shares}."


def _bound_in_words(name: str, wrong: float) -> str:
    """Write the bound of a measure, whose share of errors is at most `wrong`."""
    return percent_up(wrong) if name == "fpr" else percent_down(1.0 - wrong)


def _label(positive: Any) -> str:
    return repr(positive.item() if isinstance(positive, np.generic) else positive)


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


# -- limits of other risks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """How a risk is called, and what is said of a limit and of what was counted."""

    title: str
    seen: str
    claim: str = "{most}"


_ERRORS = "{count} {errors} on {rows} validation {units}"

#: All risks by name, in the order in which they are listed; what they are is in risks.py.
WORDS: dict[str, Words] = {
    "error": Words("error", _ERRORS, "errs on {most}"),
    "recall": Words("recall", "found {count} of its {rows} validation {units}"),
    "precision": Words("precision", "{count} of {rows} such answers are right"),
    "f1": Words("F1", "{count} are right of {rows} validation {units} of this class or answered so"),
    "specificity": Words("specificity", "{count} of {rows} validation {units} of other classes are not answered so"),
    "balanced_error": Words("balanced error", _ERRORS),
    "youden": Words("Youden's index", "{count} of {rows} validation {units} are right about this class"),
    "cost": Words("cost", "{count} in all on {rows} validation {units}", "on average {most}"),
}


def metric_label(limit: Any) -> str:
    """Return what a limit is of, as it is called in a sentence."""
    title = WORDS[limit.name].title
    if limit.kind == "all":
        return title
    if limit.kind == "shares":
        return f"{title} with the shares {', '.join(f'{name!r}: {share:g}' for name, share in limit.of.items())}"
    shown = format_label(limit.of)
    where = f"{limit.column} = {shown}" if limit.column else f"{limit.kind} {shown}"
    return where if limit.name == "error" else f"{title} of {where}"


def metric_value(limit: Any) -> str:
    """Return the bound in words: on which side of the truth, and rounded away from it."""
    if limit.name == "cost":
        return f"at most {digits_up(limit.bound)}"
    return f"at most {percent_up(limit.bound)}" if limit.side == "upper" else f"at least {percent_down(limit.bound)}"


def metric_claim(limit: Any) -> str:
    """Return what a limit guarantees."""
    among = f" of it{counted_once(limit.unit)}" if limit.is_partial_error else ""
    most = metric_value(limit)
    if limit.covered and limit.name == "error":
        return f"{most}{among or ' of all'} get an answer that is covered and wrong"
    said = WORDS[limit.name].claim.format(most=most) + among
    return f"{said}, of covered answers alone" if limit.covered else said


def metric_observed(limit: Any) -> str:
    """Return what was counted for a limit."""
    count = f"{limit.count:g}" if limit.name == "cost" else str(limit.count)
    number = "error" if limit.count == 1 else "errors"
    return WORDS[limit.name].seen.format(count=count, rows=limit.rows, units=PLURAL[limit.unit], errors=number)


def metric_sentence(limit: Any) -> str:
    """Return a limit as a sentence."""
    text = str(limit)
    return f"In {text}." if limit.is_partial_error else f"{_capital(text)}."


# -- batches -----------------------------------------------------------------------------------------------------------


def batch_text(batch: Any) -> str:
    """Return what is guaranteed of a batch."""
    sure, rows = f"probability at least {confidence(batch.delta)}", batch.rows
    if batch.wrong == rows > 0:
        these = "this one answer" if rows == 1 else f"these {rows} answers"
        return f"With {sure} nothing can be said of {these}: {'it' if rows == 1 else 'all'} may be wrong."
    limit = f"at most {batch.wrong} of these {rows} answers are wrong"
    if rows == 1:
        limit = "this answer is right"
    elif batch.wrong == 0:
        limit = f"none of these {rows} answers is wrong"
    number, covered, known = batch.not_covered, "", ""
    if number:
        covered = f" {'1 is' if number == 1 else f'{number} are'} not covered, and counted among these."
    if batch.seen:
        equal = "1 row equals a row" if batch.seen == 1 else f"{batch.seen} rows equal rows"
        known = f" {equal} behind the model: if they are the same examples, it does not hold."
    return (
        f"With {sure} over sample and batch, {limit}.{covered} This batch is one statement, beside the certificate and "
        f"not at once with it.{known}"
    )


def batch_explained(batch: Any) -> str:
    """Return the statement, the counts it comes from and its assumptions, one to a line."""
    counted = f"{batch.errors} error{'' if batch.errors == 1 else 's'} on {batch.m} validation rows"
    theorem = f"The exact limit of a hypergeometric distribution, from {counted}, at level {format_level(batch.level)}."
    return "\n".join([batch_text(batch), theorem, *(f"Assumed: {one}" for one in BATCH_ASSUMPTIONS)])


# -- comparisons -------------------------------------------------------------------------------------------------------


def difference_text(difference: Any) -> str:
    """Return how much two classifiers differ."""
    among = "" if difference.of is None else f"on examples of class {difference.of!r} "
    among = among if difference.groups is None else f"on {OF_NEW[GROUP]}, "
    return f"With probability at least {confidence(difference.delta)}, {among}{_compared(difference)}"


def _compared(difference: Any) -> str:
    (a, b), low, high = difference.names, difference.lower, difference.upper
    if high < 0.0:
        least, most = points(-high, ROUND_FLOOR), points(-low, ROUND_CEILING)
        return f"{b} errs at least {least} percentage points less often than {a}, and at most {most}."
    if low > 0.0:
        least, most = points(low, ROUND_FLOOR), points(high, ROUND_CEILING)
        return f"{b} errs at least {least} percentage points more often than {a}, and at most {most}."
    more, less = points(high, ROUND_CEILING), points(-low, ROUND_CEILING)
    return f"{b} errs at most {more} percentage points more often than {a}, and at most {less} less often."


def difference_explained(difference: Any) -> str:
    """Return the claim, the counts it comes from and its assumptions, one to a line."""
    one, (a, b) = difference, difference.names
    of, how = f"{one.m} rows", "exact, from the rows on which one errs alone"
    if one.groups is not None:
        of, how = f"{of} in {one.groups} groups", "from bets on the differences of the groups"
    seen = [f"{errors} ({format_share(errors / one.m)})" for errors in (one.both + one.only_a, one.both + one.only_b)]
    counts = (
        f"{a} errs on {seen[0]} and {b} on {seen[1]}: both on {one.both}, {a} alone on {one.only_a}, {b} alone on "
        f"{one.only_b}"
    )
    lines = [difference_text(one), f"Of {of}, {counts}.", f"Both limits are {how}, each at half of delta."]
    return "\n".join(lines + [f"Assumed: {assumption}" for assumption in one.assumptions])


def difference_title(difference: Any) -> str:
    """Return which classifier errs less often, in the fewest words."""
    a, b = difference.names
    return (
        f"{difference.better} errs less often" if difference.better else f"Not known whether {a} or {b} errs less often"
    )


def points(share: float, rounding: str) -> str:
    """Return a share in percentage points with one decimal, rounded as asked; never "-0.0"."""
    return str((100 * Decimal(share)).quantize(Decimal("0.1"), rounding=rounding) + Decimal(0))


def four_digits(share: float, rounding: str) -> str:
    """Return a share with four digits, rounded as asked; never "-0.0000"."""
    return str(Decimal(share).quantize(Decimal("0.0001"), rounding=rounding) + Decimal(0))


# -- ledgers -----------------------------------------------------------------------------------------------------------


def statement_text(statement: Any) -> str:
    """Write the bounds that an attempt has to prove."""
    of = f"of class {format_label(statement.pos_label)} at least"
    parts = {"at_most": "error rate at most", "recall": f"recall {of}", "precision": f"precision {of}"}
    shares = {text: getattr(statement, name) for name, text in parts.items()}
    return ", ".join(f"{text} {format_max_error(share)}" for text, share in shares.items() if share is not None)


def attempt_text(attempt: Any) -> str:
    """Write the outcome of an attempt, its level and the remaining budget."""
    said = f"{'Passed' if attempt.passed else 'Not passed'}: {attempt.statement}."
    counts = ""
    if attempt.told is not None:
        named = {"at_most": "errors on {} rows", "recall": "hits on {} rows", "precision": "hits on {} predictions"}
        counts = f" Counts: {', '.join(f'{k} {named[name].format(n)}' for name, (k, n) in attempt.told.items())}."
    before = ", made before" if attempt.repeated else ""
    left = format_share(attempt.left / attempt.delta)
    return (
        f"{said}{counts} Attempt {attempt.number}{before}, at level {format_level(attempt.level)}; {left} of delta is "
        "left."
    )


def price_of_counts(values: int) -> str:
    """State what telling the counts of an attempt costs."""
    return (
        f"telling the counts divides what is left of delta by {values}, the number of values that they can have: "
        "later attempts will hardly pass"
    )


# -- monitors ----------------------------------------------------------------------------------------------------------


def monitor_text(monitor: Any) -> str:
    """Return whether there was an alarm, what was counted and what that means."""
    rows, units = monitor.rows, PLURAL[monitor.unit]
    said = "Alarm" if monitor.alarm else "No alarm"
    where = f"in {rows}" if monitor.alarm_at is None else f"after {monitor.alarm_at} of {rows}"
    limit = f"the limit is {written_percent(monitor.bound)}{counted_once(monitor.unit)}"
    seen = f"{_capital(limit)}."
    if rows:
        share, every = format_share(monitor.errors / rows), f"all {rows} {units}"
        wrong = f"Of {every}, {monitor.errors:g} ({share}) were wrong"
        if monitor.unit == GROUP:
            wrong = f"In {every}, {share} of the rows of a group were wrong, on average"
        seen = f"{wrong}; {limit}."
    return f"{said} for {monitor.about} {where} {units}. {seen} {_meaning(monitor)}"


def _meaning(monitor: Any) -> str:
    if monitor.alarm:
        return (
            "Either the rows have changed, or the certificate was false from the start, or this is chance: if the "
            "certificate is true and nothing changed, an alarm is ever seen with probability at most "
            f"{failure(monitor.alpha)}."
        )
    if monitor.bound >= 1.0:
        return "A limit of 100 % says nothing, so there can be no alarm."
    largest = max(1.0, float(monitor.e_values.max(initial=0.0)))
    return (
        f"The evidence was at most {largest:.3g}; an alarm takes {monitor.needed:.6g}. No alarm does not prove that "
        "the certificate still holds: a small change takes many rows to show."
    )


# A limit with at most so many characters was written by a person.
_WRITTEN = 6


def written_percent(limit: float) -> str:
    """Return a limit rounded up, but one that a person wrote as it was written: 0.05 is 5.0 %."""
    return format_max_error(limit) if len(repr(limit)) <= _WRITTEN else percent_up(limit)


# -- certificates ------------------------------------------------------------------------------------------------------


def certificate_headline(one: Any) -> str:
    """Return the bound in the fewest words, with a warning where always giving the same answer does as well."""
    if one.decision is not None:
        return str(one.decision.headline)
    most = percent_up(one.bound)
    if most == percent_up(1.0):
        return "No useful guarantee"
    unbeaten = ", no better than always giving the same answer" if one.beats_baseline is False else ""
    return f"At most {most} {'of the predictions are covered and wrong' if one.refit else 'errors'}{unbeaten}"


def certificate_sentence(one: Any) -> str:
    """Return what is guaranteed, in one sentence."""
    sure = f"With probability at least {confidence(one.delta)},"
    if one.decision is not None:
        return str(one.decision.claim(sure, one.holds_for))
    most = "100 %" if one.vacuous else percent_up(one.bound)
    if one.refit:
        whom = f"all {OF_NEW[one.unit]}" if one.unit == EXAMPLE else f"{OF_NEW[one.unit]},"
        said = f"{sure} at most {most} of {whom} get an answer that is covered and wrong"
    else:
        said = f"{sure} {one.holds_for} errs on at most {most} of {OF_NEW[one.unit]}"
    return said + (": this certificate says nothing." if one.vacuous else ".")


def certificate_lines(one: Any) -> tuple[str, ...]:
    """Return the guarantee, what was seen, and the class that it says too little of."""
    seen = (f"{_erred(one)}.", _beside(one)) if one.decision is None else (one.decision.observed,)
    missed = {missed.of: missed for missed in one.missed}.get(one.positive, one.minority_class_missed)
    return tuple(line for line in (certificate_sentence(one), *seen, missed and str(missed)) if line)


def _erred(one: Any) -> str:
    """Say how often it erred on the validation rows."""
    who = f"{_capital(one.holds_for)}, before the refit," if one.refit else "It"
    share = format_share(one.empirical_risk)
    if one.unit == GROUP:
        return f"{who} erred on {share} of the rows of {one.m} validation groups, on average"
    rows, errors = f"{one.m} validation {PLURAL[one.unit]}", one.empirical_risk * one.m
    if one.distance == "binomial" and abs(errors - round(errors)) < 1e-6:
        return f"{who} erred on {round(errors)} of {rows}"
    if one.distance == "binomial":  # a classifier with validation rows of its own, more than the least number
        return f"{who} erred on {share} of its validation rows, at least {one.m}"
    return f"Its classifiers erred on {share} of {rows}, on average"


def _beside(one: Any) -> str:
    """Say how often always giving the same answer errs, where that is known."""
    if one.constant is None:
        return ""
    return (
        worse_than_baseline(one)
        or f"{_capital(one.constant.note)}: error rate at most {percent_up(one.constant.bound)}."
    )


def worse_than_baseline(one: Any) -> str:
    """Say that always giving the same answer does as well; empty if it does not, or if that is not known."""
    if one.beats_baseline is not False:
        return ""
    return f"That is no better than the {one.constant.note}: error rate at most {percent_up(one.constant.bound)}."


def missed_text(missed: Any) -> str:
    """Return how many validation rows of a class got another answer."""
    rows = "1 validation row" if missed.rows == 1 else f"{missed.rows} validation rows"
    return f"Of {rows} of class {missed.of!r} it missed {missed.missed or 'none'}."


def baseline_seen(baseline: Any) -> str:
    """Return the share of validation errors in brackets, as it stands behind the bound."""
    of = "the rows of a validation group, on average" if baseline.unit == GROUP else "the validation rows"
    return "" if baseline.empirical_risk is None else f" ({format_share(baseline.empirical_risk)} of {of})"


def baseline_text(baseline: Any) -> str:
    """Return what another method guarantees."""
    said = "not available" if baseline.bound is None else f"at most {percent_up(baseline.bound)}{baseline.seen}"
    return f"{said}: {baseline.note}"


def origin(one: Any, found: bool) -> str:
    """Return what fixed the rule that predicts, and where that is something else, what picked it."""
    if one.source == "training rows":
        return "which the training rows proposed"
    if one.source == "fixed beforehand":
        return "which was proposed beforehand"
    if found:
        return "which was found on the validation rows"
    return "whose weights were fixed before any validation row was looked at, and which the validation rows picked"


def certificate_explained(one: Any) -> str:
    """Return the certificate, then in detail where it comes from, its assumptions and baselines, one to a line."""
    lines = [*one.lines, "Details:", one.theorem]
    if one.refit:
        lines.append(
            f"The model was refitted on all rows. An answer is covered where {one.holds_for}, which was certified, "
            "gives it too; covered(X) says which are."
        )
    lines += [limit.sentence for limit in one.metrics]
    if one.decision is not None:
        lines += one.decision.details
    elif one.alternatives:
        number = len(one.alternatives) + 1
        lines.append(f"Of {number} rules one has the smallest bound: the {one.rule}, {one.origin}.")
    if one.lower is not None:
        lines.append(f"Under the same guarantee, it errs on at least {percent_down(one.lower)}.")
    if one.copies is not None:
        lines.append(f"Validation rows that equal a training row in features and class: {one.copies}.")
    lines += [f"Assumed: {assumption}" for assumption in one.assumptions]
    beside = "Beside it" if not one.abstains else "Not at once with it, about all examples:"
    lines += [f"{beside} {claim}." for claim in one.alternatives]
    return "\n".join(lines + [f"Compare {name}: {baseline}" for name, baseline in one.baselines.items()])
