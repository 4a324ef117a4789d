"""Families and classifiers by name: scikit-learn's, and nothing else is ever imported."""

import sys
from itertools import takewhile
from types import SimpleNamespace

import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import all_estimators

from pacbayes.ensemble.portfolio import FAMILIES, classifier_by_name, named_family


def last(one):
    return one.named_steps["model"] if isinstance(one, Pipeline) else one


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_different_unfitted_classifiers(name):
    found = named_family(name, None, 1000)
    settings = [(type(last(one)), tuple(sorted(last(one).get_params().items()))) for one in found]
    assert len(set(settings)) == len(found) > 1
    assert not any(hasattr(last(one), "classes_") for one in found)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_prepares_comes_first_and_is_a_copy_for_each(name):
    preprocessor = SimpleImputer()
    found = named_family(name, preprocessor, 1000)
    assert [one.steps[0][0] for one in found] == ["preprocessor"] * len(found)
    assert len({id(one.named_steps["preprocessor"]) for one in found} | {id(preprocessor)}) == len(found) + 1


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "sklearn",
        "sklearn.svm",
        "sklearn.svm.",
        "sklearn.svm.SVC()",
        "sklearn.svm.svc",
        "sklearn..svm.SVC",
        "sklearnish.svm.SVC",
        "sklearn.svm._classes.SVC",
        "sklearn.conftest.SVC",
        "sklearn.tests.test_base.MyEstimator",
        "sklearn.externals.array_api_compat.Array",
        "sklearn.nothing.Classifier",
        "sklearn.svm.Nothing",
        "pickle.Unpickler",
        "",
    ],
)
def test_other_names_are_refused(name):
    before = set(sys.modules)
    with pytest.raises(
        ValueError, match=r"candidates must be auto, svm, forest, boosting, logistic, neighbours or the full name"
    ):
        classifier_by_name(name)
    assert all(module.startswith("sklearn") for module in set(sys.modules) - before)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # scikit-learn's, for classifiers on their way out
def test_every_classifier_of_scikit_learn_can_be_named():
    made, needy = [], []
    for name, kind in all_estimators(type_filter="classifier"):
        home = ".".join(takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
        try:
            made.append(classifier_by_name(f"{home}.{name}")[0].named_steps["model"])
        except ValueError as error:
            needy.append((name, str(error)))
    assert len(made) > 30
    # Those left need other classifiers first.
    assert all("cannot be made without further arguments" in message for _, message in needy), needy
    assert {"VotingClassifier", "StackingClassifier"} <= {name for name, _ in needy}


def test_the_options_know_the_same_names():
    from pacbayes.cli import model
    from pacbayes.ensemble.portfolio import NAMES, PORTFOLIO

    assert model.PORTFOLIO == NAMES
    assert set(PORTFOLIO) <= set(NAMES)


def test_families_that_are_named_are_trained_and_auto_alone_is_sized():
    from pacbayes.cli.model import candidates_of
    from pacbayes.ensemble.portfolio import PORTFOLIO

    def candidates(text):
        return candidates_of(SimpleNamespace(candidates=text, lambdas=None, kernel=None), None)

    assert candidates("auto") == "auto"
    assert candidates(",".join(PORTFOLIO)) == list(PORTFOLIO)
