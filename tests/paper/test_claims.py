"""The judges of claims say no where a claim is planted to be false; the emulation of the paper's search."""

from pathlib import Path

import numpy as np
import pytest

from pacbayes import kl_roots, optimal_posterior
from pacbayes.paper import claims
from pacbayes.paper.bound_tables import COLUMNS, pick
from pacbayes.paper.numbers import printed
from pacbayes.paper.output import from_csv
from pacbayes.paper.protocol import NINE, profile_risks
from pacbayes.paper.runs import Run
from pacbayes.paper.support import bisected_root, scheme_bound, subset_bounds
from pacbayes.paper.tables import DESCRIPTIONS

RESULTS = Path(__file__).parents[2] / "results"


def view(bounds, errors, names=("banknote", "wdbc")):
    """The same bounds and test errors, in the order of COLUMNS, for every data set."""
    return {(n, d): (b, t) for n in names for d, b, t in zip(COLUMNS, bounds, errors, strict=True)}


TRUE = view((0.2, 0.5, 0.3, 0.4, 0.1), (0.050, 0.054, 0.053, 0.052, 0.051))
JUDGES = [
    # judge, a view it must refuse: columns are linear, squared, pinsker, ch, kl
    (claims.kl_tightest, view((0.05, 0.5, 0.3, 0.4, 0.1), (0.05,) * 5)),
    (claims.linear_second, view((0.35, 0.5, 0.3, 0.4, 0.1), (0.05,) * 5)),
    (claims.all_within_ten_percent, view((0.2, 0.5, 0.3, 0.4, 0.1), (0.05, 0.06, 0.05, 0.05, 0.05))),
    (claims.pinsker_like_squared, view((0.2, 0.5, 0.3, 0.4, 0.1), (0.05, 0.10, 0.05, 0.05, 0.05))),
    (claims.ch_below_pinsker, view((0.2, 0.5, 0.3, 0.4, 0.1), (0.05, 0.05, 0.05, 0.06, 0.05))),
    (claims.linear_and_kl_better, view((0.2, 0.5, 0.3, 0.4, 0.1), (0.055, 0.05, 0.05, 0.05, 0.01))),
    (claims.bound_above_test_error, view((0.2, 0.5, 0.3, 0.4, 0.1), (0.05, 0.05, 0.05, 0.05, 0.11))),
]


@pytest.mark.parametrize(("judge", "planted"), JUDGES, ids=lambda value: getattr(value, "__name__", ""))
def test_judges(judge, planted):
    assert judge(TRUE)[0]
    assert not judge(planted)[0]


def test_every_claim_has_a_judge_tested_here():
    assert {judge for judge, _ in JUDGES} == set(claims.TABLE_CLAIMS.values())


def test_the_papers_own_table_contradicts_some_of_its_claims():
    theirs = claims.view_of(printed("main"), None, NINE)
    assert claims.kl_tightest(theirs) == (False, "8 of 9; not Haberman")
    assert claims.linear_second(theirs) == (False, "2 of 6: Bupa, Ionosphere")
    assert claims.bound_above_test_error(theirs) == (False, "Spambase, kl: below")


def test_a_missing_bound_is_no_bound_and_two_rows_are_none():
    with pytest.raises(ValueError, match="must name one row, got 2"):
        pick([{"a": 1}, {"a": 1}], a=1)
    some = TRUE | {("wdbc", "linear"): (None, 0.05)}
    assert claims.linear_second(some) == (True, "1 of 1: Banknote")


def test_support_and_concentration():
    rows = [{"dataset": "wdbc", "distance": "kl", "full_support": full, "hhi": 0.2, "H": 100} for full in (True, False)]
    assert claims.full_support(rows) == (False, "1 of 2 posteriors; not Wdbc kl")
    assert claims.full_support(rows[:1])[0]
    assert claims.high_hhi(rows)[0]
    assert not claims.high_hhi([rows[0] | {"hhi": 0.05}])[0]


def test_different_ends_of_the_fixed_point():
    rows = [{"dataset": "wdbc", "distance": "kl", "starts": 20, "largest_l1": far} for far in (1e-12, 1e-3)]
    assert claims.same_point(rows[:1])[0]
    holds, text = claims.same_point(rows)
    assert not holds
    assert text.endswith("; not Wdbc kl")


def test_every_claim_names_the_tables_it_is_judged_on():
    """A claim changes with the tables that it names, and with no other."""
    read = {name: from_csv((RESULTS / f"{name}.csv").read_text(encoding="utf-8")) for name in DESCRIPTIONS}
    used = set()
    for number, row in enumerate(claims.judge(read.__getitem__)):
        names = row["tables"].split()
        assert set(names) <= set(DESCRIPTIONS)
        used |= set(names)
        assert row["claim"] == from_csv((RESULTS / "claims.csv").read_text(encoding="utf-8"))[number]["claim"]
    asked = []
    claims.judge(lambda name: asked.append(name) or read[name])
    assert used == set(asked)


@pytest.mark.parametrize(("p", "x"), [(0.1, 0.02), (0.3, 0.05), (0.001, 0.01), (0.0, 0.1)])
def test_roots_are_within_the_tolerance(p, x):
    true = float(kl_roots(p, x)[1])
    assert bisected_root(p, x, 1e-12) == pytest.approx(true, abs=1e-8)
    slope = (true - p) / (true * (1 - true))
    assert abs(bisected_root(p, x, 1e-4) - true) <= 1.2e-4 / slope


@pytest.mark.parametrize("name", ["wdbc", "haberman", "mushroom"])
def test_the_scheme_ends_at_the_certified_minimum(name):
    risks, m = profile_risks(name, 200)
    best = optimal_posterior(risks, m, delta=0.01, constant="paper").bound
    assert scheme_bound(risks, 200, m, 1e-10) == pytest.approx(best, abs=1e-6)


def test_coarse_roots_put_a_subset_below_the_whole_and_fine_ones_do_not():
    risks, m = profile_risks("spambase", 200)
    errors = np.rint(risks * m).astype(np.int64)
    run = Run("spambase", np.arange(200.0), errors, m, errors, m, 0.0, 0)
    coarse, fine = subset_bounds(run, 1e-4), subset_bounds(run, 1e-10)
    assert coarse[-1] - coarse.min() > 1e-5
    assert fine[-1] - fine.min() < 1e-7
