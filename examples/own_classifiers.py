"""
Can I bring my own classifiers?
===============================

Ten classifiers of several kinds, trained by whatever means. All that is needed are rows that none of them has seen.
"""

# %%
# Training is yours. The validation rows must not have been used for it, nor for choosing what to train.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pacbayes import CertifiedClassifier, ClassifierSet, optimal_posterior
from pacbayes._utils.words import format_up
from pacbayes.certificates import binomial_upper

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
models = [GaussianNB()]
models += [make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=2000)) for c in (0.01, 0.1, 1.0)]
models += [KNeighborsClassifier(k) for k in (1, 3, 5)]
models += [RandomForestClassifier(50, max_depth=depth, random_state=0) for depth in (6, 12, None)]
for model in models:
    model.fit(X_train, y_train)

# %%
# If you would have taken one of them anyway, say so before you look: here number 5, three nearest neighbours. Then its
# limit is nearly that of a hold-out.

proposed = CertifiedClassifier.from_fitted(models, X_val, y_val, proposal=5, voting="best", random_state=0)
print(proposed.certificate_)

# %%
# If not, the validation rows choose, and the bound pays for the choice. It holds for a classifier drawn for each new
# row by the weights that were found.

clf = CertifiedClassifier.from_fitted(models, X_val, y_val, voting="stochastic", random_state=0)
print(clf.certificate_)
names = [type(model[-1] if hasattr(model, "steps") else model).__name__ for model in models]
for name, wrong, weight in zip(names, clf.classifiers_.errors, clf.posterior_.weights, strict=True):
    print(f"{name:<24}{wrong:>4} errors of {clf.classifiers_.m}   weight {weight:.4f}")

# %%
# Predictions are enough, from a file of labels for example. Losses need not be 0 or 1: here half an error where the
# right digit is the second choice.

same = ClassifierSet.from_predictions([model.predict(X_val) for model in models], y_val)
print("the same risks:", np.array_equal(same.risks, clf.classifiers_.risks))

order = [np.argsort(-model.predict_proba(X_val), axis=1) for model in models]
losses = [np.where(o[:, 0] == y_val, 0.0, np.where(o[:, 1] == y_val, 0.5, 1.0)) for o in order]
graded = ClassifierSet.from_losses(losses)
print(f"bound on the graded loss: {format_up(optimal_posterior(graded.risks, graded.m).bound, 4)}")

# %%
# The exact limits of all ten, which hold at once as each has a tenth of delta, beside the bound for a draw.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
labels = [f"{i}: {name}" for i, name in enumerate(names)]
ax.barh(labels, binomial_upper(clf.classifiers_.errors, clf.classifiers_.m, clf.delta_ / 10), color="C1", label="limit")
ax.barh(labels, clf.classifiers_.risks, color="C0", label="validation risk")
ax.axvline(clf.certificate_.bound, color="C3", linestyle="--", label="bound of the draw")
ax.invert_yaxis()
ax.set_xlabel("share of errors")
ax.legend(frameon=False)
