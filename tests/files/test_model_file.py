"""Files: what comes back, what is refused, and that loading runs nothing."""

import io
import os
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps
from tests.estimators.models import fitted, three_classes, two_classes
from tests.files.model_files import KIND, Forged

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, SVMs, bound, load, save
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.files import model_file
from pacbayes.files.archive import OBJECTS, VALUES, write_archive

MODELS = [
    pytest.param(kind, data, split, hedge, id=f"{kind}-{data.__name__}-{split}-{hedge}")
    for kind in ("svc", "grid")
    for data in (two_classes, three_classes)
    for split, hedge in (("shared", "auto"), ("shared", 0), ("independent", "auto"))
    if (kind, split) != ("grid", "independent")
]


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_what_is_saved_comes_back(kind, data, split, hedge, tmp_path):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    path = tmp_path / "model.pacbayes"
    digest = save(clf, path)
    again = load(path, sha256=digest)
    assert type(again) is type(clf)
    assert again.certificates_ == clf.certificates_
    assert again.hedge_ == clf.hedge_
    assert again.vote_errors_ == clf.vote_errors_
    assert (again.vote_errors_ is None) == (split == "independent")
    assert hasattr(again, "posterior_") == hasattr(clf, "posterior_") == (hedge != 0)
    if hedge != 0:
        assert np.array_equal(again.posterior_.weights, clf.posterior_.weights)
    assert {voting: one.tolist() for voting, one in again.proposal_.items()} == {
        voting: one.tolist() for voting, one in clf.proposal_.items()
    }
    assert np.array_equal(again.classifiers_.predict(X), clf.classifiers_.predict(X))
    assert ("soft" in clf.certificates_) == (split == "shared")
    for voting in clf.certificates_:
        one, two = (model.set_params(voting=voting) for model in (clf, again))
        assert np.array_equal(one.predict(X), two.predict(X))
        assert np.array_equal(one.vote_share(X), two.vote_share(X))
        assert hasattr(one, "predict_proba") == hasattr(two, "predict_proba")
        if hasattr(one, "predict_proba"):
            assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert np.array_equal(again.predict(X), again.classifiers_[again.best_index_].predict(X))
    clf.set_params(voting="stochastic")
    assert [again.classifiers_.splits(1)[0].tolist()] == [clf.classifiers_.splits(1)[0].tolist()]
    again.fit(*data())  # a loaded model is an estimator like any other
    save(again, path)
    assert load(path).certificates_ == again.certificates_


def test_families_come_back_as_parameters(tmp_path):
    """Machines of several widths beside others: they predict the same, and can be fitted again."""
    X, y = three_classes()
    named = [
        ("svm", SVMs([0.1, 1.0], gamma=[0.1, 1.0])),
        ("trees", Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]})),
    ]
    clf = CertifiedClassifier(named, cv=3, random_state=0).fit(X, y)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.certificates_ == clf.certificates_
    assert again.classifiers_.params == clf.classifiers_.params
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.get_params()["svm__gamma"] == [0.1, 1.0]
    assert again.set_params(trees__param_grid={"max_depth": [3]}).fit(X, y).classifiers_.params[-1]["max_depth"] == 3


def test_a_callable_prior_becomes_its_weights_and_a_generator_none(tmp_path):
    X, y = two_classes()
    rng = np.random.default_rng(0)
    clf = StochasticSVC([0.1, 1.0], prior=lambda params: [0.25, 0.75], random_state=rng).fit(X, y)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.prior.tolist() == [0.25, 0.75]
    assert again.random_state is None
    assert callable(clf.prior)
    assert np.array_equal(again.predict(X), clf.predict(X))


def test_feature_names_come_back(tmp_path):
    X, y = three_classes()
    clf = StochasticSVC([1.0, 2.0], random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), y)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").feature_names_in_.tolist() == list("abcd")


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "model"
    save(fitted("svc", two_classes), path)
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        # Either refused, or a byte that means nothing, such as the date of an archive's member.
        with suppress(ValueError):
            model = load(path)
            assert model.certificates_ == fitted("svc", two_classes).certificates_
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        load(path)
    path.write_text("something else")
    with pytest.raises(ValueError, match="not a model saved by pacbayes"):
        load(path)


