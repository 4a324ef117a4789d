"""What must hold of what certificates follow from in a file: cross-validation, rules, posterior, limits, targets."""

import math
from typing import Any

import numpy as np

from pacbayes.certificates.certify import OCCAM, POSTERIOR, VOTINGS
from pacbayes.certificates.posterior_choice import BITS, integer_weights, weights_of
from pacbayes.certificates.questions.by_class import PartErrors, check_class_share
from pacbayes.certificates.questions.selective import ThresholdCounts, Thresholds, check_max_error
from pacbayes.certificates.rules.given_proposal import given_rules
from pacbayes.certificates.rules.proposals import STRENGTHS
from pacbayes.certificates.rules.rule import PROPOSAL, Rule
from pacbayes.certificates.rules.tandem_vote import TANDEM
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.classifiers.packed_errors import PackedErrors
from pacbayes.data.division import GROUP, Splits
from pacbayes.estimators.prediction.draws import draw_key
from pacbayes.estimators.questions.asked import Asked, check_questions
from pacbayes.estimators.training.prior import resolve_prior
from pacbayes.estimators.training.training_choices import CROSS_VALIDATION
from pacbayes.numeric.checks import need, need_array, need_rows, need_whole

# By how much weights may differ from those that are computed here: another machine may round otherwise.
TOLERANCE = 1e-9


def check_rules(model: Any) -> None:
    """Raise unless rules are whole weights with counted errors, one proposal for each way where there is a hedge."""
    hedge, rules, classifiers = model.hedge_, model._rules, model.classifiers_
    need(type(hedge) is float and 0.0 <= hedge <= 1.0, "hedge_", "must be from 0 to 1")
    need(type(rules) is tuple and all(isinstance(rule, Rule) for rule in rules), "_rules", "must be rules")
    names = [(rule.voting, rule.name) for rule in rules]
    known = all(voting in VOTINGS and type(name) is str for voting, name in names)
    need(known and len(set(names)) == len(names), "Rule", "must have a way of predicting, and a name of its own")
    need(not any(name in (POSTERIOR, OCCAM, TANDEM) for _, name in names), "Rule.name", "must not be that of another")
    proposals = {voting for voting, name in names if name == PROPOSAL}
    need(proposals == (set(VOTINGS) if hedge < 1.0 else set()), "_rules", "must hold the proposals")
    need(hedge < 1.0 or not rules, "_rules", "must be empty where nothing is proposed")
    proposed = classifiers.trained_elsewhere or model._cross_validated is not None
    need(hedge == 1.0 or proposed, "_cross_validated", "must be there for a proposal")
    for rule in rules:
        _check_parts(rule, len(classifiers))
        check_counted(rule.errors, "Rule.errors", classifiers.splits)
        need(rule.is_alone or rule.voting != "best", "Rule.parts", "must be one classifier")
        # Its errors are stored twice.
        need(not rule.is_alone or rule.erred_as(classifiers.counted), "Rule.errors", "must be the same")


def check_follows(model: Any) -> None:
    """Raise unless prior, rules and key are what the stored cross-validation, proposal and seed give."""
    classifiers, found = model.classifiers_, model._cross_validated
    if model._prior_kind == CROSS_VALIDATION:
        need(found is not None, "_prior_kind", "must not be from a cross-validation that is not there")
        expected = resolve_prior(CROSS_VALIDATION, classifiers.params, None, found, classifiers.splits)
        assert expected is not None
        need(
            np.allclose(model.prior_, expected, rtol=TOLERANCE, atol=0.0), "prior_", "must follow from cross-validation"
        )
    if not classifiers.trained_elsewhere:
        need(model._key == draw_key(classifiers.splits.seed), "_key", "must follow from the seed")
    if model.hedge_ == 1.0:
        return
    given: tuple[Rule, ...] = ()
    if found is None:
        proposal = next(rule for rule in model._rules if rule.name == PROPOSAL and rule.voting == "stochastic")
        given = given_rules(weights_of(proposal.parts), len(classifiers))
    source = "the proposal" if found is None else "the stored cross-validation"
    need(_same_rules(model._rules, model._proposed(given)), "Rule.parts", f"must follow from {source}")


def _same_rules(stored: tuple[Rule, ...], expected: tuple[Rule, ...]) -> bool:
    """Return whether rules have the same weights but for rounding.

    That decides, too, whether a vote is the same as the proposed one, and therefore left out.
    """
    left, right = ({(rule.voting, rule.name): rule.parts for rule in rules} for rules in (stored, expected))
    for voting, name in left.keys() | right.keys():
        proposal = right[voting, PROPOSAL]
        apart = left.get((voting, name), proposal) - right.get((voting, name), proposal)
        if np.abs(apart).max() > TOLERANCE * 2**BITS:
            return False
    return True


def _check_parts(rule: Rule, number: int) -> None:
    need_array(rule.parts, "Rule.parts", "i", (number,))
    whole = bool((rule.parts >= 0).all() and (rule.parts <= 2**BITS).all()) and sum(rule.parts.tolist()) == 2**BITS
    need(whole, "Rule.parts", "must be whole multiples of 2^-52 with the sum one")


