"""Files of models whose classifiers were trained elsewhere: nothing in them is believed that the answers do not say."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import model, rows
from tests.files.model_files import Forged

from pacbayes import CertifiedClassifier, load, save

WRONG = {
    "more training rows": {"plan.division.n_train": 5},
    "fewer training rows": {"plan.division.n_train": -1},
    "another split": {"plan.division.kind": "independent", "plan.division.shared": None},
    "no proposal": {"plan.planned": (), "evidence.said": None},
    "negative weights": {"plan.planned.1.weights": np.array([-1, 1, 2**52])},
    "another hedge": {"plan.hedge": 1.0},
    "a constant that is no class": {"plan.no_skill": 9},
    "a prior from cross-validation": {"plan.prior_kind": "cross-validation", "plan.prior": np.full(3, 1 / 3)},
    "answers of somebody else": {"evidence.answers": np.zeros((4, 30), dtype=np.uint8)},
    "nothing that answers": {"members.estimators.0": {"@": "Kernel", "name": "rbf", "gamma": 1.0}},
}


@pytest.mark.parametrize("how", WRONG)
def test_wrong_parts_are_refused(how, tmp_path):
    forged = Forged.of(model("elsewhere"))
    for place, value in WRONG[how].items():
        forged[place] = value
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(forged.write(tmp_path / "model"))


def test_a_trained_model_cannot_say_that_it_was_trained_elsewhere(tmp_path):
    forged = Forged.of(model("trees"))
    forged["plan.division.n_train"] = 0
    with pytest.raises(ValueError, match=r"Division\.n_rows must train or validate"):
        load(forged.write(tmp_path / "model"))


class Mine:
    """A classifier of the user's own."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def test_own_classes_need_trust(tmp_path):
    X, y = rows(2)
    clf = CertifiedClassifier.from_fitted([Mine()], X, y, random_state=0)
    with pytest.warns(UserWarning, match="to load this model, load will need trusted"):
        save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match="types that are not trusted"):
        load(tmp_path / "model")


def test_trees_need_none(tmp_path, recwarn):
    X, y = rows(3)
    fitted = [DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (1, 2)]
    clf = CertifiedClassifier.from_fitted(fitted, X, y, random_state=0, proposal=1)
    save(clf, tmp_path / "model")
    assert len(recwarn) == 0
    assert load(tmp_path / "model").certificates_ == clf.certificates_


FINISHED = {
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
    "voting": VotingClassifier([("tree", DecisionTreeClassifier()), ("nearest", KNeighborsClassifier())]),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FINISHED)
def test_finished_pipelines_of_scikit_learn_need_no_trust(name, tmp_path, recwarn):
    X, y = rows(2)
    fitted = make_pipeline(StandardScaler(), FINISHED[name]).fit(X[::2], y[::2])
    clf = CertifiedClassifier.from_fitted(fitted, X[1::2], y[1::2], random_state=0)
    recwarn.clear()
    save(clf, tmp_path / "model")
    assert [str(warning.message) for warning in recwarn] == []
    again = load(tmp_path / "model")
    assert again.certificates_ == clf.certificates_
    assert np.array_equal(again.predict(X), fitted.predict(X))
