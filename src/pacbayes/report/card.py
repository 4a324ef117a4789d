"""Model cards of fitted models."""

import json
import re
from typing import Any

from pacbayes._utils.checks import check_choice
from pacbayes._utils.words import PLURAL, escape_lines
from pacbayes.certificates.certificate import MAJORITY_CLASS, Certificate
from pacbayes.certificates.decisions import SelectiveResult
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.guarantee import (
    Confusion,
    describe_rule,
    result_sentences,
    summarise_assumptions,
    why_no_confusion,
)
from pacbayes.report.record import as_fitted, column_table, data_fingerprint, format_names, versions
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

FORMATS = ("markdown", "json")
_BLANK = "*[to be filled in by the owner]*"


def model_card(model: CertifiedModel, format: str = "markdown", *, owner: str | None = None) -> str:
    """Model card of a fitted model, with the usual headings [1]_.

    Entries that are known from the fit are filled in.  Intended uses, users, data sources and ethical considerations
    are left blank for the owner of the model: marked in Markdown, null in JSON.

    Parameters
    ----------
    model : StochasticSVC or CertifiedClassifier
        Fitted model.
    format : {"markdown", "json"}, default="markdown"
        Format of the card.
    owner : str, optional
        Person or team responsible for the model.

    Returns
    -------
    str

    See Also
    --------
    write_report : HTML report with plots and all numbers.

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
    view = ReportView.from_model(model, owner=owner)
    sections = _model_sections(view) | _data_sections(view)
    if format == "json":
        card = {
            _json_key(title): {_json_key(entry): _to_json(value) for entry, value in section.items()}
            for title, section in sections.items()
        }
        text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
        # Keep names from the data, but escape terminal control characters.
        return text if text == escape_lines(text) else json.dumps(card, indent=2, allow_nan=False)
    parts = [
        f"## {title}\n\n" + "".join(_to_markdown(*entry) for entry in section.items())
        for title, section in sections.items()
    ]
    return escape_lines(f"# Model card: {type(model).__name__}\n\n" + "\n".join(parts))


def _model_sections(view: ReportView) -> dict[str, dict[str, Any]]:
    """Sections about the model; values of None are for the owner to fill in."""
    model, certificate = view.model, view.certificate
    result = certificate.decision
    has_bound = result is None or (isinstance(result, SelectiveResult) and result.passed)
    return {
        "Model details": {
            "Kind": type(model).__name__,
            "How it predicts": describe_rule(view),
            "Settings": " ".join(repr(as_fitted(model)).split()),
            "Software that wrote this card": [f"{name} {number}" for name, number in versions().items()],
            "Owner and contact": view.owner,
            "Date of the fit": model._fitted.date,
            "Data fingerprint": data_fingerprint(view),
            "License": None,
        },
        "Intended use": {"Primary uses": None, "Primary users": None, "Out-of-scope uses": None},
        "Factors": {
            "Classes": format_names(model.classes_.tolist()),
            "Slices": [str(value) for value in view.plan.slices] or "none",
            "Other relevant groups, instruments or environments": None,
        },
        "Metrics": {
            "Guarantee": certificate.sentence,
            "Delta": certificate.delta,
            **({"Bound": certificate.bound} if has_bound else {}),
            "Further bounds": [metric.sentence for metric in certificate.metrics] or "none",
            "Baselines": [
                str(baseline) for name, baseline in certificate.baselines.items() if name in ("holdout", MAJORITY_CLASS)
            ],
            "Why these metrics": None,
        },
    }


def _data_sections(view: ReportView) -> dict[str, dict[str, Any]]:
    """Sections about the data and the validation results."""
    certificate, split, confusion = view.certificate, view.plan.split, Confusion.from_view(view)
    unit = PLURAL[split.unit]
    analyses: dict[str, Any] = {"Errors by class": why_no_confusion(view)}
    if confusion is not None:
        analyses = {
            "Errors by class": confusion.by_class,
            "Confusion matrix": confusion.table,
            "Warnings": confusion.warnings(certificate.bound),
        }
    # A refitted model was also trained on the validation rows.
    training: dict[str, Any] = {f"Training {unit}": split.n_train + (split.m if certificate.refit else 0)}
    if certificate.refit:
        training[f"Training {unit} of the certified classifier"] = split.n_train
    if split.prefit:
        training = {f"Training {unit}": "unknown (prefit classifiers)"}
    return {
        "Evaluation data": {
            f"Validation {unit}": split.m,
            "Validation results": result_sentences(view)[1:] or "no threshold passed",
            "How they were chosen": certificate.assumptions[0],
            "Source": None,
        },
        "Training data": {
            **training,
            "Columns": getattr(view.model, "n_features_in_", "unknown"),
            "Source": None,
            "Preprocessing": column_table(view),
        },
        "Quantitative analyses": analyses,
        "Ethical considerations": {"Data about people, risks and harms, mitigations": None},
        "Caveats and recommendations": {
            "Assumptions": [" ".join(assumption) for assumption in summarise_assumptions(view)],
            "Majority-class baseline": _compare_with_majority_class(certificate),
            "Recommendations": None,
        },
    }


def _compare_with_majority_class(certificate: Certificate) -> str:
    baseline = certificate.baselines.get(MAJORITY_CLASS)
    if baseline is None:
        return "not compared"
    if baseline.bound is None or certificate.worse_than_baseline:
        return certificate.worse_than_baseline or str(baseline)
    if certificate.beats_baseline:
        return f"{baseline}; its bound is above that of this model"
    scope = "covered predictions" if certificate.refit else "accepted predictions"
    return f"{baseline}; not comparable with the bound of this model, which is for {scope} only"


def _json_key(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower())


def _to_json(value: Any) -> Any:
    """Convert a table to a list of objects; leave other values unchanged."""
    if isinstance(value, TextTable):
        return [dict(zip(value.columns, row, strict=True)) for row in value.rows]
    return value


def _to_markdown(name: str, value: Any) -> str:
    """Format an entry in Markdown."""
    if isinstance(value, TextTable):
        lines = [value.columns, ("---",) * len(value.columns), *value.rows]
        table = "".join(f"| {' | '.join(_escape(cell) for cell in line)} |\n" for line in lines)
        return f"\n**{_escape(name)}**{f' ({value.caption})' if value.caption else ''}\n\n{table}\n"
    if isinstance(value, list):
        return f"- **{_escape(name)}**:{''.join(f'{chr(10)}  - {_escape(item)}' for item in value) or ' none'}\n"
    return f"- **{_escape(name)}**: {_BLANK if value is None else _escape(value)}\n"


def _escape(value: Any) -> str:
    """Convert to a single line without Markdown markup."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(str(value).split()))
