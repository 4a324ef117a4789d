"""What `pacbayes certify` has found: written to files, said, printed as tables or as JSON."""

import hashlib
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pacbayes
from pacbayes._utils.files import write_file
from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import PLURAL
from pacbayes.certificates.decisions import rows_to_reach
from pacbayes.certificates.levels import lower_of
from pacbayes.certificates.voting import POSTERIOR, PROPOSAL, SOFT
from pacbayes.cli.data import TARGET_HINT, Choices, Data
from pacbayes.cli.interrupted import keeps
from pacbayes.cli.show import Shown, print_json, print_lines, print_tables
from pacbayes.data.division import GROUP
from pacbayes.data.reading import listed
from pacbayes.ensemble.members import Joined
from pacbayes.ensemble.svm_members import SharedMachines
from pacbayes.report.guarantee import who_answers
from pacbayes.report.record import versions
from pacbayes.report.tables import bounds_table, certificate_table, part_table, weight_groups, weight_table
from pacbayes.report.view import ReportView

# Where more is found; the assumption that fails first is named at once.
_MORE = "It assumes independent examples: pacbayes help assumptions. More: --details, --report FILE.html."
# What is advised where a class is often missed: the first that the validation rows can show.
_RECALLS = (0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass
class Files:
    """What is written: before anything is printed, as the reader of a pipe may go away in the middle of the tables."""

    save: Path | None
    report: Path | None
    written: list[str] = field(default_factory=list)
    #: What went wrong, to be raised once the certificate was printed: a full disk does not undo the work.
    failed: Exception | None = None

    def write(self, view: ReportView, rows: Data, remarks: list[str]) -> None:
        """Write what was asked for."""
        if self.save is not None:
            self._try("--save", self.save, lambda: self._save_model(view.model))
        if self.report is not None:
            self._try("--report", self.report, lambda: self._write_report(view, rows, remarks))

    def _try(self, name: str, path: Path, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.failed = self.failed or OSError(f"{name}: cannot write {str(path)!r}: {error.strerror or error}")
        except Exception as error:  # whatever it is, it must not keep the certificate from the user
            self.failed = self.failed or error

    def _save_model(self, model: Any) -> None:
        from pacbayes.files.model_file import save

        assert self.save is not None
        self.written.append(f"Model saved in {self.save} (SHA-256 {save(model, self.save)}).")
        keeps(lambda: f"the model is saved in {str(self.save)!r}")

    def _write_report(self, view: ReportView, rows: Data, remarks: list[str]) -> None:
        from pacbayes.report.page import render

        assert self.report is not None
        # Whoever reads the page has no options to give.
        notes = [line.replace(TARGET_HINT, "") for line in rows.notes]
        page = render(view, f"Certificate for {rows.name}", [*notes, *remarks])
        write_file(self.report, page.encode("utf-8"))
        self.written.append(f"Report written to {self.report}.")
        keeps(lambda: f"the report is in {str(self.report)!r}")


def print_certified(
    view: ReportView,
    rows: Data,
    choices: Choices,
    asked: SimpleNamespace,
    remarks: list[str],
    shown: Shown,
) -> None:
    """Print what everybody should know, or in detail the guarantee with its tables, or JSON alone."""
    note = shown.note
    if shown.json:
        print_json(_as_dict(view, rows, choices, asked, remarks))
        return
    note("")
    parts = part_table(view)
    if shown.details:
        print_lines(*view.certificate.lines, view.certificate.main_assumption, "")
        note(_role(view))
        tables = [certificate_table(view), parts, bounds_table(view), weight_table(view)]
    else:
        print_lines(*view.certificate.lines, _tested(view), _next_step(view), _MORE)
        tables = [parts]
    for remark in remarks:
        note(remark)
    print_tables([table for table in tables if table is not None], note)


def _next_step(view: ReportView) -> str:
    """Say how to find more of a class that is often missed; nothing where none is, or where that is not proved."""
    found = view.certificate
    if found.often_missed is None or found.unit == GROUP or found.refit:
        return ""
    if len(view.model.classes_) > 2 or view.classifiers.trained_elsewhere:
        return "" if found.limits else "A limit for each class: --by-class."
    if view.voting != SOFT:
        return ""
    # Targets are tested at the whole of delta; more than these rows can show is not advised.
    label, rows = found.often_missed.of, int(found.often_missed.rows)
    reached = next((recall for recall in _RECALLS if recall < lower_of(rows, rows, found.delta)), None)
    needed = f"a recall of {_RECALLS[0]} takes at least {rows_to_reach('recall', _RECALLS[0], found.delta)} validation "
    needed += f"{PLURAL[found.unit]} of class {label!r}, there are {rows}"
    if reached is None:
        return f"To find more of them takes more data: {needed}."
    why = "" if reached == _RECALLS[0] else f" ({needed})"
    return f"To find more of them: --positive {shlex.quote(str(label))} --recall {reached}{why}."


def _tested(view: ReportView) -> str:
    """Say what was observed on a test file; nothing where there is none."""
    if view.observed is None:
        return ""
    wrong, rows = view.observed.among_answered(view.voting)
    answered = "" if view.certificate.answered is None else " that it answered"
    return f"It erred on {wrong} of {rows} test examples{answered}."


def _role(view: ReportView) -> str:
    """Say who answers, and what the certificate rests on."""
    classifiers, distance, tried = view.classifiers, view.posterior.distance, len(view.plan.distances)
    how = f"distance {distance}" if tried == 1 else f"the best of {tried} distances, {distance}"
    if view.certificate.rule == PROPOSAL:
        how = f"as {view.certificate.origin.removeprefix('which ')}"
    elif view.certificate.rule != POSTERIOR:
        how = f"{view.certificate.rule}, of several rules the one with the smallest bound"
    counted = PLURAL[classifiers.unit].replace("rows", "examples")
    return f"{who_answers(view)} Rule: {how}; delta {view.plan.delta:g}; {classifiers.m} validation {counted}."


def unknown_classes(labels: NDArray[Any], view: ReportView) -> list[str]:
    """Return what to say of test examples whose class no classifier can know."""
    unknown = ~np.isin(labels, view.model.classes_)
    if not unknown.any():
        return []
    names = sorted({str(label) for label in labels[unknown].tolist()})
    return [
        f"{np.count_nonzero(unknown)} of {len(labels)} test examples have a class that the data lacks "
        f"({listed(names, 5)}): each counts as an error."
    ]


def _as_dict(
    view: ReportView, data: Data, choices: Choices, asked: SimpleNamespace, remarks: list[str]
) -> dict[str, Any]:
    """Return the result as plain values; shares between 0 and 1, bounds as computed."""
    model, posterior, observed = view.model, view.posterior, view.observed
    certificate = view.certificate
    return {
        "version": pacbayes.__version__,
        "versions": versions(),
        "certificate": " ".join(certificate.lines),
        "assumption": certificate.main_assumption,
        "remarks": remarks,
        "data": _data_as_dict(data, choices),
        "settings": _settings_as_dict(view, asked),
        "certificates": {
            voting: {name: value for name, value in certificate.to_dict().items() if name != "baselines"}
            for voting, certificate in model.certificates_.items()
        },
        "vote_errors": model.vote_errors_,
        "hedge": model.hedge_,
        "posterior": None
        if model.hedge_ == 0.0
        else {
            name: getattr(posterior, name)
            for name in ("distance", "delta", "bound", "lower_bound", "empirical_risk", "kl", "beta", "n_effective")
        },
        "bounds": [
            {"distance": one.distance, "bound": one.bound, "empirical_risk": one.empirical_risk, "kl": one.kl}
            for one in view.posteriors
        ],
        "bounds_note": "Each bound holds alone: fix distance and delta before looking.",
        # Those of the stochastic classifier: the best single one has itself no Occam's bound beside it.
        "baselines": {name: asdict(one) for name, one in model.certificates_["stochastic"].baselines.items()},
        "weights": [
            {"label": group.label, "number": group.number, "weight": group.weight, "risk": group.risk}
            for group in weight_groups(view)
            if group.weight > 0.0
        ],
        "test": None
        if observed is None
        else {"errors": observed.errors, "rows": observed.rows, "constant": observed.constant},
    }


def _data_as_dict(data: Data, choices: Choices) -> dict[str, Any]:
    """Return what the rows are, how they were read, and their fingerprints: the same rows have the same ones."""
    file = None if data.path is None else hashlib.sha256(data.path.read_bytes()).hexdigest()
    return {
        "name": data.name,
        "examples": len(data.y),
        "target": data.target,
        "classes": data.class_names,
        "numeric": list(data.columns.numeric),
        "categorical": list(data.columns.categorical),
        "missing": data.columns.missing,
        "read": {
            "drop": choices.drop,
            "keep": choices.keep,
            "categorical": choices.categorical,
            "missing": choices.missing,
            "sep": choices.sep,
            "decimal": None if choices.signs is None else choices.signs.decimal,
            "thousands": None if choices.signs is None else choices.signs.thousands,
            "skip_unlabelled": choices.skip_unlabelled,
        },
        "slice": choices.slice,
        "group": data.group,
        "groups": None if data.groups is None else len(set(data.groups.tolist())),
        "examples_without_class_left_out": data.skipped,
        "sha256": {
            "file": file,
            "rows": fingerprint(data.X),
            "labels": fingerprint(data.y),
            "groups": None if data.groups is None else fingerprint(data.groups),
        },
    }


def _settings_as_dict(view: ReportView, asked: SimpleNamespace) -> dict[str, Any]:
    """Return what was asked for and what was filled in, so that the same result can be asked for again."""
    model, classifiers = view.model, view.classifiers
    lambdas, kernel = _machines(view)
    candidates = asked.candidates if asked.predictions is None else "predictions"
    assert classifiers.splits is not None
    params = model.get_params(deep=False)
    return {
        # As version 0.1 called it.
        "estimator": candidates,
        "candidates": candidates,
        "lambdas": lambdas,
        "kernel": kernel,
        "grid": None if asked.grid is None else str(asked.grid),
        "classifiers": len(classifiers),
        "split": asked.split,
        "validation_size": asked.validation_size,
        "unit": classifiers.unit,
        "duplicates": asked.duplicates,
        "copies": classifiers.copies,
        "training_examples": classifiers.splits.n_train,
        "validation_examples": classifiers.m,
        "distance": list(model.distances_),
        "delta": model.delta_,
        "voting": view.voting,
        "seed": asked.seed,
        "checkpoint": None if asked.checkpoint is None else str(asked.checkpoint),
        "fitted": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in params.items()},
        "of_classifiers": [{name: _plain(value) for name, value in one.items()} for one in classifiers.params],
    }


def _machines(view: ReportView) -> tuple[list[float] | None, str | None]:
    """Return the grid and kernel of the support vector machines that were trained; None where there are none.

    Where nobody asked for a kernel the size of the data decides.
    """
    members = view.classifiers.members
    for part in members.parts if isinstance(members, Joined) else (members,):
        if isinstance(part, SharedMachines):
            return part.settings.lambdas.tolist(), part.settings.kernel
    # With samples of their own machines are as asked for.
    return getattr(view.model, "lambdas", None), getattr(view.model, "kernel", None)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON does not have as Python writes it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | None) else " ".join(repr(value).split())
