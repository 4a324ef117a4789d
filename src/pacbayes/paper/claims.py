"""Each claim of the paper that its tables can decide, with yes or no and our numbers."""

from collections.abc import Callable, Iterable
from functools import partial

from pacbayes.paper.bound_tables import BOLD, COLUMNS
from pacbayes.paper.figures import ALMOST_ALL, METRICS, TURNING
from pacbayes.paper.numbers import printed
from pacbayes.paper.output import Output, Row, from_csv, markdown_table, number
from pacbayes.paper.protocol import describe
from pacbayes.paper.solvers import largest_distance
from pacbayes.paper.tables import load
from pacbayes.paper.workspace import Workspace

#: What a claim of the main table is judged on: bound and test error of a data set and distance; None where NaN.
View = dict[tuple[str, str], tuple[float | None, float]]
Verdict = tuple[bool, str]
#: The rows of a table by its name, as its CSV file has them.
Read = Callable[[str], list[Row]]
# How many times the index of uniform weights is high, and what counts as the same bound.
_HIGH, _SAME = 10, 1e-5
# Two ends of an iteration with tolerance 1e-9 are the same up to this distance.
_SAME_WEIGHTS = 1e-7
# "O(10^-k)" names an order of magnitude: it is granted up to so many times that number.
_ORDER = 10
# What the paper says of the distance between two posteriors.
_SUPPORT_ORDERS = {"squared": 1e-4, "pinsker": 1e-4, "ch": 1e-4, "kl": 1e-3}
_SEPARABLE = ("bupa-leaky", "banknote", "mushroom-paper")
_IMPROVED = ("spambase", "mammographic", "wdbc", "banknote")


def claims(space: Workspace) -> Output:
    """Verdicts; the tables they rest on are computed, or come from the cache."""
    return Output("claims", judge(lambda name: from_csv(load(name)(space).csv)), partial(claims_text, space))


def judge(read: Read) -> list[Row]:
    """Verdicts that follow from the other tables."""
    main, small = read("main"), read("small-lambda")
    datasets = list(dict.fromkeys(row["dataset"] for row in small))
    splits = list(dict.fromkeys(row["split"] for row in main))
    rows = _table_claims(main, datasets, splits) + _grid_claims(main, small, datasets, splits)
    rows += _solver_claims(read) + _curve_claims(read("risk-curves"), splits)
    return rows + _sample_claims(read("no-best-lambda"), read("robustness"))


def view_of(rows: Iterable[Row], split: str | None, datasets: Iterable[str]) -> View:
    """Bounds and test errors with the paper's constants: ours of a split scheme, or printed ones (None)."""
    chosen = [r for r in rows if r["constant"] == "paper" and r["dataset"] in set(datasets)]
    return {
        (r["dataset"], r["distance"]): (r["bound"], r["test_error"]) for r in chosen if split in (None, r.get("split"))
    }


def _names_of(view: View) -> list[str]:
    """Names of the data sets of a view."""
    return list(dict.fromkeys(dataset for dataset, _ in view))


def _row_of(view: View, dataset: str, what: int) -> dict[str, float]:
    """Bounds (0) or test errors (1) of a data set by distance, without missing ones."""
    values = {d: view[dataset, d][what] for d in COLUMNS}
    return {d: value for d, value in values.items() if value is not None}


def kl_tightest(view: View) -> Verdict:
    """Kl has the least bound on every data set."""
    others = [n for n in _names_of(view) if min(_row_of(view, n, 0), key=_row_of(view, n, 0).__getitem__) != "kl"]
    total = len(_names_of(view))
    return not others, f"{total - len(others)} of {total}" + _but(others)


def linear_second(view: View) -> Verdict:
    """Linear has the second lowest bound wherever it has one."""
    bounds = {name: _row_of(view, name, 0) for name in _names_of(view)}
    known = [name for name in bounds if "linear" in bounds[name]]
    good = [n for n in known if sorted(bounds[n], key=bounds[n].__getitem__)[1] == "linear"]
    return len(good) == len(known), f"{len(good)} of {len(known)}" + (f": {_list(good)}" if good else "")


