"""Every shipped file is what the record says, and looks like the data set it claims to be."""

import gzip
import hashlib
from importlib.resources import files

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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


def test_spambase_has_the_averages_uci_documents():
    bunch = load_dataset("spambase")
    # From the table at the end of UCI's spambase.DOCUMENTATION: mean and maximum.
    documented = {
        "word_freq_make": (0.10455, 4.54),
        "word_freq_3d": (0.065425, 42.81),
        "word_freq_george": (0.7673, 33.33),
        "char_freq_!": (0.26907, 32.478),
        "capital_run_length_average": (5.1915, 1102.5),
        "capital_run_length_longest": (52.173, 9989),
        "capital_run_length_total": (283.29, 15841),
    }
    for name, (mean, largest) in documented.items():
        assert column(bunch, name).mean() == pytest.approx(mean, rel=1e-3)
        assert column(bunch, name).max() == largest
    assert (bunch.data >= 0.0).all()
    kinds = [name.rsplit("_", 1)[0] for name in bunch.feature_names]
    assert [kinds.count(kind) for kind in ("word_freq", "char_freq", "capital_run_length")] == [48, 6, 3]


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


def test_bupa_leak_shows_in_the_error():
    model = make_pipeline(StandardScaler(), SVC())
    errors = {}
    for name in ("bupa", "bupa-leaky"):
        bunch = load_dataset(name)
        errors[name] = 1.0 - cross_val_score(model, bunch.data, bunch.target, cv=5).mean()
    assert errors["bupa-leaky"] < 0.2
    assert errors["bupa"] > 0.25


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


def test_mushroom_rules_of_the_literature():
    # UCI's documentation gives logical rules for poisonous mushrooms; the first: odor neither almond, anise nor none.
    bunch = load_dataset("mushroom")
    harmless = sum(column(bunch, f"odor={letter}") for letter in "aln") == 1.0
    poisonous = bunch.target == 1
    assert poisonous[~harmless].all()
    assert poisonous[~harmless].size > 1000
    # The second: a green spore print.
    assert poisonous[column(bunch, "spore-print-color=r") == 1.0].all()


def test_waveform_classes_are_mixtures_of_two_triangles():
    # The generator averages two of three triangular waves with peaks of height 6 at 7, 11 and 15 and adds unit noise;
    # both classes left have the middle wave.  Standard errors are below 0.05.
    bunch = load_dataset("waveform")
    position = np.arange(1, 22)
    middle, left, right = (np.maximum(6 - np.abs(position - peak), 0) for peak in (11, 7, 15))
    for code, other in ((0, left), (1, right)):
        mean = bunch.data[bunch.target == code, :21].mean(axis=0)
        np.testing.assert_allclose(mean, (middle + other) / 2, atol=0.2)
    noise = bunch.data[:, 21:]
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.1)
    np.testing.assert_allclose(noise.std(axis=0), 1.0, atol=0.1)


def test_ionosphere_second_feature_is_constant_and_all_lie_in_the_unit_interval():
    bunch = load_dataset("ionosphere")
    assert set(bunch.data[:, 0]) == {0.0, 1.0}
    assert set(bunch.data[:, 1]) == {0.0}
    assert np.abs(bunch.data).max() == 1.0


def test_ranges_of_the_small_ones():
    haberman = load_dataset("haberman")
    assert haberman.data.min(axis=0).tolist() == [30, 58, 0]
    assert haberman.data.max(axis=0).tolist() == [83, 69, 52]
    transfusion = load_dataset("transfusion")
    assert transfusion.data.min(axis=0).tolist() == [0, 1, 250, 2]
    assert transfusion.data.max(axis=0).tolist() == [74, 50, 12500, 98]
    # Each donation is 250 c.c., and the last cannot be before the first.
    np.testing.assert_array_equal(column(transfusion, "monetary"), 250 * column(transfusion, "frequency"))
    assert (column(transfusion, "recency") <= column(transfusion, "time")).all()
    mammographic = load_dataset("mammographic")
    assert mammographic.data[:, 1].min() == 18
    assert mammographic.data[:, 1].max() == 96
    assert sorted(set(column(mammographic, "bi-rads"))) == [0, 2, 3, 4, 5, 6, 55]
    for name, most in (("shape", 4), ("margin", 5), ("density", 4)):
        assert set(column(mammographic, name)) == set(range(1, most + 1))


def test_banknote_is_nearly_separable():
    # Known of these data: nearest neighbours make next to no error.  A shuffled label column would be at 0.5.
    from sklearn.neighbors import KNeighborsClassifier

    bunch = load_dataset("banknote")
    order = np.random.default_rng(0).permutation(1372)
    score = cross_val_score(KNeighborsClassifier(1), bunch.data[order], bunch.target[order], cv=5).mean()
    assert score > 0.99


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