def check_tandem(model: Any) -> None:
    """Raise unless the vote of the tandem bound has whole weights, and a set that knows who errs on which row."""
    rule, classifiers = model._tandem, model.classifiers_
    need((rule is None) == (classifiers.kept_errors is None), "_tandem", "must be there with the errors of rows")
    if rule is None:
        return
    need(isinstance(rule, Rule), "_tandem", "must be a rule")
    need((rule.voting, rule.name) == ("majority", TANDEM), "_tandem", "must be the vote of that name")
    need(model.hedge_ > 0.0, "_tandem", "must be None where nothing is kept for it")
    _check_parts(rule, len(classifiers))
    shared = classifiers.splits.kind == "shared"
    need((rule.errors is None) != shared, "Rule.errors", "must be counted where rows validate all classifiers")
    if shared:
        check_counted(rule.errors, "Rule.errors", classifiers.splits)


def check_kept_errors(kept: Any, classifiers: ClassifierSet) -> None:
    """Raise unless bits that say who errs on which row agree with the errors and the division of a set."""
    splits = classifiers.splits
    need(type(kept) is PackedErrors, "PackedErrors", "must be bits")
    assert splits is not None
    need(splits.unit != GROUP and splits.kind != "independent", "PackedErrors", "must not be there for such rows")
    n_rows = splits.n_rows if splits.shared is None else splits.shared[1].size
    need(type(kept.n_rows) is int and kept.n_rows == n_rows, "PackedErrors.n_rows", f"must be {n_rows}")
    shape = (len(classifiers), -(-n_rows // 8))
    ones = np.packbits(np.ones(n_rows, dtype=bool))
    need_array(kept.packed, "PackedErrors.packed", "u", shape)
    need(not (kept.packed & ~ones).any(), "PackedErrors.packed", "must be zero beyond the last row")
    assert classifiers.errors is not None
    need(np.array_equal(kept.errors, classifiers.errors), "PackedErrors.packed", "must be the errors of the set")
    if splits.bags is None:
        need(kept.validated is None, "PackedErrors.validated", "must be None where all rows validate each")
        return
    need_array(kept.validated, "PackedErrors.validated", "u", shape)
    need(np.array_equal(kept.validated, ~splits.bags & ones), "PackedErrors.validated", "must be what is out of bag")
    need(not (kept.packed & ~kept.validated).any(), "PackedErrors.packed", "must be zero in the bag")


def check_posterior(posterior: Any, model: Any) -> None:
    """Raise unless there is a posterior where a share of delta was kept for it, with weights that draws can follow."""
    need((posterior is None) == (model.hedge_ == 0.0), "posterior", "must be None if hedge_ is 0, and only then")
    need(posterior is not None or model._vote_errors is None, "_vote_errors", "must be None without a posterior")
    if posterior is not None:
        check_weights(posterior["weights"], len(model.classifiers_))


def check_weights(weights: Any, number: int) -> None:
    """Raise unless weights are multiples of 2^-52 with the sum one, from which draws and votes are made."""
    need_array(weights, "weights", "f", (number,))
    need(bool((weights >= 0.0).all()) and math.fsum(weights.tolist()) == 1.0, "weights", "must have the sum one")
    need(np.array_equal(weights_of(integer_weights(weights)), weights), "weights", "must be multiples of 2^-52")


def check_cross_validation(choice: Any, classifiers: ClassifierSet) -> None:
    """Raise unless cross-validation counted the errors of some of the classifiers in each of its folds."""
    if choice is None:
        return
    need(isinstance(choice, CrossValidation), "_cross_validated", "must be a CrossValidation")
    assert classifiers.splits is not None
    need(classifiers.splits.kind == "shared", "_cross_validated", "must be None without a shared split")
    need_rows(choice.candidates, "CrossValidation.candidates", len(classifiers))
    need_array(choice.sizes, "CrossValidation.sizes", "i", (None,))
    need_array(choice.errors, "CrossValidation.errors", "i", (choice.candidates.size, choice.sizes.size))
    need(choice.errors.size > 0, "CrossValidation.errors", "must not be empty")
    counted = (choice.errors >= 0).all() and (choice.errors <= choice.sizes).all()
    need(bool(counted), "CrossValidation.errors", "must be at most the rows of a fold")
    votes = choice.errors_of_votes
    if votes is not None:
        all_tried = type(votes) is tuple and len(votes) == len(STRENGTHS)
        need(all_tried, "CrossValidation.errors_of_votes", "must be a number for each strength")
        for errors in votes:
            need_whole(errors, "CrossValidation.errors_of_votes", 0, int(choice.sizes.sum()))


def check_counted(errors: Any, name: str, splits: Splits) -> None:
    """Raise unless errors of one classifier are counted as the rows were divided."""
    if splits.unit == GROUP:
        check_group_errors(errors, name, 1, splits)
    else:
        # Out of bag it is the first classifier's rows on which a rule is counted.
        need_whole(errors, name, 0, splits.m if splits.sizes_each is None else int(splits.sizes_each[0]))


def check_group_errors(errors: Any, name: str, number: int, splits: Splits) -> None:
    """Raise unless errors are counted by the sizes that groups have; that there are not too many shows in the risks."""
    need(isinstance(errors, GroupErrors), name, "must be GroupErrors")
    sizes = splits.sizes
    need_array(errors.sizes, name, "i", sizes.shape)
    need(np.array_equal(errors.sizes, sizes), name, "must have the sizes of the groups")
    need_array(errors.counts, name, "i", (number, sizes.size))
    need(bool((errors.counts >= 0).all() and (errors.counts <= splits.n_rows).all()), name, "must be errors of rows")


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
    _check_by_class(model, asked)
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


def _check_by_class(model: Any, asked: Asked) -> None:
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
