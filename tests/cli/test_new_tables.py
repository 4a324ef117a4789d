"""New files are read like the model's own table: missing values and text columns."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.cli.running import error_of, in_process

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, save

# The pipeline of the command line for a table without missing values.
SCALED = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
QUICK = ["--lambdas", "0.1,1", "--voting", "best"]


def texts(values, rows=300, seed=0):
    """Table whose class depends on a text column."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=rows), "code": rng.choice(np.array(values, dtype=object), rows)})
    kind = np.where((frame["code"] == values[0]) ^ (rng.random(rows) < 0.02), "yes", "no")
    return frame, kind


def encoder(name="categories"):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer([("numbers", numbers, ["x"]), (name, OneHotEncoder(handle_unknown="ignore"), ["code"])])


def from_python(kind, X, y):
    if kind == "preprocessor":
        model = StochasticSVC([0.1, 1.0], preprocessor=encoder(), random_state=0, voting="best")
    else:
        pipeline = make_pipeline(encoder("any"), LogisticRegression())
        model = CertifiedClassifier(
            Grid(pipeline, {"logisticregression__C": [1.0]}), random_state=0, voting="best", cv=3, validation_size=0.5
        )
    return model.fit(X, y)


def predicted(args, capsys):
    result = in_process(["predict", *args, "--quiet"], capsys)
    assert result.code == 0, result.err
    return result.out.splitlines()[1:]


