"""What a fitted estimator has to say, as tables of text: for the terminal, a pipe and a page alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacbayes.bounds.distances.registry import DISTANCES
from pacbayes.certificates.certificate import CONSTANT, confidence, percent_up, share_written
from pacbayes.certificates.constant import label_written
from pacbayes.data.splits import GROUP
from pacbayes.estimators.certified_classifier import CertifiedClassifier
from pacbayes.numeric.arrays import FloatArray
from pacbayes.posteriors.posterior import Posterior
from pacbayes.report.view import ReportView

#: Rows of the table of classifiers that carry the weight.
MOST_ROWS = 8


@dataclass(frozen=True)
class TextTable:
    """A table a person reads: every cell is text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""


@dataclass(frozen=True)
class Observed:
    """Errors counted on rows that had no part in the certificate, by way of predicting."""

    errors: dict[str, int]
    rows: int
    #: Of always answering the most frequent class.
    constant: int


@dataclass(frozen=True)
class WeightGroup:
    """A classifier, or neighbours on a path with equally many errors, with their posterior weight together."""

    label: str
    number: int
    weight: float
    risk: float


def observe(clf: CertifiedClassifier, X: Any, y: Any) -> Observed:
    """Count the errors of all three ways of predicting on other rows; `clf` keeps its own way.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> observe(StochasticSVC([0.1, 1.0], random_state=0).fit(X, y), X, y)
    Observed(errors={'stochastic': 0, 'majority': 0, 'best': 0}, rows=60, constant=24)
    """
    labels, voting = np.asarray(y), clf.voting
    try:
        errors = {
            name: int(np.count_nonzero(clf.set_params(voting=name).predict(X) != labels)) for name in clf.certificates_
        }
    finally:
        clf.set_params(voting=voting)
    return Observed(errors, int(labels.size), int(np.count_nonzero(clf.constant_label_ != labels)))


def five_bounds(clf: CertifiedClassifier) -> list[Posterior]:
    """Return for each of the five distances the posterior with the smallest bound, at the level of `clf`.

    Each bound holds alone; choosing the smallest after looking is not covered.
    """
    view = ReportView.checked(clf, None, None)
    return [view.best_posterior(distance, view.level) for distance in DISTANCES]


def weight_groups(clf: CertifiedClassifier) -> list[WeightGroup]:
    """Return the classifiers by falling weight; on a path, neighbours with equally many errors are taken together.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[i % 5, i % 3] for i in range(60)], [int(i % 5 > 2) for i in range(60)]
    >>> weight_groups(StochasticSVC([0.1, 0.2, 1.0], random_state=0).fit(X, y))
    [WeightGroup(label='0.1 to 1', number=3, weight=1.0, risk=0.0)]
    """
    params, weights, risks = clf.classifiers_.params, clf.posterior_.weights, clf.classifiers_.risks
    if all("lambda" in setting for setting in params):
        found = _runs(np.array([setting["lambda"] for setting in params]), weights, risks)
    else:
        found = [
            WeightGroup(_setting(setting), 1, float(weight), float(risk))
            for setting, weight, risk in zip(params, weights, risks, strict=True)
        ]
    return sorted(found, key=lambda carrier: -carrier.weight)


def _runs(lambdas: FloatArray, weights: FloatArray, risks: FloatArray) -> list[WeightGroup]:
    order = np.argsort(lambdas, kind="stable")
    cuts = np.flatnonzero(np.diff(risks[order])) + 1
    found = []
    for run in np.split(order, cuts):
        first, last = lambdas[run[0]], lambdas[run[-1]]
        label = f"{first:.4g}" if run.size == 1 else f"{first:.4g} to {last:.4g}"
        found.append(WeightGroup(label, run.size, float(weights[run].sum()), float(risks[run[0]])))
    return found


def _setting(params: dict[str, Any]) -> str:
    shown = {name.removeprefix("model__"): value for name, value in params.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items()) or "as it is"


