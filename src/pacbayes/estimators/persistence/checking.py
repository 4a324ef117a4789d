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
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.classifiers.members import EstimatorMembers
from pacbayes.classifiers.svm.independent import IndependentMembers
from pacbayes.classifiers.svm.kernels.kernel import KERNELS, Kernel, Scaling, check_gamma, check_scale
from pacbayes.classifiers.svm.machines import Machines, OneMachine, Pair, pairs_of
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.classifiers.svm.solver.path import SVMPath, check_lambdas
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier
from pacbayes.classifiers.svm.trained import Trained
from pacbayes.classifiers.svm.training_task import SvmTrainingTask
from pacbayes.data.splits import DISTINCT, EXAMPLE, GROUP, SPLITS, Splits
from pacbayes.estimators.persistence.checking_questions import check_asked
from pacbayes.estimators.prediction.draws import KEY_BYTES
from pacbayes.estimators.prior import PRIORS, resolve_prior
from pacbayes.estimators.training_choices import CROSS_VALIDATION
from pacbayes.numeric.checks import check_distribution, check_level

# Votes take room for every row and class.
MOST_CLASSES = 100_000
# Row numbers and sizes are well below; products of two of them are integers still.
_MOST = 2**31
# No more threads than this are asked for, whatever a file says.
_MOST_JOBS = 4096


def check_model(model: Any) -> None:
    """Raise unless a model that was loaded holds what its way of predicting, and its certificates, rest on."""
    check_labels(model.classes_, "classes_")
    classifiers, classes = model.classifiers_, model.classes_
    _need(isinstance(classifiers, ClassifierSet), "classifiers_", "must be a ClassifierSet")
    check_classifier_set(classifiers, classes)
    members = classifiers.members
    if hasattr(model, "n_features_in_"):
        _whole(model.n_features_in_, "n_features_in_", 1)
        if isinstance(members, SharedMembers | IndependentMembers) and members.task.prepare is None:
            width = members.task.X.shape[1]
            _need(model.n_features_in_ == width, "n_features_in_", f"must be {width}")
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        _array(names, "feature_names_in_", "O", (model.n_features_in_,))
        _need(all(type(name) is str for name in names.tolist()), "feature_names_in_", "must be text")
    number = len(classifiers)
    _array(model.prior_, "prior_", "f", (number,))
    check_distribution("prior_", model.prior_, number)
    _need(type(model._uniform) is bool, "_uniform", "must be True or False")
    _need(type(model._key) is bytes and len(model._key) == KEY_BYTES, "_key", f"must be {KEY_BYTES} bytes")
    check_level(model._level)
    check_distances(model._distances)
    _need(isinstance(model._prior_kind, str) and model._prior_kind in PRIORS, "_prior_kind", "is not known")
    _need((model._prior_kind == "uniform") == model._uniform, "_prior_kind", "must be that of the prior")
    _check_choice(model._cross_validated, classifiers)
    assert classifiers.splits is not None
    if model._prior_kind == CROSS_VALIDATION:
        _need(
            model._cross_validated is not None, "_prior_kind", "must not be from a cross-validation that is not there"
        )
        expected = resolve_prior(CROSS_VALIDATION, classifiers.params, None, model._cross_validated, classifiers.splits)
        assert expected is not None
        _need(np.allclose(model.prior_, expected, rtol=1e-9, atol=0.0), "prior_", "must follow from cross-validation")
    if model._vote_errors is not None:
        _check_counted(model._vote_errors, "_vote_errors", classifiers.splits)
    check_rules(model)
    check_asked(model)
    if model._constant is not None:
        _need(type(model._constant) is tuple and len(model._constant) == 2, "_constant", "must be a pair")
        _whole(model._constant[0], "_constant", 0, classes.size - 1)
        _check_counted(model._constant[1], "_constant", classifiers.splits)


