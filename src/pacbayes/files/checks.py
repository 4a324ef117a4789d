"""Checks of values that were read from a file, each before its constructor, or compiled code, sees it.

What a fit computes needs none of them.  The decoder calls the entry of `CHECKS` for a value's class with the fields as
the file has them; values inside were checked before.  Each raises a `ValueError` that names class and field.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import MOST, need, need_array, need_choice, need_number, need_rows, need_whole
from pacbayes.data.division import DISTINCT, EXAMPLE, GROUP, SPLITS, Division, marked, rows_of_units
from pacbayes.data.number_signs import NumberSigns
from pacbayes.data.tables import TableReading, TextColumn
from pacbayes.ensemble.calibration import ANSWERS, KINDS, LARGEST, PAIRS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.evidence import Evidence, blocks_of
from pacbayes.ensemble.members import Calibrated, Estimators, Joined, kept_as
from pacbayes.ensemble.svm_members import SharedMachines
from pacbayes.svm.kernel import NYSTROEM, Kernel, Scaling
from pacbayes.svm.machines import Machines
from pacbayes.svm.svm_classifier import MachineSettings


def check_division(division: Division) -> None:
    """Raise unless the parts are sorted rows, none of them in two parts, of the sizes that are stated."""
    need_choice(division.kind, "Division.kind", SPLITS)
    need_choice(division.unit, "Division.unit", (EXAMPLE, DISTINCT, GROUP))
    need_whole(division.n_train, "Division.n_train", 0)
    need_whole(division.m, "Division.m", 0)
    need_whole(division.n_rows, "Division.n_rows", 1)
    need(type(division.seed) is int and 0 <= division.seed < 2**4096, "Division.seed", "must be a seed")
    need(type(division.own) is bool, "Division.own", "must be true or false")
    shared = division.kind == "shared"
    need(shared or not division.own, "Division.own", "must be false unless all share one division")
    if division.copies is not None:
        need_whole(division.copies, "Division.copies", 0, division.n_rows)
    number = _number_of_units(division)
    need(shared == (division.shared is not None), "Division.shared", "must be there if it is shared")
    both = division.n_train > 0 and division.m > 0
    need(both or shared, "Division", "must have rows that train and rows that validate")
    need(number == division.n_train + division.m, "Division.n_rows", "must train or validate")
    if division.shared is not None:
        _check_shared(division, division.shared, number)


def _number_of_units(division: Division) -> int:
    units = division.units
    need((units is None) == (division.unit == EXAMPLE), "Division.units", "must be None if every row is one")
    if units is None:
        return division.n_rows
    need_array(units, "Division.units", "i", (division.n_rows,))
    # Every number from 0 on, so that there are not more of them than rows.
    need(int(units.min()) == 0 and int(units.max()) < division.n_rows, "Division.units", "must be from 0")
    known = np.bincount(units)
    need(bool((known > 0).all()), "Division.units", "must be numbered from 0")
    return int(known.size)


def _check_shared(division: Division, shared: tuple[Rows, Rows], number: int) -> None:
    need(type(shared) is tuple and len(shared) == 2, "Division.shared", "must be a pair")
    for part in shared:
        need_rows(part, "Division.shared", division.n_rows)
    # Marks instead of sorted numbers: their time is linear in the rows.
    units = division.units
    train, validation = (marked(part if units is None else units[part], number) for part in shared)
    sizes = (int(np.count_nonzero(train)), int(np.count_nonzero(validation)))
    need(sizes == (division.n_train, division.m), "Division.shared", "must have the sizes it states")
    need(bool((train != validation).all()), "Division.shared", "must divide all rows")
    whole = rows_of_units(np.flatnonzero(train), np.flatnonzero(validation), division.unit, units)
    need(np.array_equal(whole[0], shared[0]), "Division.shared", "must train with all rows of a unit")
    need(np.array_equal(whole[1], shared[1]), "Division.shared", "must count copies once, and all rows of a group")


def check_evidence(evidence: Evidence) -> None:
    """Raise unless all numbers stand for labels, and all parts are about the same rows."""
    labels, answers, truth = evidence.labels, evidence.answers, evidence.truth
    need(isinstance(labels, np.ndarray) and labels.ndim == 1, "Evidence.labels", "must be a one-dimensional array")
    need_whole(evidence.n_classes, "Evidence.n_classes", 1, labels.size)
    classes, number = evidence.classes, labels.size
    need(bool((classes[1:] > classes[:-1]).all()), "Evidence.labels", "must begin with sorted, different classes")
    for name, values in (("answers", answers), ("truth", truth), ("said", evidence.said)):
        right = values is None or (type(values) is np.ndarray and values.dtype == kept_as(number))
        need(right, f"Evidence.{name}", "must be numbers")
    need(answers.ndim == 2 and answers.size > 0, "Evidence.answers", "must be a table")
    n = answers.shape[1]
    need(truth.shape == (n,) and int(truth.max()) < evidence.n_classes, "Evidence.truth", "must be classes")
    for block in blocks_of(*answers.shape):
        known = (answers[block] < number) | (answers[block] == evidence.absent)
        need(bool(known.all()), "Evidence.answers", "must be numbers of labels")
    if evidence.said is not None:
        need(evidence.said.ndim == 2 and evidence.said.shape[1] == n, "Evidence.said", "must be about the same rows")
        known = evidence.said.size > 0 and int(evidence.said.max()) < number
        need(bool(known), "Evidence.said", "must be numbers of labels")
    if evidence.scores is not None:
        shape = (0,) if evidence.said is None else evidence.said.shape
        need_array(evidence.scores, "Evidence.scores", "f", shape, finite=False)
        need(not np.isnan(evidence.scores).any(), "Evidence.scores", "must be numbers")
    if evidence.slices is not None:
        need_array(evidence.slices, "Evidence.slices", "i", (n,))
        need(int(evidence.slices.min()) >= 0, "Evidence.slices", "must be numbers of slices")


def check_cross_validation(found: CrossValidation) -> None:
    """Raise unless errors are those of some classifiers on the rows of each fold."""
    need_rows(found.candidates, "CrossValidation.candidates", MOST)
    need_array(found.sizes, "CrossValidation.sizes", "i", (None,))
    need_array(found.errors, "CrossValidation.errors", "i", (found.candidates.size, found.sizes.size))
    need(found.errors.size > 0, "CrossValidation.errors", "must not be empty")
    counted = (found.errors >= 0).all() and (found.errors <= found.sizes).all()
    need(bool(counted), "CrossValidation.errors", "must be at most the rows of a fold")
    need(sum(found.sizes.tolist()) <= MOST, "CrossValidation.sizes", f"must be at most {MOST} rows")
    votes = found.errors_of_votes
    need(votes is None or type(votes) is tuple, "CrossValidation.errors_of_votes", "must be a tuple, or None")
    for errors in votes or ():
        need_whole(errors, "CrossValidation.errors_of_votes", 0, int(found.sizes.sum()))
    both = (found.log_losses is None) == (found.families is None)
    need(both, "CrossValidation.families", "must be there with log-losses")
    if found.log_losses is not None:
        need_array(found.log_losses, "CrossValidation.log_losses", "f", (found.candidates.size,))
        need(bool((found.log_losses >= 0.0).all()), "CrossValidation.log_losses", "must not be negative")
        need_array(found.families, "CrossValidation.families", "i", (found.candidates.size,))


def check_calibrated(soft: Calibrated) -> None:
    """Raise unless every map is one for the classes."""
    need_rows(soft.classes, "Calibrated.classes", MOST)
    whole = type(soft.maps) is dict and all(type(i) is int and i >= 0 for i in soft.maps)
    need(whole and len(soft.maps) > 0, "Calibrated.maps", "must be by number of a classifier")
    for one in soft.maps.values():
        fits = isinstance(one, Calibration) and one.n_classes == soft.classes.size
        need(fits, "Calibrated.maps", "must be for these classes")


def check_estimators(members: Estimators) -> None:
    """Raise unless there are classifiers, with facts about each."""
    several = type(members.estimators) is list and len(members.estimators) > 0
    need(several, "Estimators", "must be a list of classifiers")
    number = len(members.estimators)
    predict = all(callable(getattr(one, "predict", None)) for one in members.estimators)
    need(predict, "Estimators", "must have a method predict")
    need(isinstance(members.classes, np.ndarray), "Estimators.classes", "must be an array")
    for name, facts in (("params", members.params), ("dropped", members.dropped)):
        dicts = type(facts) is list and all(type(one) is dict for one in facts)
        need(dicts and (name == "dropped" or len(facts) == number), f"Estimators.{name}", "must be a dict for each")
    if members.kkt_violation is not None:
        need_array(members.kkt_violation, "Estimators.kkt_violation", "f", (number,), finite=False)
    if members.converged is not None:
        need_array(members.converged, "Estimators.converged", "b", (number,))
    need(type(members.elsewhere) is bool, "Estimators.elsewhere", "must be True or False")


def check_joined(members: Joined) -> None:
    """Raise unless all parts tell the same classes apart."""
    sets = type(members.parts) is tuple and all(isinstance(one, SharedMachines | Estimators) for one in members.parts)
    need(sets and len(members.parts) > 1, "Joined.parts", "must be several sets")
    named = type(members.names) is tuple and all(type(name) is str for name in members.names)
    need(named and len(members.names) == len(members.parts), "Joined.names", "must be a name for each")
    same = all(np.array_equal(part.classes, members.classes) for part in members.parts)
    need(same, "Joined.parts", "must have the same classes")


def check_calibration(calibration: Calibration) -> None:
    """Raise unless all parts are about the same classes, and no product of them is infinite."""
    kind, shift, bias, table = calibration.kind, calibration.shift, calibration.bias, calibration.table
    need_choice(kind, "Calibration.kind", KINDS)
    need_whole(calibration.n, "Calibration.n", 1)
    need_number(calibration.slope, "Calibration.slope")
    need_number(calibration.pair_slope, "Calibration.pair_slope")
    need_array(shift, "Calibration.shift", "f", (None,))
    need(shift.size >= 2, "Calibration.shift", "must be about two classes or more")
    need_array(bias, "Calibration.bias", "f", shift.shape)
    for name, values, limit in (("shift", shift, calibration.limit), ("bias", bias, LARGEST)):
        need(bool((np.abs(values) <= limit).all()), f"Calibration.{name}", f"must be at most {limit:g} in size")
    coupled = kind == PAIRS and shift.size > 2
    need(coupled or calibration.pair_slope == 1.0, "Calibration.pair_slope", "must be 1 where nothing is coupled")
    need((table is not None) == (kind == ANSWERS), "Calibration.table", "belongs to answers alone")
    if table is not None:
        need_array(table, "Calibration.table", "f", (shift.size + 1, shift.size))
        need(bool((table >= 0.0).all()), "Calibration.table", "must hold probabilities")
        need(bool((np.abs(table.sum(axis=1) - 1.0) < 1e-9).all()), "Calibration.table", "must sum to 1")


def check_shared_machines(members: SharedMachines) -> None:
    """Raise unless SVMs, kernels and scaling are for the rows that they sum over."""
    for name, kind in {"settings": MachineSettings, "scaling": Scaling}.items():
        need(type(getattr(members, name)) is kind, f"SharedMachines.{name}", f"must be {kind.__name__}")
    for name, kind in {"kernels": Kernel, "machines": Machines}.items():
        several = getattr(members, name)
        need(
            _is_tuple_of(several, kind) and len(several) > 0,
            f"SharedMachines.{name}",
            f"must be a tuple of {kind.__name__}",
        )
    settings, machines, classes = members.settings, members.machines, members.classes
    need(len(members.kernels) == len(machines), "SharedMachines.machines", "must be some for each kernel")
    need(isinstance(classes, np.ndarray) and classes.ndim == 1, "SharedMachines.classes", "must be an array of labels")
    need_array(members.rows, "SharedMachines.rows", "f", (None, None))
    number, width = members.rows.shape
    need(width > 0, "SharedMachines.rows", "must have columns")
    need(members.scaling.shift.size == width, "SharedMachines.scaling", f"must be for {width} columns")
    right = all((settings.kernel == "linear") == (kernel.name == "linear") for kernel in members.kernels)
    need(right, "Kernel.name", f"must be for {settings.kernel!r}")
    least = settings.kernel != NYSTROEM or number <= settings.n_components
    need(least, "SharedMachines.rows", "must be as many landmarks as were asked for")
    for each in machines:
        need(int(each.codes[-1]) < classes.size, "Machines.codes", "must be classes")
        need(np.array_equal(each.codes, machines[0].codes), "Machines.codes", "must be the same for all")
        same = np.array_equal(each.pairs[0].path.lambdas, settings.lambdas)
        need(same, "SVMPath.lambdas", "must be those that were asked for")
        each.check_rows(number)
    prepares = members.prepare is None or callable(getattr(members.prepare, "transform", None))
    need(prepares, "SharedMachines.prepare", "must be a transformer or None")


def check_text_column(column: TextColumn) -> None:
    """Raise unless a column of text has a place and words."""
    need_whole(column.place, "TextColumn.place", 0)
    need(type(column.has_both) is bool, "TextColumn.has_both", "must be True or False")
    need(_is_tuple_of(column.words, str), "TextColumn.words", "must be a tuple of texts")


def check_table_reading(reading: TableReading) -> None:
    """Raise unless columns have places, and words are text."""
    need(_is_tuple_of(reading.text, TextColumn), "TableReading.text", "must be a tuple of columns")
    places = _is_tuple_of(reading.unclear, int) and all(place >= 0 for place in reading.unclear)
    need(places, "TableReading.unclear", "must be a tuple of places")
    need(_is_tuple_of(reading.missing, str), "TableReading.missing", "must be a tuple of texts")
    for name in ("as_written", "spaces"):
        need(type(getattr(reading, name)) is bool, f"TableReading.{name}", "must be True or False")
    need(type(reading.signs) is NumberSigns, "TableReading.signs", "must say how numbers are written")


def check_reading(reading: Any, columns: int | None) -> None:
    """Raise unless a plan's reading is of a table with so many columns."""
    if reading is not None:
        need(type(reading) is TableReading, "Plan.reading", "must be a TableReading")
        last = max((*(column.place for column in reading.text), *reading.unclear), default=-1)
        need(columns is None or last < columns, "Plan.reading", f"must be of {columns} columns, got the place {last}")


def _is_tuple_of(values: Any, kind: type) -> bool:
    return type(values) is tuple and all(type(value) is kind for value in values)


#: Of classes whose constructors check nothing.
CHECKS: dict[type, Callable[[Any], None]] = {
    Calibrated: check_calibrated,
    Calibration: check_calibration,
    CrossValidation: check_cross_validation,
    Division: check_division,
    Estimators: check_estimators,
    Evidence: check_evidence,
    Joined: check_joined,
    SharedMachines: check_shared_machines,
    TableReading: check_table_reading,
    TextColumn: check_text_column,
}
