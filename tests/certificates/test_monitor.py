"""Monitors: e-values compared with exact arithmetic, batches, alarms, groups, files and sentences."""

import json
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from pacbayes import Certificate, Monitor, StochasticSVC, certify_predictions
from pacbayes.certificates.decisions import SelectiveResult
from pacbayes.certificates.monitor import MULTIPLES, bets_against

BOUNDS = [1e-300, 1e-9, 0.01, 0.05, 1 / 9, 0.2, 0.4444, 0.5, 0.8, 0.97, 1 - 1e-12]


def risks(bound):
    """The risks that the bets are on, exactly."""
    B = Fraction(bound)
    return [min(Fraction(c) * B, 1 - (1 - B) / Fraction(c)) for c in MULTIPLES]


def exact_path(bound, losses):
    """E-values in rational numbers, with lambda as in docs/mathematics.md."""
    B = Fraction(bound)
    bets = [(p - B) / (B * (1 - B)) for p in risks(bound)]
    capital, path = [Fraction(0)] * len(bets), []
    for t, loss in enumerate(losses, 1):
        start = Fraction(1, t * (t + 1))
        capital = [(a + start) * (1 + bet * (Fraction(loss) - B)) for a, bet in zip(capital, bets, strict=True)]
        path.append(sum(capital) / len(capital) + Fraction(1, t + 1))
    return path


def as_groups(losses):
    """Groups of eight rows with these error rates, in eighths."""
    wrong = [i < round(8 * loss) for loss in losses for i in range(8)]
    return wrong, np.repeat(np.arange(len(losses)), 8)


@pytest.mark.parametrize("bound", BOUNDS)
def test_bets_are_on_risks_above_the_bound_and_below_one(bound):
    found = bets_against(bound)
    for p, lose, win in zip(risks(bound), found.lose.tolist(), found.win.tolist(), strict=True):
        B = Fraction(bound)
        assert B < p < 1
        assert B * Fraction(win) + (1 - B) * Fraction(lose) <= 1
        assert 1 / 8 <= lose < 1 < win <= 8
    if bound < 1 / 9:
        np.testing.assert_allclose(found.win, np.geomspace(1.25, 8.0, 8), rtol=1e-4)


@pytest.mark.parametrize("bound", BOUNDS)
def test_e_values_are_rounded_down(bound):
    rng = np.random.default_rng(0)
    for share in (0.0, min(2 * bound, 1.0), 0.5, 1.0):
        wrong = rng.random(50) < share
        found = Monitor(bound).update_errors(wrong).e_values
        exact = exact_path(bound, wrong.astype(int).tolist())
        assert all(Fraction(float(e)) <= true for e, true in zip(found, exact, strict=True))
        np.testing.assert_allclose(found, [float(one) for one in exact], rtol=1e-12)


def test_e_values_of_groups_are_rounded_down():
    losses = (np.random.default_rng(1).integers(0, 9, 60) / 8).tolist()
    wrong, groups = as_groups(losses)
    monitor = Monitor(0.3, unit="group").update_errors(wrong, groups=groups)
    assert monitor.losses.tolist() == losses
    exact = exact_path(0.3, losses)
    assert all(Fraction(float(e)) <= true for e, true in zip(monitor.e_values, exact, strict=True))
    np.testing.assert_allclose(monitor.e_values, [float(one) for one in exact], rtol=1e-12)


@pytest.mark.parametrize("bound", [0.05, 0.3, 0.9])
def test_the_exact_e_process_is_a_supermartingale_at_every_node(bound):
    """The conditional mean of the next e-value is at most the current one, for every risk up to the bound."""
    B = Fraction(bound)
    for past in product((0, 1), repeat=5):
        now = exact_path(bound, past)[-1]
        after = [exact_path(bound, [*past, x])[-1] for x in (0, 1)]
        halves = exact_path(bound, [*past, Fraction(1, 2)])[-1]
        assert halves == (after[0] + after[1]) / 2
        for risk in (Fraction(0), B / 2, B):
            assert (1 - risk) * after[0] + risk * after[1] <= now
        assert (1 - B) * after[0] + B * after[1] == now


