"""What every part of a saved model must be like before anything is computed with it.

Compiled code, and NumPy's own, take shapes and indices at their word.  Here is written down, class by class, what they
rely on; whatever does not hold is a `ValueError` that names the class and the field.  The parts that follow from others
(risks, bounds, certificates, words) are not checked but computed anew, see `Conclusions._restore`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.distance import CONSTANTS
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.members import EstimatorMembers
from pacbayes.classifiers.svm.independent import (
    IndependentMembers,
    Trained,
    check_kernel,
    check_machines,
    check_one_machine,
    check_scaling,
    check_trained,
)
from pacbayes.classifiers.svm.kernel import NYSTROEM, SVM_KERNELS, check_gamma, check_scale
from pacbayes.classifiers.svm.machines import OneMachine
from pacbayes.classifiers.svm.path import check_lambdas
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier, SvmTrainingTask
from pacbayes.data.division import DISTINCT, EXAMPLE, GROUP, OUT_OF_BAG, SPLITS, Splits
from pacbayes.data.tables import check_reading
from pacbayes.estimators.prediction.draws import KEY_BYTES
from pacbayes.estimators.training.prior import PRIORS
from pacbayes.files.rule_checks import (
    check_asked,
    check_counted,
    check_cross_validation,
    check_group_errors,
    check_kept_errors,
    check_rules,
    check_tandem,
)
from pacbayes.numeric.checks import (
    check_choice,
    check_distribution,
    check_level,
    need,
    need_array,
    need_counts,
    need_rows,
    need_whole,
)

# Votes take room for every row and class.
_MOST_CLASSES = 100_000
# No more threads than this are asked for, whatever a file says.
_MOST_JOBS = 4096


def check_model(model: Any) -> None:
    """Raise unless a model that was loaded holds what its way of predicting, and its certificates, rest on."""
    check_labels(model.classes_, "classes_")
    classifiers, classes = model.classifiers_, model.classes_
    need(isinstance(classifiers, ClassifierSet), "classifiers_", "must be a ClassifierSet")
    check_classifier_set(classifiers, classes)
    assert classifiers.splits is not None
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
    if model._fitted_rows is not None:
        need_array(model._fitted_rows, "_fitted_rows", "i", (classifiers.splits.n_rows,))
    check_reading(vars(model).get("_reading"), getattr(model, "n_features_in_", None))
    check_level(model._level)
    check_choice("_bound_constant", model._bound_constant, CONSTANTS)
    need(isinstance(model._prior_kind, str) and model._prior_kind in PRIORS, "_prior_kind", "is not known")
    need((model._prior_kind == "uniform") == model._uniform, "_prior_kind", "must be that of the prior")
    check_cross_validation(model._cross_validated, classifiers)
    if model._vote_errors is not None:
        check_counted(model._vote_errors, "_vote_errors", classifiers.splits)
    check_rules(model)
    check_asked(model)
    check_tandem(model)
    need(model._constant is not None or classifiers.trained_elsewhere, "_constant", "must be there after training")
    if model._constant is not None:
        need(type(model._constant) is tuple and len(model._constant) == 2, "_constant", "must be a pair")
        need_whole(model._constant[0], "_constant", 0, classes.size - 1)
        check_counted(model._constant[1], "_constant", classifiers.splits)


def check_labels(classes: Any, name: str) -> None:
    """Raise unless labels are one-dimensional, different and sorted."""
    need(isinstance(classes, np.ndarray) and classes.ndim == 1, name, "must be a one-dimensional array")
    need(classes.dtype.kind in "biufUO", name, f"must be numbers or text, got {classes.dtype}")
    need(2 <= classes.size <= _MOST_CLASSES, name, f"must be 2 to {_MOST_CLASSES} classes, got {classes.size}")
    plain = (str, int, float, bool)
    need(classes.dtype != object or all(type(one) in plain for one in classes), name, "must be numbers or text")
    need(bool((classes[1:] > classes[:-1]).all()), name, "must be sorted and different")


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
    """Raise unless the errors of a set are counted as the rows were divided."""
    if splits.unit == GROUP:
        need(classifiers.errors is None, "ClassifierSet.errors", "must be None")
        check_group_errors(classifiers.group_errors, "ClassifierSet.group_errors", number, splits)
        return
    need(classifiers.group_errors is None, "ClassifierSet.group_errors", "must be None")
    most = splits.m if splits.sizes_each is None else splits.n_rows
    need_counts(classifiers.errors, "ClassifierSet.errors", number, most)
    if splits.sizes_each is not None:
        need(len(splits.sizes_each) == number, "Splits.bags", f"must be {number}")
        assert classifiers.errors is not None
        need(bool((classifiers.errors <= splits.sizes_each).all()), "ClassifierSet.errors", "must be of its own rows")


def _same_task(task: SvmTrainingTask, splits: Splits, classes: NDArray[Any]) -> None:
    """Raise unless machines are for the classes and the division of their set, both of which are stored twice."""
    same = task.classes.dtype == classes.dtype and np.array_equal(task.classes, classes)
    need(same, "SvmTrainingTask.classes", "must be those of the estimator")
    for name in vars(splits):
        left, right = getattr(task.splits, name), getattr(splits, name)
        arrays = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]
        need(all(np.array_equal(a, b) for a, b in arrays), f"Splits.{name}", "must be the same twice")


def _check_bags(splits: Splits) -> None:
    """Raise unless bags of all rows each leave some out, the fewest as many as the division says."""
    n, bags = splits.n_rows, splits.bags
    need(splits.shared is None and splits.unit == EXAMPLE, "Splits", "must be of all rows, out of bag")
    need_array(bags, "Splits.bags", "u", (None, -(-n // 8)))
    assert bags is not None
    need(len(bags) > 0, "Splits.bags", "must not be empty")
    need(not (bags & ~np.packbits(np.ones(n, dtype=bool))).any(), "Splits.bags", "must be zero beyond the last row")
    assert splits.sizes_each is not None
    need(splits.m == splits.sizes_each.min(), "Splits.m", "must be the least number of rows out of bag")


def check_splits(splits: Splits) -> None:
    """Raise unless the parts of a division are sorted rows, none of them in two parts, of the sizes it says."""
    need(splits.kind in (*SPLITS, OUT_OF_BAG), "Splits.kind", "is not known")
    need_whole(splits.n_train, "Splits.n_train", 0)
    need_whole(splits.m, "Splits.m", 1)
    need_whole(splits.n_rows, "Splits.n_rows", 1)
    need(type(splits.seed) is int and 0 <= splits.seed < 2**4096, "Splits.seed", "must be a seed")
    units, number = splits.units, splits.n_rows
    need((units is None) == (splits.unit == EXAMPLE), "Splits.units", "must be None if every row is one")
    if units is not None:
        need(splits.unit in (DISTINCT, GROUP), "Splits.unit", "is not known")
        need_array(units, "Splits.units", "i", (splits.n_rows,))
        # Every number from 0 on, so that there are not more of them than rows.
        known = np.unique(units)
        need(np.array_equal(known, np.arange(known.size)), "Splits.units", "must be numbered from 0")
        number = known.size
    need((splits.bags is None) == (splits.kind != OUT_OF_BAG), "Splits.bags", "must be there out of bag")
    if splits.bags is not None:
        _check_bags(splits)
        return
    trains = splits.n_train > 0 or splits.kind == "shared"
    need(trains, "Splits.n_train", "must be positive but where all rows validate")
    need(number == splits.n_train + splits.m, "Splits.n_rows", "must train or validate")
    need((splits.kind == "shared") == (splits.shared is not None), "Splits.shared", "must be there if it is shared")
    if splits.shared is None:
        return
    need(type(splits.shared) is tuple and len(splits.shared) == 2, "Splits.shared", "must be a pair")
    for part in splits.shared:
        need_rows(part, "Splits.shared", splits.n_rows)
    train, validation = (_units(splits, part) for part in splits.shared)
    need((train.size, validation.size) == (splits.n_train, splits.m), "Splits.shared", "must have the sizes it says")
    # As many as there are, and all of them different.
    need(np.unique(np.concatenate([train, validation])).size == number, "Splits.shared", "must divide all rows")


def _units(splits: Splits, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of what some rows belong to, sorted; of the rows themselves where each is one."""
    return rows if splits.units is None else np.unique(splits.units[rows])


