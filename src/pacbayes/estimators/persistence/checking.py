"""What every part of a saved model must be like before anything is computed with it.

Compiled code, and NumPy's own, take shapes and indices at their word.  Here is written down, class by class, what they
rely on; whatever does not hold is a `ValueError` that names the class and the field.  The parts that follow from others
(risks, bounds, certificates, words) are not checked but computed anew, see `CertifiedClassifier._restore`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.certify import OCCAM, POSTERIOR, VOTINGS
from pacbayes.certificates.posterior_choice import BITS, check_distances, integer_weights, weights_of
from pacbayes.certificates.rules.rule import PROPOSAL, Rule
from pacbayes.certificates.rules.tandem_vote import TANDEM
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.classifiers.members import EstimatorMembers
from pacbayes.classifiers.packed_errors import PackedErrors
from pacbayes.classifiers.svm.independent import IndependentMembers
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.classifiers.svm.training_task import SvmTrainingTask
from pacbayes.data.splits import GROUP, Splits
from pacbayes.estimators.persistence.checking_machines import check_independent_members, check_shared_members
from pacbayes.estimators.persistence.checking_splits import check_splits
from pacbayes.estimators.persistence.needs import (
    check_labels,
    need,
    need_array,
    need_counts,
    need_rows,
    need_whole,
)
from pacbayes.estimators.prediction.draws import KEY_BYTES
from pacbayes.estimators.prior import PRIORS, resolve_prior
from pacbayes.estimators.training_choices import CROSS_VALIDATION
from pacbayes.numeric.checks import check_distribution, check_level


def check_model(model: Any) -> None:
    """Raise unless a model that was loaded holds what its way of predicting, and its certificates, rest on."""
    check_labels(model.classes_, "classes_")
    classifiers, classes = model.classifiers_, model.classes_
    need(isinstance(classifiers, ClassifierSet), "classifiers_", "must be a ClassifierSet")
    check_classifier_set(classifiers, classes)
    members = classifiers.members
    if hasattr(model, "n_features_in_"):
        need_whole(model.n_features_in_, "n_features_in_", 1)
        if isinstance(members, SharedMembers | IndependentMembers) and members.task.prepare is None:
            width = members.task.X.shape[1]
            need(model.n_features_in_ == width, "n_features_in_", f"must be {width}")
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        need_array(names, "feature_names_in_", "O", (model.n_features_in_,))
        need(all(type(name) is str for name in names.tolist()), "feature_names_in_", "must be text")
    number = len(classifiers)
    need_array(model.prior_, "prior_", "f", (number,))
    check_distribution("prior_", model.prior_, number)
    need(type(model._uniform) is bool, "_uniform", "must be True or False")
    need(type(model._key) is bytes and len(model._key) == KEY_BYTES, "_key", f"must be {KEY_BYTES} bytes")
    check_level(model._level)
    check_distances(model._distances)
    need(isinstance(model._prior_kind, str) and model._prior_kind in PRIORS, "_prior_kind", "is not known")
    need((model._prior_kind == "uniform") == model._uniform, "_prior_kind", "must be that of the prior")
    _check_choice(model._cross_validated, classifiers)
    assert classifiers.splits is not None
    if model._prior_kind == CROSS_VALIDATION:
        need(model._cross_validated is not None, "_prior_kind", "must not be from a cross-validation that is not there")
        expected = resolve_prior(CROSS_VALIDATION, classifiers.params, None, model._cross_validated, classifiers.splits)
        assert expected is not None
        need(np.allclose(model.prior_, expected, rtol=1e-9, atol=0.0), "prior_", "must follow from cross-validation")
    if model._vote_errors is not None:
        _check_counted(model._vote_errors, "_vote_errors", classifiers.splits)
    check_rules(model)
    _check_tandem(model)
    if model._constant is not None:
        need(type(model._constant) is tuple and len(model._constant) == 2, "_constant", "must be a pair")
        need_whole(model._constant[0], "_constant", 0, classes.size - 1)
        _check_counted(model._constant[1], "_constant", classifiers.splits)


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
    need(hedge == 1.0 or model._cross_validated is not None, "_cross_validated", "must be there for a proposal")
    for rule in rules:
        _check_parts(rule, len(classifiers))
        _check_counted(rule.errors, "Rule.errors", classifiers.splits)
        if rule.voting == "best":
            need(np.count_nonzero(rule.parts) == 1, "Rule.parts", "must be one classifier")
            _check_same_errors(rule, classifiers)


def _check_parts(rule: Rule, number: int) -> None:
    need_array(rule.parts, "Rule.parts", "i", (number,))
    whole = bool((rule.parts >= 0).all() and (rule.parts <= 2**BITS).all()) and sum(rule.parts.tolist()) == 2**BITS
    need(whole, "Rule.parts", "must be whole multiples of 2^-52 with the sum one")


def _check_tandem(model: Any) -> None:
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
        _check_counted(rule.errors, "Rule.errors", classifiers.splits)


def check_kept_errors(kept: Any, classifiers: ClassifierSet) -> None:
    """Raise unless bits that say who errs on which row agree with the errors and the division of a set."""
    splits = classifiers.splits
    need(type(kept) is PackedErrors, "PackedErrors", "must be bits")
    assert splits is not None
    need(splits.unit != GROUP and splits.kind != "independent", "PackedErrors", "must not be there for such rows")
    n_rows = splits.rest.size if splits.shared is None else splits.shared[1].size
    need(type(kept.n_rows) is int and kept.n_rows == n_rows, "PackedErrors.n_rows", f"must be {n_rows}")
    shape = (len(classifiers), -(-n_rows // 8))
    ones = np.packbits(np.ones(n_rows, dtype=bool))
    need_array(kept.packed, "PackedErrors.packed", "u", shape)
    need(kept.packed.dtype == np.uint8, "PackedErrors.packed", "must be bytes")
    need(not (kept.packed & ~ones).any(), "PackedErrors.packed", "must be zero beyond the last row")
    assert classifiers.errors is not None
    need(np.array_equal(kept.errors, classifiers.errors), "PackedErrors.packed", "must be the errors of the set")
    if splits.bags is None:
        need(kept.validated is None, "PackedErrors.validated", "must be None where all rows validate each")
        return
    need_array(kept.validated, "PackedErrors.validated", "u", shape)
    need(np.array_equal(kept.validated, ~splits.bags & ones), "PackedErrors.validated", "must be what is out of bag")
    need(not (kept.packed & ~kept.validated).any(), "PackedErrors.packed", "must be zero in the bag")


def _check_same_errors(rule: Rule, classifiers: ClassifierSet) -> None:
    """Raise unless a rule that is one classifier has its errors, which are stored twice."""
    own = classifiers.counted[rule.index : rule.index + 1]
    mine = rule.errors.counts if isinstance(rule.errors, GroupErrors) else np.array([rule.errors])
    need(np.array_equal(own.counts if isinstance(own, GroupErrors) else own, mine), "Rule.errors", "must be the same")


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


def _check_choice(choice: Any, classifiers: ClassifierSet) -> None:
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


def _check_counted(errors: Any, name: str, splits: Splits) -> None:
    """Raise unless errors of one classifier are counted as the rows were divided."""
    if splits.unit == GROUP:
        _check_group_errors(errors, name, 1, splits)
    else:
        # Out of bag it is the first classifier's rows on which one rule is counted.
        need_whole(errors, name, 0, splits.m if splits.sizes_each is None else int(splits.sizes_each[0]))


def _check_group_errors(errors: Any, name: str, number: int, splits: Splits) -> None:
    """Raise unless errors are counted by the sizes that groups have; that there are not too many shows in the risks."""
    need(isinstance(errors, GroupErrors), name, "must be GroupErrors")
    sizes = splits.sizes
    need_array(errors.sizes, name, "i", sizes.shape)
    need(np.array_equal(errors.sizes, sizes), name, "must have the sizes of the groups")
    need_array(errors.counts, name, "i", (number, sizes.size))
    need(bool((errors.counts >= 0).all() and (errors.counts <= splits.n_rows).all()), name, "must be errors of rows")


def check_classifier_set(classifiers: ClassifierSet, classes: NDArray[Any]) -> None:
    """Raise unless errors and classifiers are as many as parameters, and belong to the division of the rows."""
    splits, params = classifiers.splits, classifiers.params
    need(isinstance(splits, Splits), "ClassifierSet.splits", "must be Splits")
    assert splits is not None
    check_splits(splits)
    need(type(params) is list and len(params) > 0, "ClassifierSet.params", "must be a list")
    need(all(type(one) is dict for one in params), "ClassifierSet.params", "must be dicts")
    number = len(params)
    need(classifiers.m == splits.m, "ClassifierSet.m", f"must be {splits.m}")
    _check_set_errors(classifiers, splits, number)
    if classifiers.kept_errors is not None:
        check_kept_errors(classifiers.kept_errors, classifiers)
    if classifiers.copies is not None:
        need_whole(classifiers.copies, "ClassifierSet.copies", 0, splits.n_rows)
    if classifiers.kkt_violation is not None:
        need_array(classifiers.kkt_violation, "ClassifierSet.kkt_violation", "f", (number,), finite=False)
    if classifiers.converged is not None:
        need_array(classifiers.converged, "ClassifierSet.converged", "b", (number,))
    need(type(classifiers.dropped) is list, "ClassifierSet.dropped", "must be a list")
    members = classifiers.members
    if isinstance(members, SharedMembers):
        check_shared_members(members, number)
    elif isinstance(members, IndependentMembers):
        check_independent_members(members, number)
    else:
        need(isinstance(members, EstimatorMembers), "ClassifierSet._members", "must be the classifiers")
        estimators = getattr(members, "_estimators", None)
        need(type(estimators) is list and len(estimators) == number, "EstimatorMembers", f"must be {number}")
        return
    _same_task(members.task, splits, classes)


def _check_set_errors(classifiers: ClassifierSet, splits: Splits, number: int) -> None:
    """Raise unless the errors of a set, on validation and on test rows, are counted as the rows were divided."""
    m_test = classifiers.m_test
    need_whole(m_test, "ClassifierSet.m_test", 0)
    if splits.unit == GROUP:
        need(classifiers.errors is None and classifiers.test_errors is None, "ClassifierSet.errors", "must be None")
        _check_group_errors(classifiers.group_errors, "ClassifierSet.group_errors", number, splits)
        if classifiers.test_group_errors is not None:
            need_whole(m_test, "ClassifierSet.m_test", 1)
            _check_group_errors(classifiers.test_group_errors, "ClassifierSet.test_group_errors", number, splits)
        return
    none = classifiers.group_errors is None and classifiers.test_group_errors is None
    need(none, "ClassifierSet.group_errors", "must be None")
    most = splits.m if splits.sizes_each is None else splits.rest.size
    need_counts(classifiers.errors, "ClassifierSet.errors", number, most)
    assert classifiers.errors is not None
    need(bool((classifiers.errors <= classifiers.m_each).all()), "ClassifierSet.errors", "must be errors of its rows")
    if classifiers.test_errors is not None:
        need_whole(m_test, "ClassifierSet.m_test", 1)
        need_counts(classifiers.test_errors, "ClassifierSet.test_errors", number, m_test)


def _same_task(task: SvmTrainingTask, splits: Splits, classes: NDArray[Any]) -> None:
    """Raise unless machines are for the classes and the division of their set, both of which are stored twice."""
    same = task.classes.dtype == classes.dtype and np.array_equal(task.classes, classes)
    need(same, "SvmTrainingTask.classes", "must be those of the estimator")
    for name in vars(splits):
        left, right = getattr(task.splits, name), getattr(splits, name)
        arrays = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]
        need(all(np.array_equal(a, b) for a, b in arrays), f"Splits.{name}", "must be the same twice")
