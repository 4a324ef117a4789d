"""Types that a model file needs trust for, and files that do not depend on the clock."""

import time

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import ENSEMBLES, model, rows
from tests.cli.running import in_process

from pacbayes import CertifiedClassifier, Grid, load, save


@pytest.mark.parametrize("name", [*ENSEMBLES, "categories"])
def test_trees_forests_and_boosting_need_no_trust(name, tmp_path, recwarn):
    clf, X = model(name), rows(2)[0].round(0 if name == "categories" else 3)
    save(clf, tmp_path / "model")
    assert len(recwarn) == 0
    loaded = load(tmp_path / "model")
    for voting in clf.certificates_:
        assert np.array_equal(loaded.set_params(voting=voting).predict(X), clf.set_params(voting=voting).predict(X))
    clf.set_params(voting="auto" if isinstance(clf, CertifiedClassifier) else "stochastic")
    assert loaded.certificates_ == clf.certificates_


def test_untrusted_types_are_named_when_the_model_is_saved(tmp_path):
    path = tmp_path / "model"
    grid = Grid(GaussianProcessClassifier(), {"max_iter_predict": [50, 100]})
    clf = CertifiedClassifier(grid, cv=None, random_state=0).fit(*rows(2))
    with pytest.warns(UserWarning, match=r"trusted=\[.*RBF'\] \(pacbayes predict: --trust\): these types may run"):
        save(clf, path)
    with pytest.raises(ValueError, match=r"untrusted types: .*RBF\."):
        load(path)
    assert load(path, trusted=["sklearn."]).certificates_ == clf.certificates_


def test_a_clock_in_1970_does_not_stop_save(tmp_path, monkeypatch):
    today = save(model("forest"), tmp_path / "today")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert save(model("forest"), tmp_path / "then") == today
    # The file does not contain the time.
    assert (tmp_path / "then").read_bytes() == (tmp_path / "today").read_bytes()


def test_the_command_line_names_the_option_for_untrusted_types(tmp_path, capsys):
    lines = [f"{a},{b},{'yes' if a > 0 else 'no'}" for a, b in np.random.default_rng(0).normal(size=(60, 2))]
    data, saved = tmp_path / "data.csv", tmp_path / "model"
    data.write_text("\n".join(["a,b,class", *lines]) + "\n")
    certify = ["certify", data, "--save", saved, "--candidates"]
    grid = tmp_path / "grid.json"
    grid.write_text('{"max_iter_predict": [50]}')
    name = "sklearn.gaussian_process.GaussianProcessClassifier"
    done = in_process([*certify, name, "--grid", grid], capsys)
    assert done.code == 0
    assert "warning: to load this model" in done.err
    assert "--trust" in done.err
    rejected = in_process(["predict", saved, data], capsys)
    assert rejected.code == 2
    assert rejected.error.endswith("if you know where the file comes from, add --trust")
    assert in_process(["predict", saved, data, "--trust"], capsys).code == 0
    # Families with a short name need no trust.
    for name in ("svm", "logistic"):
        done = in_process([*certify, name], capsys)
        assert "--trust" not in done.err
        assert in_process(["predict", saved, data], capsys).code == 0


PREFIT = {
    "MLP": MLPClassifier(max_iter=5),
    "MLP, SGD": MLPClassifier(max_iter=5, solver="sgd", early_stopping=True),
    "SGD": SGDClassifier(loss="log_loss"),
    "boosting": HistGradientBoostingClassifier(max_iter=5),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
    "calibrated, isotonic": CalibratedClassifierCV(SGDClassifier(), method="isotonic", cv=2),
    "neighbours": KNeighborsClassifier(algorithm="ball_tree", p=1),
    "selected columns": make_pipeline(SelectKBest(k=1), LogisticRegression()),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "stacking": StackingClassifier([("tree", DecisionTreeClassifier()), ("nearest", KNeighborsClassifier())], cv=2),
    "libsvm": SVC(),
    "voting": VotingClassifier([("tree", DecisionTreeClassifier()), ("nearest", KNeighborsClassifier())]),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PREFIT)
def test_prefit_pipelines_of_scikit_learn_need_no_trust(name, tmp_path, recwarn):
    X, y = rows(2)
    fitted = make_pipeline(StandardScaler(), PREFIT[name]).fit(X[::2], y[::2])
    clf = CertifiedClassifier.from_fitted(fitted, X[1::2], y[1::2], random_state=0)
    recwarn.clear()
    save(clf, tmp_path / "model")
    assert [str(warning.message) for warning in recwarn] == []
    loaded = load(tmp_path / "model")
    assert loaded.certificates_ == clf.certificates_
    assert np.array_equal(loaded.predict(X), fitted.predict(X))
