"""User-defined splits: masks and separate validation sets, invalid splits, and overlaps."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pacbayes import CertifiedClassifier, load, save

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:240, :4], y[:240]
LATE = np.arange(240) >= 150


def model(**options):
    return CertifiedClassifier(LogisticRegression(max_iter=5000), random_state=0, **options)


def test_mask_selects_the_validation_rows():
    clf = model().fit(X, y, validation=LATE)
    expected = LogisticRegression(max_iter=5000).fit(X[:150], y[:150])
    assert clf.certificate_.m == 90
    np.testing.assert_array_equal(clf.classifiers_.splits.shared[1], np.arange(150, 240))
    np.testing.assert_array_equal(clf.best_estimator_.predict(X[150:]), expected.predict(X[150:]))
    assert clf.certificates_["best"].empirical_risk == pytest.approx(np.mean(expected.predict(X[150:]) != y[150:]))


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, sp.csr_array, np.ndarray.tolist])
def test_separate_validation_set_equals_a_mask(container):
    masked = model().fit(X, y, validation=LATE).certificate_
    separate = model().fit(container(X[:150]), y[:150], X_val=container(X[150:]), y_val=y[150:]).certificate_
    assert (separate.bound, separate.m, separate.assumptions) == (masked.bound, masked.m, masked.assumptions)


def test_groups_and_slices_are_concatenated():
    groups, slices = np.arange(240) // 3, pd.Series(np.where(np.arange(240) % 2, "odd", "even"), name="parity")
    parts = {"groups": groups[:150], "X_val": X[150:], "y_val": y[150:], "groups_val": groups[150:]}
    assert model().fit(X[:150], y[:150], **parts).certificate_.m == 30
    parts = {"slices": slices[:150], "X_val": X[150:], "y_val": y[150:], "slices_val": slices[150:]}
    metrics = model(metrics=("error",)).fit(X[:150], y[:150], **parts).certificate_.metrics
    assert {metric.column for metric in metrics if metric.kind == "slice"} == {"parity"}


def test_assumptions_name_the_split_of_the_user(tmp_path):
    clf = model().fit(X, y, validation=LATE)
    split, independence = clf.certificate_.assumptions[:2]
    assert split.endswith("The rows were split by the user, without using the labels.")
    assert independence.startswith("The validation rows are independent draws")
    assert independence.endswith("nothing is assumed about the training rows.")
    assert "at random" not in " ".join(clf.certificate_.assumptions)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificate_ == clf.certificate_
    assert "at random" in model().fit(X, y).certificate_.assumptions[0]


def test_mask_is_routed_through_pipelines():
    with sklearn.config_context(enable_metadata_routing=True):
        clf = model().set_fit_request(validation=True)
        pipeline = make_pipeline(FunctionTransformer(), clf).fit(X, y, validation=LATE)
    assert pipeline[-1].certificate_.m == 90


TWICE = np.arange(240) % 120
OTHER = {"X_val": X[150:], "y_val": y[150:]}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
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
def test_invalid_splits_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        model().fit(X, y, **arguments)


def test_frames_must_have_the_same_columns_and_types():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="but only one has d, e"):
        model().fit(frame, y, X_val=frame.rename(columns={"d": "e"}), y_val=y)
    with pytest.raises(TypeError, match=r"got float64 and .* for 'a'"):
        model().fit(frame, y, X_val=frame.assign(a="x"), y_val=y)


def test_duplicates_must_stay_on_one_side():
    rows, labels = np.vstack([X, X[:3]]), np.concatenate([y, y[:3]])
    mask = np.concatenate([LATE, [True] * 3])
    with pytest.raises(ValueError, match=r"an example and its duplicates on one side, but 3 of .* as rows 0 and 240"):
        model(duplicates="together").fit(rows, labels, validation=mask)
    assert model().fit(rows, labels, validation=mask).certificate_.copies == 3


@pytest.mark.parametrize("name", ["y_val", "X_val", "groups_val", "validation", "y"])
def test_masked_arrays_are_rejected(name):
    arguments = {"X": X[:150], "y": y[:150], "X_val": X[150:], "y_val": y[150:]}
    arguments |= {"groups": np.arange(150), "groups_val": np.arange(150, 240)}
    if name == "validation":
        arguments = {"X": X, "y": y, "validation": LATE}
    masked = np.ma.array(arguments[name])
    masked[0] = np.ma.masked
    with pytest.raises(ValueError, match="mask"):
        model().fit(**arguments | {name: masked})


def test_oversampling_does_not_hide_an_overlap():
    """Every validation row is a training row, and training rows are oversampled."""
    rows = np.vstack([np.repeat(X[:150], 3, axis=0), X[:90]])
    labels = np.concatenate([np.repeat(y[:150], 3), y[:90]])
    with pytest.raises(ValueError, match="90 of 90 rows equal a row of the training set"):
        model().fit(rows, labels, validation=np.arange(540) >= 450)


def test_rows_of_few_values_may_overlap_by_chance():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (1000, 4)).astype(float)
    labels = (rows.sum(axis=1) + rng.normal(size=1000) > 2).astype(int)
    assert model().fit(rows, labels, validation=np.arange(1000) >= 900).certificate_.m == 100


def test_independent_duplicates_may_overlap():
    """Validation rows equal training rows, which are distinct: this looks like leakage, but is not."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(150), rng.integers(0, 150, 90)])[:, None] / 150.0
    labels = (rows[:, 0] + rng.normal(scale=0.3, size=240) > 0.5).astype(int)
    with pytest.raises(ValueError, match=r"from the training set, never .* use duplicates='independent'"):
        model().fit(rows, labels, validation=LATE)
    clf = model(duplicates="independent").fit(rows, labels, validation=LATE)  # without a warning of duplicates
    assert (clf.certificate_.m, clf.certificate_.unit) == (90, "example")
    prefit = model().fit(rows[~LATE], labels[~LATE])
    validation = {"X_val": rows[LATE], "y_val": labels[LATE], "random_state": 0}
    with pytest.raises(
        ValueError, match=r"behind it. If equal rows are independent draws, use duplicates='independent'"
    ):
        CertifiedClassifier.from_fitted([prefit], **validation)
    assert CertifiedClassifier.from_fitted([prefit], duplicates="independent", **validation).certificate_.m == 90


def test_overlap_of_groups():
    """Rows that all groups share are accepted, and groups that occur under two names are rejected."""
    visits, groups = np.tile(np.arange(20.0), 12)[:, None], np.repeat(np.arange(12), 20)
    assert model().fit(visits, y, groups=groups, validation=groups >= 8).certificate_.m == 4
    renamed = np.vstack([X[:150], X[:90]])
    with pytest.raises(ValueError, match="90 of 90 rows equal a row of the training set"):
        model().fit(renamed, y, groups=np.arange(240) // 3, validation=LATE)
