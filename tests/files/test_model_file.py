"""Files: what comes back, what is refused, and that loading runs nothing."""

import io
import os
import re
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from skops.io import dumps
from tests.estimators.models import fitted, three_classes, two_classes
from tests.files.model_files import read, rewrite, state_of, write_state

from pacbayes import StochasticClassifier, StochasticSVC, bound, load, save
from pacbayes.classifiers.risks import risks_of_errors
from pacbayes.files import model_file
from pacbayes.files.archive import write_archive

MODELS = [
    pytest.param(kind, data, split, id=f"{kind}-{data.__name__}-{split}")
    for kind in ("svc", "grid")
    for data in (two_classes, three_classes)
    for split in ("shared", "independent")
]


@pytest.mark.parametrize(("kind", "data", "split"), MODELS)
def test_what_is_saved_comes_back(kind, data, split, tmp_path):
    clf, X = fitted(kind, data, split), data()[0]
    path = tmp_path / "model.pacbayes"
    digest = save(clf, path)
    again = load(path, sha256=digest)
    assert type(again) is type(clf)
    assert again.certificates_ == clf.certificates_
    assert again.vote_errors_ == clf.vote_errors_
    assert (again.vote_errors_ is None) == (split == "independent")
    assert np.array_equal(again.posterior_.weights, clf.posterior_.weights)
    assert np.array_equal(again.classifiers_.predict(X), clf.classifiers_.predict(X))
    assert np.array_equal(again.predict(X), clf.predict(X))
    assert np.array_equal(again.vote_share(X), clf.vote_share(X))
    best = again.classifiers_[again.best_index_].predict(X)
    assert np.array_equal(again.set_params(voting="best").predict(X), best)
    assert [again.classifiers_.splits(1)[0].tolist()] == [clf.classifiers_.splits(1)[0].tolist()]
    again.fit(*data())  # a loaded model is an estimator like any other
    save(again, path)
    assert load(path).certificates_ == again.certificates_


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
    import pandas as pd

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


def test_changed_contents_are_refused(tmp_path):
    path = tmp_path / "model"
    digest = save(fitted("svc", two_classes), path)
    manifest, contents = read(path)
    write_archive(path, manifest, contents + b" ")
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path)
    # With the digest made right again, the one `save` returned still tells.
    rewrite(path, change=lambda contents: contents)
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path, sha256=digest)


def test_a_certificate_in_a_file_is_not_believed(tmp_path):
    path = tmp_path / "model"
    clf = fitted("svc", two_classes)
    state = state_of(clf)
    state["fitted"]["certificates_"] = {"stochastic": {"bound": 0.001}}
    state["fitted"]["best_index_"] = 10**9
    write_state(path, state)
    again = load(path)
    assert again.certificates_ == clf.certificates_
    assert again.best_index_ == clf.best_index_


def test_what_follows_from_the_errors_is_computed_from_them(tmp_path):
    path = tmp_path / "model"
    clf = fitted("svc", two_classes, hedge=1)
    state = state_of(clf)
    classifiers = state["fitted"]["classifiers_"]
    classifiers["risks"] = np.zeros(len(clf.classifiers_))
    write_state(path, state)
    assert load(path).certificates_ == clf.certificates_
    # More errors, and all follows.
    classifiers["errors"] = clf.classifiers_.errors + 5
    write_state(path, state)
    again = load(path)
    assert np.array_equal(again.classifiers_.risks, risks_of_errors(clf.classifiers_.errors + 5, 40))
    for voting, certificate in again.certificates_.items():
        assert certificate.bound > clf.certificates_[voting].bound
        assert certificate.baselines["hold-out"].bound > clf.certificates_[voting].baselines["hold-out"].bound
    assert again.certificates_["stochastic"].lower > clf.certificates_["stochastic"].lower
    assert again.posterior_.bound == again.certificates_["stochastic"].bound
    assert clf.posterior_.bound < again.posterior_.lower_bound <= again.posterior_.bound


