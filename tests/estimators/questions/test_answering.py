"""Errors by class, a target with abstention, and members below a target: in both estimators, saved and loaded."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import LAMBDAS, three_classes, two_classes

from pacbayes import StochasticClassifier, StochasticSVC, load, save
from pacbayes.certificates.binomial import binomial_upper

VOTINGS = ("stochastic", "majority", "best")


def svc(**params):
    return StochasticSVC(LAMBDAS[::4], cv=3, random_state=0, **params)


def trees(**params):
    grid = {"max_depth": [2, 4], "min_samples_leaf": [1, 5]}
    return StochasticClassifier(DecisionTreeClassifier(), grid, random_state=0, **params)


@pytest.fixture(scope="module")
def by_class():
    X, y = two_classes()
    return svc(class_share=0.2).fit(X, y, slices=np.where(X[:, 0] > 14, "large", "small"))


@pytest.fixture(scope="module")
def with_target():
    return svc(max_error=0.05).fit(*two_classes())


@pytest.mark.parametrize("voting", VOTINGS)
def test_class_limits_are_those_of_what_predicts(voting, by_class):
    X, y = two_classes()
    rows = by_class.classifiers_.splits(0)[1]
    wrong = by_class.set_params(voting=voting).predict(X[rows]) != y[rows]
    certificate = by_class.certificate_
    parts = [y[rows] == 0, y[rows] == 1, X[rows, 0] > 14, X[rows, 0] <= 14]
    assert [one.name for one in certificate.by_class] == [0, 1, "large", "small"]
    for one, part in zip(certificate.by_class, parts, strict=True):
        assert (one.rows, one.errors) == (part.sum(), (wrong & part).sum())
        level = 0.2 * certificate.level / 0.8 / 4
        assert one.bound == pytest.approx(float(binomial_upper(one.errors, one.rows, level)), rel=1e-9)
    assert certificate.delta == 0.05
    # The bound and all limits together have no more than the rule's share of delta.
    assert certificate.level <= 0.05 * 0.9 * 0.8
    assert "In class 0 (false positives)" in certificate.explain()
    assert json.loads(json.dumps(certificate.to_dict()))["by_class"][0]["rows"] == parts[0].sum()
    assert "false" in certificate._repr_html_() or "class 0" in certificate._repr_html_()


def test_the_share_costs_the_bound_a_little(by_class):
    X, y = two_classes()
    without = svc().fit(X, y)
    for voting in VOTINGS:
        assert without.certificates_[voting].by_class == ()
        ratio = by_class.certificates_[voting].bound / without.certificates_[voting].bound
        assert 1.0 <= ratio < 1.1


def test_occam_that_wins_has_limits_at_the_share_of_its_prior_weight():
    # A proposal that is bad on the validation rows: nearly all of delta is kept for what these show.
    X, y = two_classes()
    clf = trees(class_share=0.5, hedge=0.9999, voting="best").fit(X, y)
    certificate = clf.certificate_
    assert certificate.rule == "Occam"
    first = certificate.by_class[0]
    level = 0.5 * (certificate.level / 0.5) / len(clf.classifiers_) / 2
    assert first.bound == pytest.approx(float(binomial_upper(first.errors, first.rows, level)), rel=1e-6)
    assert sum(one.errors for one in certificate.by_class) == clf.classifiers_.errors[clf.best_index_]


def test_a_posterior_that_wins_has_none():
    clf = svc(class_share=0.2, hedge=0.999999).fit(*two_classes())
    certificate = clf.certificate_
    assert certificate.rule == "posterior"
    assert certificate.by_class == ()
    assert any("no limits by class" in one for one in certificate.assumptions)


@pytest.mark.parametrize("voting", VOTINGS)
def test_the_target_is_tested_on_what_is_answered(voting, with_target):
    X, y = two_classes()
    clf = with_target.set_params(voting=voting)
    rows = clf.classifiers_.splits(0)[1]
    answers, labels = clf.answers(X[rows]), clf.predict(X[rows])
    answered = clf.certificate_.answered
    assert (answered.rows, answered.errors) == (answers.sum(), (labels != y[rows])[answers].sum())
    assert float(binomial_upper(answered.errors, answered.rows, 0.05)) <= 0.05 == clf.certificate_.bound
    assert clf.certificate_.rule == "proposal"
    assert clf.certificate_.level == clf.delta_ == 0.05
    assert "of the examples that it answers; it answered" in str(clf.certificate_)
    assert "Not at once with it" in clf.certificate_.explain()
    assert json.dumps(clf.certificate_.to_dict())


def test_answers_depend_on_a_row_alone(with_target):
    X, _ = two_classes()
    clf = with_target.set_params(voting="majority")
    whole = clf.answers(X)
    assert 0.3 < whole.mean() < 1.0
    assert np.array_equal(clf.answers(X[::-1])[::-1], whole)
    assert np.array_equal([clf.answers(X[i : i + 1])[0] for i in range(25)], whole[:25])


def test_more_classes():
    X, y = three_classes()
    for make in (svc, trees):
        clf = make(max_error=0.2, voting="majority").fit(X, y)
        answers = clf.answers(X)
        assert answers.sum() >= 0.5 * len(X)
        assert (clf.predict(X) == y)[answers].mean() >= (clf.predict(X) == y).mean()
        table = make(class_share=0.3).fit(X, y).certificate_.by_class
        assert [(one.name, one.also) for one in table] == [("setosa", ""), ("versicolor", ""), ("virginica", "")]


def test_nothing_is_answered_and_it_says_so():
    X, y = two_classes()
    clf = trees(max_error=0.001).fit(X, y)
    assert not clf.answers(X).any()
    assert clf.predict(X).shape == y.shape
    assert "answers no example" in str(clf.certificate_)
    assert "information and no guarantee" in str(clf.certificate_)
    assert clf.certificate_.vacuous


def test_without_a_target_every_row_is_answered(by_class):
    assert by_class.answers(two_classes()[0]).all()


def test_members_below(by_class):
    found = by_class.certified_below(0.12)
    assert found
    assert [one.bound for one in found] == sorted(one.bound for one in found)
    cheap = by_class.certified_below(0.12, cost=lambda machine: machine.n_features_in_)
    assert {one.index for one in cheap} == {one.index for one in found}
    assert by_class.certified_below(0.0) == []


@pytest.mark.parametrize(
    ("params", "fit", "message"),
    [
        ({"class_share": 0.2, "hedge": 1}, {}, "class_share must be 0 where hedge is 1"),
        ({"class_share": 0.2, "cv": None}, {}, "class_share must be 0 where hedge is 1"),
        ({"max_error": 0.1, "split": "independent"}, {}, "max_error needs a rule"),
        ({"max_error": 0.1, "class_share": 0.1}, {}, "class_share must be 0 where max_error"),
        ({"max_error": 1.5}, {}, "max_error must lie strictly between 0 and 1"),
        ({"class_share": 1}, {}, r"class_share must lie in \[0, 1\)"),
        ({"class_share": 0.2}, {"groups": "rows"}, "class_share is not for groups"),
        ({"max_error": 0.2}, {"groups": "rows"}, "max_error is not for groups"),
        ({}, {"slices": "rows"}, "set class_share"),
        ({"class_share": 0.2}, {"slices": [1, 2]}, "one slice for each of 569 rows"),
        ({"class_share": 0.2}, {"slices": "gap"}, "got none for row 0"),
    ],
)
def test_what_is_not_proved_is_refused(params, fit, message):
    X, y = two_classes()
    values = {"rows": np.arange(len(y)) // 2, "gap": np.array([None] + ["a"] * (len(y) - 1), dtype=object)}
    given = {name: values.get(value) if isinstance(value, str) else value for name, value in fit.items()}
    with pytest.raises(ValueError, match=message):
        StochasticSVC([0.1, 1.0], random_state=0, **params).fit(X, y, **given)


def test_parameters_are_those_of_scikit_learn(with_target):
    again = clone(with_target)
    assert (again.max_error, again.class_share) == (0.05, 0.0)
    assert not hasattr(again, "certificates_")


@pytest.mark.parametrize("name", ["by_class", "with_target"])
def test_saved_and_loaded(name, request, tmp_path):
    clf = request.getfixturevalue(name)
    X, _ = two_classes()
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.certificates_ == clf.certificates_
    assert np.array_equal(loaded.answers(X), clf.answers(X))
    assert np.array_equal(loaded.predict(X), clf.predict(X))


def tampered(asked, name, value):
    """Change a field of what was asked, as somebody with an editor would."""
    object.__setattr__(asked, name, value)


@pytest.mark.parametrize(
    "change",
    [
        lambda clf: clf._asked.tested["best"].wrong.__isub__(clf._asked.tested["best"].wrong),
        lambda clf: clf._asked.tested["best"].answered.__iadd__(1),
        lambda clf: clf._asked.thresholds.values.__setitem__(0, np.nan),
        lambda clf: tampered(clf._asked, "thresholds", None),
        lambda clf: tampered(clf._asked, "max_error", 7.0),
        lambda clf: tampered(clf._asked, "class_share", 0.5),
        lambda clf: tampered(clf._asked, "tested", {}),
    ],
)
def test_changed_counts_are_refused(change, tmp_path):
    clf = StochasticSVC([0.1, 1.0], random_state=0, max_error=0.1).fit(*two_classes())
    change(clf)
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        lambda clf: clf._rules[0].in_parts.errors.__isub__(clf._rules[0].in_parts.errors),
        lambda clf: tampered(clf._asked, "slices", ("a", "b")),
        lambda clf: tampered(clf._asked, "occam", (5, clf._asked.occam[1])),
        lambda clf: tampered(clf._asked, "occam", None),
        lambda clf: tampered(clf._asked, "class_share", 0.0),
    ],
)
def test_changed_class_counts_are_refused(change, tmp_path):
    clf = StochasticSVC(np.geomspace(0.01, 100, 9), random_state=0, class_share=0.2).fit(*two_classes())
    assert clf._asked.occam[0] != 5
    change(clf)
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(tmp_path / "model")
