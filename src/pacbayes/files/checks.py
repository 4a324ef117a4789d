"""Checks of values that were read from a file, each before its constructor, or compiled code, sees it.

What a fit computes needs none of them.  The decoder calls the entry of `CHECKS` for a value's class with the fields as
the file has them; values inside were checked before.  Each raises a `ValueError` that names class and field.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pacbayes._utils.checks import need, need_array, need_choice, need_number, need_whole
from pacbayes.data.number_signs import NumberSigns
from pacbayes.data.tables import TableReading, TextColumn
from pacbayes.ensemble.calibration import ANSWERS, KINDS, LARGEST, PAIRS, Calibration
from pacbayes.ensemble.svm_members import SharedMachines
from pacbayes.svm.kernel import NYSTROEM, Kernel, Scaling
from pacbayes.svm.machines import Machines
from pacbayes.svm.svm_classifier import MachineSettings


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
        same = np.array_equal(each.paths[0].lambdas, settings.lambdas)
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
    Calibration: check_calibration,
    SharedMachines: check_shared_machines,
    TableReading: check_table_reading,
    TextColumn: check_text_column,
}
