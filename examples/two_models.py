"""
Two models compared
===================

How much more often, and how much less often, a candidate errs than the model in use: both limits hold at once.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from pacbayes import compare_classifiers

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.6, random_state=0)
in_use = LogisticRegression(C=0.01, max_iter=1000).fit(X_train, y_train)
candidate = RandomForestClassifier(random_state=0).fit(X_train, y_train)

# %%
# Rows that trained neither of them. Both limits come from the rows on which exactly one errs.
found = compare_classifiers(in_use, candidate, X_new, y_new, names=("the model in use", "the candidate"))
print(found.explain())

# %%
fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
ax.errorbar(
    100 * found.observed,
    0,
    xerr=[[100 * (found.observed - found.lower)], [100 * (found.upper - found.observed)]],
    fmt="o",
)
ax.axvline(0.0, color="grey", linewidth=1)
ax.set_yticks([])
ax.set_xlabel("errors of the candidate less those of the model in use, percentage points")
