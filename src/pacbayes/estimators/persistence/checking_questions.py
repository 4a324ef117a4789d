"""What the counts behind limits by class, and behind a target, must be like in a saved model."""

from typing import Any

import numpy as np

from pacbayes.certificates.certify import VOTINGS
from pacbayes.certificates.questions.by_class import PartErrors, check_class_share
from pacbayes.certificates.questions.selective import ThresholdCounts, Thresholds, check_max_error
from pacbayes.data.division import GROUP
from pacbayes.estimators.questions.asked import Asked, check_questions
from pacbayes.numeric.checks import need

_PLAIN = (str, int, float, bool)


def check_asked(model: Any) -> None:
    """Raise unless what was asked is proved for such a model, and was counted on its validation rows."""
    asked, classifiers = model._asked, model.classifiers_
    need(isinstance(asked, Asked), "_asked", "must be what was asked")
    check_questions(asked.class_share, asked.max_error, model.hedge_)
    need(type(asked.class_share) is float, "Asked.class_share", "must be a number")
    need(type(asked.slices) is tuple, "Asked.slices", "must be a tuple")
    need(all(type(name) in _PLAIN for name in asked.slices), "Asked.slices", "must be numbers or text")
    need(type(asked.slice_column) is str, "Asked.slice_column", "must be text")
    grouped = classifiers.splits.unit == GROUP
    asks = check_class_share(asked.class_share) > 0.0 or asked.max_error is not None
    need(not (grouped and asks), "_asked", "must be nothing where rows come in groups")
    _check_parts(model, asked)
    if asked.max_error is None:
        need(asked.thresholds is None and asked.tested == {}, "Asked.tested", "must be empty without a target")
        return
    check_max_error(asked.max_error)
    _check_thresholds(asked.thresholds, classifiers.splits.n_rows)
    number = asked.thresholds.values.size
    need(type(asked.tested) is dict and set(asked.tested) == set(VOTINGS), "Asked.tested", "must be of every voting")
    for voting, tested in asked.tested.items():
        need(isinstance(tested, ThresholdCounts), "Asked.tested", "must be counts")
        _check_counts(tested.answered, tested.wrong, number, classifiers.m, "ThresholdCounts")
        own = next(rule for rule in model._rules if (rule.voting, rule.name) == (voting, "proposal"))
        need(tested.answered[-1] == classifiers.m, "ThresholdCounts.answered", "must be all rows at the last threshold")
        need(
            tested.wrong[-1] == own.errors,
            "ThresholdCounts.wrong",
            "must be the proposal's errors at the last threshold",
        )


def _check_parts(model: Any, asked: Asked) -> None:
    number = model.classes_.size + len(asked.slices)
    counted = [rule.in_parts for rule in model._rules]
    if asked.class_share == 0.0:
        need(asked.occam is None and not asked.slices, "Asked", "must hold nothing by class without a share for it")
        need(all(one is None for one in counted), "Rule.in_parts", "must be None without a share for it")
        return
    for rule in model._rules:
        _check_part_errors(rule.in_parts, number, model.classes_.size, rule.errors, model.classifiers_.m)
    need((asked.occam is None) == (model.hedge_ == 0.0), "Asked.occam", "must be there where there is a hedge")
    if asked.occam is None:
        return
    need(type(asked.occam) is tuple and len(asked.occam) == 2, "Asked.occam", "must be a pair")
    index, parts = asked.occam
    inside = type(index) is int and 0 <= index < len(model.classifiers_)
    need(inside, "Asked.occam", "must be the number of a classifier")
    errors = int(model.classifiers_.errors[index])
    _check_part_errors(parts, number, model.classes_.size, errors, model.classifiers_.m)


def _check_part_errors(parts: Any, number: int, n_classes: int, errors: int, m: int) -> None:
    """Raise unless rows and errors are counts for every class and slice, with the sums of the whole."""
    need(isinstance(parts, PartErrors), "PartErrors", "must be counts by class")
    for values in (parts.rows, parts.errors):
        whole = type(values) is np.ndarray and values.dtype == np.int64 and values.shape == (number,)
        need(whole and bool((values >= 0).all()), "PartErrors", f"must be {number} counts")
    need(bool((parts.errors <= parts.rows).all()), "PartErrors.errors", "must not be more than rows")
    for part in (slice(0, n_classes), slice(n_classes, None)):
        if parts.rows[part].size:
            need(int(parts.rows[part].sum()) == m, "PartErrors.rows", f"must have the sum {m}")
            need(int(parts.errors[part].sum()) == errors, "PartErrors.errors", f"must have the sum {errors}")


def _check_thresholds(thresholds: Any, most: int) -> None:
    need(isinstance(thresholds, Thresholds), "Asked.thresholds", "must be there for a target")
    values = thresholds.values
    ordered = type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1 and values.size > 0
    need(ordered, "Thresholds.values", "must be numbers")
    need(bool((values[1:] < values[:-1]).all()) and values[-1] == -np.inf, "Thresholds.values", "must fall to -inf")
    _check_counts(thresholds.answered, thresholds.wrong, values.size, most, "Thresholds")


def _check_counts(answered: Any, wrong: Any, number: int, most: int, name: str) -> None:
    for values in (answered, wrong):
        whole = type(values) is np.ndarray and values.dtype == np.int64 and values.shape == (number,)
        need(whole and bool((values >= 0).all()), name, f"must hold {number} counts")
        need(bool((np.diff(values) >= 0).all()), name, "must not fall as thresholds do")
    need(bool((wrong <= answered).all()) and answered[-1] <= most, name, f"must be wrong among answered of {most}")
