"""Everything needed to do it again: certificate, parameters, versions, and fingerprints of data and result."""

import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import pacbayes
from pacbayes.certificates.certificate import PLURAL, Certificate
from pacbayes.report.formatting import format_bound, format_number
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView
from pacbayes.runtime.fingerprint import fingerprint

# Longer texts are cut: a parameter may be a list of a thousand settings.
_LONGEST = 600
_LONGEST_NAME, _MOST_NAMES = 400, 200
# The table of classifiers ends where so much of the weight is shown, or after so many.
_ENOUGH, _MOST = 0.99, 20

_COPIES = "validation rows that equal a training row in features and class"


def certificate_table(view: ReportView) -> TextTable:
    """Return the certificates of all ways of predicting, one in a column."""
    certificates = view.model.certificates_
    counted = PLURAL[view.classifiers.unit]
    head = ("", *(f"{name} (this model)" if name == view.voting else name for name in certificates))
    fields: dict[str, Callable[[Certificate], str]] = {
        "bound": lambda one: repr(one.bound),
        "errs on at least": lambda one: "–" if one.lower is None else repr(one.lower),
        "validation risk L": lambda one: format_bound(one.empirical_risk),
        "divergence K": lambda one: format_bound(one.kl),
        "δ": lambda one: repr(one.delta),
        f"validation {counted} m": lambda one: str(one.m),
        "distance": lambda one: one.distance,
        "where it comes from": lambda one: one.theorem,
    }
    rows = [(name, *(write(one) for one in certificates.values())) for name, write in fields.items()]
    return TextTable("Certificates of the three ways of predicting; each holds alone", head, rows)


def heavy_table(view: ReportView) -> TextTable:
    """Return the classifiers that carry the weight, the heaviest first."""
    weights, classifiers, tested = view.posterior.weights, view.classifiers, view.tested
    order = np.argsort(-weights, kind="stable")
    so_far = np.cumsum(weights[order])
    number = min(int(np.searchsorted(so_far, _ENOUGH) + 1), _MOST, order.size)
    heavy = order[:number].tolist()
    common = _common(classifiers.params)
    columns = {"classifier": [str(i) for i in heavy], **_settings([classifiers.params[i] for i in heavy], common)}
    if classifiers.errors is not None:
        columns["validation errors"] = [f"{classifiers.errors[i]} of {classifiers.m}" for i in heavy]
    else:
        columns[f"mean over {classifiers.m} validation groups"] = [format_bound(classifiers.risks[i]) for i in heavy]
    if tested is not None:
        columns["test errors"] = [f"{tested.errors[i]} of {tested.rows}" for i in heavy]
    if view.prior is not None:
        columns["prior weight"] = [format_number(view.prior[i]) for i in heavy]
    columns["weight"] = [format_number(weights[i]) for i in heavy]
    columns["weight so far"] = [format_number(value) for value in so_far[:number].tolist()]
    rest = max(0.0, 1.0 - float(so_far[number - 1]))
    caption = (
        f"The {number} heaviest of {order.size} classifiers"
        + (f"; the others carry {format_number(rest)} of the weight together" if number < order.size else "")
        + f". Effective number of classifiers, 1/Σq²: {format_number(view.posterior.n_effective)}."
        + (f" The prior weight of each is {format_number(1.0 / order.size)}." if view.prior is None else "")
        + (f" All have {format_setting(common)}." if common else "")
    )
    return TextTable(caption, tuple(columns), list(zip(*columns.values(), strict=True)))


