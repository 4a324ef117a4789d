"""Model files: round trips, rejected files, no code on loading."""

import io
import os
import re
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps
from tests.estimators.models import fitted, three_classes, two_classes
from tests.files.model_files import KIND, Forged

from pacbayes import CertifiedClassifier, Grid, SVMs, load, save
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.files import model_file
from pacbayes.files.archive import OBJECTS, VALUES, write_archive

MODELS = [
    *((kind, data, "shared", "auto") for kind in ("svc", "grid") for data in (two_classes, three_classes)),
    *(("svc", two_classes, "shared", 0), ("svc", three_classes, "independent", "auto")),
]


@pytest.mark.parametrize(("kind", "data", "split", "hedge"), MODELS)
def test_save_and_load(kind, data, split, hedge, tmp_path):
    clf, X = fitted(kind, data, split, hedge), data()[0]
    path = tmp_path / "model.pacbayes"
    loaded = load(path, sha256=save(clf, path))
    assert type(loaded) is type(clf)
    for name in ("certificates_", "hedge_", "vote_errors_"):
        assert getattr(loaded, name) == getattr(clf, name)
    assert (loaded.vote_errors_ is None) == (split == "independent")
    assert hasattr(loaded, "posterior_") == hasattr(clf, "posterior_") == (hedge != 0)
    if hedge != 0:
        assert np.array_equal(loaded.posterior_.weights, clf.posterior_.weights)
    assert {voting: one.tolist() for voting, one in loaded.primary_.items()} == {
        voting: one.tolist() for voting, one in clf.primary_.items()
    }
    assert np.array_equal(loaded.classifiers_.predict(X), clf.classifiers_.predict(X))
    assert ("soft" in clf.certificates_) == (split == "shared")
    for voting in clf.certificates_:
        one, two = (model.set_params(voting=voting) for model in (clf, loaded))
        assert hasattr(one, "predict_proba") == hasattr(two, "predict_proba")
        for method in ("predict", "vote_share", *["predict_proba"] * hasattr(one, "predict_proba")):
            assert np.array_equal(getattr(one, method)(X), getattr(two, method)(X))
    assert np.array_equal(loaded.classifiers_.splits(1)[0], clf.classifiers_.splits(1)[0])
    clf.set_params(voting="stochastic")


def test_families_are_restored_as_parameters(tmp_path):
    """SVMs of several widths, and trees: equal predictions, and refits with other parameters."""
    X, y = three_classes()
    trees = Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]})
    named = [("svm", SVMs([0.1, 1.0], gamma=[0.1, 1.0])), ("trees", trees)]
    clf = CertifiedClassifier(named, cv=3, random_state=0).fit(X, y)
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.certificates_ == clf.certificates_
    assert loaded.classifiers_.params == clf.classifiers_.params
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.get_params()["svm__gamma"] == [0.1, 1.0]
    assert loaded.set_params(trees__param_grid={"max_depth": [3]}).fit(X, y).classifiers_.params[-1]["max_depth"] == 3


