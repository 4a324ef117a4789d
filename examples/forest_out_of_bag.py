"""
What do out-of-bag rows prove about a forest?
=============================================

Each tree of a random forest is trained on a bag of rows. The rows that its bag left out count its errors, so that no
row is lost to validation. ``optimal_vote`` and ``vote_bound`` bound the error rate of the trees' majority vote by them.
"""

# %%
# From a fitted forest: which rows each tree's bag left out, and which of these it gets wrong.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from pacbayes import CertifiedClassifier, load_dataset, optimal_vote, vote_bound
from pacbayes._utils.words import percent_up

data = load_dataset("spambase")
X, y = data.data, data.target
forest = RandomForestClassifier(100, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
said = forest.classes_[np.array([tree.predict(X) for tree in forest.estimators_]).astype(int)]
validated = np.array([np.bincount(bag, minlength=len(y)) == 0 for bag in forest.estimators_samples_])
error_rows = (said != y) & validated
uniform = np.full(len(said), 1 / len(said))

# %%
# The tandem bound, four times the bound of the probability that two trees both err, for equal weights and for the best
# weights that were found. The first-order bound is twice that of one tree.

best = optimal_vote(error_rows, len(y), validated=validated)
tandem = vote_bound(uniform, error_rows, len(y), validated=validated)
first_order = vote_bound(uniform, error_rows, len(y), bound="first-order", validated=validated)
print(f"tandem bound, best weights:  {percent_up(best.bound)}")
print(f"tandem bound, equal weights: {percent_up(tandem)}")
print(f"first-order bound:           {percent_up(first_order)}")
print(f"out-of-bag error rate:       {percent_up(1 - forest.oob_score_)}")

# %%
# Each bound holds with 95 %, alone, if the rows are independent draws and the bags were drawn without a look at the
# labels: leave ``class_weight`` at None. It is about the vote of the trees' labels; ``forest.predict`` averages their
# probabilities. A scaler fitted on all rows has seen the out-of-bag rows. So have members of a ``BaggingClassifier``
# that look at rows of weight zero; the trees of a ``RandomForestClassifier`` do not.
#
# The bounds are valid, and far above the error rate: two trees share an eighth of the rows, and four times a bound is a
# high price. A division pays neither. The rows that did not train count the errors of one classifier, which was fixed
# before.

divided = CertifiedClassifier(forest, random_state=0).fit(X, y)
print(divided.certificate_)

# %%
# The three guarantees beside what the forest gets wrong.

fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
names = ["first order, out of bag", "tandem, out of bag", "a division"]
ax.barh(names, [first_order, tandem, divided.certificate_.bound], color="C1")
ax.axvline(1 - forest.oob_score_, color="C3", linestyle="--", label="out-of-bag error rate")
ax.invert_yaxis()
ax.set_xlabel("error rate, at most")
ax.legend(frameon=False)
