"""Named families and classifiers, of which only those of scikit-learn are imported."""

import sys
from itertools import takewhile
from types import SimpleNamespace

import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import all_estimators

from pacbayes.ensemble.by_name import make_classifier_by_name
from pacbayes.ensemble.portfolio import PORTFOLIO, Size, make_named_family


def model_of(classifier):
    return classifier.named_steps["model"] if isinstance(classifier, Pipeline) else classifier


@pytest.mark.parametrize("name", PORTFOLIO[1:])
def test_families_are_different_unfitted_classifiers(name):
    models = [model_of(classifier) for classifier in make_named_family(name, None, Size(1000))]
    settings = {(type(model), tuple(sorted(model.get_params().items()))) for model in models}
    assert len(settings) == len(models) > 1
    assert not any(hasattr(model, "classes_") for model in models)


@pytest.mark.parametrize("name", PORTFOLIO[1:])
def test_preprocessor_is_cloned_as_first_step(name):
    preprocessor = SimpleImputer()
    pipelines = make_named_family(name, preprocessor, Size(1000))
    assert {pipeline.steps[0][0] for pipeline in pipelines} == {"preprocessor"}
    preprocessors = {id(pipeline.named_steps["preprocessor"]) for pipeline in pipelines}
    assert len(preprocessors | {id(preprocessor)}) == len(pipelines) + 1


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
def test_other_names_are_rejected(name):
    before = set(sys.modules)
    with pytest.raises(
        ValueError,
        match=r"candidates must be auto, svm, forest, boosting, logistic, neighbours, lightgbm, .* or the",
    ):
        make_classifier_by_name(name)
    assert all(module.startswith("sklearn") for module in set(sys.modules) - before)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # deprecated classifiers of scikit-learn
def test_every_classifier_of_scikit_learn_can_be_named():
    created, failed = [], []
    for name, kind in all_estimators(type_filter="classifier"):
        home = ".".join(takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
        try:
            created.append(make_classifier_by_name(f"{home}.{name}")[0].named_steps["model"])
        except ValueError as error:
            failed.append((name, str(error)))
    assert len(created) > 30
    # Only those that require other classifiers cannot be created.
    assert all("cannot be created without arguments" in message for _, message in failed), failed
    assert {"VotingClassifier", "StackingClassifier"} <= {name for name, _ in failed}


def test_options_have_the_same_names():
    from pacbayes.cli import model
    from pacbayes.ensemble.by_name import NAMES

    assert (*model.PORTFOLIO, *model.LIBRARIES) == NAMES
    assert set(PORTFOLIO) <= set(NAMES)


def test_only_auto_depends_on_the_size():
    from pacbayes.cli.model import make_candidates

    def candidates(text):
        return make_candidates(SimpleNamespace(candidates=text, lambdas=None, kernel=None, scale=None), None)

    assert candidates("auto") == "auto"
    assert candidates(",".join(PORTFOLIO)) == list(PORTFOLIO)
