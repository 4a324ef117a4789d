"""Files: what comes back, what is refused, and that loading runs nothing."""

import io
import json
import os
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from skops.io import dumps
from tests.estimators.models import fitted, three_classes, two_classes

from pacbayes import StochasticClassifier, StochasticSVC, load, save
from pacbayes.estimators.persistence import saving
from pacbayes.estimators.persistence.encoding import encode

# skops trusts scikit-learn, but for trees, whose nodes are read without checks of their bounds.
TREES = ["sklearn.tree._tree.Tree"]
MODELS = [
    pytest.param(kind, data, split, id=f"{kind}-{data.__name__}-{split}")
    for kind in ("svc", "grid")
    for data in (two_classes, three_classes)
    for split in ("shared", "independent")
]


def rewrite(path, change_manifest=lambda manifest: None, change=lambda state: state):
    """Change the contents of a file and make its digest right again, as somebody with bad intentions would."""
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(saving.MANIFEST))
        contents = archive.read(saving.MODEL)
    contents = change(contents)
    change_manifest(manifest)
    manifest["sha256"] = saving._digest(manifest, contents)
    saving._write(path, {saving.MANIFEST: json.dumps(manifest).encode(), saving.MODEL: contents})


def state_of(model):
    params = model.get_params(deep=False)
    fitted = {name: value for name, value in vars(model).items() if name not in params}
    return {"class": type(model).__name__, "params": encode(params), "fitted": encode(fitted)}


@pytest.mark.parametrize(("kind", "data", "split"), MODELS)
def test_what_is_saved_comes_back(kind, data, split, tmp_path):
    clf, X = fitted(kind, data, split), data()[0]
    path = tmp_path / "model.pacbayes"
    digest = save(clf, path)
    again = load(path, sha256=digest, trusted=TREES)
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
    assert load(path, trusted=TREES).certificates_ == again.certificates_


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
    with zipfile.ZipFile(path) as archive:
        manifest, contents = archive.read(saving.MANIFEST), archive.read(saving.MODEL)
    saving._write(path, {saving.MANIFEST: manifest, saving.MODEL: contents + b" "})
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path)
    # With the digest made right again, the one `save` returned still tells.
    rewrite(path, change=lambda contents: contents)
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path, sha256=digest)


def test_a_better_certificate_than_the_errors_allow_is_refused(tmp_path):
    path = tmp_path / "model"
    clf = fitted("svc", two_classes)
    save(clf, path)
    state = state_of(clf)
    state["fitted"]["certificates_"]["stochastic"]["bound"] = 0.001
    rewrite(path, change=lambda contents: dumps(state))
    with pytest.raises(ValueError, match="certificates do not follow from its errors"):
        load(path)


@pytest.mark.parametrize("changed", [{"bound": 0.001}, {"m": 10**6}])
def test_an_altered_posterior_is_refused(tmp_path, changed):
    model = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    save(model, tmp_path / "good")
    load(tmp_path / "good")
    model.posterior_ = replace(model.posterior_, **changed)
    save(model, tmp_path / "bad")
    with pytest.raises(ValueError, match="must"):
        load(tmp_path / "bad")


def test_a_division_by_labels_is_not_hidden_by_a_certificate_that_does_not_say_so(tmp_path):
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    clf.classifiers_.splits = replace(clf.classifiers_.splits, stratified=True)
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match="its certificates do not follow from its errors"):
        load(tmp_path / "model")


@pytest.mark.parametrize("errors", [-1, 10_000])
def test_errors_of_the_vote_that_cannot_be_are_refused(errors, tmp_path):
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    clf.vote_errors_ = errors
    save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=f"the vote can have erred at most .* times, got {errors}"):
        load(tmp_path / "model")


def test_files_without_the_errors_of_the_vote_are_read(tmp_path):
    """As written before they were counted."""
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(*two_classes())
    del clf.vote_errors_
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").vote_errors_ is None


def test_a_later_format_is_refused(tmp_path):
    path = tmp_path / "model"
    save(fitted("svc", two_classes), path)
    rewrite(path, lambda manifest: manifest.update(format=saving.FORMAT + 1, version="9.0"))
    formats = rf"in format {saving.FORMAT + 1}; .* reads formats up to {saving.FORMAT}"
    with pytest.raises(ValueError, match=rf"saved by pacbayes 9\.0 {formats}"):
        load(path)
    for wrong in ("2", None, True, 0):
        rewrite(path, lambda manifest, wrong=wrong: manifest.update(format=wrong))
        with pytest.raises(ValueError, match="not a model saved by pacbayes"):
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
    with pytest.raises(ValueError, match="types that are not trusted"):
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
