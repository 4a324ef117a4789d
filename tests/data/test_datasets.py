"""Every shipped file is what the record says, and looks like the data set it claims to be."""

import gzip
import hashlib
from importlib.resources import files

import numpy as np
import pytest

from pacbayes.data import DATASETS, load_dataset
from pacbayes.data.bundled import BUILT_FILES, VOCABULARY

FOLDER = files("pacbayes.data") / "shipped"

# Written out from the paper and from counting the sources, not taken from the code under test:
# rows, features, class counts in the order of the codes, split sizes.
EXPECTED = {
    "spambase": (4601, 57, [2788, 1813], (1840, 1840, 921)),
    "bupa": (345, 6, [169, 176], (138, 138, 69)),
    "bupa-leaky": (345, 6, [169, 176], (138, 138, 69)),
    "mammographic": (830, 5, [427, 403], (332, 332, 166)),
    "wdbc": (569, 30, [212, 357], (227, 227, 115)),
    "banknote": (1372, 4, [762, 610], (548, 549, 275)),
    "mushroom": (5644, 116, [3488, 2156], (2257, 2257, 1129)),
    "mushroom-paper": (5643, 116, [3488, 2155], (2257, 2257, 1129)),
    "ionosphere": (351, 34, [225, 126], (140, 140, 71)),
    "waveform": (3308, 40, [1653, 1655], (1323, 1323, 662)),
    "haberman": (306, 3, [225, 81], (122, 122, 62)),
    "transfusion": (748, 4, [570, 178], None),
}


def test_names():
    assert list(DATASETS) == list(EXPECTED)


@pytest.mark.parametrize("built", BUILT_FILES, ids=lambda built: built.file)
def test_checksums(built):
    packed = (FOLDER / built.file).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == built.sha256
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == built.text_sha256
    assert packed[4:8] == b"\0\0\0\0", "a time in the header makes the file differ from build to build"


def test_every_file_is_recorded_and_all_are_small():
    present = sorted(entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".gz"))
    assert present == sorted(built.file for built in BUILT_FILES)
    assert set(present) == {facts.file for facts in DATASETS.values()} - {None}
    assert sum(len((FOLDER / name).read_bytes()) for name in present) < 1_000_000


@pytest.mark.parametrize("name", EXPECTED)
def test_shape_classes_and_splits(name):
    rows, features, counts, sizes = EXPECTED[name]
    bunch = load_dataset(name)
    assert bunch.data.shape == (rows, features)
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert np.bincount(bunch.target).tolist() == counts
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == features
    assert bunch.target_names.tolist() == list(DATASETS[name].classes)
    assert bunch.split_sizes == sizes
    # Nothing read twice is shared: changing one copy must not change the next.
    bunch.data[:] = 0.0
    assert load_dataset(name).data.any()


@pytest.mark.parametrize("name", EXPECTED)
def test_facts_agree_with_themselves_and_the_paper(name):
    facts = DATASETS[name]
    rows, features, counts, sizes = EXPECTED[name]
    assert (facts.rows, facts.features, list(facts.classes.values())) == (rows, features, counts)
    if facts.paper is None:
        assert name == "transfusion"
        return
    assert sum(facts.paper.split_sizes) == facts.paper.rows == facts.paper.positive + facts.paper.negative
    assert facts.paper.split_sizes == sizes
    if name == "mushroom":  # the paper's version is mushroom-paper, one poisonous row short
        assert (facts.paper.rows, facts.paper.negative) == (rows - 1, counts[1] - 1)
    else:
        assert facts.paper.rows == rows
        assert sorted((facts.paper.positive, facts.paper.negative)) == sorted(counts)
    assert facts.paper.features == (22 if name.startswith("mushroom") else features)


@pytest.mark.parametrize("name", EXPECTED)
def test_credit_is_given_everywhere(name):
    facts = DATASETS[name]
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    described = load_dataset(name).DESCR
    assert f"| `{name}` | {facts.rows} x {facts.features} |" in readme
    for text in (readme, described):
        assert facts.citation in text
        assert facts.doi in text
        assert facts.changes in text
        assert "CC BY 4.0" in text
    for built in BUILT_FILES:
        assert f"{built.package} {built.version}, `{built.path}`" in readme


def column(bunch, name):
    return bunch.data[:, bunch.feature_names.index(name)]


def test_bupa_views_differ_in_one_column_which_is_the_class():
    honest, leaky = load_dataset("bupa"), load_dataset("bupa-leaky")
    assert honest.feature_names == ["mcv", "alkphos", "sgpt", "sgot", "gammagt", "selector"]
    assert leaky.feature_names == ["mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks"]
    np.testing.assert_array_equal(honest.data[:, :5], leaky.data[:, :5])
    np.testing.assert_array_equal(honest.target, leaky.target)
    np.testing.assert_array_equal(leaky.target, column(leaky, "drinks") > 2)
    assert set(column(honest, "selector")) == {1.0, 2.0}
    # Only this cut of the drinks gives the class sizes of the paper.
    cuts = np.unique(column(leaky, "drinks"))
    assert [cut for cut in cuts if {176, 169} == set(np.bincount(column(leaky, "drinks") > cut))] == [2.0]


def test_mushroom_encoding():
    bunch, paper = load_dataset("mushroom"), load_dataset("mushroom-paper")
    assert len(VOCABULARY) == 22
    assert set(np.unique(bunch.data)) == {0.0, 1.0}
    # Each attribute has exactly one letter in each example.
    owner = np.array([name.split("=")[0] for name in bunch.feature_names])
    for attribute in VOCABULARY:
        assert (bunch.data[:, owner == attribute].sum(axis=1) == 1.0).all()
    assert int(bunch.data.any(axis=0).sum()) == 98
    np.testing.assert_array_equal(column(bunch, "veil-type=p"), 1.0)
    assert len(np.unique(bunch.data, axis=0)) == 5644
    np.testing.assert_array_equal(paper.data, bunch.data[1:])
    np.testing.assert_array_equal(paper.target, bunch.target[1:])
    assert bunch.target_names[bunch.target[0]] == "poisonous"


def test_wdbc_is_scikit_learns_own():
    from sklearn.datasets import load_breast_cancer

    theirs, ours = load_breast_cancer(), load_dataset("wdbc")
    np.testing.assert_array_equal(ours.data, theirs.data)
    np.testing.assert_array_equal(ours.target, theirs.target)
    assert ours.feature_names == theirs.feature_names.tolist()
    assert ours.target_names.tolist() == theirs.target_names.tolist()


@pytest.mark.parametrize("name", ["spambase", "waveform", "banknote"])
def test_shipped_file_read_as_a_users_file(name):
    # A second reader (pandas) of the same file: the same numbers to the last bit.
    path = FOLDER / f"{name}.csv.gz"
    named, read = load_dataset(name), load_dataset(path)
    assert named.filename == str(path)
    np.testing.assert_array_equal(named.data, read.data)
    np.testing.assert_array_equal(named.target, np.searchsorted(np.unique(read.target), read.target))
    assert named.feature_names == read.feature_names