def all_within_ten_percent(view: View) -> Verdict:
    """All five test errors are among the lowest 10 % on most data sets."""
    good = [n for n in _names_of(view) if max(_row_of(view, n, 1).values()) <= BOLD * min(_row_of(view, n, 1).values())]
    total = len(_names_of(view))
    return len(good) > total / 2, f"{len(good)} of {total}: {_list(good)}"


def pinsker_like_squared(view: View) -> Verdict:
    """Pinsker and squared have test errors that differ by at most 0.03."""
    gaps = {n: abs(view[n, "pinsker"][1] - view[n, "squared"][1]) for n in _names_of(view)}
    relative = {n: gaps[n] / max(view[n, "squared"][1], 1e-12) for n in gaps}
    worst, most = max(gaps, key=gaps.__getitem__), max(relative, key=relative.__getitem__)
    text = f"at most {gaps[worst]:.4f} ({describe(worst)}); relative to squared's at most {relative[most]:.0%}"
    return gaps[worst] <= 0.03, f"{text} ({describe(most)})"


def ch_below_pinsker(view: View) -> Verdict:
    """Ch has a lower test error than Pinsker."""
    good = [n for n in _names_of(view) if view[n, "ch"][1] <= view[n, "pinsker"][1]]
    total = len(_names_of(view))
    return len(good) == total, f"{len(good)} of {total}" + _but([n for n in _names_of(view) if n not in good])


def linear_and_kl_better(view: View) -> Verdict:
    """On Bupa, Banknote and Mushroom linear and kl have lower test errors than the other three."""
    asked = [n for n in _names_of(view) if n in _SEPARABLE]
    good = []
    for name in asked:
        errors = _row_of(view, name, 1)
        if max(errors["linear"], errors["kl"]) < min(errors["squared"], errors["pinsker"], errors["ch"]):
            good.append(name)
    return len(good) == len(asked), f"{len(good)} of {len(asked)}: {_list(good)}"


def bound_above_test_error(view: View) -> Verdict:
    """Every bound is above the test error of its posterior."""
    broken = [(n, d) for n, d in view if (b := view[n, d][0]) is not None and b < view[n, d][1]]
    return not broken, "; ".join(f"{describe(n)}, {d}: below" for n, d in broken) or "all"


TABLE_CLAIMS: dict[str, Callable[[View], Verdict]] = {
    "kl has the tightest bound on every data set": kl_tightest,
    "linear has the second lowest bound everywhere": linear_second,
    "all five test errors within 10 % of the least on most data sets": all_within_ten_percent,
    "Pinsker's and squared's test errors differ by at most 3 %": pinsker_like_squared,
    "ch has lower test errors than Pinsker": ch_below_pinsker,
    "linear and kl have lower test errors on Bupa, Banknote and Mushroom": linear_and_kl_better,
    "(ours) the bounds lie above the test errors, which are estimates": bound_above_test_error,
}


def _table_claims(rows: list[Row], datasets: list[str], splits: list[str]) -> list[Row]:
    views = {"paper": view_of(printed("main"), None, datasets)}
    views |= {split: view_of(rows, split, datasets) for split in splits}
    return [
        _verdict("main", claim, on, verdict(view))
        for claim, verdict in TABLE_CLAIMS.items()
        for on, view in views.items()
    ]


def _grid_claims(rows: list[Row], small: list[Row], datasets: list[str], splits: list[str]) -> list[Row]:
    """Judge what the small grid improves, and the support of the posteriors."""
    result = []
    pairs = {"paper": tuple(view_of(printed(table), None, datasets) for table in ("main", "small_lambda"))}
    pairs |= {split: tuple(view_of(table, split, datasets) for table in (rows, small)) for split in splits}
    for on, (old, new) in pairs.items():
        asked = [n for n in _names_of(old) if n in _IMPROVED]
        changes = [f"{describe(n)} {number(old[n, 'kl'][1], 4)} → {number(new[n, 'kl'][1], 4)}" for n in asked]
        good = all(new[n, "kl"][1] < old[n, "kl"][1] for n in asked)
        claim = "the grid of small λ lowers the test errors of Spambase, Mammographic, Wdbc and Banknote"
        result.append(_verdict("main small-lambda", claim, on, (good, "; ".join(changes))))
    by_split = {s: [r for r in rows if r["split"] == s and r["constant"] == "paper"] for s in splits}
    result += [
        _verdict("main", "the posteriors have full support", s, full_support(mine)) for s, mine in by_split.items()
    ]
    return result + [
        _verdict("main", "the posteriors have a high HHI", s, high_hhi(mine)) for s, mine in by_split.items()
    ]


