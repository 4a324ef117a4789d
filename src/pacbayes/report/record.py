"""Reproducibility information of reports: date, parameters, columns, versions and fingerprints."""

import platform
from collections.abc import Sequence
from copy import copy
from importlib.metadata import version
from typing import Any

import numpy as np

import pacbayes
from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import PLURAL, format_value, truncate
from pacbayes.data.split import DISTINCT
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

# Maximum length and number of listed names.
_MAX_NAME_LENGTH, _MAX_NAMES = 400, 200
_DUPLICATES = "validation rows with a duplicate (features and class) in the training set"


def header_fields(view: ReportView) -> dict[str, str]:
    """Header of a report: date, version, data fingerprint and owner."""
    return {
        "fitted": view.model._fitted.date,
        "with": f"pacbayes {pacbayes.__version__}",
        "data fingerprint": data_fingerprint(view)[:16],
        "owner": view.owner or "not stated",
    }


def data_fingerprint(view: ReportView) -> str:
    """Fingerprint of the row hashes stored in the model and of the validation labels."""
    fitted = view.model._fitted
    return fingerprint([fitted.plan.row_fingerprints, fitted.predictions.y_true])


def column_table(view: ReportView) -> TextTable | None:
    """Table of the columns and their preprocessing; None without the default preprocessor."""
    encoder = view.model._fitted.table_encoder
    if encoder is None:
        return None
    summary = encoder.summary()
    caption = "For gradient boosting, missing values and categories of up to 250 values are not transformed."
    if len(summary) > _MAX_NAMES:
        caption += f" The first {_MAX_NAMES} of {len(summary)} columns."
    rows = [(truncate(name, _MAX_NAME_LENGTH), kind, text) for name, kind, text in summary[:_MAX_NAMES]]
    return TextTable("Preprocessing of the columns", ("column", "kind", "used as"), rows, caption)


def parameter_table(view: ReportView) -> TextTable:
    """Table of the parameters, with the fitted values of those that determine the certificate."""
    rows = [(name, format_value(value)) for name, value in as_fitted(view.model).get_params(deep=False).items()]
    kind = type(view.model).__name__
    title = f"Parameters of {kind}: fitted values for the certificate, current values otherwise"
    return TextTable(title, ("parameter", "value"), rows)


def as_fitted(model: CertifiedModel) -> CertifiedModel:
    """Copy a model with the parameters of its fit, which `set_params` or edits of a file may have changed.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> as_fitted(clf.set_params(delta=0.5)).delta
    0.05
    """
    plan = model._fitted.plan
    fixed = {name: getattr(plan, name) for name in ("delta", "constant", "hedge", "metrics_share", "decision")} | {
        "split": plan.split.kind,
        "duplicates": "together" if plan.split.unit == DISTINCT else "keep",
        "prior": "uniform" if plan.prior is None else plan.prior,
        "distance": plan.distance[0] if len(plan.distance) == 1 else list(plan.distance),
        "metrics": tuple(metric.cost or metric.name for metric in plan.metrics),
        "pos_label": plan.positive,
        "max_error": getattr(plan.decision, "max_error", None),
        "refit": plan.refit is not None,
        "cv": None if plan.cross_validation is None else max(2, int(plan.cross_validation.sizes.size)),
    }
    fitted = copy(model)
    for name in fixed.keys() & vars(model).keys():
        setattr(fitted, name, fixed[name])
    return fitted


def data_table(view: ReportView) -> TextTable:
    """Table of the rows and classifiers, with fingerprints of the data if available."""
    model, classifiers, split = view.model, view.classifiers, view.plan.split
    units = PLURAL[split.unit]
    for_each = "" if split.kind == "shared" else " in an independent split for each classifier"
    refit_rows = f" (certified classifier), {split.n_train + split.m} (refit)" if view.certificate.refit else ""
    notes, hashes = [""] * len(model.classes_), ["not available; use write_report(..., data=(X, y))"] * 2
    if view.data is not None:
        counts = np.unique(view.data[1], return_counts=True)[1]
        notes, hashes = [f" ({count} rows)" for count in counts], [fingerprint(part) for part in view.data]
    names, converged = getattr(model, "feature_names_in_", None), classifiers.converged
    rows = {
        "rows": split.n_rows,
        f"training {units}": (
            "unknown (prefit classifiers)" if split.prefit else f"{split.n_train}{for_each}{refit_rows}"
        ),
        f"validation {units} m": f"{split.m}{for_each}",
        _DUPLICATES: "unknown" if classifiers.copies is None else classifiers.copies,
        "classes": format_names(model.classes_.tolist(), notes),
        "columns": getattr(model, "n_features_in_", None),
        "column names": None if names is None else format_names(names.tolist()),
        "classifiers": len(classifiers),
        "classifiers that could not be trained": len(classifiers.dropped) or None,
        "SVMs that did not converge": None if converged is None else np.count_nonzero(~converged),
        "SHA-256 of the rows": hashes[0],
        "SHA-256 of the labels": hashes[1],
        "data fingerprint: hashes of the rows, and validation labels": data_fingerprint(view),
        # Equal for every run on the same data with the same parameters and versions.
        "SHA-256 of validation errors and weights": fingerprint([classifiers.error_counts.errors, view.weights]),
    }
    title = "Data. Fingerprints depend on values, types and memory layout (pacbayes._utils.values)."
    cells = [(name, str(value)) for name, value in rows.items() if value is not None]
    return TextTable(title, ("property", "value"), cells)


def format_names(names: Sequence[Any], notes: Sequence[str] = ()) -> str:
    """Join names, each with its note, to a string of limited length.

    Examples
    --------
    >>> format_names(["a", "b" * 500], [" (3 rows)", " (4 rows)"])[:20], format_names(range(1000))[-26:]
    ('a (3 rows), bbbbbbbb', '198, 199, … and 800 others')
    """
    listed = [truncate(str(name), _MAX_NAME_LENGTH) for name in names[:_MAX_NAMES]]
    annotated = [name + note for name, note in zip(listed, notes or [""] * len(listed), strict=False)]
    return ", ".join(annotated) + (f", … and {len(names) - len(listed)} others" if len(listed) < len(names) else "")


def versions() -> dict[str, str]:
    """Versions of the software that may affect results, and the platform.

    Examples
    --------
    >>> list(versions())
    ['pacbayes', 'Python', 'numpy', 'scipy', 'scikit-learn', 'numba', 'platform']
    """
    return {
        "pacbayes": pacbayes.__version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "platform": f"{platform.system()} {platform.machine()}",
    }


def version_table() -> TextTable:
    """Table of versions."""
    return TextTable("Software versions", ("software", "version"), list(versions().items()))
