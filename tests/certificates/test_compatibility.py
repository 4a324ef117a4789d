"""Incompatible parameters raise one message, with parameters as in Python or on the command line."""

import re

import pytest

from pacbayes import Abstain, CertifiedClassifier, Cost, StochasticSVC, Threshold
from pacbayes.certificates.compatibility import INCOMPATIBLE, Choices
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.cli.options import option_name

RECALL = {"metrics": parse_metrics(("recall",))}
INDEPENDENT = {"split": "independent"}
# For each entry of the table, parameters that it rejects, and how both messages begin.
CASES = [
    ({"hedge": 0.1, "cv": None}, "hedge=0.1 requires", "--hedge 0.1 requires"),
    (
        {"decision": Threshold(recall=0.9), "voting": "best"},
        "decision=Threshold(recall=0.9) cannot be combined with voting='best'",
        "--recall 0.9 cannot be combined with --voting best",
    ),
    ({"voting": "soft", **INDEPENDENT}, "voting='soft' requires", "--voting soft requires"),
    ({"decision": Abstain(0.1), "hedge": 1}, "decision=Abstain(max_error=0.1) requires", "--max-error 0.1 requires"),
    ({**RECALL, "hedge": 1}, "metrics require", "--metrics (and --by-class, --slice, --cost) require"),
    (
        {"metrics": parse_metrics(("auc",)), "voting": "majority"},
        "'auc' among metrics requires probabilities or scores, but with voting='majority'",
        "'auc' among --metrics (and --by-class, --slice, --cost) requires probabilities or scores, but with --voting",
    ),
    (
        {**RECALL, "decision": Abstain(0.1)},
        "metrics cannot be combined with decision=",
        "cannot be combined with --max-error 0.1",
    ),
    ({"refit": True, "hedge": 1}, "refit=True requires", "--refit requires"),
    (
        {"refit": True, "voting": "stochastic"},
        "refit=True cannot be combined with voting='stochastic'",
        "--refit cannot be combined with --voting stochastic",
    ),
    (
        {"refit": True, "decision": Abstain(0.1)},
        "refit=True cannot be combined with decision=",
        "--refit cannot be combined with --max-error 0.1",
    ),
    ({"refit": True, **RECALL}, "metrics with refit=True", "with --refit must be among"),
    (
        {"prior": "cross-validation", **INDEPENDENT},
        "prior='cross-validation' is computed",
        "--prior cross-validation is computed",
    ),
    (
        {"distance": ["kl", "catoni"], **INDEPENDENT},
        "distance=['kl', 'catoni'] computes C",
        "--distance kl --distance catoni computes C",
    ),
    (
        {"duplicates": "together", "groups": True},
        "duplicates='together' cannot be combined with groups",
        "--duplicates together cannot be combined with --group",
    ),
    (
        {"decision": Abstain(0.1), "groups": True},
        "cannot be combined with groups",
        "--max-error 0.1 cannot be combined with --group",
    ),
    ({**RECALL, "groups": True}, "with groups, only error rates and costs", "with --group, only error rates and costs"),
    ({**RECALL, "slices": True}, "slices require bounds", "--slice require bounds"),
    (
        {"validation": True, **INDEPENDENT},
        "validation cannot be combined with split='independent'",
        "--validation (and --validation-column) cannot be combined with --split independent",
    ),
]


@pytest.mark.parametrize("place", range(len(CASES)))
def test_each_entry_is_reached(place):
    parameters, python, options = CASES[place]
    choices = Choices(**parameters)
    # No earlier entry hides it.
    assert [bool(applies(choices)) for applies, _ in INCOMPATIBLE].index(True) == place
    with pytest.raises(ValueError, match=re.escape(python)):
        choices.validate()
    with pytest.raises(ValueError, match=re.escape(options)) as in_shell:
        choices.validate(option_name)
    assert "=" not in str(in_shell.value).replace("--distance='catoni(0.4)'", "").replace("metrics=('error',)", "")


def test_each_entry_has_a_case():
    assert len(CASES) == len(INCOMPATIBLE)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"hedge": 1, "cv": None},
        {"decision": Threshold(recall=0.9), "voting": "soft"},
        {"refit": True, "voting": "majority", "metrics": parse_metrics(("error", Cost([[0, 1], [1, 0]], "ab")))},
        {"metrics": parse_metrics((Cost([[0, 1], [1, 0]], "ab"),)), "groups": True},
        {"prefit": True, "primary": True, "hedge": 0.1, **RECALL},
    ],
)
def test_compatible_parameters(parameters):
    Choices(**parameters).validate()


@pytest.mark.parametrize(
    ("estimator", "fit", "message"),
    [
        # The parameter that the user set, not the decision that it stands for.
        (
            StochasticSVC(max_error=0.1),
            {},
            r"^max_error=0\.1 requires a primary rule, but hedge=1 leaves no share of delta for it",
        ),
        (
            CertifiedClassifier("svm", decision=0.02),
            {},
            "The 'decision' parameter of CertifiedClassifier must be .*Abstain",
        ),
        (
            CertifiedClassifier("svm", refit=True, metrics=("error", "recall")),
            {},
            "must be among error, balanced_error, cost, got 'recall': only means of losses",
        ),
    ],
)
def test_estimators_check_parameters_before_any_work(estimator, fit, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit("no rows", "no labels", **fit)


def test_prefit_classifiers_have_no_training_rows():
    with pytest.raises(
        ValueError, match=r"voting='soft' requires .*, but the training rows of prefit classifiers are unknown"
    ):
        Choices(prefit=True, primary=True, voting="soft").validate()
    with pytest.raises(ValueError, match="metrics require a primary rule, but there is no primary"):
        Choices(prefit=True, **RECALL).validate()
