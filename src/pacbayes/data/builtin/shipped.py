"""Reading the data sets shipped with the package."""

import gzip
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from pacbayes.data.builtin.catalogue import DatasetFacts
from pacbayes.data.builtin.mushroom import one_hot
from pacbayes.data.tables import Table
from pacbayes.numeric.arrays import FloatArray

_BLOOD_TESTS = ("mcv", "alkphos", "sgpt", "sgot", "gammagt")
_BUPA_FEATURES = {"bupa": (*_BLOOD_TESTS, "selector"), "bupa-leaky": (*_BLOOD_TESTS, "drinks")}


def read_shipped(facts: DatasetFacts) -> Table:
    """Return the data set that `facts` describe."""
    if facts.file is None:
        return _read_wdbc(facts)
    resource = files("pacbayes.data.builtin") / "tables" / facts.file
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
        data, names = one_hot(features) if columns[0] == "cap-shape" else (_numbers(features), columns[:-1])
    return Table(data, target, names, list(facts.classes), "target", str(resource))


def _numbers(rows: Sequence[Sequence[str]]) -> FloatArray:
    return np.array(rows).astype(np.float64)


def _read_wdbc(facts: DatasetFacts) -> Table:
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
