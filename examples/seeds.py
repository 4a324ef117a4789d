"""
How far does a limit move with the seed?
========================================

The seed decides which rows train and which count errors. Another seed gives another classifier and another limit. Each
limit holds with probability 95 %, if its seed was fixed beforehand. The smallest of several does not: to try seeds and
keep the best is to choose after looking.

.. image:: /images/seeds.svg
   :alt: Limits and observed errors of twenty seeds on wdbc, with the mean of the limits

Prints the limits of twenty seeds, in half a minute. With a file name it draws them::

    python examples/seeds.py docs/images/seeds.svg
"""

# sphinx_gallery_thumbnail_path = 'images/seeds.svg'
import math
import sys

from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier

SEEDS = range(20)

X, y = load_breast_cancer(return_X_y=True)
found = [CertifiedClassifier(random_state=seed).fit(X, y).certificate_ for seed in SEEDS]
# In percent, rounded up: a limit must not look smaller than it is.
limits = [math.ceil(1000 * certificate.bound) / 10 for certificate in found]
observed = [100 * certificate.empirical_risk for certificate in found]
for seed, limit, seen in zip(SEEDS, limits, observed, strict=True):
    print(f"seed {seed:2d}: at most {limit:.1f} %, {seen:.1f} % observed")
print(f"from {min(limits):.1f} to {max(limits):.1f} %, in the mean {sum(limits) / len(limits):.1f} %")

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "seeds"  # the same file from the same numbers
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3), layout="constrained")
    axes.vlines(SEEDS, observed, limits, color="0.8")
    axes.plot(SEEDS, limits, "o", label="limit: errs on at most")
    axes.plot(SEEDS, observed, "k.", label="observed on the validation rows")
    axes.axhline(sum(limits) / len(limits), color="C0", linewidth=0.8, linestyle="--", label="mean of the limits")
    axes.set(xlabel="seed", ylabel="errors in %", xticks=list(SEEDS), ylim=(0, None), title="wdbc, twenty seeds")
    axes.legend(fontsize="small", ncols=3, loc="lower center")
    figure.savefig(sys.argv[1], metadata={"Date": None})