def test_weights_that_are_not_the_best_have_their_own_bound_and_gap(tmp_path):
    clf = fitted("svc", two_classes, hedge=1)
    state = state_of(clf)
    number = len(clf.classifiers_)
    weights = np.zeros(number)
    weights[[0, number - 1]] = 0.5
    state["posterior"]["weights"] = weights
    write_state(tmp_path / "model", state)
    again = load(tmp_path / "model")
    expected = bound(weights, clf.classifiers_.risks, clf.classifiers_.m)
    assert again.posterior_.bound == again.certificate_.bound == expected > clf.certificate_.bound
    assert again.posterior_.lower_bound == clf.posterior_.lower_bound
    assert not again.posterior_.converged


@pytest.mark.parametrize("changed", [{"bound": 0.001}, {"m": 10**6}, {"delta": 0.5}, {"lower_bound": 0.0}])
def test_an_altered_posterior_is_not_believed(tmp_path, changed):
    model = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    true = model.posterior_
    model.posterior_ = replace(true, **changed)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model").posterior_
    assert {name: getattr(again, name) for name in changed} == {name: getattr(true, name) for name in changed}


@pytest.mark.parametrize("errors", [-1, 10_000, 284])
def test_errors_of_the_vote_that_cannot_be_are_refused(errors, tmp_path):
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    clf._vote_errors = errors
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"_vote_errors must be|a vote can have erred at most .* times, got 284"):
        load(tmp_path / "model")


@pytest.mark.parametrize("other", [*range(-1, model_file.FORMAT), model_file.FORMAT + 1, "7", None, True, 7.0, [[]]])
def test_every_other_format_is_refused(other, tmp_path):
    path = tmp_path / "model"
    save(fitted("svc", two_classes), path)
    rewrite(path, lambda manifest: manifest.update(format=other, version="9.0"))
    said = rf"is a model of format {re.escape(repr(other))}, saved by pacbayes 9\.0; .* reads format 7 only"
    with pytest.raises(ValueError, match=said):
        load(path)


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


def test_nothing_in_a_file_is_run(tmp_path):
    path, trace = tmp_path / "model", tmp_path / "trace"
    clf = fitted("svc", two_classes)
    save(clf, path)
    state = state_of(clf)
    state["fitted"]["extra"] = Shout(trace)
    rewrite(path, change=lambda contents: dumps(state))
    with pytest.raises(ValueError, match=r"not a model saved by pacbayes|types that are not trusted"):
        load(path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Shout(trace)], dtype=object), allow_pickle=True)

    def plant(contents):
        """Put a pickle where the archive has an array."""
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(contents)) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                new.writestr(name, buffer.getvalue() if name.endswith(".npy") else old.read(name))
        return out.getvalue()

    save(clf, path)
    rewrite(path, change=plant)
    with pytest.raises(ValueError, match="not a model saved by pacbayes"):
        load(path)
    assert not trace.exists()


def test_other_peoples_classifiers_must_be_trusted_by_name(tmp_path):
    X, y = two_classes()
    clf = StochasticClassifier(None, [Own(), Own()], random_state=0, cv=None).fit(X, y)
    with pytest.warns(UserWarning, match=r"load will need trusted=\['.*Own'\]: these types"):
        save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"not trusted: .*Own") as refused:
        load(tmp_path / "model")
    name = str(refused.value).split("not trusted: ")[1].split(". If")[0]
    assert load(tmp_path / "model", trusted=name.split(", ")).certificates_ == clf.certificates_


def test_classes_that_are_no_part_of_a_model_are_refused(tmp_path):
    path = tmp_path / "model"
    clf = fitted("svc", two_classes)
    save(clf, path)
    method = {"fitted": state_of(clf)["fitted"] | {"predict": np.sin}}
    inner = state_of(clf)["fitted"]
    inner["classifiers_"]["predict"] = np.sin
    for change in (
        {"class": "SVC"},
        {"fitted": {}},
        {"params": {"unknown": 1}},
        {"params": {"pacbayes:type": "Path"}},
        method,
        {"fitted": inner},
        {"posterior": {}},
        {"posterior": None},
    ):
        rewrite(path, change=lambda contents, change=change: dumps(state_of(clf) | change))
        with pytest.raises(ValueError, match="not a model saved by pacbayes"):
            load(path)


def test_wrong_models_are_refused(tmp_path):
    with pytest.raises(TypeError, match="model must be one of StochasticSVC, StochasticClassifier"):
        save(Own(), tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted yet"):
        save(StochasticSVC(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