def full_support(rows: list[Row]) -> Verdict:
    """Every classifier has a positive weight in every posterior."""
    others = sorted({f"{describe(r['dataset'])} {r['distance']}" for r in rows if not r["full_support"]})
    text = f"{len(rows) - len(others)} of {len(rows)} posteriors"
    return not others, text + (f"; not {', '.join(others)}" if others else "")


def high_hhi(rows: list[Row]) -> Verdict:
    """High is ten times that of uniform weights: the paper names no number."""
    ratios = [r["hhi"] * r["H"] for r in rows]
    high = sum(ratio >= _HIGH for ratio in ratios)
    text = f"{min(ratios):.1f} to {max(ratios):.0f} times that of uniform weights; at least {_HIGH} times in {high}"
    return high == len(rows), f"{text} of {len(rows)}"


def _solver_claims(read: Read) -> list[Row]:
    fixed = read("fp-vs-solver")
    done = sum(r["fixed_point_converged"] for r in fixed)
    result = [_verdict("fp-vs-solver", "the fixed-point iteration always converges", "", (
        done == len(fixed), f"{done} of {len(fixed)} cells, {largest_distance(fixed)} from the certified minimum; for "
        "squared, Pinsker and ch proved to converge, to a fixed point that need not be the least (docs/mathematics.md)",
    ))]  # fmt: skip
    many = [r for r in fixed if r["H"] > 200]
    letters = {letter: sum(r["ipopt_letter"] == letter for r in many) for letter in "ERMT"}
    text = ", ".join(f"{letter} {count}" for letter, count in letters.items() if count) or "none"
    outside = sum(r["ipopt_letter"] == "E" and r["pushed_risk"] > 1.0 for r in many)
    result.append(_verdict("fp-vs-solver", "Ipopt fails for kl and many classifiers", "", (
        any(letters.values()), f"of {len(many)} cells with H > 200 in the paper's formulation: {text}. {outside} of "
        "the E come of a start outside the domain, not of the problem (docs/paper-notes.md); T is our time limit",
    )))  # fmt: skip
    procedure = [r for r in read("ccp") if r["paper_low"] is not None]
    better = sum(r["fixed_point"] < r["paper_low"] for r in procedure)
    above = max((r["one-sided_above"] for r in procedure), default=0.0)
    result.append(_verdict("ccp", "the fixed point is better than the convex-concave procedure", "", (
        above > _SAME, f"below every end of the procedure as printed on {better} of {len(procedure)} data sets, but it "
        f"cannot leave its start; with one inequality all its ends are within {above:.1e} of the certified minimum",
    )))  # fmt: skip
    result.append(
        _verdict("starts", "the fixed point is the same from different starts", "", same_point(read("starts")))
    )
    return result + [_distance_claim(read(f"support-{distance}"), distance) for distance in _SUPPORT_ORDERS]


def same_point(rows: list[Row]) -> Verdict:
    """All starts of the fixed-point iteration end in the same weights, for every data set and distance."""
    apart = [f"{describe(row['dataset'])} {row['distance']}" for row in rows if not row["largest_l1"] <= _SAME_WEIGHTS]
    text = (
        f"{rows[0]['starts']} random starts for each of {len(rows)} cells: weights at most "
        f"{max(row['largest_l1'] for row in rows):.0e} apart (sum of absolute differences); in general there can be "
        "several ends (docs/conjecture.md)"
    )
    return not apart, text + (f"; not {', '.join(apart)}" if apart else "")


def _distance_claim(rows: list[Row], distance: str) -> Row:
    """Judge the paper's O(...) for the distance of two posteriors as an order of magnitude."""
    order = _SUPPORT_ORDERS[distance]
    solved = [row for row in rows if row["kind"] == "table" and not row["ipopt_letter"]]
    far = max((row["distance_l2"] for row in solved), default=0.0)
    text = f"at most {far:.1e} on the {len(solved)} data sets where Ipopt ended well; read as less than {_ORDER} times"
    claim = f"Ipopt's posterior on H and the one on H* are O({order:g}) apart, {distance}"
    return _verdict(f"support-{distance}", claim, "", (far < _ORDER * order, f"{text} {order:g}"))