def _common(params: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the plain parameters that are the same for all of several classifiers."""
    if len(params) == 1:
        return {}
    first = {name: value for name, value in params[0].items() if isinstance(value, float | int | str | None)}
    return {name: value for name, value in first.items() if all(one.get(name, ...) == value for one in params)}


def _settings(params: list[dict[str, Any]], common: dict[str, Any]) -> dict[str, list[str]]:
    """Return the column of what distinguishes the classifiers: under its own name if it is one thing."""
    own = [{name: value for name, value in one.items() if name not in common} for one in params]
    if all(tuple(one) == ("lambda",) for one in own):
        return {"λ": [f"{one['lambda']:.6g}" for one in own]}
    return {"parameters": [format_setting(one) for one in own]}


def format_setting(params: Mapping[str, Any]) -> str:
    """Return the parameters of a classifier as text.

    Examples
    --------
    >>> format_setting({"lambda": 0.1 + 0.2, "kernel": "rbf"})
    "lambda = 0.3, kernel = 'rbf'"
    """
    return ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {format_value(value)}"
        for name, value in params.items()
    )


def format_value(value: Any) -> str:
    """Return any value as a text of bearable length.

    Examples
    --------
    >>> format_value(np.arange(0.1, 20, 0.1)), format_value("uniform"), format_value(len)
    ('199 values from 0.1 to 19.9', "'uniform'", 'builtins.len')
    """
    if isinstance(value, np.ndarray | list | tuple) and len(value) > 8:
        numbers = np.asarray(value) if all(isinstance(one, float | int | np.number) for one in value) else None
        if numbers is not None and numbers.ndim == 1:
            return f"{numbers.size} values from {numbers.min():.6g} to {numbers.max():.6g}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return _cut(repr(value), _LONGEST)


def parameter_table(view: ReportView) -> TextTable:
    """Return the parameters of the estimator."""
    rows = [(name, format_value(value)) for name, value in view.model.get_params(deep=False).items()]
    return TextTable(f"Parameters of {type(view.model).__name__}, as they are set now", ("parameter", "value"), rows)


def data_table(view: ReportView) -> TextTable:
    """Return what is known about the rows, with their fingerprint if they were given."""
    model, classifiers = view.model, view.classifiers
    splits = classifiers.splits
    assert splits is not None
    counted = PLURAL[splits.unit]
    for_each = "" if view.is_shared else " for each classifier, drawn for it alone"
    rows = [
        ("rows", str(splits.n_rows)),
        (f"training {counted}", f"{splits.n_train}{for_each}"),
        (f"validation {counted} m", f"{splits.m}{for_each}"),
        (_COPIES, "not known" if classifiers.copies is None else str(classifiers.copies)),
        ("classes", _classes(view)),
    ]
    if hasattr(model, "n_features_in_"):
        rows.append(("columns", str(model.n_features_in_)))
    if hasattr(model, "feature_names_in_"):
        rows.append(("names of columns", format_names(model.feature_names_in_.tolist())))
    rows.append(("classifiers", str(len(classifiers))))
    if classifiers.dropped:
        rows.append(("classifiers left out, which could not be trained", str(len(classifiers.dropped))))
    if classifiers.converged is not None:
        unfinished = int(np.count_nonzero(~classifiers.converged))
        rows.append(("support vector machines that did not converge", str(unfinished)))
    given = "not given: write_report(..., data=(X, y)) adds it"
    X, y = (None, None) if view.data is None else view.data
    rows.append(("SHA-256 of the rows", given if X is None else fingerprint(X)))
    rows.append(("SHA-256 of the labels", given if y is None else fingerprint(y)))
    rows.append(("SHA-256 of validation errors and weights", result_fingerprint(view)))
    caption = "Data. Fingerprints depend on values, types and memory layout (pacbayes.runtime.fingerprint)."
    return TextTable(caption, ("what", "value"), rows)


def result_fingerprint(view: ReportView) -> str:
    """Return the fingerprint of what a second run has to find again."""
    return fingerprint([view.classifiers.counted, view.posterior.weights])


def _classes(view: ReportView) -> str:
    classes = view.model.classes_
    if view.data is None:
        return format_names(classes.tolist())
    _, counts = np.unique(view.data[1], return_counts=True)
    return format_names(classes.tolist(), [f" ({count} rows)" for count in counts.tolist()])


def format_names(names: Sequence[Any], notes: Sequence[str] = ()) -> str:
    """Return names from the data in a list of bearable length, each with its note.

    Examples
    --------
    >>> format_names(["a", "b" * 500], [" (3 rows)", " (4 rows)"])[:20], format_names(range(1000))[-26:]
    ('a (3 rows), bbbbbbbb', '198, 199, … and 800 others')
    """
    shown = [_cut(str(name), _LONGEST_NAME) for name in names[:_MOST_NAMES]]
    listed = [name + note for name, note in zip(shown, notes or [""] * len(shown), strict=False)]
    return ", ".join(listed) + (f", … and {len(names) - len(shown)} others" if len(shown) < len(names) else "")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text)} characters)"


def versions() -> dict[str, str]:
    """Return the versions of everything that may change a result, and the kind of machine.

    Examples
    --------
    >>> list(versions())
    ['pacbayes', 'Python', 'numpy', 'scipy', 'scikit-learn', 'numba', 'machine']
    """
    return {
        "pacbayes": pacbayes.__version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def version_table(now: datetime | None = None) -> TextTable:
    """Return versions and date."""
    rows = [
        *versions().items(),
        ("written", (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")),
    ]
    return TextTable("Versions of what wrote this page", ("what", "version"), rows)