def certificate_table(clf: CertifiedClassifier, observed: Observed | None = None) -> TextTable:
    """Return the certificates by way of predicting, with the errors on test rows beside them where there are some."""
    view = ReportView.checked(clf, None, None)
    columns = ["classifier", "errs on at most", "validation errors"]
    columns += [] if observed is None else ["test errors"]
    rows = []
    for voting, certificate in clf.certificates_.items():
        row = [certificate.holds_for.removeprefix("the "), _percent_of(certificate.bound)]
        # The vote's bound follows from the stochastic classifier's; its own errors are only shown.
        risk = view.vote_risk if voting == "majority" else certificate.empirical_risk
        row += ["–" if risk is None else share_written(risk)]
        row += [] if observed is None else [_tested(observed.errors[voting], observed.rows)]
        rows.append(tuple(row))
    rows.append(_constant_row(clf, observed))
    caption = (
        f"Each line holds alone, with probability at least {confidence(clf._level)}: decide beforehand which "
        "classifier you will use. The majority vote's bound is twice the stochastic classifier's, not computed from "
        "its own errors."
    )
    unbeaten = [one.holds_for for one in clf.certificates_.values() if one.beats_constant is False]
    if unbeaten:
        caption += f" No better than the last line: {', '.join(unbeaten)}."
    if observed is not None:
        caption += " Test errors had no part in the bounds."
        if clf.classifiers_.unit == GROUP:
            caption += " They are shares of rows, the bounds are on the mean over groups."
    return TextTable("Certificates", tuple(columns), tuple(rows), caption)


def _constant_row(clf: CertifiedClassifier, observed: Observed | None) -> tuple[str, ...]:
    """Return the line of what always answers the most frequent class: what is no better has learnt nothing."""
    constant = clf.certificates_["stochastic"].baselines[CONSTANT]
    assert constant.bound is not None
    assert constant.empirical_risk is not None
    row = [f"always {label_written(clf.constant_label_)}", _percent_of(constant.bound)]
    row += [share_written(constant.empirical_risk)]
    return (*row, *([] if observed is None else [_tested(observed.constant, observed.rows)]))


def _tested(errors: int, rows: int) -> str:
    return f"{share_written(errors / rows)} of {rows}"


def bounds_table(clf: CertifiedClassifier, found: Sequence[Posterior]) -> TextTable:
    """Return the bounds of the five distances and the baselines."""
    rows = [
        (
            posterior.distance,
            "stochastic classifier",
            _percent_of(posterior.bound),
            share_written(posterior.empirical_risk),
        )
        for posterior in found
    ]
    notes = []
    for name, baseline in clf.certificates_["stochastic"].baselines.items():
        if name == CONSTANT:  # stands beside the certificates
            continue
        who = "best single classifier" if name == "Occam" else "cross-validated classifier"
        if baseline.bound is None or baseline.empirical_risk is None:
            rows.append((name, who, "–", "–"))
            notes.append(f"{name}: {baseline.note}.")
        else:
            rows.append((name, who, _percent_of(baseline.bound), share_written(baseline.empirical_risk)))
    caption = (
        f"Each bound holds alone, with probability at least {confidence(clf._level)}. Fix distance and delta before "
        "you look: the smallest of several, chosen afterwards, is not covered (asking for several distances at once "
        "is, with delta divided)."
    )
    if len(clf._distances) > 1:
        notes.append(f"The certificate divides delta among {len(clf._distances)} distances; these bounds do not.")
    return TextTable(
        "Five bounds and two baselines",
        ("bound", "for the", "errs on at most", "validation errors"),
        tuple(rows),
        " ".join([caption, *notes]),
    )


def weight_table(clf: CertifiedClassifier, found: Sequence[WeightGroup], most: int = MOST_ROWS) -> TextTable:
    """Return the classifiers that carry most of the posterior weight."""
    path = all("lambda" in setting for setting in clf.classifiers_.params)
    shown = [carrier for carrier in found[:most] if carrier.weight > 0.0]
    rows = [
        (
            carrier.label,
            *([str(carrier.number)] if path else []),
            share_written(carrier.weight),
            share_written(carrier.risk),
        )
        for carrier in shown
    ]
    number = sum(carrier.number for carrier in shown)
    rest = "" if number == len(clf.classifiers_) else f" The other {len(clf.classifiers_) - number} share the rest."
    together = f"Together {share_written(sum(carrier.weight for carrier in shown))} of the posterior weight."
    columns = ("lambda", "machines") if path else ("classifier",)
    title = "The lambdas that carry the weight" if path else "The classifiers that carry the weight"
    return TextTable(title, (*columns, "weight", "validation errors"), tuple(rows), together + rest)


def _percent_of(bound: float) -> str:
    return "100 % (says nothing)" if bound >= 1.0 else percent_up(bound)
