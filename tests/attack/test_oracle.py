"""Certificates of random small configurations, recomputed in exact fractions or by brute force."""

import re
from fractions import Fraction
from itertools import permutations
from math import comb, expm1, log, sqrt

import numpy as np
import pandas as pd
import pytest
from mpmath import mp, mpf

from pacbayes import Cost, Ledger, certify_counts, certify_predictions, certify_sets

CONFIGURATIONS = 30
DELTAS = (0.5, 0.1, 0.05, 0.01, 1e-4, 1e-9, 0.9)
NAMES = {"ints": [1, 2, 3, 10], "strings": ["b", "a", "Z", "c c"], "floats": [0.0, -1.0, 2.0, 5.0]}
# Relative slack of a bound that is rounded outward; the margin of the computed tail is 1e-10.
TIGHT = 1e-8


def tail(k, n, r):
    """P(Bin(n, r) <= k), exactly."""
    r = Fraction(r)
    return sum(comb(n, j) * r**j * (1 - r) ** (n - j) for j in range(k + 1))


def check_upper(bound, k, n, level):
    """The bound is the Clopper-Pearson bound, not below it by any amount."""
    if n == 0 or k == n:
        assert bound == 1.0
        return
    assert tail(k, n, bound) <= level
    assert bound >= 1.0 or tail(k, n, Fraction(bound) * (1 - Fraction(TIGHT))) > level or bound < 1e-300


def check_lower(bound, k, n, level):
    if n == 0 or k == 0:
        assert bound == 0.0
        return
    assert 1 - tail(k - 1, n, bound) <= level  # P(Bin >= k) at the bound
    assert 1 - tail(k - 1, n, min(Fraction(bound) + Fraction(TIGHT), 1)) > level


def capital(losses, b, r):
    """Capital of the bet in high precision."""
    b, r = mpf(b), mpf(r)
    product = mpf(1)
    for x in losses:
        product *= 1 - b + b * (1 - mpf(x.numerator) / x.denominator) / (1 - r)
    return product


def check_bet(bound, losses, b, level):
    if not losses or all(x == 1 for x in losses):
        assert bound == 1.0
    elif bound < 1.0:
        target = mpf(level.denominator) / level.numerator
        assert capital(losses, b, bound) >= target
        assert capital(losses, b, mpf(bound) * (1 - mpf(TIGHT))) < target


def check_words(metric):
    """Printed percentages are rounded outward."""
    text = str(metric)
    for pattern, sign in ((r"at most ([\d.e-]+) %", 1), (r"at least ([\d.e-]+) %", -1)):
        for number in re.findall(pattern, text):
            assert sign * (Fraction(number) / 100 - Fraction(metric.bound)) >= 0, text


def auc_by_injections(positive, negative, level):
    """Lower bound of the AUC by enumeration of all injections, on a fine grid of theta."""
    small, large, swapped = positive, negative, False
    if len(positive) > len(negative):
        small, large, swapped = negative, positive, True
    n, bigger = len(small), len(large)
    in_order = [[(b > a) if swapped else (a > b) for b in large] for a in small]
    counts = [sum(in_order[i][j] for i, j in enumerate(chosen)) for chosen in permutations(range(bigger), n)]

    def value(theta, middle):
        q1, q2 = middle / (2 - middle), 2 * middle**2 / (1 + middle)
        variance = middle * (1 - middle) + (len(positive) - 1) * (q1 - middle**2)
        variance += (len(negative) - 1) * (q2 - middle**2)
        deviation = sqrt(variance / (len(positive) * len(negative)))
        b = expm1(min(1.5 * sqrt(2 * log(1 / level)) / (n * deviation), 30.0))
        return np.mean([(1 + b) ** c for c in counts]) / (1 + b * theta) ** n

    for interval in range(200):
        low, high = interval / 200, (interval + 1) / 200
        if value(high, (low + high) / 2) < 1 / level:
            steps = np.linspace(low, high, 2001)
            return max([low, *(t for t in steps if value(t, (low + high) / 2) >= 1 / level)])
    raise AssertionError