@pytest.mark.parametrize("kind", ["preprocessor", "pipeline"])
@pytest.mark.parametrize(
    "values",
    [
        ["NA", "DE", "FR"],  # a country
        ["01", "1", "02"],  # codes
        ["3.0", "3", "4"],
        [" a", "a", "b"],
        ["TRUE", "FALSE"],
        ["a ", "a", "b"],
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_text_columns_of_a_model_fitted_in_python(kind, values, ending, tmp_path, capsys):
    clf = from_python(kind, *texts(values))
    save(clf, tmp_path / "m.pacbayes")
    new, truth = texts(values, 200, seed=1)
    path = tmp_path / f"new.{ending}"
    getattr(new, f"to_{ending}")(path, index=False)
    y_pred = predicted([tmp_path / "m.pacbayes", path], capsys)
    assert y_pred == clf.predict(new).tolist()
    assert np.mean(y_pred != truth) < clf.certificate_.bound
    getattr(new.assign(truth=truth, old="no"), f"to_{ending}")(path, index=False)
    args = ["compare", path, "--target", "truth", "--a", "old", "--model-b", tmp_path / "m.pacbayes", "--json"]
    values = json.loads(in_process(args, capsys).out)
    assert values["both"] + values["only_b"] == np.sum(clf.predict(new) != truth)


@pytest.mark.parametrize(
    ("kind", "later"), [("preprocessor", {"preprocessor": None}), ("pipeline", {"candidates": SCALED})]
)
def test_missing_values_do_not_depend_on_later_parameters(kind, later, tmp_path, capsys):
    X, y = texts(["a", "b", "c"])
    clf = from_python(kind, X, y)
    save(clf.set_params(**later), tmp_path / "m.pacbayes")
    new = X.head(40).assign(x=X["x"].head(40).where(X["x"] > 0))
    new.to_csv(tmp_path / "new.csv", index=False)
    assert predicted([tmp_path / "m.pacbayes", tmp_path / "new.csv"], capsys) == clf.predict(new).tolist()


@pytest.mark.filterwarnings("ignore:Column .code. alone determines")
def test_ambiguous_missing_values_require_an_option(tmp_path, capsys):
    """NA in a text column may be a value or a missing value, if the training rows did not have it."""
    X, y = texts([None, "DE", "FR"])
    y = np.where(X["code"].isna(), "yes", "no")
    clf = from_python("preprocessor", X, y)
    save(clf, tmp_path / "m.pacbayes")
    path = tmp_path / "new.csv"
    path.write_text("x,code\n1,DE\n2,\n3,NA\n", encoding="utf-8")
    args = [tmp_path / "m.pacbayes", path]
    error = error_of(["predict", *args], capsys)
    assert "column 'code'" in error
    assert "'NA' in row 3" in error
    assert "--missing NA" in error
    assert "--not-missing NA" in error
    assert predicted([*args, "--missing", "NA"], capsys) == ["no", "yes", "yes"]
    assert predicted([*args, "--not-missing", "NA"], capsys) == ["no", "yes", "no"]
    path.write_text("x,code,truth,old\n1,DE,no,no\n2,,yes,no\n3,NA,yes,no\n", encoding="utf-8")
    command = ["compare", path, "--target", "truth", "--a", "old", "--model-b", tmp_path / "m.pacbayes", "--json"]
    assert "--missing NA" in error_of(command, capsys)
    assert json.loads(in_process([*command, "--missing", "NA"], capsys).out)["only_a"] == 2
    assert json.loads(in_process([*command, "--not-missing", "NA"], capsys).out)["only_a"] == 1
    # In a numeric column, NA is always missing.
    path.write_text("x,code\nNA,DE\n", encoding="utf-8")
    assert predicted(args, capsys) == ["no"]


def test_empty_strings_are_values(tmp_path, capsys):
    X, y = texts(["", "DE", "FR"])
    args = [tmp_path / "m.pacbayes", tmp_path / "new.csv"]
    X.head(20).to_csv(args[1], index=False)
    clf = from_python("preprocessor", X, y)
    save(clf, args[0])
    assert predicted(args, capsys) == clf.predict(X.head(20)).tolist()
    # With missing values in training, an empty cell is ambiguous.
    X, y = texts(["", None, "FR"])
    clf = from_python("preprocessor", X, y)
    save(clf, args[0])
    assert "--not-missing ''" in error_of(["predict", *args], capsys)
    for option, value in (("--not-missing", ""), ("--missing", None)):
        new = X.head(20).assign(code=X["code"].head(20).replace({"": value, None: value}))
        new.to_csv(args[1], index=False)
        assert predicted([*args, option, ""], capsys) == clf.predict(new).tolist()


def test_model_of_rows_that_are_not_a_table(tmp_path, capsys):
    from sklearn.feature_extraction.text import CountVectorizer

    rows, y = [["good day", "bad day"][i % 2] for i in range(100)], ["yes", "no"] * 50
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    clf = CertifiedClassifier(
        Grid(pipeline, {"logisticregression__C": [1.0]}), random_state=0, voting="stochastic", cv=3, validation_size=0.5
    ).fit(rows, y)
    save(clf, tmp_path / "m.pacbayes")
    (tmp_path / "new.csv").write_text("text\ngood day\n", encoding="utf-8")
    error = error_of(["predict", tmp_path / "m.pacbayes", tmp_path / "new.csv"], capsys)
    assert "was not fitted with a table" in error


def gapped(rows=400, seed=0):
    """Table with the missing-value markers 999 and ?, of which ? is informative."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=rows), "code": rng.choice(["a", "b", "?"], rows)})
    frame["kind"] = np.where((frame["x"] > 0) | (frame["code"] == "?"), "yes", "no")
    frame["x"] = np.where(rng.random(rows) < 0.3, 999.0, frame["x"]).round(3)
    return frame


@pytest.mark.parametrize("trained", ["csv", "parquet"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_markers_are_stored_in_the_model(trained, ending, tmp_path, capsys):
    data, new, model = tmp_path / f"data.{trained}", tmp_path / f"new.{ending}", tmp_path / "m.pacbayes"
    getattr(gapped(), f"to_{trained}")(data, index=False)
    args = ["certify", data, *QUICK, "--missing", "999", "--missing", "?", "--save", model, "--json"]
    y_pred = json.loads(in_process(args, capsys).out)
    assert set(y_pred["data"]["missing"]) == {"x", "code"}
    frame = gapped(300, seed=1)
    getattr(frame, f"to_{ending}")(new, index=False)
    plain = frame.replace({"x": {999.0: np.nan}, "code": {"?": np.nan}})
    plain.to_csv(tmp_path / "plain.csv", index=False)
    expected = predicted([model, tmp_path / "plain.csv"], capsys)
    assert predicted([model, new], capsys) == expected
    assert predicted([model, new, "--missing", "999", "--missing", "?"], capsys) == expected


def test_missing_markers_of_csv_apply_to_parquet(tmp_path, capsys):
    X, y = texts(["NA", "DE", "FR"])
    X.assign(kind=y).to_csv(tmp_path / "data.csv", index=False)
    model = tmp_path / "m.pacbayes"
    assert in_process(["certify", tmp_path / "data.csv", *QUICK, "--save", model], capsys).code == 0
    new, _ = texts(["NA", "DE", "FR"], 100, seed=1)
    new.to_parquet(tmp_path / "new.parquet")
    expected = np.where(new["code"] == "NA", "yes", "no").tolist()
    assert predicted([model, tmp_path / "new.parquet"], capsys) == expected
    error = error_of(["predict", model, tmp_path / "new.parquet", "--not-missing", "NA"], capsys)
    assert "--not-missing" in error
