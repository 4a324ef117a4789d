"""What `pacbayes certify --json` prints."""

import hashlib
from dataclasses import asdict
from typing import Any

import numpy as np

import pacbayes
from pacbayes.cli.inputs.data import Choices, Data
from pacbayes.cli.inputs.model import CertifyOptions
from pacbayes.report.record import versions
from pacbayes.report.tables import five_bounds, weight_groups
from pacbayes.report.view import ReportView
from pacbayes.runtime.fingerprint import fingerprint


def certified_as_dict(
    view: ReportView, data: Data, choices: Choices, options: CertifyOptions, remarks: list[str]
) -> dict[str, Any]:
    """Return the result as plain values; shares between 0 and 1, bounds as computed."""
    model, posterior, observed = view.model, view.posterior, view.observed
    certificate = view.certificate
    return {
        "version": pacbayes.__version__,
        "versions": versions(),
        "certificate": str(certificate),
        "assumption": certificate.main_assumption,
        "remarks": remarks,
        "data": _data(data, choices),
        "settings": _settings(view, options),
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
            for one in five_bounds(view)
        ],
        "bounds_note": "Each bound holds alone: fix distance and delta before looking.",
        "baselines": {name: asdict(baseline) for name, baseline in certificate.baselines.items()},
        "weights": [
            {"label": group.label, "number": group.number, "weight": group.weight, "risk": group.risk}
            for group in weight_groups(view)
            if group.weight > 0.0
        ],
        "below": None
        if options.below is None
        else {
            "target": options.below,
            "classifiers": [
                {"classifier": one.index, "params": _plain(one.params), "bound": one.bound}
                for one in model.certified_below(options.below)
            ],
        },
        "test": None
        if observed is None
        else {"errors": observed.errors, "rows": observed.rows, "constant": observed.constant},
    }


def _data(data: Data, choices: Choices) -> dict[str, Any]:
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


def _settings(view: ReportView, options: CertifyOptions) -> dict[str, Any]:
    """Return what was asked for and what was filled in, so that the same result can be asked for again."""
    model, classifiers = view.model, view.classifiers
    assert classifiers.splits is not None
    params = model.get_params(deep=False)
    return {
        "estimator": options.estimator,
        "lambdas": options.resolved_lambdas(),
        "kernel": (options.kernel or "rbf") if options.estimator == "svm" else None,
        "grid": None if options.grid is None else str(options.grid),
        "classifiers": len(classifiers),
        "split": options.split,
        "validation_size": options.size(),
        "unit": classifiers.unit,
        "duplicates": options.duplicates,
        "copies": classifiers.copies,
        "training_examples": classifiers.splits.n_train,
        "validation_examples": classifiers.m,
        "distance": list(view.chosen_among),
        "delta": view.delta,
        "voting": options.voting,
        "seed": options.seed,
        "checkpoint": None if options.checkpoint is None else str(options.checkpoint),
        "fitted": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in params.items()},
        "of_classifiers": [{name: _plain(value) for name, value in one.items()} for one in classifiers.params],
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON does not have as Python writes it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | None) else " ".join(repr(value).split())
