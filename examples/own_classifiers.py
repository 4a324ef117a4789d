"""
Can I certify my own classifiers?
=================================

Ten prefit classifiers of several kinds. They only need validation rows that none of them has seen.
"""

# %%
# The validation rows must not be used for training, nor for choosing what to train.

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
from pacbayes._utils.words import format_rounded_up
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
# If you would use one of them anyway, pre-specify it as the primary rule: here number 5, three nearest neighbours. Its
# bound is then nearly that of a holdout.

prespecified = CertifiedClassifier.from_fitted(models, X_val, y_val, primary=5, voting="best", random_state=0)
print(prespecified.certificate_)

# %%
# Otherwise the choice is made on the validation rows, and the bound accounts for it. Here it is for a classifier drawn
# for each new row by the optimised weights.

clf = CertifiedClassifier.from_fitted(models, X_val, y_val, voting="stochastic", random_state=0)
print(clf.certificate_)
names = [type(model[-1] if hasattr(model, "steps") else model).__name__ for model in models]
for name, errors, weight in zip(names, clf.classifiers_.errors, clf.posterior_.weights, strict=True):
    print(f"{name:<24}{errors:>4} errors of {clf.classifiers_.m}   weight {weight:.4f}")

# %%
# Predictions are enough, from a file for example. Losses need not be 0 or 1: here the loss is one half where the true
# digit is the second choice.

same = ClassifierSet.from_predictions([model.predict(X_val) for model in models], y_val)
print("the same risks:", np.array_equal(same.risks, clf.classifiers_.risks))

order = [np.argsort(-model.predict_proba(X_val), axis=1) for model in models]
losses = [np.where(rank[:, 0] == y_val, 0.0, np.where(rank[:, 1] == y_val, 0.5, 1.0)) for rank in order]
graded = ClassifierSet.from_losses(losses)
print(f"bound on the graded loss: {format_rounded_up(optimal_posterior(graded.risks, graded.m).bound, 4)}")

# %%
# The exact bounds of all ten, which hold jointly because each has a tenth of delta, and the bound of the stochastic
# classifier.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
labels = [f"{i}: {name}" for i, name in enumerate(names)]
ax.barh(
    labels,
    binomial_upper(clf.classifiers_.errors, clf.classifiers_.m, clf.delta_ / 10),
    color="C1",
    label="exact bound",
)
ax.barh(labels, clf.classifiers_.risks, color="C0", label="validation error rate")
ax.axvline(clf.certificate_.bound, color="C3", linestyle="--", label="bound of the stochastic classifier")
ax.invert_yaxis()
ax.set_xlabel("error rate")
ax.legend(frameon=False)
