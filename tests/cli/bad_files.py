"""Files that people feed to `pacbayes certify`, made in a folder; the good one, and ways to spoil it."""

import numpy as np
import pandas as pd


def good(rows=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.integers(0, 9, rows)})
    frame["kind"] = np.where(frame["a"] + 0.1 * frame["b"] > 0.4, "yes", "no")
    return frame


def _with(**columns):
    """The good file with further, or other, columns before the class."""

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
LINES = GOOD.splitlines()
DAYS = [f"2024-01-{i % 28 + 1:02d}" for i in range(60)]
WORDS = [f"word number {i}" for i in range(60)]
LARGE = good(300).assign(name=[f"customer {i}" for i in range(300)])[["name", "a", "kind"]].to_csv(index=False)
CLASSES = good(600).assign(kind=[f"class {i % 300}" for i in range(600)]).to_csv(index=False)

#: Name of the case: the file, and what the error says.
REFUSED = {
    "no such file": (lambda folder: folder / "none.csv", "no such file"),
    "a folder": (_folder, "Invalid value for .* is a directory"),
    "unknown ending": (_text(GOOD, "data.xlsx"), "must end in one of .csv, .tsv"),
    "empty": (_text(""), "No columns"),
    "white space": (_text(" \n \n"), "cannot read|no rows|only column"),
    "column names only": (_text("a,b,kind\n"), "has column names but no rows"),
    "one row": (_text("\n".join(LINES[:2])), "at least two classes"),
    "two rows": (_text("a,kind\n1,x\n2,y\n"), "at least two training and two validation"),
    "one column": (_text("a\n1\n2\n"), "at least one feature and a class column"),
    "semicolons": (_text(GOOD.replace(",", ";")), "separated by commas"),
    "one class": (_with(kind="yes"), "at least two classes, but every example is yes"),
    "300 classes": (_text(CLASSES), "at most 100 classes, but it holds 300"),
    "a quantity as class": (_with(kind=lambda frame: frame["a"]), "looks like a quantity"),
    "infinite class": (_with(kind=lambda frame: [np.inf, *frame["b"][1:]]), "infinite"),
    "class with gaps": (_with(kind=lambda frame: [None, *frame["kind"][1:]]), "needs a class, but 1 in column 'kind'"),
    "column without values": (_with(c=np.nan), "column 'c' has no values at all; leave it out with --drop c"),
    "same name twice": (_text(GOOD.replace("a,b,kind", "a,a,kind")), "must differ, got more than once: 'a'"),
    "no name": (_text(GOOD.replace("a,b,kind", ",b,kind")), "column 'Unnamed: 0' has no name.*--drop 'Unnamed: 0'"),
    "last name lacking": (_text(GOOD.replace("a,b,kind", "a,b,")), "last column .* has no name.*--drop 'Unnamed: 2'"),
    "no line of names": (_text("\n".join(["1,2,3"] * 9)), "must hold column names"),
    "UTF-16": (_text(GOOD, encoding="utf-16"), "not UTF-8"),
    "Latin-1": (_text(GOOD.replace("yes", "größer"), encoding="latin-1"), "not UTF-8"),
    "long row": (_text(GOOD + "1,2,yes,4\n"), "cannot read|more fields"),
    "long rows": (_text("\n".join([LINES[0], *(line + ",1" for line in LINES[1:])])), "more fields"),
    "short row": (_text(GOOD + "1\n"), "needs a class"),
    "binary": (_text(np.random.default_rng(1).bytes(4000)), "cannot read|not UTF-8"),
    "open quote": (_text(GOOD + '"1,2,yes\n'), "cannot read"),
    "not gzip": (_text(GOOD, "data.csv.gz"), "cannot read"),
    "not zip": (_text(GOOD, "data.csv.zip"), "cannot read"),
    "not xz": (_text(GOOD, "data.tsv.xz"), "cannot read"),
    "not Parquet": (_text(GOOD, "data.parquet"), "cannot read .* as Parquet"),
    "infinite": (_with(a=lambda frame: [np.inf, *frame["a"][1:]]), "finite numbers, got inf in example 1"),
    "integers beyond float": (_with(c=["1" + "0" * 400] * 60), "finite numbers"),
    "constant columns only": (_with(a=1, b=1), "every feature is the same in all examples"),
    "dates": (_with(day=DAYS), "column 'day' holds dates or times .*--drop day"),
    "dates in Parquet": (_parquet(day=pd.to_datetime(DAYS)), "holds dates or times"),
    "date objects": (_parquet(day=[stamp.date() for stamp in pd.to_datetime(DAYS)]), "holds dates or times"),
    "durations": (_parquet(span=pd.to_timedelta(range(60), unit="s")), "holds dates or times"),
    "lists in Parquet": (_parquet(values=[[1, 2]] * 60), "must hold numbers or text, got ndarray"),
    "bytes in Parquet": (_parquet(values=[b"\x00"] * 60), "must hold numbers or text, got bytes"),
    "numbers and text": (_with(c=["?", *range(59)]), r"numbers and text \('\?' in example 1\).*--missing '\?'"),
    "few words": (_with(c=WORDS), "looks like a name, an identifier or free text: 60 distinct .*--drop c, .*--keep c"),
    "row numbers": (_with(c=range(60)), "column 'c' looks like a row number.*--drop c, .*--keep c"),
    "huge row numbers": (_with(c=[10**18 + i for i in range(60)]), "column 'c' looks like a row number"),
    "row numbers beyond 64 bits": (_with(c=[2**64 + i for i in range(60)]), "column 'c' looks like a row number"),
    "row numbers in Parquet": (_parquet(b=range(60)), "column 'b' looks like a row number"),
    "names as categories in Parquet": (_parquet(c=pd.Categorical(WORDS)), "column 'c' looks like a name"),
    "names": (_text(LARGE), "looks like a name, an identifier or free text.*--drop name"),
}
#: Name of the case: the file, which is good enough.
TAKEN = {
    "constant column": _with(c=1),
    "text": _with(c=lambda frame: np.where(frame["b"] > 4, "high", "low")),
    "few words": _with(c=[*WORDS[:30], *WORDS[:30]]),
    "gaps": _with(c=lambda frame: [None if value < 1 else value for value in frame["b"]]),
    "yes and no with gaps": _with(c=lambda frame: [None if value < 1 else bool(value > 4) for value in frame["b"]]),
    "huge integers": _with(c=[10**18 + i % 50 for i in range(60)]),
    "integers beyond 64 bits": _with(c=[2**64 + i % 50 for i in range(60)]),
    "huge numbers": _with(c=lambda frame: 1e150 * frame["a"]),
    "tiny numbers": _with(c=lambda frame: 1e-300 * frame["a"]),
    "huge integer classes": _with(kind=lambda frame: np.where(frame["kind"] == "yes", 2**63 + 1, 3)),
    "yes or no as class": _with(kind=lambda frame: frame["kind"] == "yes"),
    "numbers as class": _with(kind=lambda frame: np.where(frame["kind"] == "yes", 1.0, 2.0)),
    "a rare class": _with(kind=lambda frame: ["maybe", *frame["kind"][1:]]),
    "NUL bytes": _text(GOOD.replace("a,b,kind", "a\0,b,kind")),
    "byte order mark": _text(GOOD, encoding="utf-8-sig"),
    "Windows line ends": _text(GOOD.replace("\n", "\r\n")),
    "tabs": _text(GOOD.replace(",", "\t"), "data.tsv"),
    "markup in names": _text(GOOD.replace("a,b,kind", "[red],<b>,kind").replace("yes", "[/bold]")),
    "line break in a class": _text(GOOD.replace("yes", '"y\nes"')),
    "Parquet": _parquet(b=[i % 50 for i in range(60)]),
    "categories in Parquet": _parquet(c=pd.Categorical(["x", "y"] * 30)),
    "10 000 columns": lambda folder: _csv(
        folder,
        pd.DataFrame(np.random.default_rng(2).integers(0, 9, (20, 10_000)))
        .assign(kind=[0, 1] * 10)
        .rename(columns=str)
        .to_csv(index=False),
    ),
}