def check_task(task: SvmTrainingTask, number: int) -> None:
    """Raise unless a task, without the rows that only training needed, is one for so many classifiers."""
    need_array(task.X, "SvmTrainingTask.X", "f", (None, None))
    need_array(task.codes, "SvmTrainingTask.codes", "i", (None,))
    check_labels(task.classes, "SvmTrainingTask.classes")
    need_array(task.lambdas, "SvmTrainingTask.lambdas", "f", (number,))
    check_lambdas(task.lambdas)
    need(task.kernel in SVM_KERNELS, "SvmTrainingTask.kernel", f"must be one of {', '.join(SVM_KERNELS)}")
    need_whole(task.n_components, "SvmTrainingTask.n_components", 1)
    check_gamma(task.gamma)
    check_scale(task.scale)
    check_splits(task.splits)
    need(type(task.seed) is int and 0 <= task.seed < 2**4096, "SvmTrainingTask.seed", "must be a seed")
    need_whole(task.jobs, "SvmTrainingTask.jobs", 1, _MOST_JOBS)
    prepares = task.prepare is None or callable(getattr(task.prepare, "transform", None))
    need(prepares, "SvmTrainingTask.prepare", "must be a transformer or None")
    need(type(task.keep_error_rows) is bool, "SvmTrainingTask.keep_error_rows", "must be true or false")