@pytest.mark.parametrize("part", [VALUES, OBJECTS, "arrays/0.npy", "version"])
def test_changed_contents_are_refused(part, tmp_path):
    path = tmp_path / "model"
    digest = save(fitted("grid", two_classes), path)
    forged = Forged(path.read_bytes())
    if part == "version":
        forged.manifest["version"] = "0"
    else:
        last = forged.parts[part][-1]
        forged.parts[part] = forged.parts[part][:-1] + bytes([last ^ 1])
    write_archive(path, forged.manifest, forged.parts)
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path)
    # With the digest made right again, the one `save` returned still tells.
    forged = Forged.of(fitted("grid", two_classes))
    forged["plan.delta"] = 0.1
    forged.write(path)
    assert load(path).certificate_.delta == 0.1
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path, sha256=digest)


def test_a_certificate_in_a_file_is_refused(tmp_path):
    forged = Forged.of(fitted("svc", two_classes))
    forged.values["pairs"].append(["certificates_", {KIND: "dict", "pairs": [["stochastic", 0.001]]}])
    with pytest.raises(ValueError, match="model must be of class, params"):
        load(forged.write(tmp_path / "model"))


def wrong_everywhere(forged, number):
    """Have every classifier err on so many more rows, all of them get right."""
    answers, truth = forged["evidence.answers"], forged["evidence.truth"]
    rows = np.flatnonzero((answers == truth).all(axis=0))[:number]
    answers[:, rows] = 1 - truth[rows]
    forged["evidence.answers"] = answers


def test_what_follows_from_the_answers_is_computed_from_them(tmp_path):
    clf = fitted("svc", two_classes, hedge=1)
    forged = Forged.of(clf)
    wrong_everywhere(forged, 5)
    again = load(forged.write(tmp_path / "model"))
    assert np.array_equal(again.classifiers_.errors, clf.classifiers_.errors + 5)
    for voting, certificate in again.certificates_.items():
        assert certificate.bound > clf.certificates_[voting].bound
        assert certificate.baselines["hold-out"].bound > clf.certificates_[voting].baselines["hold-out"].bound
    assert again.certificates_["stochastic"].lower > clf.certificates_["stochastic"].lower
    assert again.posterior_.bound == again.certificates_["stochastic"].bound
    assert clf.posterior_.bound < again.posterior_.lower_bound <= again.posterior_.bound
    assert again.vote_errors_ == clf.vote_errors_ + 5


def test_limits_of_planned_rules_follow_from_what_they_said(tmp_path):
    """Where draws said something else: of which classifier they were is not stored."""
    clf = fitted("svc", two_classes)
    forged = Forged.of(clf)
    said, truth = forged["evidence.said"], forged["evidence.truth"]
    plan = clf._fitted.plan
    draws = plan.planned.index(plan.proposals["stochastic"])
    answers, weights = forged["evidence.answers"], forged[f"plan.planned.{draws}.weights"]
    assert forged.json(f"plan.planned.{draws}")[KIND] == "Draws"
    before = np.count_nonzero(said[draws] != truth)
    said[draws] = np.where((answers[weights > 0] != truth).any(axis=0), 1 - truth, said[draws])
    after = np.count_nonzero(said[draws] != truth)
    assert after > before
    forged["evidence.said"] = said
    old, new = clf.certificates_["stochastic"], load(forged.write(tmp_path / "model")).certificates_["stochastic"]
    assert round(old.empirical_risk * old.m) == before
    claims = {new.rule: new.bound} | {claim.rule: claim.bound for claim in new.alternatives}
    assert claims["proposal"] == binomial_upper(after, old.m, old.level)


def test_weights_that_are_not_the_best_have_their_own_bound_and_gap(tmp_path):
    clf = fitted("svc", two_classes, hedge=1)
    forged, number = Forged.of(clf), len(clf.classifiers_)
    weights = np.zeros(number)
    weights[[0, number - 1]] = 0.5
    forged["posterior.0"] = weights
    again = load(forged.write(tmp_path / "model"))
    expected = bound(weights, clf.classifiers_.risks, clf.classifiers_.m)
    assert again.posterior_.bound == again.certificate_.bound == expected > clf.certificate_.bound
    assert again.posterior_.lower_bound == clf.posterior_.lower_bound
    assert not again.posterior_.converged