def check_auc(metric, positive, negative, level):
    n, bigger = sorted((len(positive), len(negative)))
    if n == 0:
        assert metric.bound == 0.0
        return
    order = sum((p > q) + Fraction(p == q, 2) for p in positive for q in negative)
    assert (metric.count, metric.rows) == (float(order), n * bigger)
    if 2 * n <= bigger:
        if bigger**n <= 3000:
            reference = auc_by_injections(positive, negative, float(level))
            assert reference - 1e-5 <= metric.bound <= reference + 1e-5
    else:
        # Some matching has this number of pairs in order.
        hits = max([k for k in range(1, n + 1) if 1 - tail(k - 1, n, metric.bound) > level] or [0])
        assert metric.bound == 0.0 or hits < n
        check_lower(metric.bound, 0 if metric.bound == 0.0 else hits + 1, n, level)


def configuration(seed):
    """Rows with ties, rare classes, and a classifier of random quality."""
    rng = np.random.default_rng(seed)
    names = np.array(NAMES[str(rng.choice(list(NAMES)))][: int(rng.integers(2, 5))])
    m = int(rng.integers(1, 26))
    shares = rng.dirichlet(np.full(names.size, rng.choice([0.3, 1.0, 20.0])))
    y_true = rng.choice(names.size, m, p=shares)
    right = rng.random(m) < rng.choice([0.0, 0.5, 0.9, 1.0])
    y_pred = np.where(right, y_true, rng.integers(0, names.size, m))
    # All classes occur, as a classifier's do.
    y_true[: names.size], y_pred[: names.size] = range(min(m, names.size)), y_pred[: names.size]
    return rng, names, y_true, y_pred, float(rng.choice(DELTAS)), float(rng.choice([0.2, 0.5, 0.01]))


def check_metrics(seed):
    """Bounds of a random subset of the metrics, of slices, and of the error rate."""
    rng, names, y_true, y_pred, delta, share = configuration(seed)
    seen = np.unique(np.concatenate([y_true, y_pred]))
    present, m = names[seen], y_true.size
    matrix = rng.integers(0, 4, (names.size, names.size)) + np.eye(names.size)[::-1]
    cost = Cost(matrix, rng.permutation(names))
    pool = ["error", "recall", "precision", "f1", "specificity", "balanced_error", "youden", "auc", cost]
    chosen = [pool[i] for i in rng.permutation(len(pool))[: int(rng.integers(1, len(pool) + 1))]]
    scores = rng.integers(0, 6, (m, present.size)) / 4.0
    sliced = "error" in chosen and rng.random() < 0.5
    slices = rng.choice(["x", "y", "z"], m) if sliced else None
    positive = rng.choice(present) if rng.random() < 0.4 else None
    if present.size < 2:
        chosen = ["error"]
    options = {"metrics": tuple(chosen), "metrics_share": share, "delta": delta, "pos_label": positive}
    asks_auc = "auc" in chosen
    certificate = certify_predictions(
        names[y_true], names[y_pred], slices=slices, y_score=scores if asks_auc else None, **options
    )
    total, part = Fraction(delta), Fraction(share)
    wrong = int((y_true != y_pred).sum())
    check_upper(certificate.bound, wrong, m, (1 - part) * total)
    assert str(certificate)
    assert certificate.explain()
    classes = sorted(present.tolist())
    true, predicted = names[y_true], names[y_pred]
    for metric in certificate.metrics:
        check_words(metric)
        level = part * total / len(chosen)
        if metric.name == "cost":
            top = Fraction(cost.largest)
            place = {name: i for i, name in enumerate(cost.classes)}
            pairs = zip(true.tolist(), predicted.tolist(), strict=True)
            losses = [Fraction(float(cost.matrix[place[a], place[b]])) / top for a, b in pairs]
            check_bet(min(metric.bound / cost.largest * (1 + 1e-15), 1.0), losses, 0.89, level)
        elif metric.name == "balanced_error":
            check_joint(metric, true, predicted, level, rng)
        elif metric.kind == "slice":
            where = slices == metric.of
            errors = int((true != predicted)[where].sum())
            check_upper(metric.bound, errors, int(where.sum()), level / 2 / np.unique(slices).size)
        else:
            check_class_metric(metric, true, predicted, level, (classes, positive, sliced, scores))
    if sliced:
        check_slices(certificate, slices, true != predicted, part * total / len(chosen) / 2, rng)
    if not sliced and not asks_auc:
        check_counts(certificate, classes, true, predicted, options, rng)


