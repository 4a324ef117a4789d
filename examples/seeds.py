"""
How much does a bound vary with the seed?
=========================================

The seed decides which rows are training rows and which are validation rows. Another seed gives another classifier and
another bound. Each bound holds with 95 % confidence if its seed was fixed in advance. The smallest of several does not:
trying seeds and keeping the best is a selection on the validation rows.

.. image:: /images/seeds.svg
   :alt: Bounds and validation error rates of twenty seeds on wdbc, with the mean of the bounds

Prints the bounds of twenty seeds, in half a minute. With a file name, it draws them::

    python examples/seeds.py docs/images/seeds.svg
"""

# sphinx_gallery_thumbnail_path = 'images/seeds.svg'
import math
import sys

from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier

SEEDS = range(20)

X, y = load_breast_cancer(return_X_y=True)
certificates = [CertifiedClassifier(random_state=seed).fit(X, y).certificate_ for seed in SEEDS]
# In percent, rounded up: a bound must not look smaller than it is.
bounds = [math.ceil(1000 * certificate.bound) / 10 for certificate in certificates]
observed = [100 * certificate.empirical_risk for certificate in certificates]
for seed, bound, error_rate in zip(SEEDS, bounds, observed, strict=True):
    print(f"seed {seed:2d}: at most {bound:.1f} %, {error_rate:.1f} % observed")
print(f"from {min(bounds):.1f} to {max(bounds):.1f} %, mean {sum(bounds) / len(bounds):.1f} %")

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "seeds"  # the same file from the same numbers
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3), layout="constrained")
    axes.vlines(SEEDS, observed, bounds, color="0.8")
    axes.plot(SEEDS, bounds, "o", label="bound on the error rate")
    axes.plot(SEEDS, observed, "k.", label="validation error rate")
    axes.axhline(sum(bounds) / len(bounds), color="C0", linewidth=0.8, linestyle="--", label="mean of the bounds")
    axes.set(xlabel="seed", ylabel="error rate in %", xticks=list(SEEDS), ylim=(0, None), title="wdbc, twenty seeds")
    axes.legend(fontsize="small", ncols=3, loc="lower center")
    figure.savefig(sys.argv[1], metadata={"Date": None})
