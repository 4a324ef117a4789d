"""Certificates for a set of classifiers, one for each way of predicting with it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from pacbayes.bounds.registry import get_distance
from pacbayes.certificates.certificate import CONSTANT, Baseline, Certificate
from pacbayes.certificates.limits import risks_of
from pacbayes.certificates.posterior_choice import Counts, divide_delta
from pacbayes.certificates.rules.claim import BEFOREHAND, TRAINING, VALIDATION, Claim
from pacbayes.certificates.rules.hedge import hedged_level
from pacbayes.certificates.rules.occam import best_single
from pacbayes.certificates.rules.rule import Rule, claims_of
from pacbayes.certificates.rules.tandem_vote import tandem_claim
from pacbayes.classifiers.classifier_set import ClassifierSet, Errors
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.rounding import round_down, usual_float_errors
from pacbayes.numeric.words import format_share
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.problem import Problem

VOTINGS = ("stochastic", "majority", "best")
#: Rules that the validation rows chose.
POSTERIOR, OCCAM = "posterior", "Occam"
_ALONE = (
    "This certificate holds alone at its level, not jointly with those of the other ways of predicting; distance, "
    "delta and way of predicting were fixed before their results were seen."
)
_BY_ROW = (
    "What a classifier, with all that prepares its rows, says of a row depends on that row alone, not on the rows "
    "it is asked about together with it."
)
#: What is assumed of the draws: on average over them, or of those of one key.
AVERAGED = "The bound is on the average over the draws of classifiers; random_state was chosen without the data."
KEYED = (
    "The bound is for the draws of this key, which is certified as it is; random_state, which fixed it, was chosen "
    "without the data."
)


def certify(
    posterior: Posterior | None,
    classifiers: ClassifierSet | Errors,
    *,
    delta: float,
    prior: FloatArray | None,
    n_distances: int = 1,
    hold_out: Baseline,
    constant: Baseline,
    assumptions: Sequence[str] = (),
    rules: Sequence[Rule] = (),
    hedge: float = 1.0,
    tandem: Counts | None = None,
) -> dict[str, Certificate]:
    r"""Return the certificates of a set by way of predicting; each holds alone at level `delta`.

    For each way, rules share `delta`, and the one with the smallest bound is certified (see `claims_of`):

    * stochastic: draws that the training rows proposed, and the posterior with its PAC-Bayesian bound `B` (and the
      lower root where the theorem has two sides).
    * majority: votes fixed on the training rows, and that of the posterior with `2 B`.  Where a weighted vote errs,
      ties included, classifiers of at least half the weight err, so that it errs at most twice as often as the
      stochastic classifier.  And a vote with the weights `tandem`, which the validation rows chose, by its tandem
      bound; in a forest that is validated out of bag this vote alone.
    * best: the classifier that the training rows proposed, and Occam's bound: for each classifier the exact binomial
      limit (for groups, Chernoff's) at its level times :math:`p_i`; all hold at once, hence the smallest does,
      whichever it is.

    `classifiers` is a set, or the validation errors of one.  From a set whose rows were divided by their labels come
    certificates that say that they are not valid; of bare errors that is not known.

    `rules` were fixed on the training rows, and their errors counted on the validation rows.  `posterior`, the best at
    level ``hedge * delta``, is None where `hedge` is 0.  With ``hedge=1``, the paper's system, there are no rules.
    `tandem` needs a set that knows who errs on which row.  Where classifiers have different numbers of validation
    examples, the posterior is one for the least, and each limit of a single classifier is one for its own.

    `hold_out` and `constant` are what a classifier chosen within the training rows guarantees, and always answering the
    most frequent class; they stand beside each certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from pacbayes import optimal_posterior
    >>> errors = np.array([8, 9, 30])
    >>> posterior = optimal_posterior(errors / 100, 100)
    >>> absent = Baseline(None, None, "not asked for")
    >>> found = certify(posterior, errors, delta=0.05, prior=None, hold_out=absent, constant=absent)
    >>> for certificate in found.values():
    ...     print(certificate.holds_for, f"{certificate.bound:.4f}")
    the stochastic classifier 0.2112
    the majority vote 0.4224
    the best single classifier 0.1581
    """
    m = posterior.m if posterior is not None else _size(classifiers)
    errors = _counted(classifiers, m)
    others: dict[str, list[Callable[[float], Claim]]] = {voting: [] for voting in VOTINGS}
    if posterior is not None:
        sizes = sizes_of(classifiers, m)
        checked = _check_posterior(posterior, errors, sizes, hedged_level(delta, hedge, 1), prior, n_distances)

        def drawn(share: float) -> Claim:
            level = divide_delta(share, n_distances)
            at_level = checked if checked.delta <= level else _at_level(checked, errors, sizes, level, prior)
            return _posterior_claim(at_level, n_distances)

        others["stochastic"].append(drawn)
        # In a forest, validated out of bag, weights that minimise 2 B would leave few trees of the vote.
        if tandem is None or isinstance(sizes, int):
            others["majority"].append(lambda level: _doubled(drawn(level)))
        if tandem is not None:
            others["majority"].append(_tandem_claims(classifiers, tandem, prior, posterior.constant))
        others["best"].append(lambda level: _occam_claim(errors, sizes, level, prior, hedge))
    elif hedge > 0.0:
        raise ValueError(f"posterior must not be None where hedge is above 0, got hedge={hedge:g}")
    best = best_single(errors, sizes_of(classifiers, m), delta, prior)
    occam = Baseline(best.bound, best.empirical_risk, "the best single classifier, chosen on the same rows")
    beside = {"hold-out": hold_out, CONSTANT: constant}
    elsewhere = isinstance(classifiers, ClassifierSet) and classifiers.trained_elsewhere
    shared = (*assumptions, *shares_of_delta(hedge, elsewhere), _BY_ROW, _ALONE)
    found = {}
    for voting in VOTINGS:
        mine = [rule for rule in rules if rule.voting == voting]
        claims = claims_of(mine, others[voting], m, delta, hedge)
        baselines = beside if voting == "best" else {"Occam": occam, **beside}
        found[voting] = _certificate(voting, claims, delta, m, shared, baselines)
    if not isinstance(classifiers, ClassifierSet):
        return found
    for voting, certificate in found.items():
        own = {name: replace(one, unit=classifiers.unit) for name, one in certificate.baselines.items()}
        found[voting] = replace(certificate, baselines=own, unit=classifiers.unit, copies=classifiers.copies)
    return {voting: _beforehand(one) for voting, one in found.items()} if elsewhere else found


def _beforehand(certificate: Certificate) -> Certificate:
    """Return a certificate that does not say that training rows recommended what the user fixed."""
    sources = {TRAINING: BEFOREHAND, VALIDATION: VALIDATION}
    others = tuple(replace(claim, source=sources[claim.source]) for claim in certificate.alternatives)
    return replace(certificate, source=sources[certificate.source], alternatives=others)


def _certificate(
    voting: str,
    claims: list[Claim],
    delta: float,
    m: int,
    assumptions: tuple[str, ...],
    baselines: dict[str, Baseline],
) -> Certificate:
    """Return the certificate of the claim with the smallest bound, the first of several."""
    won = min(claims, key=lambda claim: claim.bound)
    keyed = voting == "stochastic" and won.source == TRAINING
    names = {"majority": "the majority vote", "best": "the best single classifier"}
    drawn = "the stochastic classifier with its key" if keyed else "the stochastic classifier"
    if voting == "stochastic":
        assumptions = (*assumptions, KEYED if keyed else AVERAGED)
    return Certificate(
        bound=won.bound,
        lower=won.lower,
        delta=delta,
        m=m,
        distance=won.distance,
        empirical_risk=won.empirical_risk,
        kl=won.kl,
        holds_for=names.get(voting, drawn),
        theorem=won.theorem,
        assumptions=assumptions,
        baselines=baselines,
        rule=won.rule,
        level=won.level,
        source=won.source,
        alternatives=tuple(claim for claim in claims if claim is not won),
    )


def shares_of_delta(hedge: float, elsewhere: bool) -> tuple[str, ...]:
    """Say how delta was divided; nothing where it was not."""
    if hedge == 1.0:
        return ()
    if hedge == 0.0:
        fixed = "beforehand" if elsewhere else "on the training rows alone"
        return (f"What predicts was fixed {fixed}; the validation rows only counted its errors.",)
    proposed = "was proposed beforehand" if elsewhere else "the training rows proposed"
    return (
        f"Of delta, {format_share(1.0 - hedge)} was given to what {proposed} and {format_share(hedge)} "
        "to what the validation rows might show. Of all these rules the one with the smallest bound predicts.",
    )


def _size(classifiers: ClassifierSet | Errors) -> int:
    if not isinstance(classifiers, ClassifierSet):
        raise TypeError("classifiers must be a ClassifierSet where posterior is None: bare errors do not tell m")
    return classifiers.m


def _counted(classifiers: ClassifierSet | Errors, m: int) -> Errors | GroupErrors:
    if not isinstance(classifiers, ClassifierSet):
        return classifiers
    if classifiers.errors is None and classifiers.group_errors is None:
        raise ValueError("classifiers must have counted errors; this set was made from losses")
    if classifiers.m != m:
        raise ValueError(f"posterior must be one for {classifiers.m} validation examples, as the set, got {m}")
    return classifiers.counted


def sizes_of(classifiers: ClassifierSet | Errors, m: int) -> int | Rows:
    """Return how many validation examples each classifier has where they differ, else the one number for all.

    Examples
    --------
    >>> import numpy as np
    >>> sizes_of(np.array([3, 4]), 50)
    50
    """
    if not isinstance(classifiers, ClassifierSet) or classifiers.splits is None:
        return m
    sizes = classifiers.splits.sizes_each
    return m if sizes is None else sizes


def _tandem_claims(
    classifiers: ClassifierSet | Errors, parts: Counts, prior: FloatArray | None, constant: str
) -> Callable[[float], Claim]:
    if not isinstance(classifiers, ClassifierSet):
        raise TypeError("classifiers must be a ClassifierSet where tandem is given: bare errors do not tell their rows")
    return lambda level: tandem_claim(classifiers, parts, level, prior, constant)


def _check_posterior(
    posterior: Posterior,
    errors: Errors | GroupErrors,
    sizes: int | Rows,
    share: float,
    prior: FloatArray | None,
    n_distances: int,
) -> Posterior:
    """Return the posterior with its numbers computed anew, or raise unless they belong to these errors and this prior.

    What it says may differ by rounding, where it comes from elsewhere: of both bounds the larger is certified.
    """
    level = divide_delta(share, n_distances)
    if posterior.delta > level * (1.0 + 1e-12):
        raise ValueError(f"posterior must have been computed at delta = {level:g} or less, got {posterior.delta:g}")
    anew = _at_level(posterior, errors, sizes, min(posterior.delta, level), prior)
    if posterior.bound < anew.bound * (1.0 - 1e-9):
        raise ValueError(
            f"posterior must belong to these errors and this prior, for which its bound is {anew.bound:.6g}; it says "
            f"{posterior.bound:.6g}"
        )
    return replace(anew, bound=max(anew.bound, posterior.bound))


def _at_level(
    posterior: Posterior, errors: Errors | GroupErrors, sizes: int | Rows, level: float, prior: FloatArray | None
) -> Posterior:
    """Return the same weights with their bound at a level, which holds for all posteriors at once, wherever found."""
    with usual_float_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
        distance, constant = posterior.used_distance or posterior.distance, posterior.constant
        problem = Problem.checked(risks_of(errors, sizes), posterior.m, distance, level, prior, constant)
        bound, risk, kl = problem.evaluate(posterior.weights)
    return replace(posterior, bound=bound, empirical_risk=risk, kl=kl, delta=level)


def _posterior_claim(posterior: Posterior, n_distances: int) -> Claim:
    theorem = f"PAC-Bayes bound with the distance {posterior.distance} and the {posterior.constant} constant."
    if n_distances > 1:
        theorem += f" It is the smallest of {n_distances}; each was computed at delta / {n_distances}."
    return Claim(
        rule=POSTERIOR,
        source=VALIDATION,
        level=posterior.delta,
        bound=min(posterior.bound, 1.0),
        empirical_risk=posterior.empirical_risk,
        kl=posterior.kl,
        distance=posterior.distance,
        theorem=theorem,
        lower=_lower(posterior),
    )


def _lower(posterior: Posterior) -> float | None:
    """Return the lower root, which holds at once with the upper: both follow from one bound on the distance."""
    distance = get_distance(posterior.used_distance or posterior.distance)
    if not distance.two_sided:
        return None
    function = distance.bound_function(posterior.m, posterior.delta, posterior.constant)
    # The empirical risk was rounded up, by at most about 45 units in the last place.
    risk = max(round_down(posterior.empirical_risk, 128.0), 0.0)
    return max(distance.lower(risk, function.threshold(posterior.kl)), 0.0)


def _doubled(drawn: Claim) -> Claim:
    """Return what the stochastic classifier's claim says of the vote with the same weights."""
    price = (
        "Twice the stochastic classifier's bound: the price of a guarantee for the vote, which usually errs less than "
        "the stochastic classifier. " + drawn.theorem
    )
    # Doubling is exact.
    return replace(drawn, bound=min(2.0 * drawn.bound, 1.0), lower=None, theorem=price)


def _occam_claim(
    errors: Errors | GroupErrors, sizes: int | Rows, share: float, prior: FloatArray | None, hedge: float
) -> Claim:
    best = best_single(errors, sizes, share, prior)
    grouped = isinstance(errors, GroupErrors)
    limit = "Chernoff's limit (the kl inverse)" if grouped else "the exact binomial limit"
    level = "delta" if hedge == 1.0 else f"{hedge:g} delta"
    return Claim(
        rule=OCCAM,
        source=VALIDATION,
        level=share,
        bound=best.bound,
        empirical_risk=best.empirical_risk,
        kl=best.kl,
        distance="chernoff" if grouped else "binomial",
        theorem=f"Occam's bound: {limit} at {level} times the prior weight of classifier {best.index}.",
    )