def _curve_claims(rows: list[Row], splits: list[str]) -> list[Row]:
    curves = {split: [r for r in rows if (r["kind"], r["split"]) == ("curve", split)] for split in splits}
    result = [_verdict("risk-curves", "validation risks rise with λ", split, rise(curves[split])) for split in splits]
    if any(row["dataset"] == TURNING for row in rows):
        claim = f"{describe(TURNING)}'s risks are stable for λ ≤ 15 and vary beyond"
        result += [_verdict("risk-curves", claim, split, turn(curves[split])) for split in splits]
    return result


def rise(rows: list[Row]) -> Verdict:
    """On the first seed the curve of every data set is higher at its end than at its beginning."""
    rises = {row["dataset"]: row["rise"] for row in rows if row["seed"] == 0}
    others = [name for name, rise in rises.items() if rise <= 0.0]
    return not others, f"{len(rises) - len(others)} of {len(rises)}" + _but(others)


def turn(rows: list[Row]) -> Verdict:
    """On most seeds one data set's risks deviate more than twice as much beyond 15 as below."""
    curves = [row for row in rows if row["dataset"] == TURNING]
    turned = sum(curve["above"] > 2.0 * curve["below"] for curve in curves)
    text = f"deviation for λ > 15 more than twice that for λ ≤ 15 on {turned} of {len(curves)} seeds"
    return turned > len(curves) / 2, text


def _sample_claims(rows: list[Row], sides: list[Row]) -> list[Row]:
    shares = [row for row in rows if row["kind"] == "partition"]
    most = max(shares, key=lambda row: float(row["share"]))
    text = (
        f"with SVMs solved to tolerance, λ = {most['lambda']:g} is first in up to {most['share']:.0%} of the "
        f"samples ({len(shares)} partitions): small λ have the least errors, and the tie rule takes the smallest"
    )
    claim = "no λ has the least training error in 75 % of the samples"
    result = [_verdict("no-best-lambda", claim, "", (most["share"] < ALMOST_ALL, text))]
    for kind in METRICS:
        chosen = [row for row in sides if row["risk"] == kind]
        held = sum(row["holds"] for row in chosen)
        claim = f"the bounds hold on most samples of Transfusion, {kind} risk"
        result.append(_verdict("robustness", claim, "", (held > len(chosen) / 2, f"{held} of {len(chosen)}")))
    return result


def _verdict(tables: str, claim: str, on: str, verdict: Verdict) -> Row:
    """Create a row; `tables` are the names of the tables that the claim is judged on."""
    holds = "yes" if verdict[0] else "no"
    return {"claim": claim, "judged_on": on or "all", "holds": holds, "numbers": verdict[1], "tables": tables}


def _list(names: Iterable[str]) -> str:
    return ", ".join(describe(name) for name in names) or "none"


def _but(names: list[str]) -> str:
    return f"; not {_list(names)}" if names else ""


def claims_text(space: Workspace, rows: list[Row]) -> str:
    """Page of `claims`."""
    lines, last = [], ""
    for row in rows:
        claim = "" if row["claim"] == last else row["claim"]
        command = f"`pacbayes reproduce {row['tables']}`" if claim else ""
        lines.append([claim, row["judged_on"], f"**{row['holds']}**", row["numbers"], command])
        last = row["claim"]
    text = (
        "# The paper's claims\n\nGenerated by `pacbayes reproduce claims`. Claims about the tables of bounds are "
        "judged on the paper's own printed table (“paper”) and on ours for three split schemes: “independent” is what "
        "the paper describes, “overlapping” our hypothesis about its main table, whose numbers it explains best "
        "([protocols](../results/protocols.md)); bounds are valid for independent and shared splits only. "
        f"H = {space.grid.size}, means over seeds ([main](../results/main.md)). The last column computes the table "
        "that a claim is judged on; `python tools/results.py` judges all claims from the tables in `results/`.\n\n"
    )
    return text + markdown_table(["claim", "judged on", "holds", "numbers", "check"], lines)
