"""`TableEncoder`: what it makes of dates, categories and text, from the rows of `fit` alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pacbayes import CertifiedClassifier, load, save
from pacbayes.data.encoder import TableEncoder

RNG = np.random.default_rng(0)


def table(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "colour": rng.choice(["red", "green", None], rows),
            "name": [f"shop {i}" for i in rng.integers(0, 90, rows)],
            "day": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D"),
            "note": [
                f"{' '.join(rng.choice(['late', 'parcel', 'broken', 'box', 'fine'], 6))} {i}" for i in range(rows)
            ],
        }
    )
    weekend = np.isin(frame["day"].dt.day_name(), ["Saturday", "Sunday"])
    labels = np.where((frame["x"] > 0.5) | weekend, "yes", "no")
    return frame, labels


def test_dates_become_numbers_where_they_vary():
    days = pd.to_datetime(["2024-05-31", "2024-06-02", None])
    made = TableEncoder().fit_transform(pd.DataFrame({"day": days}), [0, 1, 0])
    # Days since the first, month, day, weekday; the year and the hour do not vary.  The median is in between.
    np.testing.assert_array_equal(made, [[0, 5, 31, 4], [2, 6, 2, 6], [1, 6, 1, 5]])


@pytest.mark.parametrize(("levels", "columns"), [(30, 30), (31, 1 + 30)])
def test_categories_are_one_hot_up_to_thirty(levels, columns):
    values = [f"v{i % levels}" for i in range(3 * levels)]
    encoder = TableEncoder().fit(pd.DataFrame({"c": values}), np.arange(3 * levels) % 2)
    assert encoder.transform(pd.DataFrame({"c": values})).shape[1] == columns
    # A level that no row had: none of the columns, or the mean.
    assert encoder.transform(pd.DataFrame({"c": ["new"]}))[0, 0] == (0.0 if levels == 30 else 46 / 93)


def test_target_encodings_are_cross_fitted():
    """Without cross-fitting, names that occur twice would determine a class that is pure noise."""
    names = np.repeat([f"n{i}" for i in range(300)], 2)
    y = RNG.integers(0, 2, 600)
    encoder = TableEncoder()
    cross_fitted = encoder.fit_transform(pd.DataFrame({"c": names}), y)[:, 0]
    direct = encoder.transform(pd.DataFrame({"c": names}))[:, 0]
    assert abs(np.corrcoef(cross_fitted, y)[0, 1]) < 0.2 < 0.5 < np.corrcoef(direct, y)[0, 1]
    # One mean for each of three classes.
    assert TableEncoder().fit_transform(pd.DataFrame({"c": names}), np.arange(600) % 3).shape == (600, 3 + 30)


def test_rows_are_encoded_one_by_one_as_together():
    X, y = table()
    for native in (False, True):
        encoder = TableEncoder(native=native).fit(X, y)
        together = encoder.transform(X)
        for i in (0, 7, 99):
            alone = encoder.transform(X.iloc[[i]])
            if native:
                pd.testing.assert_frame_equal(alone, together.iloc[[i]].reset_index(drop=True), check_exact=True)
            else:
                np.testing.assert_array_equal(alone[0], together[i])


def test_spellings_and_containers_are_encoded_alike():
    X, y = table()
    encoder = TableEncoder().fit(X, y)
    other = X.convert_dtypes(dtype_backend="pyarrow").assign(colour=X["colour"].str.upper(), day=X["day"].astype(str))
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(X))


def test_missing_and_unseen_values():
    X, y = table()
    new = pd.DataFrame({name: [None, "new"] for name in X}).assign(x=[None, 1.0])
    encoder = TableEncoder(native=True)
    assert encoder.fit(X, y).transform(new)["x 0"].isna().tolist() == [True, False]
    HistGradientBoostingClassifier(categorical_features="from_dtype").fit(encoder.transform(X), y)
    assert np.isfinite(TableEncoder().fit(X, y).transform(new)).all()


def test_free_text_tells_classes_apart():
    words = {"yes": ["late", "broken", "angry"], "no": ["fine", "quick", "thanks"], "both": ["parcel", "box", "the"]}
    y = np.where(np.arange(400) % 2, "yes", "no")
    text = [
        " ".join(RNG.permutation([*RNG.choice(words[c], 2), *RNG.choice(words["both"], 3), f"nr{i}"]))
        for i, c in enumerate(y)
    ]
    model = make_pipeline(TableEncoder(), LogisticRegression(C=100.0)).fit(pd.DataFrame({"t": text[:200]}), y[:200])
    assert model.score(pd.DataFrame({"t": text[200:]}), y[200:]) > 0.95


@pytest.mark.filterwarnings("ignore::pacbayes.data.schema.UnseenCategoryWarning")
def test_families_by_name_take_all_kinds_of_columns(tmp_path):
    X, y = table()
    clf = CertifiedClassifier(["logistic", "boosting"], cv=3, random_state=0).fit(X[:500], y[:500])
    assert clf.certificate_.bound < 0.2
    again = load(tmp_path / "m", sha256=save(clf, tmp_path / "m"))
    assert again.predict(X).tolist() == clf.predict(X).tolist()
    as_text = X.assign(day=X["day"].dt.strftime("%Y-%m-%d"))
    assert clf.predict(as_text).tolist() == clf.predict(X).tolist()


def test_skrub_encodes_in_its_place():
    skrub = pytest.importorskip("skrub")
    X, y = table()
    clf = CertifiedClassifier("boosting", preprocessor=skrub.TableVectorizer(), cv=3, random_state=0).fit(X, y)
    assert clf.certificate_.bound < 0.35
