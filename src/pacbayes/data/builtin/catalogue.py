"""What is known of each data set: its size, its classes, its origin and what the paper's table says of it."""

from dataclasses import dataclass
from typing import NamedTuple


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


_UCI = "UCI Machine Learning Repository."
_BUPA = f"BUPA Medical Research Ltd., donated by Forsyth, R. S. (1990). Liver Disorders [Dataset]. {_UCI}"
_BUPA_ROW = PaperRow("Bupa", 6, 345, 176, 169, SplitSizes(138, 138, 69))
# More than two drinks is the only cut of the drinks column that gives the paper's 176/169.
_BUPA_CLASSES = {"at most 2 drinks": 169, "more than 2 drinks": 176}
_MUSHROOM = f"Mushroom [Dataset]. (1981), donated by Schlimmer, J. {_UCI}"
_MUSHROOM_ROW = PaperRow("Mushroom", 22, 5643, 3488, 2155, SplitSizes(2257, 2257, 1129))
_MUSHROOM_CHANGES = (
    "Only the rows without missing values, their 22 letters one-hot encoded. One column for each letter that occurs in "
    "UCI's full file of 8124 rows, '?' aside: 116, as in the paper; the 18 letters that occur only in rows with "
    "missing values give columns of zeros, which change no distance between examples."
)