def check_rules(model: Any) -> None:
    """Raise unless rules are whole weights with counted errors, one proposal for each way where there is a hedge."""
    hedge, rules, classifiers = model.hedge_, model._rules, model.classifiers_
    _need(type(hedge) is float and 0.0 <= hedge <= 1.0, "hedge_", "must be from 0 to 1")
    _need(type(rules) is tuple and all(isinstance(rule, Rule) for rule in rules), "_rules", "must be rules")
    names = [(rule.voting, rule.name) for rule in rules]
    known = all(voting in VOTINGS and type(name) is str for voting, name in names)
    _need(known and len(set(names)) == len(names), "Rule", "must have a way of predicting, and a name of its own")
    _need(not any(name in (POSTERIOR, OCCAM) for _, name in names), "Rule.name", "must not be that of another")
    proposals = {voting for voting, name in names if name == PROPOSAL}
    _need(proposals == (set(VOTINGS) if hedge < 1.0 else set()), "_rules", "must hold the proposals")
    _need(hedge < 1.0 or not rules, "_rules", "must be empty where nothing is proposed")
    _need(hedge == 1.0 or model._cross_validated is not None, "_cross_validated", "must be there for a proposal")
    for rule in rules:
        _array(rule.parts, "Rule.parts", "i", (len(classifiers),))
        whole = bool((rule.parts >= 0).all() and (rule.parts <= 2**BITS).all()) and sum(rule.parts.tolist()) == 2**BITS
        _need(whole, "Rule.parts", "must be whole multiples of 2^-52 with the sum one")
        _check_counted(rule.errors, "Rule.errors", classifiers.splits)
        if rule.voting == "best":
            _need(np.count_nonzero(rule.parts) == 1, "Rule.parts", "must be one classifier")
            _check_same_errors(rule, classifiers)


def _check_same_errors(rule: Rule, classifiers: ClassifierSet) -> None:
    """Raise unless a rule that is one classifier has its errors, which are stored twice."""
    own = classifiers.counted[rule.index : rule.index + 1]
    mine = rule.errors.counts if isinstance(rule.errors, GroupErrors) else np.array([rule.errors])
    _need(np.array_equal(own.counts if isinstance(own, GroupErrors) else own, mine), "Rule.errors", "must be the same")


def check_posterior(posterior: Any, model: Any) -> None:
    """Raise unless there is a posterior where a share of delta was kept for it, with weights that draws can follow."""
    _need((posterior is None) == (model.hedge_ == 0.0), "posterior", "must be None if hedge_ is 0, and only then")
    _need(posterior is not None or model._vote_errors is None, "_vote_errors", "must be None without a posterior")
    if posterior is not None:
        check_weights(posterior["weights"], len(model.classifiers_))


def check_weights(weights: Any, number: int) -> None:
    """Raise unless weights are multiples of 2^-52 with the sum one, from which draws and votes are made."""
    _array(weights, "weights", "f", (number,))
    _need(bool((weights >= 0.0).all()) and math.fsum(weights.tolist()) == 1.0, "weights", "must have the sum one")
    _need(np.array_equal(weights_of(integer_weights(weights)), weights), "weights", "must be multiples of 2^-52")


def _check_choice(choice: Any, classifiers: ClassifierSet) -> None:
    """Raise unless cross-validation counted the errors of some of the classifiers in each of its folds."""
    if choice is None:
        return
    _need(isinstance(choice, CrossValidation), "_cross_validated", "must be a CrossValidation")
    assert classifiers.splits is not None
    _need(classifiers.splits.kind == "shared", "_cross_validated", "must be None without a shared split")
    _rows(choice.candidates, "CrossValidation.candidates", len(classifiers))
    _array(choice.sizes, "CrossValidation.sizes", "i", (None,))
    _array(choice.errors, "CrossValidation.errors", "i", (choice.candidates.size, choice.sizes.size))
    _need(choice.errors.size > 0, "CrossValidation.errors", "must not be empty")
    counted = (choice.errors >= 0).all() and (choice.errors <= choice.sizes).all()
    _need(bool(counted), "CrossValidation.errors", "must be at most the rows of a fold")


def _check_counted(errors: Any, name: str, splits: Splits) -> None:
    """Raise unless errors of one classifier are counted as the rows were divided."""
    if splits.unit == GROUP:
        _check_group_errors(errors, name, 1, splits)
    else:
        _whole(errors, name, 0, splits.m)


