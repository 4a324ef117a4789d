"""
Is the new model better?
========================

Bound the difference in error rate between a new model and the one in use, from both sides. On the command line:
``pacbayes compare``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from pacbayes import compare_classifiers

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.6, random_state=0)
old = LogisticRegression(C=0.01, max_iter=1000).fit(X_train, y_train)
new = SVC().fit(X_train, y_train)

# %%
# Neither model was trained on these rows. Only rows on which exactly one of them errs count.
difference = compare_classifiers(old, new, X_new, y_new, names=("the old model", "the new model"))
print(difference.explain())

# %%
# If the interval does not contain zero, one of the two is better.
fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
ax.hlines(0, 100 * difference.lower, 100 * difference.upper, color="0.7", linewidth=4, label="bounds")
ax.plot(100 * difference.observed, 0, "o", label="observed")
ax.axvline(0.0, color="black", linewidth=1)
ax.set(yticks=[], xlabel="error rate of the new model minus that of the old one, percentage points")
ax.legend(frameon=False)