_TABLE = (
    DatasetFacts(
        name="spambase",
        title="Spambase",
        rows=4601,
        features=57,
        classes={"not spam": 2788, "spam": 1813},
        labels=("0", "1"),
        file="spambase.csv.gz",
        doi="10.24432/C53G6X",
        citation=f"Hopkins, M., Reeber, E., Forman, G., & Suermondt, J. (1999). Spambase [Dataset]. {_UCI}",
        changes="Values unchanged; a header line with UCI's attribute names added.",
        paper=PaperRow("Spambase", 57, 4601, 2788, 1813, SplitSizes(1840, 1840, 921)),
    ),
    DatasetFacts(
        name="bupa",
        title="Liver Disorders",
        rows=345,
        features=6,
        classes=_BUPA_CLASSES,
        labels=(),
        file="bupa.csv.gz",
        doi="10.24432/C54G67",
        citation=_BUPA,
        changes="The class is drinks > 2 (half-pint equivalents a day), the features the five blood tests and "
        "selector, which only marks how the donors divided the rows into training and test examples.",
        paper=_BUPA_ROW,
    ),
    DatasetFacts(
        name="bupa-leaky",
        title="Liver Disorders, with the column that defines the class among the features",
        rows=345,
        features=6,
        classes=_BUPA_CLASSES,
        labels=(),
        file="bupa.csv.gz",
        doi="10.24432/C54G67",
        citation=_BUPA,
        changes="The class is drinks > 2, the features the five blood tests and drinks itself: a target leak. The "
        "paper's error rates are only reachable this way; for anything but comparing with them use 'bupa'.",
        paper=_BUPA_ROW,
    ),
    DatasetFacts(
        name="mammographic",
        title="Mammographic Mass",
        rows=830,
        features=5,
        classes={"benign": 427, "malignant": 403},
        labels=("0", "1"),
        file="mammographic.csv.gz",
        doi="10.24432/C53K6Z",
        citation=f"Elter, M. (2007). Mammographic Mass [Dataset]. {_UCI}",
        changes="Only the 830 of 961 rows without missing values. One BI-RADS assessment is 55, as at UCI.",
        paper=PaperRow("Mammographic", 5, 830, 427, 403, SplitSizes(332, 332, 166)),
    ),
    DatasetFacts(
        name="wdbc",
        title="Breast Cancer Wisconsin (Diagnostic)",
        rows=569,
        features=30,
        classes={"malignant": 212, "benign": 357},
        labels=(),
        file=None,
        doi="10.24432/C5DW2B",
        citation="Wolberg, W., Mangasarian, O., Street, N., & Street, W. (1993). Breast Cancer Wisconsin (Diagnostic) "
        f"[Dataset]. {_UCI}",
        changes="scikit-learn's copy, read by sklearn.datasets.load_breast_cancer.",
        paper=PaperRow("Wdbc", 30, 569, 357, 212, SplitSizes(227, 227, 115)),
    ),
    DatasetFacts(
        name="banknote",
        title="Banknote Authentication",
        rows=1372,
        features=4,
        classes={"class 0": 762, "class 1": 610},
        labels=("0", "1"),
        file="banknote.csv.gz",
        doi="10.24432/C55P57",
        citation=f"Lohweg, V. (2012). Banknote Authentication [Dataset]. {_UCI}",
        changes="Values unchanged; a header line added. UCI does not say which class is the forged one.",
        paper=PaperRow("Banknote", 4, 1372, 610, 762, SplitSizes(548, 549, 275)),
    ),
    DatasetFacts(
        name="mushroom",
        title="Mushroom",
        rows=5644,
        features=116,
        classes={"edible": 3488, "poisonous": 2156},
        labels=("e", "p"),
        file="mushroom.csv.gz",
        doi="10.24432/C5959T",
        citation=_MUSHROOM,
        changes=f"{_MUSHROOM_CHANGES} The paper has one row less, see 'mushroom-paper'; its split leaves one row here "
        "unused.",
        paper=_MUSHROOM_ROW,
    ),
    DatasetFacts(
        name="mushroom-paper",
        title="Mushroom, without its first row",
        rows=5643,
        features=116,
        classes={"edible": 3488, "poisonous": 2155},
        labels=("e", "p"),
        file="mushroom.csv.gz",
        doi="10.24432/C5959T",
        citation=_MUSHROOM,
        changes=f"{_MUSHROOM_CHANGES} The first row is left out, as in the paper, which evidently read it as column "
        "names.",
        paper=_MUSHROOM_ROW,
    ),
    DatasetFacts(
        name="ionosphere",
        title="Ionosphere",
        rows=351,
        features=34,
        classes={"good": 225, "bad": 126},
        labels=("g", "b"),
        file="ionosphere.csv.gz",
        doi="10.24432/C5W01B",
        citation=f"Sigillito, V., Wing, S., Hutton, L., & Baker, K. (1989). Ionosphere [Dataset]. {_UCI}",
        changes="Values unchanged, written without trailing zeros; a header line added. The second feature is 0 in "
        "every row.",
        paper=PaperRow("Ionosphere", 34, 351, 225, 126, SplitSizes(140, 140, 71)),
    ),
    DatasetFacts(
        name="waveform",
        title="Waveform Database Generator (Version 2)",
        rows=3308,
        features=40,
        classes={"class 1": 1653, "class 2": 1655},
        labels=("1", "2"),
        file="waveform.csv.gz",
        doi="10.24432/C56014",
        citation=f"Breiman, L., & Stone, C. (1984). Waveform Database Generator (Version 2) [Dataset]. {_UCI}",
        changes="Without the 1692 examples of class 0, as in the paper; numbers written without trailing zeros; a "
        "header line added. The last 19 features are noise.",
        paper=PaperRow("Waveform", 40, 3308, 1653, 1655, SplitSizes(1323, 1323, 662)),
    ),
    DatasetFacts(
        name="haberman",
        title="Haberman's Survival",
        rows=306,
        features=3,
        classes={"survived 5 years": 225, "died within 5 years": 81},
        labels=("1", "2"),
        file="haberman.csv.gz",
        doi="10.24432/C5XK51",
        citation=f"Haberman, S. (1976). Haberman's Survival [Dataset]. {_UCI}",
        changes="Values unchanged, rows in another order; a header line added.",
        paper=PaperRow("Haberman", 3, 306, 225, 81, SplitSizes(122, 122, 62)),
    ),
    DatasetFacts(
        name="transfusion",
        title="Blood Transfusion Service Center",
        rows=748,
        features=4,
        classes={"not donated": 570, "donated": 178},
        labels=("0", "1"),
        file="transfusion.csv.gz",
        doi="10.24432/C5GS39",
        citation=f"Yeh, I. (2008). Blood Transfusion Service Center [Dataset]. {_UCI}",
        changes="Values unchanged; shorter column names. The paper uses it in a figure only.",
        paper=None,
    ),
)

DATASETS: dict[str, DatasetFacts] = {facts.name: facts for facts in _TABLE}