def _check_group_errors(errors: Any, name: str, number: int, splits: Splits) -> None:
    """Raise unless errors are counted by the sizes that groups have; that there are not too many shows in the risks."""
    _need(isinstance(errors, GroupErrors), name, "must be GroupErrors")
    sizes = splits.sizes
    _array(errors.sizes, name, "i", sizes.shape)
    _need(np.array_equal(errors.sizes, sizes), name, "must have the sizes of the groups")
    _array(errors.counts, name, "i", (number, sizes.size))
    _need(bool((errors.counts >= 0).all() and (errors.counts <= splits.n_rows).all()), name, "must be errors of rows")


def check_labels(classes: Any, name: str) -> None:
    """Raise unless labels are one-dimensional, different and sorted."""
    _need(isinstance(classes, np.ndarray) and classes.ndim == 1, name, "must be a one-dimensional array")
    _need(classes.dtype.kind in "biufUO", name, f"must be numbers or text, got {classes.dtype}")
    _need(2 <= classes.size <= MOST_CLASSES, name, f"must be 2 to {MOST_CLASSES} classes, got {classes.size}")
    plain = (str, int, float, bool)
    _need(classes.dtype != object or all(type(one) in plain for one in classes), name, "must be numbers or text")
    _need(bool((classes[1:] > classes[:-1]).all()), name, "must be sorted and different")


def check_classifier_set(classifiers: ClassifierSet, classes: NDArray[Any]) -> None:
    """Raise unless errors and classifiers are as many as parameters, and belong to the division of the rows."""
    splits, params = classifiers.splits, classifiers.params
    _need(isinstance(splits, Splits), "ClassifierSet.splits", "must be Splits")
    assert splits is not None
    check_splits(splits)
    _need(type(params) is list and len(params) > 0, "ClassifierSet.params", "must be a list")
    _need(all(type(one) is dict for one in params), "ClassifierSet.params", "must be dicts")
    number = len(params)
    _need(classifiers.m == splits.m, "ClassifierSet.m", f"must be {splits.m}")
    _check_set_errors(classifiers, splits, number)
    if classifiers.copies is not None:
        _whole(classifiers.copies, "ClassifierSet.copies", 0, splits.n_rows)
    if classifiers.kkt_violation is not None:
        _array(classifiers.kkt_violation, "ClassifierSet.kkt_violation", "f", (number,), finite=False)
    if classifiers.converged is not None:
        _array(classifiers.converged, "ClassifierSet.converged", "b", (number,))
    _need(type(classifiers.dropped) is list, "ClassifierSet.dropped", "must be a list")
    members = classifiers.members
    if isinstance(members, SharedMembers):
        check_shared_members(members, number)
    elif isinstance(members, IndependentMembers):
        check_independent_members(members, number)
    else:
        _need(isinstance(members, EstimatorMembers), "ClassifierSet._members", "must be the classifiers")
        estimators = getattr(members, "_estimators", None)
        _need(type(estimators) is list and len(estimators) == number, "EstimatorMembers", f"must be {number}")
        return
    _same_task(members.task, splits, classes)


def _check_set_errors(classifiers: ClassifierSet, splits: Splits, number: int) -> None:
    """Raise unless the errors of a set, on validation and on test rows, are counted as the rows were divided."""
    m_test = classifiers.m_test
    _whole(m_test, "ClassifierSet.m_test", 0)
    if splits.unit == GROUP:
        _need(classifiers.errors is None and classifiers.test_errors is None, "ClassifierSet.errors", "must be None")
        _check_group_errors(classifiers.group_errors, "ClassifierSet.group_errors", number, splits)
        if classifiers.test_group_errors is not None:
            _whole(m_test, "ClassifierSet.m_test", 1)
            _check_group_errors(classifiers.test_group_errors, "ClassifierSet.test_group_errors", number, splits)
        return
    none = classifiers.group_errors is None and classifiers.test_group_errors is None
    _need(none, "ClassifierSet.group_errors", "must be None")
    _counts(classifiers.errors, "ClassifierSet.errors", number, splits.m)
    if classifiers.test_errors is not None:
        _whole(m_test, "ClassifierSet.m_test", 1)
        _counts(classifiers.test_errors, "ClassifierSet.test_errors", number, m_test)


