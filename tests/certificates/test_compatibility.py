"""What does not go together is refused by one sentence, in Python's words and in the command line's."""

import re

import numpy as np
import pytest

from pacbayes import Abstain, CertifiedClassifier, Cost, StochasticSVC, Threshold
from pacbayes.certificates.compatibility import _REFUSALS, Choices
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.cli.options import in_words_of_options

METRICS_ASSUMPTION = {"metrics": parse_metrics(("recall",))}
APART = {"split": "independent"}
# For each line of the table what it refuses, and the parameters by which both name it.
CASES = [
    ({"hedge": 0.1, "cv": None}, "hedge=0.1 keeps", "--hedge 0.1 keeps"),
    (
        {"decision": Threshold(recall=0.9), "voting": "best"},
        "decision=Threshold(recall=0.9) is not for voting='best'",
        "--recall 0.9 is not for --voting best",
    ),
    ({"voting": "soft", **APART}, "voting='soft' needs", "--voting soft needs"),
    ({"decision": Abstain(0.1), "hedge": 1}, "decision=Abstain(max_error=0.1) needs", "--max-error 0.1 needs"),
    ({**METRICS_ASSUMPTION, "hedge": 1}, "metrics need", "--metrics (and --by-class, --slice, --cost) need"),
    ({**METRICS_ASSUMPTION, "decision": Abstain(0.1)}, "metrics are not for decision=", "are not for --max-error 0.1"),
    ({"refit": True, "hedge": 1}, "refit=True needs", "--refit needs"),
    (
        {"refit": True, "voting": "stochastic"},
        "refit=True is not for voting='stochastic'",
        "--refit is not for --voting stochastic",
    ),
    (
        {"refit": True, "decision": Abstain(0.1)},
        "refit=True is not for decision=",
        "--refit is not for --max-error 0.1",
    ),
    ({"refit": True, **METRICS_ASSUMPTION}, "metrics with refit=True", "with --refit must be among"),
    ({"prior": "cross-validation", **APART}, "prior='cross-validation' comes", "--prior cross-validation comes"),
    (
        {"distance": ["kl", "catoni"], **APART},
        "distance=['kl', 'catoni'] takes",
        "--distance kl --distance catoni takes",
    ),
    (
        {"duplicates": "together", "groups": True},
        "duplicates='together' is not for groups",
        "--duplicates together is not for --group",
    ),
    ({"decision": Abstain(0.1), "groups": True}, "is not for groups", "--max-error 0.1 is not for --group"),
    ({**METRICS_ASSUMPTION, "groups": True}, "metrics are not for groups", "are not for --group"),
    ({**METRICS_ASSUMPTION, "slices": True}, "slices are for limits of errors", "--slice are for limits of errors"),
    (
        {"validation": True, **APART},
        "validation is not for split='independent'",
        "--validation (and --validation-column) is not for --split independent",
    ),
]


@pytest.mark.parametrize("place", range(len(CASES)))
def test_each_line_refuses_what_it_is_for(place):
    asked, python, options = CASES[place]
    together = Choices(**asked)
    # A line that nothing reaches, or that another hides, would be no refusal.
    assert [refused(together) and True for refused, _ in _REFUSALS].index(True) == place
    with pytest.raises(ValueError, match=re.escape(python)):
        together.check()
    with pytest.raises(ValueError, match=re.escape(options)) as in_shell:
        together.check(in_words_of_options)
    assert "=" not in str(in_shell.value).replace("--distance='catoni(0.4)'", "").replace("metrics=('error',)", "")


def test_the_cases_are_all_lines():
    assert len(CASES) == len(_REFUSALS)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"hedge": 1, "cv": None},
        {"decision": Threshold(recall=0.9), "voting": "soft"},
        {"refit": True, "voting": "majority", "metrics": parse_metrics(("error", Cost([[0, 1], [1, 0]], "ab")))},
        {"metrics": parse_metrics((Cost([[0, 1], [1, 0]], "ab"),)), "groups": True},
        {"prefit": True, "primary": True, "hedge": 0.1, **METRICS_ASSUMPTION},
    ],
)
def test_the_rest_goes_together(asked):
    Choices(**asked).check()


@pytest.mark.parametrize(
    ("estimator", "fit", "message"),
    [
        (CertifiedClassifier("logistic", voting="soft", cv=None), {}, "voting='soft' needs what the training rows"),
        (StochasticSVC(prior="cross-validation", **APART), {}, "prior='cross-validation' comes from the training rows"),
        (StochasticSVC(**APART), {"validation": np.arange(20) < 10}, "validation is not for split='independent'"),
        # The parameter that the user set, not what it stands for.
        (StochasticSVC(max_error=0.1), {}, r"^max_error=0\.1 needs what the .*, but hedge=1 keeps all of delta"),
        (
            CertifiedClassifier("svm", decision=0.02),
            {},
            "The 'decision' parameter of CertifiedClassifier must be .*Abstain",
        ),
        (StochasticSVC(hedge=0.1, cv=None), {}, r"^hedge=0\.1 .* cv=None leaves .* hedge must be 'auto' or 1"),
        (
            CertifiedClassifier("svm", refit=True, metrics=("error", "recall")),
            {},
            "must be among error, balanced_error, cost, got 'recall': only losses of single predictions",
        ),
    ],
)
def test_estimators_ask_the_table_before_any_work(estimator, fit, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit("no rows", "no labels", **fit)


def test_prefit_classifiers_leave_nothing_to_training_rows():
    with pytest.raises(ValueError, match=r"voting='soft' needs .*, but the classifiers were trained on rows that"):
        Choices(prefit=True, primary=True, voting="soft").check()
    with pytest.raises(ValueError, match="metrics need what is proposed beforehand, but there is no primary"):
        Choices(prefit=True, **METRICS_ASSUMPTION).check()
