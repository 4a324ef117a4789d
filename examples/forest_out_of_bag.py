"""
Can out-of-bag rows certify a forest?
=====================================

Each tree of a random forest is trained on a bootstrap sample. Its out-of-bag rows can validate it, so no row is lost to
validation. ``optimal_vote`` and ``vote_bound`` bound the error rate of the trees' majority vote from these errors.
"""

# %%
# From a fitted forest: the out-of-bag rows of each tree, and its errors on them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from pacbayes import CertifiedClassifier, load_dataset, optimal_vote, vote_bound
from pacbayes._utils.words import percent_up

data = load_dataset("spambase")
X, y = data.data, data.target
forest = RandomForestClassifier(100, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
tree_predictions = forest.classes_[np.array([tree.predict(X) for tree in forest.estimators_]).astype(int)]
validated = np.array([np.bincount(bag, minlength=len(y)) == 0 for bag in forest.estimators_samples_])
error_rows = (tree_predictions != y) & validated
uniform = np.full(len(tree_predictions), 1 / len(tree_predictions))

# %%
# The tandem bound, four times the bound on the probability that two trees both err, for equal and for optimised
# weights. The first-order bound is twice the bound of the stochastic classifier, which draws a tree.

best = optimal_vote(error_rows, len(y), validated=validated)
tandem = vote_bound(uniform, error_rows, len(y), validated=validated)
first_order = vote_bound(uniform, error_rows, len(y), bound="first-order", validated=validated)
print(f"tandem bound, best weights:  {percent_up(best.bound)}")
print(f"tandem bound, equal weights: {percent_up(tandem)}")
print(f"first-order bound:           {percent_up(first_order)}")
print(f"out-of-bag error rate:       {percent_up(1 - forest.oob_score_)}")

# %%
# Each bound holds alone with 95 % confidence, if the rows are independent draws and the bootstrap samples were drawn
# without labels: leave ``class_weight`` at None. It is for the majority vote; ``forest.predict`` averages
# probabilities. A scaler fitted on all rows has seen the out-of-bag rows. So have members of a ``BaggingClassifier``
# that use rows of weight zero; the trees of a ``RandomForestClassifier`` do not.
#
# The bounds are valid, and far above the error rate: two trees have only an eighth of the rows in common for
# validation, and the factor of four is a high price. A split needs neither: the validation rows count the errors of one
# classifier, which was fixed on the training rows.

certified = CertifiedClassifier(forest, random_state=0).fit(X, y)
print(certified.certificate_)

# %%
# The three bounds and the out-of-bag error rate.

fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
names = ["first order, out of bag", "tandem, out of bag", "split"]
ax.barh(names, [first_order, tandem, certified.certificate_.bound], color="C1")
ax.axvline(1 - forest.oob_score_, color="C3", linestyle="--", label="out-of-bag error rate")
ax.invert_yaxis()
ax.set_xlabel("bound on the error rate")
ax.legend(frameon=False)