def check_class_metric(metric, true, predicted, level, context):
    classes, positive, sliced, scores = context
    c, name = metric.of, metric.name
    is_c, says_c = true == c, predicted == c
    of_all = positive is None or name == "error"
    number = len(classes) if of_all and not (name == "auc" and len(classes) == 2) else 1
    level = level / number / (2 if sliced and name == "error" else 1)
    if name == "auc":
        column = scores[:, classes.index(c)]
        check_auc(metric, column[is_c].tolist(), column[~is_c].tolist(), level)
        return
    conditions = {
        "error": (is_c & ~says_c, is_c),
        "recall": (is_c & says_c, is_c),
        "precision": (is_c & says_c, says_c),
        "f1": (is_c & says_c, is_c | says_c),
        "specificity": (~is_c & ~says_c, ~is_c),
    }
    if name == "youden":
        bounds = []
        for hit, rows in (conditions["recall"], conditions["specificity"]):
            low, high = Fraction(0), Fraction(1)
            k, n = int(hit.sum()), int(rows.sum())
            for _ in range(40 if n else 0):
                middle = (low + high) / 2
                low, high = (middle, high) if k and 1 - tail(k - 1, n, middle) <= level / 2 else (low, middle)
            bounds.append(low)
        assert metric.bound <= sum(bounds) - 1 + Fraction(1, 2**38)
        assert metric.bound >= sum(bounds) - 1 - Fraction(TIGHT)
        return
    k, n = (int(part.sum()) for part in conditions[name])
    if name == "f1":
        # F1 = 2J / (1 + J)
        f1 = Fraction(metric.bound)
        jaccard = f1 / (2 - f1)
        assert k == 0 or n == 0 or 1 - tail(k - 1, n, jaccard) <= level
        assert k == 0 or 1 - tail(k - 1, n, min(jaccard + Fraction(TIGHT), 1)) > level
    elif name == "error":
        check_upper(metric.bound, k, n, level)
    else:
        check_lower(metric.bound, k, n, level)


def check_joint(metric, true, predicted, level, rng):
    """No point of the confidence set has a larger mean."""
    parts = metric.parts
    losses = [[Fraction(int(p != c)) for t, p in zip(true, predicted, strict=True) if t == c] for c in parts.classes]
    if not parts.bets:
        n = len(losses)
        bounds = [exact_upper(part, level / n) for part in losses]
        assert abs(metric.bound - sum(bounds) / n) <= 1e-7
        assert Fraction(metric.bound) >= Fraction(sum(bounds)) / n - Fraction(1, 10**9)
        return
    target, largest = log(1 / level), 0.0
    for _ in range(30):
        direction = rng.dirichlet(np.ones(len(losses)))
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            point = np.minimum(direction * middle * len(losses), 1.0)
            inside = sum(log_capital(x, b, r) for x, b, r in zip(losses, parts.bets, point, strict=True)) <= target
            low, high = (middle, high) if inside else (low, middle)
        largest = max(largest, float(np.minimum(direction * low * len(losses), 1.0).mean()))
    assert metric.bound >= largest - 1e-12


def exact_upper(losses, level):
    """Clopper-Pearson bound of one class by bisection; 1 without rows."""
    n, k = len(losses), int(sum(losses))
    low, high = Fraction(0), Fraction(1)
    if n == 0 or k == n:
        return 1.0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(k, n, middle) <= level else (middle, high)
    return float(high)


def log_capital(losses, b, r):
    if r >= 1.0:
        wins = any(x < 1 for x in losses)
        return float("inf") if wins else len(losses) * log(1 - b)
    return sum(log(1 - b + b * (1 - float(x)) / (1 - r)) for x in losses)


