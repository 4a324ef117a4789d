"""A model card: what is known of a fitted model under the usual headings, and blanks for what only its owner knows."""

import json
import re
from typing import Any

from pacbayes._utils.checks import check_choice
from pacbayes._utils.words import PLURAL, printable_lines
from pacbayes.certificates.certificate import CONSTANT, Certificate
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.guarantee import Confusion, facts, must_hold, uncounted, who_answers
from pacbayes.report.record import as_fitted, format_names, versions
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

FORMATS = ("markdown", "json")
_BLANK = "*[to be filled in by the owner]*"


def model_card(model: CertifiedModel, format: str = "markdown") -> str:
    """Return a model card of a fitted model, with the usual headings [1]_.

    Everything that the fit knows is filled in, and nothing else: uses, users, where the rows come from and what is
    ethical stay blanks, marked as such in Markdown and null in JSON.

    Parameters
    ----------
    model : StochasticSVC or CertifiedClassifier
        Fitted.
    format : {"markdown", "json"}, default="markdown"

    Returns
    -------
    str

    See Also
    --------
    write_report : The same as a page, with pictures and all numbers.

    References
    ----------
    .. [1] M. Mitchell, S. Wu, A. Zaldivar, P. Barnes, L. Vasserman, B. Hutchinson, E. Spitzer, I. D. Raji and T. Gebru,
       "Model cards for model reporting", Proceedings of FAT*, 2019.

    Examples
    --------
    >>> from pacbayes import StochasticSVC, model_card
    >>> clf = StochasticSVC([0.1, 1.0], random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    >>> model_card(clf).splitlines()[:3]
    ['# Model card: StochasticSVC', '', '## Model details']
    >>> json.loads(model_card(clf, format="json"))["metrics"]["delta"]
    0.05
    """
    check_choice("format", format, FORMATS)
    view = ReportView.of(model)
    sections = _of_the_model(view) | _of_the_data(view)
    if format == "json":
        plain = {_key(name): {_key(what): _plain(one) for what, one in part.items()} for name, part in sections.items()}
        text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
        # The names stay what they are in the data, but are escaped where they would control a terminal.
        return text if text == printable_lines(text) else json.dumps(plain, indent=2, allow_nan=False)
    parts = [f"## {name}\n\n" + "".join(_line(*entry) for entry in part.items()) for name, part in sections.items()]
    return printable_lines(f"# Model card: {type(model).__name__}\n\n" + "\n".join(parts))


def _of_the_model(view: ReportView) -> dict[str, dict[str, Any]]:
    """Return the headings about the model with what is known under each; None is for the owner."""
    model, certificate = view.model, view.certificate
    stated = certificate.reached is None and (certificate.answered is None or certificate.answered.passed)
    return {
        "Model details": {
            "Kind": type(model).__name__,
            "How it answers": who_answers(view),
            "Settings": " ".join(repr(as_fitted(model)).split()),
            "Software that wrote this card": [f"{name} {number}" for name, number in versions().items()],
            "Owner and contact": None,
            "Date and version": None,
            "License": None,
        },
        "Intended use": {"Primary uses": None, "Primary users": None, "Uses out of scope": None},
        "Factors": {
            "Classes": format_names(model.classes_.tolist()),
            "Slices": [str(value) for value in view.plan.slices] or "none were named",
            "Other groups, instruments or environments that matter": None,
        },
        "Metrics": {
            "Guarantee": certificate.sentence,
            "Delta": certificate.delta,
            **({"Limit": certificate.bound} if stated else {}),
            "Further limits": [one.sentence for one in certificate.limits] or "none were asked for",
            "Compared with": [
                str(one) for name, one in certificate.baselines.items() if name in ("hold-out", CONSTANT)
            ],
            "Why these metrics": None,
        },
    }


def _of_the_data(view: ReportView) -> dict[str, dict[str, Any]]:
    """Return those about the rows, and what follows from them."""
    certificate, division, confusion = view.certificate, view.plan.division, Confusion.of(view)
    unit = PLURAL[division.unit]
    counted: dict[str, Any] = {"Errors by class": uncounted(view)}
    if confusion is not None:
        counted = {
            "Errors by class": confusion.by_class,
            "Answers": confusion.table,
            "To be noted": confusion.warnings(certificate.bound),
        }
    # After a refit all rows trained what predicts.
    trained: dict[str, Any] = {f"Training {unit}": division.n_train + (division.m if certificate.refit else 0)}
    if certificate.refit:
        trained[f"Training {unit} of the certified classifier"] = division.n_train
    if division.trained_elsewhere:
        trained = {f"Training {unit}": "trained elsewhere"}
    return {
        "Evaluation data": {
            f"Validation {unit}": division.m,
            "What was counted": facts(view)[1:] or "no threshold passed",
            "How they were chosen": certificate.assumptions[0],
            "Where they come from": None,
        },
        "Training data": {
            **trained,
            "Columns": getattr(view.model, "n_features_in_", "not known"),
            "Where they come from": None,
            "What was done to them before": None,
        },
        "Quantitative analyses": counted,
        "Ethical considerations": {"Data about people, risks and harms, mitigations": None},
        "Caveats and recommendations": {
            "What must hold": [" ".join(one) for one in must_hold(view)],
            "Always the same answer": _same_answer(certificate),
            "Recommendations": None,
        },
    }


def _same_answer(certificate: Certificate) -> str:
    """Compare the bound with that of the majority class, or say why the two are not of the same examples."""
    constant = certificate.baselines.get(CONSTANT)
    if constant is None:
        return "not compared"
    if constant.bound is None or certificate.not_better:
        return certificate.not_better or str(constant)
    if certificate.beats_constant:
        return f"{constant}; its bound is above that of this model"
    about = "answers that are covered" if certificate.refit else "examples that it answers"
    return f"{constant}; not to be compared with the bound of this model, which counts only {about}"


def _key(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, TextTable):
        return [dict(zip(value.columns, row, strict=True)) for row in value.rows]
    return value


def _line(name: str, value: Any) -> str:
    """Return an entry in Markdown."""
    if isinstance(value, TextTable):
        lines = [value.columns, ("---",) * len(value.columns), *value.rows]
        table = "".join(f"| {' | '.join(_text(cell) for cell in line)} |\n" for line in lines)
        return f"\n**{_text(name)}**{f' ({value.caption})' if value.caption else ''}\n\n{table}\n"
    if isinstance(value, list):
        return f"- **{_text(name)}**:{''.join(f'{chr(10)}  - {_text(one)}' for one in value) or ' nothing'}\n"
    return f"- **{_text(name)}**: {_BLANK if value is None else _text(value)}\n"


def _text(value: Any) -> str:
    """Return any value as text of one line in which nothing is markup."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(str(value).split()))
