"""Forests as estimators: trained on all rows, validated out of bag, certified as a vote; saved, loaded, refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, StochasticSVC, Trees, bound, forest_set, load, save, vote_bound
from pacbayes.certificates import binomial_upper
from pacbayes.ensemble.forest_set import ForestFamily

X, Y = load_breast_cancer(return_X_y=True)
Y = np.array(["malignant", "benign"])[Y]


@pytest.fixture(scope="module")
def forest():
    return CertifiedClassifier(
        Trees(RandomForestClassifier(30)), split="out-of-bag", voting="majority", random_state=0
    ).fit(X, Y)


def test_certificates_follow_from_the_out_of_bag_errors(forest):
    trees, delta = forest.classifiers_, 0.05
    assert (len(trees), forest.hedge_, trees.splits.kind) == (30, 1.0, "out-of-bag")
    certificates = forest.certificates_
    assert certificates["stochastic"].bound == bound(forest.posterior_.weights, trees.risks, trees.m_each)
    vote, weights = certificates["majority"], forest.weights_
    both = [
        vote_bound(weights, trees.error_rows, len(Y), bound=name, delta=delta / 2, validated=trees.validated_rows)
        for name in ("first-order", "tandem")
    ]
    assert vote.bound == min(both)
    assert (vote.rule, vote.level, vote.alternatives) == ("tandem vote", delta, ())
    best = forest.best_index_
    limit = binomial_upper(trees.errors, trees.m_each, delta / 30 * (1 - 1e-12))
    assert certificates["best"].bound == pytest.approx(limit.min(), rel=1e-9)
    assert best == limit.argmin()
    assert certificates["best"].m == trees.m == trees.m_each.min()


def test_the_vote_is_the_hard_vote_of_the_trees(forest):
    said = forest.classifiers_.predict(X)
    share = np.stack([forest.weights_ @ (said == label) for label in forest.classes_], axis=1)
    np.testing.assert_allclose(forest.predict_proba(X), share, atol=1e-12)
    np.testing.assert_array_equal(forest.predict(X), forest.classes_[share.argmax(axis=1)])
    # Nothing of the forest is lost: no tree has much of the vote.
    assert forest.weights_.max() < 0.2
    assert (forest.predict(X) == Y).mean() > 0.98
    assert forest.vote_errors_ is None
    np.testing.assert_array_equal(
        forest.classifiers_.error_rows, forest_set(RandomForestClassifier(30), X, Y, random_state=0).error_rows
    )


def test_what_it_says(forest):
    words = " ".join(forest.certificate_.assumptions)
    assert "a bag of 569 draws from all 569 rows" in words
    assert "not the forest's own predict" in words
    assert "the majority vote errs on at most" in forest.certificate_.sentence
    assert forest.certificate_.baselines["hold-out"].bound is None


def test_saved_and_loaded(forest, tmp_path):
    digest = save(forest, tmp_path / "forest.pacbayes")
    again = load(tmp_path / "forest.pacbayes", sha256=digest)
    assert again.certificates_ == forest.certificates_
    for voting in ("stochastic", "majority", "best"):
        np.testing.assert_array_equal(
            again.set_params(voting=voting).predict(X[:50]), forest.set_params(voting=voting).predict(X[:50])
        )
    forest.set_params(voting="majority")
    np.testing.assert_array_equal(again.classifiers_.error_rows, forest.classifiers_.error_rows)


def test_reports_and_clones(forest, tmp_path):
    pytest.importorskip("jinja2")
    assert "tandem vote" in forest.report(tmp_path / "forest.html").read_text(encoding="utf-8")
    assert clone(forest).split == "out-of-bag"
    same = clone(forest).fit(X, Y)
    assert same.certificates_ == forest.certificates_


def test_bags_of_anything():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    clf = CertifiedClassifier(Trees(BaggingClassifier(pipeline, 12)), split="out-of-bag", random_state=0).fit(X, Y)
    assert clf.certificates_["stochastic"].bound < 0.1
    assert clf.certificates_["majority"].bound < 0.2


def test_few_rows_that_no_pair_shares():
    # Two trees with one row out of the bag each have none in common: twice the bound of one drawn is what is left.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)
        clf = CertifiedClassifier(
            Trees(BaggingClassifier(DecisionTreeClassifier(), 6, bootstrap=False, max_samples=11)),
            split="out-of-bag",
            random_state=0,
        ).fit(X[15:27], Y[15:27])
    found = clf.certificates_["majority"]
    assert found.bound == 1.0
    assert found.theorem.startswith("Twice the PAC-Bayes-kl bound")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"checkpoint": "here"}, ValueError, "checkpoint must be None"),
        ({"duplicates": "together"}, ValueError, "duplicates must be 'keep'"),
        ({"hedge": 0.1}, ValueError, "hedge must be 'auto' or 1 .* split='out-of-bag' every row validates"),
        ({"prior": "cross-validation"}, ValueError, "split='out-of-bag' every row validates some classifier"),
        ({"prior": lambda params, X, y: None}, ValueError, "prior must not ask for data"),
        ({"distance": "catoni"}, ValueError, "fix C beforehand"),
        ({"voting": "soft"}, ValueError, "voting='soft' needs scores .* split='out-of-bag' every row validates"),
        ({"candidates__forest": DecisionTreeClassifier()}, TypeError, "forest must be a RandomForestClassifier"),
        ({"candidates__forest": ExtraTreesClassifier()}, ValueError, "bootstrap=True"),
        ({"candidates__forest__class_weight": "balanced"}, ValueError, "class_weight=None"),
        (
            {"candidates": RandomForestClassifier(5)},
            ValueError,
            "candidates=Trees.*, and for nothing else",
        ),
        (
            {"candidates": [Trees(RandomForestClassifier(5)), "svm"]},
            ValueError,
            "'out-of-bag' and trees, svm",
        ),
        ({"split": "shared"}, ValueError, "got split='shared' and trees"),
    ],
)
def test_what_is_refused_before_any_work(settings, error, message, monkeypatch):
    monkeypatch.setattr(ForestFamily, "train", lambda *args, **kwargs: pytest.fail("work"))
    clf = CertifiedClassifier(Trees(RandomForestClassifier(5)), split="out-of-bag").set_params(**settings)
    with pytest.raises(error, match=message):
        clf.fit(X, Y)


def test_groups_are_refused():
    clf = CertifiedClassifier(Trees(RandomForestClassifier(5)), split="out-of-bag")
    with pytest.raises(ValueError, match="groups must be None with split='out-of-bag'"):
        clf.fit(X, Y, groups=np.arange(len(Y)) // 2)


def test_machines_have_no_bags():
    with pytest.raises(ValueError, match="unknown split 'out-of-bag'; known are shared, independent"):
        StochasticSVC([1.0], split="out-of-bag").fit(X, Y)
