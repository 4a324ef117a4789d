"""
Bring your own classifiers
==========================

Classifiers of several kinds, trained by whatever means, and a certificate for a distribution over them.  All that is
needed are their errors on rows that none of them has seen.
"""

# %%
# Training is yours.  The validation rows must not have been used for it, nor for choosing what to train.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pacbayes import Baseline, ClassifierSet, optimal_posterior
from pacbayes.certificates import certify, constant_baseline, most_frequent
from pacbayes.numeric.rounding import format_up

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
models = [GaussianNB()]
models += [make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=2000)) for c in (0.01, 0.1, 1.0)]
models += [KNeighborsClassifier(k) for k in (1, 3, 5)]
models += [RandomForestClassifier(50, max_depth=depth, random_state=0) for depth in (6, 12, None)]
for model in models:
    model.fit(X_train, y_train)

# %%
# From fitted classifiers to a posterior.  It weighs the good ones; the bound holds for the classifier that draws one of
# them, with these weights, for every new row.

fitted = ClassifierSet.from_fitted(models, X_val, y_val)
posterior = optimal_posterior(fitted.risks, fitted.m)
for model, errors, weight in zip(models, fitted.errors, posterior.weights, strict=True):
    print(f"{type(model).__name__:<24}{errors:>4} errors of {fitted.m}   weight {weight:.4f}")
print(posterior)

# %%
# Predictions are enough: a network trained on another machine sends a file of labels.  And losses need not be 0 or 1;
# here half an error where the right digit is the second choice.

same = ClassifierSet.from_predictions([model.predict(X_val) for model in models], y_val)
print("the same risks:", np.array_equal(same.risks, fitted.risks))

order = [np.argsort(-model.predict_proba(X_val), axis=1) for model in models]
losses = [np.where(o[:, 0] == y_val, 0.0, np.where(o[:, 1] == y_val, 0.5, 1.0)) for o in order]
graded = ClassifierSet.from_losses(losses)
print(f"bound on the graded loss: {format_up(optimal_posterior(graded.risks, graded.m).bound, 4)}")

# %%
# Certificates in words, for the three ways of predicting.

no_hold_out = Baseline(None, None, "no classifier was chosen before the validation rows were seen")
digit, errors = most_frequent(y_train, y_val)
always = constant_baseline(digit, errors, fitted.m, delta=0.05)
found = certify(posterior, fitted, delta=0.05, prior=None, hold_out=no_hold_out, constant=always)
for certificate in found.values():
    print(certificate)
print("Compare", always)