def check_slices(certificate, slices, wrong, level, rng):
    """Holm's procedure by p-values, and other shares by exact sums."""
    bounds = {metric.of: metric for metric in certificate.metrics if metric.kind == "slice"}
    counts = {name: (int(wrong[slices == name].sum()), int((slices == name).sum())) for name in bounds}
    for most in (0.1 + 0.88 * rng.random(12)).tolist():
        p_values = {name: tail(k, n, most) for name, (k, n) in counts.items()}
        shown = []
        for position, name in enumerate(sorted(p_values, key=p_values.get)):
            if p_values[name] > level / (len(p_values) - position):
                break
            shown.append(name)
        assert sorted(certificate.slices_below(most)) == sorted(shown)
    weights = rng.dirichlet(np.ones(len(bounds))).tolist()
    shares = dict(zip(bounds, weights, strict=True))
    total = sum(map(Fraction, weights))
    exact = sum(Fraction(shares[name]) / total * Fraction(bounds[name].bound) for name in bounds)
    other = certificate.with_slice_shares(shares)
    check_words(other)
    assert exact <= Fraction(other.bound) <= min(exact * (1 + Fraction(1, 10**12)), 1) or other.bound == 1.0


def check_counts(certificate, classes, true, predicted, options, rng):
    """The confusion matrix, in any order of the classes, has the same certificate."""
    order = rng.permutation(len(classes))
    names = [classes[i] for i in order]
    table = [[int(((true == a) & (predicted == b)).sum()) for b in names] for a in names]
    counted = certify_counts(table, classes=names, **options)
    assert counted.bound == certificate.bound
    assert [m.bound for m in counted.metrics] == [m.bound for m in certificate.metrics]
    frame = pd.DataFrame(table, index=names, columns=names)
    assert certify_counts(frame, classes=names, **options).bound == certificate.bound


