"""Classifiers by name: scikit-learn's, and nothing else is ever imported."""

import sys
from itertools import takewhile

import pytest
from sklearn.utils import all_estimators

from pacbayes.estimators.by_name import SHORT_NAMES, check_grid, classifier_by_name


@pytest.mark.parametrize("name", SHORT_NAMES)
def test_short_names_have_grids_that_fit(name):
    pipeline, grid = classifier_by_name(name)
    model = pipeline.named_steps["model"]
    check_grid({key.removeprefix("model__"): values for key, values in grid.items()}, model)
    assert all(key in pipeline.get_params() for key in grid)


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
    with pytest.raises(ValueError, match=r"estimator must be svm, logistic, forest, boosting or the full name"):
        classifier_by_name(name)
    assert all(module.startswith("sklearn") for module in set(sys.modules) - before)


@pytest.mark.parametrize("name", ["sklearn.svm.SVR", "sklearn.pipeline.Pipeline", "sklearn.base.ClassifierMixin"])
def test_what_is_no_classifier_is_refused(name):
    with pytest.raises(ValueError, match=r"must be a classifier|cannot be made"):
        classifier_by_name(name)


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