def test_damaged_files_are_rejected(tmp_path):
    path = tmp_path / "model"
    save(fitted("svc", two_classes), path)
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        # Rejected, or without effect, such as the date of a member.
        with suppress(ValueError):
            assert load(path).certificates_ == fitted("svc", two_classes).certificates_
    for contents, message in ((whole[: len(whole) // 2], "damaged"), (b"text", "not a model saved by pacbayes")):
        path.write_bytes(contents)
        with pytest.raises(ValueError, match=message):
            load(path)


@pytest.mark.parametrize("part", [VALUES, OBJECTS, "arrays/0.npy", "version"])
def test_changed_contents_are_rejected(part, tmp_path):
    forged = Forged.of(fitted("grid", two_classes))
    if part == "version":
        forged.manifest["version"] = "0"
    else:
        forged.parts[part] = forged.parts[part][:-1] + bytes([forged.parts[part][-1] ^ 1])
    write_archive(tmp_path / "model", forged.manifest, forged.parts)
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(tmp_path / "model")


def test_forged_digest_is_detected_by_that_of_save(tmp_path):
    path = tmp_path / "model"
    digest = save(fitted("grid", two_classes), path)
    forged = Forged(path.read_bytes())
    forged["plan.delta"] = 0.1
    assert load(forged.write(path)).certificate_.delta == 0.1
    with pytest.raises(ValueError, match="was changed after it was saved"):
        load(path, sha256=digest)


def test_certificates_are_computed_from_stored_predictions(tmp_path):
    """Five correct predictions of all classifiers are changed to errors."""
    clf = fitted("svc", two_classes, hedge=1)
    forged = Forged.of(clf)
    y_pred, y_true = forged["predictions.y_pred"], forged["predictions.y_true"]
    rows = np.flatnonzero((y_pred == y_true).all(axis=0))[:5]
    y_pred[:, rows] = 1 - y_true[rows]
    forged["predictions.y_pred"] = y_pred
    loaded = load(forged.write(tmp_path / "model"))
    assert np.array_equal(loaded.classifiers_.errors, clf.classifiers_.errors + 5)
    for voting, certificate in loaded.certificates_.items():
        assert certificate.bound > clf.certificates_[voting].bound
        assert certificate.baselines["holdout"].bound > clf.certificates_[voting].baselines["holdout"].bound
    assert loaded.certificates_["stochastic"].lower > clf.certificates_["stochastic"].lower
    assert loaded.posterior_.bound == loaded.certificates_["stochastic"].bound
    assert clf.posterior_.bound < loaded.posterior_.lower_bound <= loaded.posterior_.bound
    assert loaded.vote_errors_ == clf.vote_errors_ + 5


def test_bounds_of_fixed_rules_follow_from_their_predictions(tmp_path):
    """Predictions of draws may be changed to those of another classifier, because draws are not stored."""
    clf = fitted("svc", two_classes)
    forged = Forged.of(clf)
    rule_predictions, y_true = forged["predictions.rule_predictions"], forged["predictions.y_true"]
    plan = clf._fitted.plan
    draws = plan.fixed_rules.index(plan.primary_rules["stochastic"])
    y_pred, weights = forged["predictions.y_pred"], forged[f"plan.fixed_rules.{draws}.weights"]
    assert forged.json(f"plan.fixed_rules.{draws}")[KIND] == "Draws"
    before = np.count_nonzero(rule_predictions[draws] != y_true)
    rule_predictions[draws] = np.where((y_pred[weights > 0] != y_true).any(axis=0), 1 - y_true, rule_predictions[draws])
    after = np.count_nonzero(rule_predictions[draws] != y_true)
    assert after > before
    forged["predictions.rule_predictions"] = rule_predictions
    old, new = clf.certificates_["stochastic"], load(forged.write(tmp_path / "model")).certificates_["stochastic"]
    assert round(old.empirical_risk * old.m) == before
    claims = {new.rule: new.bound} | {claim.rule: claim.bound for claim in new.alternatives}
    assert claims["primary"] == binomial_upper(after, old.m, old.level)


@pytest.mark.parametrize("other", [-1, model_file.FORMAT - 1, model_file.FORMAT + 1, "10", None, True, 10.0, [[]]])
def test_other_formats_are_rejected(other, tmp_path):
    forged = Forged.of(fitted("svc", two_classes))
    forged.manifest |= {"format": other, "version": "9.0"}
    format_error = rf"is a model of format {re.escape(repr(other))}, saved by pacbayes 9\.0; .* reads format "
    with pytest.raises(ValueError, match=rf"{format_error}{model_file.FORMAT} only"):
        load(forged.write(tmp_path / "model"))


class Shout:
    """Object that creates a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class Own(ClassifierMixin, BaseEstimator):
    """Classifier of another library."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("kind", ["svc", "grid"])
@pytest.mark.parametrize("part", [OBJECTS, VALUES, "arrays/0.npy"])
def test_load_runs_no_code(kind, part, tmp_path):
    trace, buffer = tmp_path / "trace", io.BytesIO()
    # A pickle in place of an array.
    np.save(buffer, np.array([Shout(trace)], dtype=object), allow_pickle=True)
    forged = Forged.of(fitted(kind, two_classes))
    forged.parts[part] = dumps([Shout(trace)]) if part == OBJECTS else buffer.getvalue()
    if part == VALUES:
        forged.values = None
    with pytest.raises(ValueError, match=r"not a model saved by pacbayes|untrusted types"):
        load(forged.write(tmp_path / "model"))
    assert not trace.exists()


def test_untrusted_classifiers_must_be_named(tmp_path):
    choices = {"random_state": 0, "cv": None, "voting": "stochastic", "validation_size": 0.5}
    clf = CertifiedClassifier(Grid(None, [Own(), Own()]), **choices).fit(*two_classes())
    with pytest.warns(UserWarning, match=r"load will need trusted=\['.*Own'\]: these types"):
        save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match=r"untrusted types: .*Own") as error:
        load(tmp_path / "model")
    assert load(tmp_path / "model", trusted=error.value.names).certificates_ == clf.certificates_
