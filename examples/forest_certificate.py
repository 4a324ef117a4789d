"""
A certificate for forests trained elsewhere
===========================================

200 random forests that were trained without pacbayes: five lines from the forests to the bound.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from pacbayes import ClassifierSet, optimal_posterior
from pacbayes.numeric.words import format_up

X, y = load_breast_cancer(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
forests = [
    RandomForestClassifier(n_estimators=10, max_depth=1 + i % 8, max_features=1 + i % 5, random_state=i).fit(
        X_train, y_train
    )
    for i in range(200)
]

classifiers = ClassifierSet.from_fitted(forests, X_val, y_val)
best = optimal_posterior(classifiers.risks, classifiers.m, delta=0.05)
print(f"{len(classifiers)} forests with {classifiers.errors.min()} to {classifiers.errors.max()} errors", end=" ")
print(f"on {classifiers.m} validation examples. With probability at least 95 %,")
print(f"a forest drawn by the best weights errs on at most {format_up(100 * best.bound, 2)} % of new examples.")

# %%
# Errors of the forests, and how much weight the posterior gives to each number of errors.

counts = np.arange(classifiers.errors.min(), classifiers.errors.max() + 1)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.bar(counts - 0.2, [np.mean(classifiers.errors == k) for k in counts], 0.4, label="share of the forests")
ax.bar(counts + 0.2, [best.weights[classifiers.errors == k].sum() for k in counts], 0.4, label="weight")
ax.axvline(best.bound * classifiers.m, color="C3", linestyle="--", label="bound, in errors")
ax.set(xlabel=f"errors on {classifiers.m} validation examples", ylabel="share")
ax.legend(frameon=False)