def check_shared_members(members: SharedMembers, number: int) -> None:
    """Raise unless machines, kernel and scaling are for the training rows, or landmarks, that are stored."""
    check_task(members.task, number)
    need_array(members.rows, "SharedMembers.rows", "f", (None, members.task.X.shape[1]))
    n_train, width = members.rows.shape
    need(members.task.splits.kind == "shared", "SharedMembers.task", "must have a shared split")
    expected = members.task.splits(0)[0].size
    if members.task.kernel == NYSTROEM:
        expected = min(expected, members.task.n_components)
    need(expected == n_train, "SharedMembers.rows", "must train")
    check_scaling(members.scaling, width)
    check_kernel(members.kernel, members.task.kernel)
    check_machines(members.machines, n_train, members.task)


def check_independent_members(members: IndependentMembers, number: int) -> None:
    """Raise unless there are so many machines, each of them on support vectors that are stored."""
    check_task(members.task, number)
    need(type(members.trained) is list and len(members.trained) == number, "IndependentMembers", f"must be {number}")
    rows, width = members.task.X.shape
    for one in members.trained:
        need(isinstance(one, Trained), "IndependentMembers.trained", "must be Trained")
        check_trained(one, rows, width, members.task)


def check_svm_classifier(machine: SVMClassifier) -> None:
    """Raise unless a single machine, as it stands at the end of a pipeline, is one on its own support vectors."""
    if not hasattr(machine, "_machine"):  # not fitted
        return
    check_labels(machine._labels, "SVMClassifier._labels")
    need(isinstance(machine._machine, OneMachine), "SVMClassifier._machine", "must be a OneMachine")
    check_one_machine(machine._machine, machine._labels.size)
    size = machine._machine.coefs.shape[1]
    need_array(machine.support_vectors_, "SVMClassifier.support_vectors_", "f", (size, None))
    check_scaling(machine._scaling, machine.support_vectors_.shape[1])
    check_kernel(machine._kernel)
    need_whole(machine.n_features_in_, "SVMClassifier.n_features_in_", 1)
    need(machine.n_features_in_ == machine.support_vectors_.shape[1], "SVMClassifier.n_features_in_", "is wrong")


def settle_objects(root: Any) -> None:
    """Check the single machines among all that was made of a file, and let no object in it start processes."""
    seen: set[int] = set()
    left = [root]
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type | None):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += value
        elif isinstance(value, np.ndarray):
            left += value.ravel().tolist() if value.dtype == object else []
        else:
            own = getattr(value, "__dict__", {})
            if "n_jobs" in own:
                own["n_jobs"] = None
            if isinstance(value, SVMClassifier):
                check_svm_classifier(value)
            # A method holds its object.
            left += [*own.values(), getattr(value, "__self__", None)]