@pytest.mark.parametrize("changed", [{"bound": 0.001}, {"m": 10**6}, {"delta": 0.5}, {"lower_bound": 0.0}])
def test_of_a_posterior_its_weights_alone_are_stored(tmp_path, changed):
    model = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    true, found = model.posterior_, model._fitted.found
    model._fitted = replace(model._fitted, found=replace(found, posterior=replace(true, **changed)))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model").posterior_
    assert {name: getattr(again, name) for name in changed} == {name: getattr(true, name) for name in changed}


@pytest.mark.parametrize("other", [*range(-1, model_file.FORMAT), model_file.FORMAT + 1, "10", None, True, 10.0, [[]]])
def test_every_other_format_is_refused(other, tmp_path):
    forged = Forged.of(fitted("svc", two_classes))
    forged.manifest |= {"format": other, "version": "9.0"}
    said = rf"is a model of format {re.escape(repr(other))}, saved by pacbayes 9\.0; .* reads format 16 only"
    with pytest.raises(ValueError, match=said):
        load(forged.write(tmp_path / "model"))


class Shout:
    """Unpickled, it would make a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class Own(ClassifierMixin, BaseEstimator):
    """A classifier that is not scikit-learn's."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("kind", ["svc", "grid"])
def test_nothing_in_a_file_is_run(kind, tmp_path):
    trace = tmp_path / "trace"
    forged = Forged.of(fitted(kind, two_classes))
    forged.objects = dumps([Shout(trace)])
    with pytest.raises(ValueError, match=r"not a model saved by pacbayes|types that are not trusted"):
        load(forged.write(tmp_path / "model"))
    # A pickle where the archive has an array.
    buffer = io.BytesIO()
    np.save(buffer, np.array([Shout(trace)], dtype=object), allow_pickle=True)
    for name in ("arrays/0.npy", VALUES):
        forged = Forged.of(fitted(kind, two_classes))
        forged.parts[name] = buffer.getvalue()
        if name == VALUES:
            forged.values = None
        with pytest.raises(ValueError, match="not a model saved by pacbayes"):
            load(forged.write(tmp_path / "model"))
    assert not trace.exists()


def test_other_peoples_classifiers_must_be_trusted_by_name(tmp_path):
    X, y = two_classes()
    clf = CertifiedClassifier(
        Grid(None, [Own(), Own()]), random_state=0, cv=None, voting="stochastic", validation_size=0.5
    ).fit(X, y)
    with pytest.warns(UserWarning, match=r"load will need trusted=\['.*Own'\]: these types"):
        save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"not trusted: .*Own") as refused:
        load(tmp_path / "model")
    name = str(refused.value).split("not trusted: ")[1].split(". If")[0]
    assert load(tmp_path / "model", trusted=name.split(", ")).certificates_ == clf.certificates_


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("class", "SVC"),
        ("class", []),
        ("params", {KIND: "dict", "pairs": [["unknown", 1]]}),
        ("params", {KIND: "Path"}),
        ("params", {KIND: "dict", "pairs": [[1, 1]]}),
        ("params", {KIND: "dict", "pairs": [[[], 1]]}),
        ("params.voting", []),
        ("plan", {KIND: "Plan"}),
        ("plan", None),
        ("members", {KIND: "Kernel", "name": "rbf", "gamma": 1.0}),
        ("evidence", {KIND: "Popen", "args": "true"}),
        ("posterior", None),
        ("posterior", ()),
    ],
)
def test_what_is_no_part_of_a_model_is_refused(place, value, tmp_path):
    forged = Forged.of(fitted("svc", two_classes))
    forged[place] = value
    with pytest.raises(ValueError, match="not a model saved by pacbayes"):
        load(forged.write(tmp_path / "model"))


def test_wrong_models_are_refused(tmp_path):
    with pytest.raises(TypeError, match="model must be one of StochasticSVC, CertifiedClassifier"):
        save(Own(), tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted yet"):
        save(StochasticSVC(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
