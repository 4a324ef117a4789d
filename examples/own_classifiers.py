"""
Bring your own classifiers
==========================

Classifiers of several kinds, trained by whatever means, and a certificate for a distribution over them.  All that is
needed are their errors on rows that none of them has seen.
"""

# %%
# Training is yours.  The validation rows must not have been used for it, nor for choosing what to train.

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
from pacbayes.certificates import most_frequent
from pacbayes.numeric.words import format_up

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
models = [GaussianNB()]
models += [make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=2000)) for c in (0.01, 0.1, 1.0)]
models += [KNeighborsClassifier(k) for k in (1, 3, 5)]
models += [RandomForestClassifier(50, max_depth=depth, random_state=0) for depth in (6, 12, None)]
for model in models:
    model.fit(X_train, y_train)

# %%
# From fitted classifiers to certificates.  The posterior weighs the good ones; its bound holds for the classifier that
# draws one of them, with these weights, for every new row.

digit, _ = most_frequent(y_train, y_val)
clf = CertifiedClassifier.from_fitted(models, X_val, y_val, most_frequent=digit, voting="stochastic", random_state=0)
errors, weights = clf.classifiers_.errors, clf.posterior_.weights
for model, wrong, weight in zip(models, errors, weights, strict=True):
    print(f"{type(model).__name__:<24}{wrong:>4} errors of {clf.classifiers_.m}   weight {weight:.4f}")
for certificate in clf.certificates_.values():
    print(certificate)
print("Compare", clf.certificate_.baselines["most frequent class"])

# %%
# Who would have taken nearest neighbours with k = 3 anyway says so before looking, and is tested on that: the limit is
# that of a hold-out, but for the fiftieth of delta that is kept in case it was a bad idea.

proposed = CertifiedClassifier.from_fitted(models, X_val, y_val, proposal=5, voting="best", random_state=0)
print(proposed.certificate_)
print("which is what was", proposed.certificate_.source)

# %%
# Predictions are enough: a network trained on another machine sends a file of labels.  And losses need not be 0 or 1;
# here half an error where the right digit is the second choice.

same = ClassifierSet.from_predictions([model.predict(X_val) for model in models], y_val)
print("the same risks:", np.array_equal(same.risks, clf.classifiers_.risks))

order = [np.argsort(-model.predict_proba(X_val), axis=1) for model in models]
losses = [np.where(o[:, 0] == y_val, 0.0, np.where(o[:, 1] == y_val, 0.5, 1.0)) for o in order]
graded = ClassifierSet.from_losses(losses)
print(f"bound on the graded loss: {format_up(optimal_posterior(graded.risks, graded.m).bound, 4)}")

# %%
# Each classifier's own exact limit, all valid at once, beside the bound for a draw by the best weights.

members = sorted(clf.certified_below(0.9999), key=lambda member: member.index)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
names = [f"{i}: {type(model).__name__}" for i, model in enumerate(models)]
ax.barh([names[member.index] for member in members], [member.bound for member in members], color="C1", label="limit")
ax.barh(names, clf.classifiers_.risks, color="C0", label="validation risk")
ax.axvline(clf.certificate_.bound, color="C3", linestyle="--", label="bound of the draw")
ax.invert_yaxis()
ax.set_xlabel("share of errors")
ax.legend(frameon=False)
