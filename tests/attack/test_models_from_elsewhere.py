"""Files of models whose classifiers were trained elsewhere: nothing in them is believed that the errors do not say."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.attack.small_models import model, rows
from tests.files.model_files import state_of, write_state

from pacbayes import StochasticClassifier, load, save


def with_rule(state, voting, change):
    rule = next(one for one in state["fitted"]["_rules"] if one["voting"] == voting and one["name"] == "proposal")
    change(rule)


def set_key(name, value):
    return lambda part: part.__setitem__(name, value)


WRONG = {
    "more training rows": lambda state: state["fitted"]["classifiers_"]["splits"].update(n_train=5),
    "fewer training rows": lambda state: state["fitted"]["classifiers_"]["splits"].update(n_train=-1),
    "another split": lambda state: state["fitted"]["classifiers_"]["splits"].update(kind="independent", shared=None),
    "other errors": lambda state: with_rule(state, "best", lambda rule: rule.update(errors=rule["errors"] + 1)),
    "no proposal": lambda state: state["fitted"].update(_rules=()),
    "no errors": lambda state: with_rule(state, "majority", set_key("errors", None)),
    "negative weights": lambda state: with_rule(state, "majority", lambda rule: rule["parts"].__setitem__(0, -1)),
    "another hedge": lambda state: state["fitted"].update(hedge_=1.0),
    "a constant that is no class": lambda state: state["fitted"].update(_constant=(9, 0)),
    "a prior from cross-validation": lambda state: state["fitted"].update(
        _prior_kind="cross-validation", _uniform=False
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_wrong_parts_are_refused(how, tmp_path):
    state = state_of(model("elsewhere"))
    WRONG[how](state)
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(tmp_path / "model")


def test_a_trained_model_cannot_say_that_it_was_trained_elsewhere(tmp_path):
    state = state_of(model("trees"))
    state["fitted"]["classifiers_"]["splits"].update(n_train=0)
    write_state(tmp_path / "model", state)
    with pytest.raises(ValueError, match=r"Splits\.(n_rows|n_train)"):
        load(tmp_path / "model")


class Mine:
    """A classifier of the user's own."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def test_own_classes_need_trust(tmp_path):
    X, y = rows(2)
    clf = StochasticClassifier.from_fitted([Mine()], X, y, random_state=0)
    with pytest.warns(UserWarning, match="to load this model, load will need trusted"):
        save(clf, tmp_path / "model")
    with pytest.raises(ValueError, match="types that are not trusted"):
        load(tmp_path / "model")


def test_trees_need_none(tmp_path, recwarn):
    X, y = rows(3)
    fitted = [DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (1, 2)]
    clf = StochasticClassifier.from_fitted(fitted, X, y, random_state=0, proposal=1)
    save(clf, tmp_path / "model")
    assert len(recwarn) == 0
    assert load(tmp_path / "model").certificates_ == clf.certificates_
