"""
How much does a data-dependent prior gain?
==========================================

If only few of many classifiers are good, a uniform prior makes the bound large. If all classifiers share one split, the
prior may depend on the training rows and prefer the good ones.
"""

# %%
# 525 support vector machines: 21 values of lambda for each of 25 kernel widths. The same ``random_state`` gives the
# same split for every width, so that all SVMs share their training and validation rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold

from pacbayes import load_dataset, optimal_posterior, svm_set
from pacbayes._utils.words import format_rounded_up
from pacbayes.certificates import binomial_upper

DELTA, SPLITS = 0.05, 3
LAMBDAS, WIDTHS = np.logspace(-2, 2, 21), np.logspace(-4, 2, 25)
DATA = load_dataset("ionosphere")


def svm_sets(X, y, **options):
    """Train the SVMs of all kernel widths."""
    return [svm_set(X, y, LAMBDAS, gamma=width, **options) for width in WIDTHS]


def cv_errors(X, y):
    """Errors of every SVM in 5-fold cross-validation within the training rows."""
    errors = np.zeros(LAMBDAS.size * WIDTHS.size, dtype=int)
    for fit, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        sets = svm_sets(X[fit], y[fit], validation_size=2, random_state=0)
        errors += np.concatenate([(svms.predict(X[held_out]) != y[held_out]).sum(axis=1) for svms in sets])
    return errors


# %%
# The prior weighs an SVM by exp(-errors) in cross-validation within the training rows. Holdout selects the SVM with the
# fewest of these errors; Occam selects the best of all on the validation rows.


def bounds(seed):
    """Bounds of all methods for one split."""
    sets = svm_sets(DATA.data, DATA.target, random_state=seed)
    errors, risks = (np.concatenate([getattr(svms, name) for svms in sets]) for name in ("errors", "risks"))
    m, train = sets[0].m, sets[0].splits(0)[0]
    training_errors = cv_errors(DATA.data[train], DATA.target[train])
    prior = np.exp(training_errors.min() - training_errors)
    return {
        "uniform prior": optimal_posterior(risks, m, delta=DELTA).bound,
        "prior from training rows": optimal_posterior(risks, m, delta=DELTA, prior=prior / prior.sum()).bound,
        "Occam": float(binomial_upper(errors.min(), m, DELTA / errors.size)),
        "holdout": float(binomial_upper(errors[np.argmin(training_errors)], m, DELTA)),
    }


results = [bounds(seed) for seed in range(SPLITS)]
means = {name: np.mean([result[name] for result in results]) for name in results[0]}
for name, mean in means.items():
    print(f"{name:<26}{format_rounded_up(mean, 4)}")

# %%
# The prior from the training rows lowers the bound of the posterior. The holdout bound is smaller still: it is for the
# single SVM that cross-validation prefers, which is a good one here. Choose one method before you see the bounds.

fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.barh(list(means), list(means.values()), color=["0.6", "C0", "0.6", "0.6"])
ax.invert_yaxis()
ax.set_xlabel(f"bound, mean over {SPLITS} splits of ionosphere")
