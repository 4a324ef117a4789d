"""What `pacbayes certify` has found: written to files, said, printed as tables or as JSON."""

import hashlib
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.files import write_file
from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import PLURAL
from pacbayes.certificates.decisions import rows_to_reach
from pacbayes.certificates.levels import lower_of
from pacbayes.certificates.voting import POSTERIOR, PRIMARY, SOFT
from pacbayes.cli.data import TARGET_HINT, Choices, Data
from pacbayes.cli.interrupted import keeps
from pacbayes.cli.show import Note, print_json, print_lines, print_tables
from pacbayes.data.reading import listed
from pacbayes.data.split import GROUP
from pacbayes.ensemble.members import CompositeMembers
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.report.guarantee import describe_rule
from pacbayes.report.record import versions
from pacbayes.report.tables import bounds_table, certificate_table, part_table, weight_groups, weight_table
from pacbayes.report.view import ReportView

# Where more is found; the assumption that fails first is named at once.
_MORE = "It assumes independent examples: pacbayes help assumptions. More: --details, --report FILE.html."
# What is advised where a class is often missed: the first that the validation rows can show.
_RECALLS = (0.9, 0.8, 0.7, 0.6, 0.5)


def write_files(
    asked: SimpleNamespace, view: ReportView, name: str, notes: list[str]
) -> tuple[list[str], Exception | None]:
    """Write the model and the report; return what to say of them, and what went wrong.

    Before anything is printed, as the reader of a pipe may go away in the middle of the tables.  An error is raised
    when the certificate was printed: a full disk does not undo the work.
    """
    written: list[str] = []
    failed: Exception | None = None
    outputs: dict[str, tuple[Path | None, Callable[[Path], str]]] = {
        "--save": (asked.save, lambda path: _save_model(path, view)),
        "--report": (asked.report, lambda path: _write_report(path, view, name, notes)),
    }
    for option, (path, write) in outputs.items():
        if path is None:
            continue
        try:
            written.append(write(path))
        except OSError as error:
            failed = failed or OSError(f"{option}: cannot write {str(path)!r}: {error.strerror or error}")
        except Exception as error:  # whatever it is, it must not keep the certificate from the user
            failed = failed or error
    return written, failed


def _save_model(path: Path, view: ReportView) -> str:
    from pacbayes.files.model_file import save

    digest = save(view.model, path)
    keeps(lambda: f"the model is saved in {str(path)!r}")
    return f"Model saved in {path} (SHA-256 {digest})."


def _write_report(path: Path, view: ReportView, name: str, notes: list[str]) -> str:
    from pacbayes.report.page import render

    # Whoever reads the page has no options to give.
    page = render(view, f"Certificate for {name}", [line.replace(TARGET_HINT, "") for line in notes])
    write_file(path, page.encode("utf-8"))
    keeps(lambda: f"the report is in {str(path)!r}")
    return f"Report written to {path}."


def print_certified(
    view: ReportView, rows: Data, choices: Choices, asked: SimpleNamespace, remarks: list[str], note: Note
) -> None:
    """Print what everybody should know, or in detail the guarantee with its tables, or JSON alone."""
    if asked.json:
        print_json(_as_dict(view, rows, choices, asked, remarks))
        return
    note("")
    parts = part_table(view)
    if asked.details:
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
    if found.minority_class_missed is None or found.unit == GROUP or found.refit:
        return ""
    if len(view.model.classes_) > 2 or view.classifiers.prefit:
        return "" if found.metrics else "A limit for each class: --by-class."
    if view.voting != SOFT:
        return ""
    # Targets are tested at the whole of delta; more than these rows can show is not advised.
    label, rows = found.minority_class_missed.of, int(found.minority_class_missed.rows)
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
    wrong, rows = view.observed.errors_among_accepted(view.voting)
    answered = "" if not view.certificate.abstains else " that it answered"
    return f"It erred on {wrong} of {rows} test examples{answered}."


def _role(view: ReportView) -> str:
    """Say who answers, and what the certificate rests on."""
    classifiers, distance, tried = view.classifiers, view.posterior.distance, len(view.plan.distances)
    how = f"distance {distance}" if tried == 1 else f"the best of {tried} distances, {distance}"
    if view.certificate.rule == PRIMARY:
        how = f"as {view.certificate.origin.removeprefix('which ')}"
    elif view.certificate.rule != POSTERIOR:
        how = f"{view.certificate.rule}, of several rules the one with the smallest bound"
    counted = PLURAL[classifiers.unit].replace("rows", "examples")
    return f"{describe_rule(view)} Rule: {how}; delta {view.plan.delta:g}; {classifiers.m} validation {counted}."


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
    model, classifiers, observed = view.model, view.classifiers, view.observed
    assert classifiers.splits is not None
    names = ("distance", "delta", "bound", "lower_bound", "empirical_risk", "kl", "beta", "n_effective")
    posteriors = [{name: getattr(one, name) for name in names} for one in (view.posterior, *view.posteriors)]
    return {
        "versions": versions(),
        "certificate": " ".join(view.certificate.lines),
        "assumption": view.certificate.main_assumption,
        "remarks": remarks,
        "data": _data_as_dict(data, choices),
        # What was filled in beside what was asked for, so that the same result can be asked for again.
        "settings": {
            "kernel": _kernel(view),
            "candidates": asked.candidates if asked.predictions is None else "predictions",
            "classifiers": len(classifiers),
            "unit": classifiers.unit,
            "copies": classifiers.copies,
            "training_examples": classifiers.splits.n_train,
            "validation_examples": classifiers.m,
            "distance": model.distances_,
            "hedge": model.hedge_,
            "voting": view.voting,
            "fitted": type(model).__name__,
            "parameters": model.get_params(deep=False),
            "of_classifiers": classifiers.params,
        },
        "certificates": {voting: certificate.to_dict() for voting, certificate in model.certificates_.items()},
        "vote_errors": model.vote_errors_,
        "posterior": posteriors[0] if model.hedge_ else None,
        "bounds": posteriors[1:],
        "weights": [
            {name: getattr(group, name) for name in ("label", "number", "weight", "risk")}
            for group in weight_groups(view)
            if group.weight > 0.0
        ],
        "test": None
        if observed is None
        else {"errors": observed.errors, "rows": observed.rows, "constant": observed.baseline_errors},
    }


def _kernel(view: ReportView) -> str | None:
    """Return the kernel of the machines that were trained, which the size of the data decides where nobody does."""
    members = view.classifiers.members
    for part in members.parts if isinstance(members, CompositeMembers) else (members,):
        if isinstance(part, KernelSVMs):
            return part.settings.kernel
    return getattr(view.model, "kernel", None)


def _data_as_dict(data: Data, choices: Choices) -> dict[str, Any]:
    """Return what the rows are, how they were read, and their fingerprints: the same rows have the same ones."""
    return {
        "name": data.name,
        "examples": len(data.y),
        "target": data.target,
        "classes": data.class_names,
        "numeric": data.columns.numeric,
        "categorical": data.columns.categorical,
        "missing": data.columns.missing,
        "read": asdict(choices),
        "groups": None if data.groups is None else len(set(data.groups.tolist())),
        "examples_without_class_left_out": data.skipped,
        "sha256": {
            "file": None if data.path is None else hashlib.sha256(data.path.read_bytes()).hexdigest(),
            "rows": fingerprint(data.X),
            "labels": fingerprint(data.y),
            "groups": None if data.groups is None else fingerprint(data.groups),
        },
    }