def check_groups(seed):
    """Betting bounds of groups, by class and by slice, in high precision."""
    rng, names, y_true, y_pred, delta, share = configuration(seed)
    m = y_true.size
    groups, slices = rng.integers(0, max(m // 2, 1), m), rng.choice(["x", "y"], m)
    true, predicted = names[y_true], names[y_pred]
    cost = Cost(np.ones((names.size, names.size)) * 3 - np.eye(names.size), names)
    metrics = ("error", cost) if rng.random() < 0.5 else ("error",)
    with_slices = rng.random() < 0.5
    certificate = certify_predictions(
        true, predicted, groups=groups, slices=slices if with_slices else None, metrics=metrics, delta=delta,
        metrics_share=share,
    )  # fmt: skip
    part, total = Fraction(share), Fraction(delta)

    def means(losses, where):
        return [
            sum(losses[where & (groups == g)].tolist(), Fraction(0)) / int((where & (groups == g)).sum())
            for g in np.unique(groups[where])
        ]

    everywhere = np.ones(m, dtype=bool)
    errors = np.array([Fraction(int(a != b)) for a, b in zip(true, predicted, strict=True)], dtype=object)
    check_bet(certificate.bound, means(errors, everywhere), 0.89, (1 - part) * total)
    for metric in certificate.metrics:
        check_words(metric)
        level = part * total / len(metrics)
        if metric.name == "cost":
            costs = np.array([Fraction(2 if e == 0 else 3, 3) for e in errors], dtype=object)
            check_bet(min(metric.bound / 3.0 * (1 + 1e-15), 1.0), means(costs, everywhere), 0.89, level)
            continue
        by_slice = metric.kind == "slice"
        column = slices if by_slice else true
        number = np.unique(slices).size if by_slice else np.unique(np.concatenate([true, predicted])).size
        check_bet(
            metric.bound,
            means(errors, column == metric.of),
            0.89,
            level / number / (2 if with_slices else 1),
        )


def check_prediction_sets(seed):
    """Thresholds and sets from order statistics, with exact binomial probabilities."""
    rng, names, y_true, _, delta, _ = configuration(seed)
    if rng.random() < 0.5:
        y_true = rng.integers(0, names.size, int(rng.integers(20, 90)))
    m = y_true.size
    table = rng.dirichlet(np.full(names.size, 0.4), m)
    table = np.round(table, int(rng.integers(1, 9)))
    table[np.arange(m), y_true] = np.minimum(table[np.arange(m), y_true] + 0.3, 1.0)
    coverage = float(rng.choice([0.51, 0.81, 0.91, 0.33]))
    by_class = bool(rng.random() < 0.5)
    order = rng.permutation(names.size)
    columns = names[order]
    certificate = certify_sets(
        names[y_true], table[:, order], columns, coverage=coverage, by_class=by_class, delta=delta
    )
    grid = np.array([[round(Fraction(p) * 2**20) / 2**20 for p in row] for row in table[:, order].tolist()])
    position = {name: i for i, name in enumerate(columns.tolist())}
    codes = np.array([position[name] for name in names[y_true].tolist()])
    scores = grid[np.arange(m), codes]
    alpha = 1 - Fraction(coverage)

    def threshold(values, level):
        k = 0
        while k < len(values) and tail(k, len(values), alpha) <= level:
            k += 1
        return sorted(values)[k - 1] if k else -1.0

    if by_class:
        by_rows = sorted(range(names.size), key=lambda c: (-int((codes == c).sum()), c))
        number = next(
            q
            for q in range(names.size, 0, -1)
            if q == 1 or (1 - alpha) ** int((codes == by_rows[q - 1]).sum()) <= Fraction(delta) / q
        )
        expected = [-1.0] * names.size
        for c in by_rows[:number]:
            expected[c] = threshold(scores[codes == c].tolist(), Fraction(delta) / number)
    else:
        expected = [threshold(scores.tolist(), Fraction(delta))] * names.size
    assert list(certificate.decision.thresholds) == expected
    sets = certificate.decision.predict_set(table[:, order])
    best = np.arange(names.size) == grid.argmax(axis=1)[:, None]
    assert np.array_equal(sets, (grid >= np.array(expected)) | best)
    assert sum(certificate.decision.covered) == sets[np.arange(m), codes].sum()


def check_ledger(seed, folder):
    """Levels and outcomes of a series of attempts, in exact arithmetic."""
    rng, names, y_true, y_pred, delta, _ = configuration(seed)
    m, positive = y_true.size, names[0]
    ledger, left, failed = Ledger(folder / f"{seed}.json", delta=delta), Fraction(delta), 0
    for _ in range(4):
        y_pred = np.where(rng.random(m) < 0.6, y_true, y_pred)
        y_pred[0] = 0
        at_most, recall = float(rng.choice([0.31, 0.71, 0.95])), float(rng.choice([0.11, 0.51]))
        true, predicted = names[y_true], names[y_pred]
        attempt = ledger.attempt(true, predicted, rows=range(m), at_most=at_most, recall=recall, pos_label=positive)
        if attempt.repeated:
            continue
        level = left / (failed + 2)
        assert 0 <= attempt.level <= level
        assert attempt.level >= level * (1 - Fraction(1, 10**12))
        wrong, of = int((true != predicted).sum()), true == positive
        hits, rows = int((predicted == positive)[of].sum()), int(of.sum())
        proved = wrong < m and tail(wrong, m, at_most) <= level and rows and hits
        proved = bool(proved and 1 - tail(hits - 1, rows, recall) <= level)
        assert attempt.passed == proved
        left, failed = (level, 0) if proved else (left - level, failed + 1)
        assert attempt.left <= left
    assert ledger.left <= left


@pytest.mark.parametrize("check", [check_metrics, check_groups, check_prediction_sets])
def test_certificates_against_an_oracle(check):
    mp.dps = 40
    for seed in range(CONFIGURATIONS):
        check(seed)


def test_ledgers_against_an_oracle(tmp_path):
    for seed in range(CONFIGURATIONS // 4):
        check_ledger(seed, tmp_path)


def test_the_oracle_detects_a_bound_that_is_too_small():
    bound = certify_predictions([0] * 20, [0] * 19 + [1]).bound
    check_upper(bound, 1, 20, Fraction(0.05))
    with pytest.raises(AssertionError):
        check_upper(bound * (1 - 1e-9), 1, 20, Fraction(0.05))
