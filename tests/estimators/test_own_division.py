"""A division of one's own: a mask, or rows of their own; what is refused, and what the certificate says of it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pacbayes import CertifiedClassifier, StochasticSVC, load, save

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:240, :4], y[:240]
LATE = np.arange(240) >= 150


def model(**choices):
    return CertifiedClassifier(LogisticRegression(max_iter=5000), random_state=0, **choices)


def test_exactly_these_rows_validate_and_the_limit_is_that_of_their_errors():
    clf = model().fit(X, y, validation=LATE)
    alone = LogisticRegression(max_iter=5000).fit(X[:150], y[:150])
    assert clf.certificate_.m == 90
    np.testing.assert_array_equal(clf.classifiers_.splits.shared[1], np.arange(150, 240))
    np.testing.assert_array_equal(clf.best_estimator_.predict(X[150:]), alone.predict(X[150:]))
    assert clf.certificates_["best"].empirical_risk == pytest.approx(np.mean(alone.predict(X[150:]) != y[150:]))


@pytest.mark.parametrize("made", [np.asarray, pd.DataFrame, sp.csr_array, np.ndarray.tolist])
def test_rows_of_their_own_are_the_same_as_a_mask(made):
    masked = model().fit(X, y, validation=LATE).certificate_
    apart = model().fit(made(X[:150]), y[:150], X_val=made(X[150:]), y_val=y[150:]).certificate_
    assert (apart.bound, apart.m, apart.assumptions) == (masked.bound, masked.m, masked.assumptions)


def test_the_paper_s_estimator_takes_it_too():
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X, y, validation=LATE)
    assert clf.certificate_.m == 90


def test_groups_and_slices_of_both_parts_are_joined():
    groups, slices = np.arange(240) // 3, pd.Series(np.where(np.arange(240) % 2, "odd", "even"), name="parity")
    parts = {"groups": groups[:150], "X_val": X[150:], "y_val": y[150:], "groups_val": groups[150:]}
    assert model().fit(X[:150], y[:150], **parts).certificate_.m == 30
    parts = {"slices": slices[:150], "X_val": X[150:], "y_val": y[150:], "slices_val": slices[150:]}
    found = model(metrics=("error",)).fit(X[:150], y[:150], **parts).certificate_
    assert {one.column for one in found.metrics if one.kind == "slice"} == {"parity"}


def test_the_certificate_says_whose_division_it_was(tmp_path):
    clf = model().fit(X, y, validation=LATE)
    first, drawn = clf.certificate_.assumptions[:2]
    assert first.endswith("The user divided the rows; their labels must have had no part in that.")
    assert drawn.startswith("Whatever rows trained, the validation rows are independent draws")
    assert "at random" not in " ".join(clf.certificate_.assumptions)
    save(clf, tmp_path / "own.pacbayes")
    assert load(tmp_path / "own.pacbayes").certificate_ == clf.certificate_
    assert "at random" in model().fit(X, y).certificate_.assumptions[0]


def test_a_pipeline_passes_the_mask_on():
    with sklearn.config_context(enable_metadata_routing=True):
        inside = model().set_fit_request(validation=True)
        routed = make_pipeline(FunctionTransformer(), inside).fit(X, y, validation=LATE)
    assert routed[-1].certificate_.m == 90


def test_time_order_with_other_shares_of_classes_before():
    early = np.argsort(y, kind="stable")
    late = np.zeros(240, dtype=bool)
    late[early[::2]] = True
    assert model().fit(X, y, validation=late).certificate_.m == 120


TWICE = np.arange(240) % 120
OTHER = {"X_val": X[150:], "y_val": y[150:]}


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"validation": LATE[:5]}, ValueError, r"mask of 240 rows, got shape \(5,\)"),
        ({"validation": LATE.astype(int)}, TypeError, "a boolean mask of 240 rows"),
        ({"validation": np.ones(240, dtype=bool)}, ValueError, "at least two training .* got 0 and 240"),
        ({"validation": LATE, "groups": np.arange(240) % 50}, ValueError, "all rows of a group on one side, but 50 of"),
        ({"validation": LATE, **OTHER}, ValueError, "mutually exclusive"),
        ({"X_val": X[150:]}, ValueError, "X_val requires y_val"),
        ({"y_val": y[150:]}, ValueError, "require X_val"),
        ({"X_val": X[150:], "y_val": y[149:]}, ValueError, "X_val and y_val must have the same length"),
        ({"X_val": X[150:, :2], "y_val": y[150:]}, ValueError, "the same columns"),
        ({"X_val": X[150:].tolist(), "y_val": y[150:]}, TypeError, "or lists, got ndarray and list"),
        ({"X_val": X[150:], "y_val": y[150:].astype(str)}, TypeError, "labels like those of y"),
        ({"X_val": X[150:].astype(str), "y_val": y[150:]}, TypeError, "the same dtype"),
        ({"groups": TWICE, **OTHER}, ValueError, "groups and groups_val must be set together"),
        (OTHER, ValueError, "90 of 90 rows equal a row of the training set"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(given, error, said):
    with pytest.raises(error, match=said):
        model().fit(X, y, **given)


def test_frames_must_have_the_same_columns_and_types():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="but only one has d, e"):
        model().fit(frame, y, X_val=frame.rename(columns={"d": "e"}), y_val=y)
    with pytest.raises(TypeError, match=r"got float64 and .* for 'a'"):
        model().fit(frame, y, X_val=frame.assign(a="x"), y_val=y)


def test_copies_that_are_one_example_must_not_stand_on_both_sides():
    rows, labels = np.vstack([X, X[:3]]), np.concatenate([y, y[:3]])
    mask = np.concatenate([LATE, [True] * 3])
    with pytest.raises(ValueError, match=r"an example and its duplicates on one side, but 3 of .* as rows 0 and 240"):
        model(duplicates="together").fit(rows, labels, validation=mask)
    assert model().fit(rows, labels, validation=mask).certificate_.copies == 3


@pytest.mark.parametrize("name", ["y_val", "X_val", "groups_val", "validation", "y"])
def test_what_is_masked_is_no_value(name):
    given = {"X": X[:150], "y": y[:150], "X_val": X[150:], "y_val": y[150:]}
    given |= {"groups": np.arange(150), "groups_val": np.arange(150, 240)}
    if name == "validation":
        given = {"X": X, "y": y, "validation": LATE}
    given[name] = np.ma.array(given[name], mask=np.arange(np.size(given[name])).reshape(np.shape(given[name])) == 0)
    with pytest.raises(ValueError, match="mask"):
        model().fit(**given)


def test_copies_among_the_training_rows_do_not_hide_rows_on_both_sides():
    """An attack certified 3 % of noise: every validation row had been trained on, and oversampled."""
    rows = np.vstack([np.repeat(X[:150], 3, axis=0), X[:90]])
    labels = np.concatenate([np.repeat(y[:150], 3), y[:90]])
    with pytest.raises(ValueError, match="90 of 90 rows equal a row of the training set"):
        model().fit(rows, labels, validation=np.arange(540) >= 450)


def test_rows_of_few_values_may_be_equal_by_chance():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (1000, 4)).astype(float)
    labels = (rows.sum(axis=1) + rng.normal(size=1000) > 2).astype(int)
    assert model().fit(rows, labels, validation=np.arange(1000) >= 900).certificate_.m == 100


def test_equal_rows_that_are_separate_draws_can_be_said():
    """Nobody kept a training row twice, and new rows meet them: no leak, but it looks like one."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(150), rng.integers(0, 150, 90)])[:, None] / 150.0
    labels = (rows[:, 0] + rng.normal(scale=0.3, size=240) > 0.5).astype(int)
    with pytest.raises(ValueError, match=r"from the training set, never .* use duplicates='independent'"):
        model().fit(rows, labels, validation=LATE)
    clf = model(duplicates="independent").fit(rows, labels, validation=LATE)  # without the warning of copies
    assert (clf.certificate_.m, clf.certificate_.unit) == (90, "example")
    old, own = model().fit(rows[~LATE], labels[~LATE]), {"X_val": rows[LATE], "y_val": labels[LATE], "random_state": 0}
    with pytest.raises(
        ValueError, match=r"behind it. If equal rows are independent draws, use duplicates='independent'"
    ):
        CertifiedClassifier.from_fitted([old], **own)
    assert CertifiedClassifier.from_fitted([old], duplicates="independent", **own).certificate_.m == 90


def test_rows_that_all_groups_have_are_no_copies_and_groups_with_two_names_are():
    """Every group has the same 20 visits; their labels differ."""
    visits, groups = np.tile(np.arange(20.0), 12)[:, None], np.repeat(np.arange(12), 20)
    assert model().fit(visits, y, groups=groups, validation=groups >= 8).certificate_.m == 4
    fine = np.vstack([X[:150], X[:90]])
    with pytest.raises(ValueError, match="90 of 90 rows equal a row of the training set"):
        model().fit(fine, y, groups=np.arange(240) // 3, validation=LATE)