@pytest.mark.parametrize(("bound", "alpha"), [(0.3, 0.3), (0.5, 0.25), (0.1, 0.05), (0.8, 0.5)])
def test_the_false_alarm_probability_by_enumeration(bound, alpha):
    """All sequences of twelve rows, with the risk at the bound: an alarm has positive probability, at most alpha."""
    total = 0.0
    for wrong in product((0, 1), repeat=12):
        if Monitor(bound, alpha).update_errors(wrong).alarm:
            total += bound ** sum(wrong) * (1 - bound) ** (12 - sum(wrong))
    assert 0.0 < total <= alpha


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_e_values_do_not_depend_on_batches(size):
    wrong = np.random.default_rng(2).random(5000) < 0.07
    whole, parts = Monitor(0.05).update_errors(wrong), Monitor(0.05)
    for start in range(0, wrong.size, size):
        parts.update_errors(wrong[start : start + size]).update_errors([])
    assert np.array_equal(parts.e_values, whole.e_values)
    assert parts.alarm_at == whole.alarm_at
    assert parts.alarm_at is not None
    assert (parts.rows, parts.errors) == (5000, wrong.sum())


def test_an_alarm_stays():
    monitor = Monitor(0.05, alpha=0.02).update_errors([0] * 50 + [1] * 10)
    first = int(np.argmax(monitor.e_values >= 50)) + 1
    assert monitor.alarm_at == first > 50
    monitor.update_errors([0] * 5000)
    assert monitor.e_values[-1] < 1
    assert monitor.alarm
    assert monitor.alarm_at == first


def test_alarms_are_exact():
    e_value = Monitor(0.05).update_errors([1] * 3).e_values[-1]
    assert not Monitor(0.05, alpha=1 / e_value).update_errors([1] * 3).alarm
    assert Monitor(0.05, alpha=1.000001 / e_value).update_errors([1] * 3).alarm
    # 1/alpha is above the e-value by less than a rounding error.
    misled = 0
    for bound in np.linspace(0.01, 0.3, 200):
        e_value = float(Monitor(bound).update_errors([1] * 3).e_values[-1])
        alpha = 1 / e_value
        if Fraction(alpha) * Fraction(e_value) < 1:
            misled += 1 / alpha <= e_value
            assert not Monitor(bound, alpha).update_errors([1] * 3).alarm
    assert misled > 0


def test_many_rows_stay_finite():
    wrong = np.random.default_rng(4).random(1_000_000) < 0.05
    monitor = Monitor(0.05).update_errors(wrong)
    assert np.isfinite(monitor.e_values).all()
    monitor.update_errors(np.ones(100_000)).update_errors(np.zeros(100_000))
    assert np.isfinite(monitor.e_values).all()
    assert monitor.e_values.max() > 1e290
    assert 0 < monitor.e_values[-1] < 1e-3


def test_bounds_of_0_and_1():
    assert not Monitor(1.0, alpha=0.99).update_errors([1] * 2000).update_errors([0, 1] * 500).alarm
    assert "can be no alarm" in str(Monitor(1.0))
    never = Monitor(0.0).update_errors([0] * 100)
    assert never.e_values.max() <= 1
    assert never.update_errors([1]).alarm_at == 101
    assert not Monitor(0.5, alpha=5e-324).update_errors([1] * 3000).alarm


def test_groups_count_once_in_order_of_appearance():
    monitor = Monitor(0.2, unit="group")
    monitor.update_errors([1, 0, 1, 1, 0], groups=["b", "a", "b", "c", "b"])
    assert monitor.losses.tolist() == [2 / 3, 0, 1]
    assert "3 groups" in str(monitor)
    assert "on average" in str(monitor)
    with pytest.raises(ValueError, match="groups are required"):
        monitor.update_errors([1])
    with pytest.raises(ValueError, match="the certificate is for rows"):
        Monitor(0.2).update_errors([1], groups=["a"])
    assert monitor.rows == 3