def _same_task(task: SvmTrainingTask, splits: Splits, classes: NDArray[Any]) -> None:
    """Raise unless machines are for the classes and the division of their set, both of which are stored twice."""
    same = task.classes.dtype == classes.dtype and np.array_equal(task.classes, classes)
    _need(same, "SvmTrainingTask.classes", "must be those of the estimator")
    for name in vars(splits):
        left, right = getattr(task.splits, name), getattr(splits, name)
        arrays = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]
        _need(all(np.array_equal(a, b) for a, b in arrays), f"Splits.{name}", "must be the same twice")


def check_splits(splits: Splits) -> None:
    """Raise unless the parts of a division are sorted rows, none of them in two parts, of the sizes it says."""
    _need(splits.kind in SPLITS, "Splits.kind", f"must be one of {', '.join(SPLITS)}")
    _whole(splits.n_train, "Splits.n_train", 1)
    _whole(splits.m, "Splits.m", 1)
    _need(type(splits.seed) is int and 0 <= splits.seed < 2**4096, "Splits.seed", "must be a seed")
    _need(type(splits.stratified) is bool, "Splits.stratified", "must be True or False")
    units = splits.units
    _need((units is None) == (splits.unit == EXAMPLE), "Splits.units", "must be None if every row is one")
    if units is not None:
        _need(splits.unit in (DISTINCT, GROUP), "Splits.unit", "is not known")
        _array(units, "Splits.units", "i", (None,))
        # Every number from 0 on, so that there are not more of them than rows.
        known = np.unique(units)
        _need(np.array_equal(known, np.arange(known.size)), "Splits.units", "must be numbered from 0")
    end = _MOST if units is None else units.size
    _rows(splits.test, "Splits.test", end)
    _rows(splits.rest, "Splits.rest", end)
    tested, divided = _units(splits, splits.test), _units(splits, splits.rest)
    _need(np.intersect1d(tested, divided).size == 0, "Splits.test", "must not be in rest")
    _need(divided.size == splits.n_train + splits.m, "Splits.rest", "must train or validate")
    _need((splits.kind == "shared") == (splits.shared is not None), "Splits.shared", "must be there if it is shared")
    if splits.shared is None:
        return
    _need(type(splits.shared) is tuple and len(splits.shared) == 2, "Splits.shared", "must be a pair")
    for part in splits.shared:
        _rows(part, "Splits.shared", end)
    train, validation = (_units(splits, part) for part in splits.shared)
    _need((train.size, validation.size) == (splits.n_train, splits.m), "Splits.shared", "must have the sizes it says")
    _need(np.array_equal(np.sort(np.concatenate([train, validation])), divided), "Splits.shared", "must divide rest")


