"""Numbers with commas: explained where they are not read, and read exactly where somebody says how."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

from pacbayes import load_dataset
from pacbayes.data.columns import read_columns
from pacbayes.data.number_format import NumberFormat, suggest_number_formats
from pacbayes.data.reading import read_frame
from pacbayes.data.rejections import in_python, in_shell

RNG = np.random.default_rng(0)
QUICK = ["--lambdas", "0.1,1", "--voting", "best"]
STYLES = {
    "thousands": (".", ","),
    "decimals": (",", None),
    "both": (",", "."),
    "apostrophes": (".", "'"),
    "blanks": (",", " "),
}


def written(number, decimal, thousands):
    return f"{number:_.3f}".replace(".", decimal).replace("_", thousands or "")


@pytest.fixture(scope="module")
def table():
    price, rows = RNG.normal(3000, 900, 300).round(3), 300
    late = np.where(price / 900 + RNG.normal(size=rows) > 3.4, "late", "in time")
    return pd.DataFrame({"price": price, "kind": RNG.choice(["a", "b"], rows), "class": late})


def save(frame, path, style, sep=";"):
    cells = [written(one, *STYLES[style]) for one in frame["price"]]
    frame.assign(price=cells).to_csv(path, index=False, sep=sep)
    return path


def options(style):
    decimal, thousands = STYLES[style]
    return ["--decimal", decimal, *([] if thousands is None else ["--thousands", thousands])]


@pytest.mark.parametrize("sep", [";", ","])
@pytest.mark.parametrize("style", STYLES)
def test_numbers_are_read_as_they_were_written(table, tmp_path, style, sep):
    path = save(table, tmp_path / "data.csv", style, sep)
    frame = read_frame(path, sep=sep, signs=NumberFormat(*STYLES[style]))
    assert frame["price"].tolist() == table["price"].tolist()
    assert frame["kind"].tolist() == table["kind"].tolist()
    decimal, thousands = STYLES[style]
    given = load_dataset(path, sep=sep, drop=["kind"], decimal=decimal, thousands=thousands)
    assert given.data[:, 0].tolist() == table["price"].tolist()


@pytest.mark.parametrize("style", STYLES)
def test_the_error_names_the_option_that_reads_them(table, tmp_path, style):
    path = save(table, tmp_path / "data.csv", style)
    with pytest.raises(ValueError, match="column 'price' holds numbers that cannot be read as they are") as caught:
        read_columns(read_frame(path, sep=";")[["price", "kind"]])
    decimal, thousands = STYLES[style]
    needed = [in_shell("decimal", decimal)] if decimal == "," else []
    needed += [in_shell("thousands", thousands)] if thousands else []
    assert f"give {' '.join(needed)}, or if it is a category give --categorical price" in str(caught.value)
    assert "--drop" not in str(caught.value)
    with pytest.raises(ValueError, match="these columns are not: 'price'") as caught:
        load_dataset(path, sep=";", drop=["kind"])
    needed = [in_python("decimal", decimal)] if decimal == "," else []
    needed += [in_python("thousands", thousands)] if thousands else []
    assert f"give {' '.join(needed)};" in str(caught.value)


def test_one_number_with_commas_among_plain_ones_is_enough():
    with pytest.raises(ValueError, match='--thousands ","'):
        read_columns(pd.DataFrame({"a": ["12", "999", "1,000"]}))
    # A comma before three digits may be either.
    assert len(suggest_number_formats(["1,000", "2,500"], in_shell)) == 2
    assert len(suggest_number_formats(["1,000", "2,50"], in_shell)) == 1


@pytest.mark.parametrize(
    "cells", [["a,b", "1,5"], ["1,2,3", "1,5"], ["3.5", "4"], ["12,34.5"], ["1.2.3", "4"], [""], []]
)
def test_other_texts_are_as_before(cells):
    assert suggest_number_formats(cells, in_shell) == ()


@pytest.mark.parametrize(
    "text", ["1,2", "1,2345", ",123", "1,,000", "1,000,00", "1 000", "0x10", "1_000", "nan", "inf"]
)
def test_groups_have_three_digits(text):
    assert NumberFormat(".", ",").number(text) is None


def test_a_column_is_numbers_only_if_all_of_its_cells_are(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,200;1,200\n1,2;NA\n3;7\n")
    frame = read_frame(tmp_path / "a.csv", sep=";", signs=NumberFormat(".", ","))
    # pandas alone would make 12 of 1,2.
    assert frame["a"].tolist() == ["1,200", "1,2", "3"]
    assert frame["b"].fillna(-1.0).tolist() == [1200.0, -1.0, 7.0]
    text = read_frame(tmp_path / "a.csv", sep=";", as_text=["b"], signs=NumberFormat(".", ","))
    assert text["b"].iloc[0] == "1,200"


def test_a_point_is_never_taken_for_what_was_said_not_to_be_one(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1.234;x\n5,5;y\n")
    with pytest.raises(ValueError, match=r"column 'a' holds '1\.234', but a comma was said to stand before decimals"):
        read_frame(tmp_path / "a.csv", sep=";", signs=NumberFormat(","))
    frame = read_frame(tmp_path / "a.csv", sep=";", signs=NumberFormat(",", "."))
    assert frame["a"].tolist() == [1234.0, 5.5]


@pytest.mark.parametrize(("decimal", "thousands"), [("x", None), (".", "x"), (",", ","), (None, "."), (["."], None)])
def test_wrong_signs_are_refused(decimal, thousands):
    with pytest.raises(ValueError, match=r"decimal|thousands"):
        NumberFormat.given(decimal, thousands)


def test_a_model_remembers_how_its_table_was_written(table, tmp_path, capsys):
    def run(*words):
        return in_process([*words], capsys)

    path, model = save(table, tmp_path / "data.csv", "both"), str(tmp_path / "m.pacbayes")
    refused = run("certify", str(path), "--sep", ";", *QUICK)
    assert '--decimal "," --thousands "."' in refused.error
    fitted = run("certify", str(path), "--sep", ";", *options("both"), *QUICK, "--save", model)
    assert fitted.code == 0, fitted.err
    plain = tmp_path / "plain.csv"
    table.to_csv(plain, index=False)
    other = str(tmp_path / "p.pacbayes")
    assert run("certify", str(plain), *QUICK, "--save", other).code == 0
    said = run("predict", other, str(plain)).out
    assert len(said.splitlines()) == 301
    assert run("predict", model, str(path), "--sep", ";").out == said
    # Another file may be written in another way: it is refused, and read if that is said.
    assert "give '.' as decimal if it is a point here" in run("predict", model, str(plain)).error
    assert run("predict", model, str(plain), "--decimal", ".").out == said
    assert 'give --decimal ","' in run("predict", other, str(path), "--sep", ";").error
    assert run("predict", other, str(path), "--sep", ";", *options("both")).out == said


def test_signs_are_for_files(capsys):
    assert "--decimal" in in_process(["certify", "--dataset", "bupa", "--decimal", ","], capsys).error
    with pytest.raises(ValueError, match="for files only"):
        load_dataset("bupa", decimal=",")