@pytest.mark.parametrize("wrong", [[0.5], [2], [float("nan")], [[0, 1]], 3, ["a"], np.ma.array([1, 0], mask=[1, 0])])
def test_invalid_errors_change_nothing(wrong):
    monitor = Monitor(0.2).update_errors([1, 0])
    before = monitor.e_values.tolist()
    with pytest.raises(ValueError, match="wrong must"):
        monitor.update_errors(wrong)
    assert monitor.e_values.tolist() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1.5,), "bound must lie"), ((-0.1,), "bound must lie"), ((float("nan"),), "bound must lie")]
    + [((0.1, alpha), "alpha must be") for alpha in (0.0, 1.0, float("nan"), -1)],
)
def test_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Monitor(*arguments)


def test_labels():
    certificate = certify_predictions(["a", "b"] * 100, ["a", "b"] * 98 + ["b", "a"] * 2)
    monitor = certificate.monitor(alpha=0.001)
    assert (monitor.bound, monitor.alpha, monitor.unit) == (certificate.bound, 0.001, "example")
    monitor.update(["a", "b", "b"], ["a", "a", "b"]).update(y_true=["a"], y_pred=["b"])
    assert monitor.losses.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="y_true contains NaN or None"):
        monitor.update(["a", None], ["a", "a"])
    with pytest.raises(ValueError, match="y_pred must return one label for each of the 2 rows"):
        monitor.update(["a", "b"], ["a"])
    with pytest.raises(TypeError, match="y_pred must be labels like those of y_true"):
        monitor.update(["1", "0"], [1, 0])
    assert monitor.rows == 4


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (SelectiveResult(0.02, None, 100, 0, 0, 1), "cannot be monitored"),
        (SelectiveResult(0.02, 0.5, 100, 90, 0, 1), r"about accepted rows.*use monitor\(\) of the model"),
    ],
)
def test_certificates_with_abstention_are_not_monitored(decision, message):
    # At most 2 % of the accepted rows are wrong; nothing is known about the others.
    certificate = Certificate(0.02, None, 0.05, 100, "binomial", 0.0, 0.0, "the soft vote", "Exact.", decision=decision)
    with pytest.raises(ValueError, match=message):
        certificate.monitor()


def test_sentences():
    quiet = Monitor(0.05, about="the soft vote").update_errors([0] * 99 + [1])
    assert str(quiet).startswith("No alarm for the soft vote in 100 rows: 1 error (1.0 %); the bound is 5.0 %.")
    assert "Without an alarm, the certificate may still be violated" in str(quiet)
    # The error rate is that of all rows, not of those before the alarm.
    loud = Monitor(0.0512345, about="the soft vote").update_errors([1] * 16 + [0] * 4)
    assert str(loud).startswith("Alarm for the soft vote after 4 of 20 rows: 16 errors (80.0 %); the bound is 5.2 %")
    groups = Monitor(0.05, unit="group").update_errors([1] * 16 + [0] * 4, groups=np.repeat([0, 1, 2, 3, 4], 4))
    assert " groups: 80.0 % errors per group on average; the bound is" in str(groups)
    assert "the probability of any false alarm, ever, is at most 1 %" in str(loud)
    assert "Alarm" in loud._repr_html_()
    assert "No alarm" in Monitor(0.1)._repr_html_()


