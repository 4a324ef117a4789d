"""Training of families in time, and its expected cost."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from tests.cli.running import in_process

from pacbayes import CertifiedClassifier
from pacbayes.ensemble import cost, training
from pacbayes.ensemble.cost import estimate_total_cost
from pacbayes.ensemble.families import resolve_families
from pacbayes.ensemble.portfolio import PROMISING, Size, make_named_family
from pacbayes.estimators import recipe


def rows(n=150, **settings):
    return make_classification(n, random_state=0, **settings)


def trained(clf):
    return list(dict.fromkeys(params.get("candidate") for params in clf.classifiers_.params))


def test_all_families_are_trained_in_order_of_promise_while_time_is_left():
    X, y = rows()
    clf = CertifiedClassifier(["neighbours", "logistic", "svm"], time_limit=600, random_state=0).fit(X, y)
    assert trained(clf) == ["svm", "logistic", "neighbours"]
    assert set(trained(clf)) < set(PROMISING[True])
    assert clf.certificate_.bound < 0.4
    used = [params["candidate"] for params, weight in zip(clf.classifiers_.params, clf.weights_, strict=True) if weight]
    assert len(set(used)) == len(used) > 1


def test_only_the_first_family_is_trained_without_time(capsys):
    X, y = rows()
    clf = CertifiedClassifier(time_limit=1e-6, random_state=0).fit(X, y)
    assert len(clf.classifiers_) == 130
    assert "pacbayes: no time for forest, boosting, logistic, neighbours\n" in capsys.readouterr().err
    listed = CertifiedClassifier(["logistic", "svm"], time_limit=1e-6, random_state=0).fit(X, y)
    # Of a list with other names than those of "auto", the first is the most promising.
    assert len(listed.classifiers_) == 130
    mine = CertifiedClassifier([("mine", "logistic"), "svm"], time_limit=1e-6, random_state=0).fit(X, y)
    assert len(mine.classifiers_) == 4


def test_families_that_would_end_too_late_are_left_out(monkeypatch):
    X, y = rows()
    slow = {"forest": 1000.0}
    monkeypatch.setattr(
        training, "estimate_total_cost", lambda families, *others: cost.Cost(slow.get(families[0].name, 0.0), 0.0)
    )
    clf = CertifiedClassifier(["forest", "neighbours", "logistic"], time_limit=600, random_state=0).fit(X, y)
    # The first is trained in any case.
    assert trained(clf) == ["forest", "logistic", "neighbours"]
    slow["logistic"] = 1000.0
    clf = CertifiedClassifier(["forest", "neighbours", "logistic"], time_limit=600, random_state=0).fit(X, y)
    assert trained(clf) == ["forest", "neighbours"]


def test_time_of_cross_validation_is_reserved(monkeypatch):
    X, y = rows()
    now = [0.0]

    def clock():
        now[0] += 1.0
        return now[0]

    for module in (training, recipe):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    # The first family takes a second by this clock, and four more in five folds.
    clf = CertifiedClassifier(["logistic", "neighbours", "forest"], time_limit=7.0, random_state=0).fit(X, y)
    assert "neighbours" not in trained(clf)


@pytest.mark.parametrize("limit", [0, -1.0, "fast"])
def test_invalid_limits(limit):
    with pytest.raises(ValueError, match="'time_limit' parameter of CertifiedClassifier"):
        CertifiedClassifier(time_limit=limit).fit(*rows())


def test_a_limit_excludes_a_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="time_limit cannot be combined with checkpoint"):
        CertifiedClassifier(time_limit=60, checkpoint=tmp_path).fit(*rows())


def test_option(capsys):
    command = ["certify", "--dataset", "haberman", "--candidates", "auto", "--time-limit", "0.001"]
    result = in_process(command, capsys)
    assert "no time for forest" in result.err
    assert "no time for forest" not in in_process([*command, "--quiet"], capsys).err
    result = in_process(["certify", "--split", "independent", "--candidates", "svm", "--time-limit", "9"], capsys)
    assert "--time-limit cannot be combined with" in result.err


# -- expected cost -------------------------------------------------------------------------------------------------


def seconds(size, refits=2.0, jobs=2):
    return estimate_total_cost(resolve_families("auto", None, size), size, refits, jobs).seconds


def test_expected_cost_grows_with_rows_columns_and_classes():
    times = [seconds(Size(n, 10)) for n in (100, 1000, 10_000, 100_000, 1_000_000)]
    assert times == sorted(times)
    assert times[1] < 10 < times[4]
    assert seconds(Size(20_000, 100)) > seconds(Size(20_000, 10))
    assert seconds(Size(20_000, 10, 20)) > seconds(Size(20_000, 10))
    # Many classes: at most five times the cost of a quarter as many.
    assert seconds(Size(20_000, 10, 80)) < 5 * seconds(Size(20_000, 10, 20))


def test_long_training_is_announced(monkeypatch, capsys):
    X, y = rows()
    CertifiedClassifier("logistic", random_state=0).fit(X, y)
    assert "will take about" not in capsys.readouterr().err
    monkeypatch.setattr(cost, "_LONG_SECONDS", 0.0)
    CertifiedClassifier("logistic", random_state=0).fit(X, y)
    assert "training on 75 rows, 20 columns and 2 classes will take about 0 seconds and" in capsys.readouterr().err


def test_cost_of_your_classifiers_is_unknown():
    from sklearn.naive_bayes import GaussianNB

    assert estimate_total_cost(resolve_families(GaussianNB(), None, Size(100)), Size(100), 2.0, 1).seconds == 0.0


def test_rare_classes_have_no_early_stopping():
    # A part of the rows that is stratified by class needs several of each.
    codes = np.repeat([0, 1, 2], [3000, 3000, 3])
    X = np.random.default_rng(0).normal(size=(codes.size, 2)) + codes[:, None]
    rare, usual = Size.from_data(X, codes), Size.from_data(X, codes % 2)
    assert [make_named_family("boosting", None, size)[0].early_stopping for size in (rare, usual)] == [False, True]
    model = make_named_family("boosting", None, rare)[0].set_params(max_iter=3)
    assert set(model.fit(X[::2], codes[::2]).classes_) == {0, 1, 2}
