"""Whom a model file must be trusted for, and what it says of where and when it was written."""

import time

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from tests.attack.small_models import ENSEMBLES, model, rows

from pacbayes import StochasticClassifier, load, save


@pytest.mark.parametrize("name", [*ENSEMBLES, "words"])
def test_trees_forests_and_boosting_need_no_trust(name, tmp_path, recwarn):
    clf, X = model(name), rows(2)[0].round(0 if name == "words" else 3)
    save(clf, tmp_path / "model")
    assert len(recwarn) == 0
    again = load(tmp_path / "model")
    for voting in ("stochastic", "majority", "best"):
        assert np.array_equal(again.set_params(voting=voting).predict(X), clf.set_params(voting=voting).predict(X))
    clf.set_params(voting="stochastic")
    assert again.certificates_ == clf.certificates_


def test_what_was_not_reviewed_is_said_when_it_is_saved(tmp_path):
    path = tmp_path / "model"
    clf = StochasticClassifier(SVC(), {"C": [1.0, 2.0]}, cv=None, random_state=0).fit(*rows(2))
    with pytest.warns(UserWarning, match=r"load will need trusted=\['sklearn\.svm\._classes\.SVC'\]"):
        save(clf, path)
    with pytest.raises(ValueError, match=r"types that are not trusted: sklearn\.svm\._classes\.SVC\."):
        load(path)
    assert load(path, trusted=["sklearn.svm._classes.SVC"]).certificates_ == clf.certificates_
    clf = StochasticClassifier(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=None, random_state=0).fit(*rows(2))
    with pytest.warns(UserWarning, match=r"KNeighborsClassifier"):
        save(clf, path)
    assert load(path, trusted=["sklearn."]).certificates_ == clf.certificates_


def test_a_clock_in_1970_does_not_stop_save(tmp_path, monkeypatch):
    today = save(model("forest"), tmp_path / "today")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert save(model("forest"), tmp_path / "then") == today
    # Nor does the file say when it was written.
    assert (tmp_path / "then").read_bytes() == (tmp_path / "today").read_bytes()