def test_save_load_and_resume(tmp_path):
    wrong = np.random.default_rng(5).random(3000) < 0.08
    whole = Monitor(0.05, alpha=0.003).update_errors(wrong)
    half = Monitor(0.05, alpha=0.003).update_errors(wrong[:1500])
    half.save(tmp_path / "watch.json")
    loaded = Monitor.load(tmp_path / "watch.json").update_errors(wrong[1500:])
    resumed = Monitor(0.05, alpha=0.003).resume(tmp_path / "watch.json").update_errors(wrong[1500:])
    for one in (loaded, resumed, pickle.loads(pickle.dumps(half)).update_errors(wrong[1500:])):
        assert np.array_equal(one.e_values, whole.e_values)
        assert (one.alarm_at, one.alpha, one.bound) == (whole.alarm_at, 0.003, 0.05)
    groups = Monitor(0.3, unit="group", about="it").update_errors(*as_groups([0.125, 0, 1])[:1], groups=[0, 1, 2] * 8)
    groups.save(tmp_path / "groups.json")
    again = Monitor.load(tmp_path / "groups.json")
    assert again.losses.tolist() == groups.losses.tolist()
    assert (again.unit, again.about) == ("group", "it")


def test_files_of_other_monitors_are_rejected(tmp_path):
    Monitor(0.05).update_errors([0, 1]).save(tmp_path / "watch.json")
    with pytest.raises(ValueError, match=r"bound 0\.05 there, 0\.06 here"):
        Monitor(0.06).resume(tmp_path / "watch.json")
    with pytest.raises(ValueError, match=r"alpha 0\.01 there, 0\.02 here"):
        Monitor(0.05, 0.02).resume(tmp_path / "watch.json")
    with pytest.raises(ValueError, match="resume requires a monitor without rows, got 1"):
        Monitor(0.05).update_errors([1]).resume(tmp_path / "watch.json")


def test_files_of_other_certificates_are_rejected(tmp_path):
    # Two errors in 100 rows each, and equal bounds, but in different classes.
    truth = ["a", "b"] * 50
    certificates = [certify_predictions(truth, [*wrong, *truth[2:]]) for wrong in (["b", "b"], ["a", "a"])]
    first, second = (one.monitor() for one in certificates)
    assert (first.bound, first.alpha, first.unit) == (second.bound, second.alpha, second.unit)
    first.update_errors([0, 1]).save(tmp_path / "watch.json")
    with pytest.raises(ValueError, match=r"watch\.json' belongs to another certificate, or another model"):
        second.resume(tmp_path / "watch.json")
    Monitor.load(tmp_path / "watch.json").update_errors([1]).save(tmp_path / "watch.json")
    resumed = certificates[0].monitor().resume(tmp_path / "watch.json")
    assert resumed.losses.tolist() == [0, 1, 1]


def test_files_of_version_0_2_are_rejected_with_advice(tmp_path):
    old = Monitor(0.05).update_errors([0, 1]).to_dict() | {"format": "pacbayes monitor 1"}
    (tmp_path / "watch.json").write_text(json.dumps(old))
    with pytest.raises(ValueError, match=r"must be 'pacbayes monitor 3'.*start again at the first row"):
        Monitor(0.05).resume(tmp_path / "watch.json")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"bound": 2.0},
        {"alpha": 0},
        {"unit": "row"},
        {"about": 3},
        {"rows": -1},
        {"rows": 10**12},
        {"errors_at": [2, 1]},
        {"errors_at": [True]},
        {"losses": [0.5, 0.5]},
        {"unit": "group", "losses": [0.5, 1.5]},
        {"unit": "group", "losses": [0.5, float("nan")]},
    ],
)
def test_forged_files_are_rejected(change, tmp_path):
    values = Monitor(0.05).update_errors([0, 1, 1]).to_dict()
    (tmp_path / "w.json").write_text(json.dumps(values | change))
    with pytest.raises(ValueError, match="is not a valid monitor file"):
        Monitor.load(tmp_path / "w.json")


def test_draws_of_a_posterior_are_not_monitored():
    """Equal rows get equal draws: the losses that arrive need not have a mean below that of the average."""
    X, y = load_breast_cancer(return_X_y=True)
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y)
    assert clf.certificate_.rule == "posterior"
    with pytest.raises(ValueError, match="a stochastic posterior cannot be monitored"):
        clf.monitor()
