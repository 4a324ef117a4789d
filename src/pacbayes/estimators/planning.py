"""From training rows to a plan: prior, proposals and thresholds, before any validation row is looked at."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pacbayes.certificates.choices import CROSS_VALIDATION, prior_kind, resolve_prior
from pacbayes.certificates.plan import Plan, without_reserve
from pacbayes.certificates.proposals import VoteTrials, propose
from pacbayes.certificates.target import Thresholds, confidence
from pacbayes.certificates.voting import PROPOSAL, Rule, weights_of
from pacbayes.classifiers.classifier_set import Trained
from pacbayes.classifiers.cross_validation import CrossValidation, candidates_of, cross_score, cross_validate
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import pick_rows
from pacbayes.data.tables import TableReading
from pacbayes.numeric.arrays import FloatArray
from pacbayes.runtime.seeds import Purpose, draw_key, generator


class Choices(Protocol):
    """The parameters of an estimator that a plan is made of."""

    delta: float
    class_share: float
    max_error: float | None
    prior: Any
    distance: Any
    constant: str
    cv: int | None


def make_plan(choices: Choices, trained: Trained, data: Labelled, hedge: float, params: list[dict[str, Any]]) -> Plan:
    """Return what is planned with classifiers that were trained; of the rows it looks at training rows only.

    `params` are what a callable prior may see.  What is kept of all rows, their hashes and how their columns were read,
    is for knowing them again.
    """
    division, number = trained.division, len(trained.members)
    # With independent splits no part trains all classifiers; that of the first is as good as another.
    train = division(0)[0]
    found = _cross_validate(choices, trained, number, hedge)
    rules: tuple[Rule, ...] = ()
    if hedge < 1.0:
        assert found is not None
        proposed = propose(found.candidates, found.totals, number, found.errors_of_votes)
        rules = proposed if hedge > 0.0 else without_reserve(proposed)
    codes, counts = np.unique(data.codes[train], return_counts=True)
    return planned(
        choices,
        data,
        division=division,
        hedge=hedge,
        prior=_prior(choices, trained, params, data, found),
        planned=rules,
        cross_validation=found,
        no_skill=data.classes[codes[np.argmax(counts)]],
        thresholds=None if choices.max_error is None else _thresholds(choices, trained, rules),
    )


def planned(choices: Choices, data: Labelled, **fixed: Any) -> Plan:
    """Return a plan with what was fixed, and what parameters and all rows say of themselves."""
    given = choices.distance
    division = fixed["division"]
    return Plan(
        delta=float(choices.delta),
        class_share=float(choices.class_share),
        prior_kind=prior_kind(choices.prior, division.kind == "shared"),
        distance=tuple(given) if isinstance(given, list | tuple) else (given,),
        constant=choices.constant,
        max_error=None if choices.max_error is None else float(choices.max_error),
        slices=() if data.slices is None else data.slices.names,
        slice_column="" if data.slices is None else data.slices.column,
        known_rows=data.known_again(draw_key(division.seed)),
        reading=TableReading.of(data.rows),
        **fixed,
    )


def _cross_validate(choices: Choices, trained: Trained, number: int, hedge: float) -> CrossValidation | None:
    """Return what cross-validation within the training rows counted; None where nobody asked, or none are shared."""
    members, division = trained.folds, trained.division
    if members is None or choices.cv is None:
        return None
    # A path costs little more with all lambdas; a baseline alone needs no more than some of them.
    every = hedge < 1.0 or (isinstance(choices.prior, str) and choices.prior == CROSS_VALIDATION)
    candidates = np.arange(number) if every and members.all_cost_little else candidates_of(number)
    trials = None if hedge == 1.0 else VoteTrials(members.codes, candidates.size)
    rng, units = generator(division.seed, Purpose.FOLDS), division.units_of(division(0)[0])
    return cross_validate(members, candidates, choices.cv, rng, units, trials)


def _prior(
    choices: Choices,
    trained: Trained,
    params: list[dict[str, Any]],
    data: Labelled,
    found: CrossValidation | None,
) -> FloatArray | None:
    """Return the prior's weights, None for the uniform one."""
    shared = trained.division.shared
    rows = None if shared is None else lambda: (pick_rows(data.rows, shared[0]), data.labels[shared[0]])
    return resolve_prior(choices.prior, params, rows, found, trained.division)


def _thresholds(choices: Choices, trained: Trained, rules: tuple[Rule, ...]) -> Thresholds:
    """Return thresholds of the confidence from cross-validated scores of the training rows.

    The scores are those of the proposed vote, whatever the way of predicting.
    """
    members, division = trained.folds, trained.division
    assert members is not None
    assert choices.cv is not None
    weights = next(rule.weights for rule in rules if (rule.voting, rule.name) == ("majority", PROPOSAL))
    assert weights is not None
    rng, units = generator(division.seed, Purpose.FOLDS), division.units_of(division(0)[0])
    scores = cross_score(members, weights_of(weights), choices.cv, rng, units)
    said = scores.argmax(axis=1)
    return Thresholds.from_scores(confidence(scores, said), said != members.codes)
