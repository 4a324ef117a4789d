"""Valid and invalid input files of `pacbayes certify`."""

import numpy as np
import pandas as pd


def good(rows=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.integers(0, 9, rows)})
    frame["kind"] = np.where(frame["a"] + 0.1 * frame["b"] > 0.4, "yes", "no")
    return frame


def _with(**columns):
    """A valid file with added or replaced feature columns."""

    def write(folder):
        frame = good()
        for name, values in columns.items():
            made = values(frame) if callable(values) else values
            if name in frame:
                frame[name] = made
            else:
                frame.insert(0, name, made)
        return _csv(folder, frame.to_csv(index=False))

    return write


def _csv(folder, text, name="data.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def _text(text, name="data.csv", encoding="utf-8"):
    return lambda folder: _csv(folder, text, name, encoding)


def _parquet(**columns):
    def write(folder):
        path = folder / "data.parquet"
        good().assign(**columns)[[*columns, "a", "kind"]].to_parquet(path)
        return path

    return write


def _folder(folder):
    path = folder / "folder.csv"
    path.mkdir()
    return path


GOOD = good().to_csv(index=False)
CODES = [f"word{i}" for i in range(60)]

#: Case: file and error message.
REFUSED = {
    "no such file": (lambda folder: folder / "none.csv", "no such file"),
    "a folder": (_folder, "Invalid value for .* is a directory"),
    "empty": (_text(""), "No columns"),
    "two rows": (_text("a,kind\n1,x\n2,y\n"), "at least two training and two validation"),
    "one column": (_text("a\n1\n2\n"), "at least one feature and a class column"),
    "one class": (_with(kind="yes"), "at least two classes, but every example is yes"),
    "a quantity as class": (_with(kind=lambda frame: frame["a"]), "looks like a quantity"),
    "infinite class": (_with(kind=lambda frame: [np.inf, *frame["b"][1:]]), "infinite"),
    "class with gaps": (_with(kind=lambda frame: [None, *frame["kind"][1:]]), "needs a class, but 1 in column 'kind'"),
    "column without values": (_with(c=np.nan), "column 'c' has no values at all; leave it out with --drop c"),
    "no name": (_text(GOOD.replace("a,b,kind", ",b,kind")), "column 'Unnamed: 0' has no name.*--drop 'Unnamed: 0'"),
    "NUL bytes": (_text(GOOD.replace("a,b,kind", "a\0,b,kind")), "holds NUL bytes"),
    "no line of names": (_text(GOOD.partition("\n")[2]), "must hold column names, but it holds numbers, and values"),
    "separators that may be either": (_text("a,b;c,kind\n1,2;3,x\n4,5;6,y\n"), "give --sep \",\" or --sep ';'"),
    "short row": (_text(GOOD + "1\n"), "needs a class"),
    "open quote": (_text(GOOD + '"1,2,yes\n'), "cannot read"),
    "not gzip": (_text(GOOD, "data.csv.gz"), "cannot read"),
    "integers beyond float": (_with(c=["1" + "0" * 400] * 60), "finite numbers"),
    "constant columns only": (_with(a=1, b=1), "all features are constant"),
    "lists in Parquet": (_parquet(values=[[1, 2]] * 60), "must hold numbers, dates or strings, got list"),
    "codes": (_with(c=CODES), "looks like a name or an identifier: 60 distinct .*--drop c, .*--keep c"),
    "numbers and a string": (_with(c=["?", *range(59)]), "looks like a row number"),
    "row numbers": (_with(c=range(60)), "column 'c' looks like a row number.*--drop c, .*--keep c"),
}
#: Case: valid file.
TAKEN = {
    "constant column": _with(c=1),
    "text": _with(c=lambda frame: np.where(frame["b"] > 4, "high", "low")),
    "numbers with a string": _with(c=["?", *(i % 7 for i in range(59))]),
    "German": _text(GOOD.replace(",", ";").replace(".", ",")),
    "gaps": _with(c=lambda frame: [None if value < 1 else value for value in frame["b"]]),
    "yes and no with gaps": _with(c=lambda frame: [None if value < 1 else bool(value > 4) for value in frame["b"]]),
    "integers beyond 64 bits": _with(c=[2**64 + i % 50 for i in range(60)]),
    "huge numbers": _with(c=lambda frame: 1e150 * frame["a"]),
    "huge integer classes": _with(kind=lambda frame: np.where(frame["kind"] == "yes", 2**63 + 1, 3)),
    "a rare class": _with(kind=lambda frame: ["maybe", *frame["kind"][1:]]),
    "markup in names": _text(GOOD.replace("a,b,kind", "[red],<b>,kind").replace("yes", "[/bold]")),
    "line break in a class": _text(GOOD.replace("yes", '"y\nes"')),
    "Parquet": _parquet(b=[i % 50 for i in range(60)]),
    "1000 columns": lambda folder: _csv(
        folder,
        pd.DataFrame(np.random.default_rng(2).integers(0, 9, (20, 1000)))
        .assign(kind=[0, 1] * 10)
        .rename(columns=str)
        .to_csv(index=False),
    ),
}