def _units(splits: Splits, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of what some rows belong to, sorted; of the rows themselves where each is one."""
    return rows if splits.units is None else np.unique(splits.units[rows])


def check_task(task: SvmTrainingTask, number: int) -> None:
    """Raise unless a task, without the rows that only training needed, is one for so many classifiers."""
    _array(task.X, "SvmTrainingTask.X", "f", (None, None))
    _array(task.codes, "SvmTrainingTask.codes", "i", (None,))
    check_labels(task.classes, "SvmTrainingTask.classes")
    _array(task.lambdas, "SvmTrainingTask.lambdas", "f", (number,))
    check_lambdas(task.lambdas)
    _need(task.kernel in KERNELS, "SvmTrainingTask.kernel", f"must be one of {', '.join(KERNELS)}")
    check_gamma(task.gamma)
    check_scale(task.scale)
    check_splits(task.splits)
    _array(task.test_rows, "SvmTrainingTask.test_rows", "f", (None, None))
    _array(task.test_codes, "SvmTrainingTask.test_codes", "i", (None,))
    _need(type(task.seed) is int and 0 <= task.seed < 2**4096, "SvmTrainingTask.seed", "must be a seed")
    _whole(task.jobs, "SvmTrainingTask.jobs", 1, _MOST_JOBS)
    prepares = task.prepare is None or callable(getattr(task.prepare, "transform", None))
    _need(prepares, "SvmTrainingTask.prepare", "must be a transformer or None")
    _need(type(task.keep_error_rows) is bool, "SvmTrainingTask.keep_error_rows", "must be true or false")


def check_shared_members(members: SharedMembers, number: int) -> None:
    """Raise unless machines, kernel and scaling are for the training rows that are stored."""
    check_task(members.task, number)
    _array(members.rows, "SharedMembers.rows", "f", (None, members.task.X.shape[1]))
    n_train, width = members.rows.shape
    train = members.task.splits(0)[0]
    _need(members.task.splits.kind == "shared" and train.size == n_train, "SharedMembers.rows", "must train")
    check_scaling(members.scaling, width)
    check_kernel(members.kernel)
    check_machines(members.machines, n_train, members.task)


def check_independent_members(members: IndependentMembers, number: int) -> None:
    """Raise unless there are so many machines, each of them on support vectors that are stored."""
    check_task(members.task, number)
    _need(type(members.trained) is list and len(members.trained) == number, "IndependentMembers", f"must be {number}")
    rows, width = members.task.X.shape
    for one in members.trained:
        _need(isinstance(one, Trained), "IndependentMembers.trained", "must be Trained")
        check_trained(one, rows, width, members.task)


def check_trained(one: Trained, rows: int, width: int, task: SvmTrainingTask) -> None:
    """Raise unless a machine with its own sample has support vectors among so many rows of so many columns."""
    check_scaling(one.scaling, width)
    check_kernel(one.kernel)
    check_one_machine(one.machine, task.classes.size)
    _rows(one.support, "Trained.support", rows)
    _need(one.support.size == one.machine.coefs.shape[1], "Trained.support", "must be a row for each coefficient")
    for errors in (one.errors, one.test_errors):
        _counts(errors, "Trained.errors", task.splits.sizes.size, task.splits.n_rows)
    _need(type(one.kkt_violation) is float and type(one.converged) is bool, "Trained", "must say if it converged")
    _need(type(one.wrong) is np.ndarray and one.wrong.size == 0, "Trained.wrong", "must be empty in a saved model")


def check_svm_classifier(machine: SVMClassifier) -> None:
    """Raise unless a single machine, as it stands at the end of a pipeline, is one on its own support vectors."""
    if not hasattr(machine, "_machine"):  # not fitted
        return
    check_labels(machine._labels, "SVMClassifier._labels")
    _need(isinstance(machine._machine, OneMachine), "SVMClassifier._machine", "must be a OneMachine")
    check_one_machine(machine._machine, machine._labels.size)
    size = machine._machine.coefs.shape[1]
    _array(machine.support_vectors_, "SVMClassifier.support_vectors_", "f", (size, None))
    check_scaling(machine._scaling, machine.support_vectors_.shape[1])
    check_kernel(machine._kernel)
    _whole(machine.n_features_in_, "SVMClassifier.n_features_in_", 1)
    _need(machine.n_features_in_ == machine.support_vectors_.shape[1], "SVMClassifier.n_features_in_", "is wrong")


def check_scaling(scaling: Any, width: int) -> None:
    """Raise unless a scaling is one for so many columns."""
    _need(isinstance(scaling, Scaling), "scaling", "must be a Scaling")
    _array(scaling.shift, "Scaling.shift", "f", (width,))
    _array(scaling.width, "Scaling.width", "f", (width,))
    _need(bool((scaling.width > 0.0).all()), "Scaling.width", "must be positive")


def check_kernel(kernel: Any) -> None:
    """Raise unless a kernel is rbf with a width, or linear without."""
    _need(isinstance(kernel, Kernel) and kernel.name in KERNELS, "Kernel.name", f"must be one of {', '.join(KERNELS)}")
    if kernel.name == "linear":
        _need(kernel.gamma is None, "Kernel.gamma", "must be None for linear")
    else:
        _need(type(kernel.gamma) is float and 0.0 < kernel.gamma < math.inf, "Kernel.gamma", "must be positive")


def check_machines(machines: Any, n_train: int, task: SvmTrainingTask) -> None:
    """Raise unless there is a path for every pair of the classes that occur in so many training rows."""
    _need(isinstance(machines, Machines), "machines", "must be Machines")
    _check_codes(machines.codes, "Machines.codes", task.classes.size)
    _need(type(machines.pairs) is tuple, "Machines.pairs", "must be a tuple")
    _need(all(isinstance(pair, Pair) for pair in machines.pairs), "Machines.pairs", "must be of Pair")
    found = [(pair.first, pair.second) for pair in machines.pairs]
    whole = all(type(code) is int for pair in found for code in pair)  # 0.0 and False are equal to 0, and no index
    _need(whole and found == pairs_of(machines.codes), "Machines.pairs", "must be all pairs of the classes, in order")
    for pair in machines.pairs:
        _rows(pair.rows, "Pair.rows", n_train)
        # The kernel of a single pair is that of all training rows.
        _need(len(found) > 1 or pair.rows.size == n_train, "Pair.rows", "must be all training rows")
        _number(pair.kernel_size, "Pair.kernel_size")
        check_path(pair.path, task.lambdas, pair.rows.size)


def check_path(path: Any, lambdas: NDArray[Any], n: int) -> None:
    """Raise unless a path has a machine for each lambda, and each of them a coefficient for each of n rows."""
    _need(isinstance(path, SVMPath), "Pair.path", "must be an SVMPath")
    number = lambdas.size
    _array(path.lambdas, "SVMPath.lambdas", "f", (number,))
    _need(np.array_equal(path.lambdas, lambdas), "SVMPath.lambdas", "must be those of the task")
    _array(path.dual_coef, "SVMPath.dual_coef", "f", (number, n))
    _need(path.dual_coef.flags.c_contiguous, "SVMPath.dual_coef", "must be stored by rows")
    _array(path.intercept, "SVMPath.intercept", "f", (number,))
    _array(path.n_iter, "SVMPath.n_iter", "i", (number,))
    _array(path.kkt_violation, "SVMPath.kkt_violation", "f", (number,), finite=False)
    _array(path.converged, "SVMPath.converged", "b", (number,))


def check_one_machine(machine: Any, n_classes: int) -> None:
    """Raise unless a machine has coefficients for every pair of its classes and every support vector."""
    _need(isinstance(machine, OneMachine), "machine", "must be a OneMachine")
    _check_codes(machine.codes, "OneMachine.codes", n_classes)
    pairs = pairs_of(machine.codes)
    _array(machine.pairs, "OneMachine.pairs", "i", (len(pairs), 2))
    _need(np.array_equal(machine.pairs, pairs), "OneMachine.pairs", "must be all pairs of the classes, in order")
    _rows(machine.support, "OneMachine.support", _MOST)
    _array(machine.coefs, "OneMachine.coefs", "f", (len(pairs), machine.support.size))
    _array(machine.intercepts, "OneMachine.intercepts", "f", (len(pairs),))
    _array(machine.kernel_sizes, "OneMachine.kernel_sizes", "f", (len(pairs),))


def _check_codes(codes: Any, name: str, n_classes: int) -> None:
    _rows(codes, name, n_classes)
    _need(codes.size >= 2, name, "must be at least two classes")


def _rows(values: Any, name: str, end: int) -> None:
    """Raise unless values are row numbers below `end`, sorted and different."""
    _array(values, name, "i", (None,))
    inside = values.size == 0 or (values[0] >= 0 and values[-1] < end)
    _need(bool(inside and (values[1:] > values[:-1]).all()), name, f"must be sorted, different and below {end}")


def _counts(values: Any, name: str, number: int, most: int) -> None:
    _array(values, name, "i", (number,))
    _need(bool((values >= 0).all() and (values <= most).all()), name, f"must be from 0 to {most}")


def _array(values: Any, name: str, kind: str, shape: tuple[int | None, ...], finite: bool = True) -> None:
    """Raise unless `values` is an array of 64-bit numbers ("f", "i"), booleans ("b") or objects, in this shape."""
    dtype = np.dtype({"f": np.float64, "i": np.int64, "b": np.bool_, "O": object}[kind])
    _need(type(values) is np.ndarray and values.dtype == dtype, name, f"must be an array of {dtype}")
    same = values.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, values.shape, strict=True)
    )
    _need(same, name, f"must have the shape {shape}, got {values.shape}")
    _need(not finite or kind != "f" or bool(np.isfinite(values).all()), name, "must be finite")


def _number(value: Any, name: str) -> None:
    _need(type(value) is float and 0.0 <= value < math.inf, name, f"must be a number of at least 0, got {value!r}")


def _whole(value: Any, name: str, least: int, most: int = _MOST) -> None:
    _need(type(value) is int and least <= value <= most, name, f"must be from {least} to {most}, got {value!r}")


def _need(true: bool, name: str, rule: str) -> None:
    if not true:
        raise ValueError(f"{name} {rule}")
