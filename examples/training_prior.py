"""
What does a prior from the training rows gain?
==============================================

Where few of many classifiers are any good, a uniform prior makes the bound large. Where one division serves all
classifiers, the prior may come from the training rows, and prefer the good ones beforehand.
"""

# %%
# 525 support vector machines: 21 values of lambda for each of 25 kernel widths. The same ``random_state`` divides the
# rows in the same way for every width, so that all machines share their training and validation rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold

from pacbayes import load_dataset, optimal_posterior, svm_set
from pacbayes._utils.words import format_up
from pacbayes.certificates import binomial_upper

DELTA, DIVISIONS = 0.05, 3
LAMBDAS, WIDTHS = np.logspace(-2, 2, 21), np.logspace(-4, 2, 25)
DATA = load_dataset("ionosphere")


def machines(X, y, **options):
    """Return the sets of machines of all kernel widths."""
    return [svm_set(X, y, LAMBDAS, gamma=width, **options) for width in WIDTHS]


def errors_in_training(X, y):
    """Return every machine's errors in five folds of the training rows."""
    errors = np.zeros(LAMBDAS.size * WIDTHS.size, dtype=int)
    for fit, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        sets = machines(X[fit], y[fit], validation_size=2, random_state=0)
        errors += np.concatenate([(one.predict(X[held_out]) != y[held_out]).sum(axis=1) for one in sets])
    return errors


# %%
# The prior weighs a machine by exp(-errors) of cross-validation within the training rows. Hold-out takes the machine
# with the fewest of these errors; Occam takes the best of all on the validation rows.


def bounds(seed):
    """Return what the methods guarantee after one division of the rows."""
    sets = machines(DATA.data, DATA.target, random_state=seed)
    errors, risks = (np.concatenate([getattr(one, what) for one in sets]) for what in ("errors", "risks"))
    m, train = sets[0].m, sets[0].splits(0)[0]
    in_training = errors_in_training(DATA.data[train], DATA.target[train])
    prior = np.exp(in_training.min() - in_training)
    return {
        "uniform prior": optimal_posterior(risks, m, delta=DELTA).bound,
        "prior from training rows": optimal_posterior(risks, m, delta=DELTA, prior=prior / prior.sum()).bound,
        "Occam": float(binomial_upper(errors.min(), m, DELTA / errors.size)),
        "hold-out": float(binomial_upper(errors[np.argmin(in_training)], m, DELTA)),
    }


found = [bounds(seed) for seed in range(DIVISIONS)]
means = {name: np.mean([one[name] for one in found]) for name in found[0]}
for name, mean in means.items():
    print(f"{name:<26}{format_up(mean, 4)}")

# %%
# The prior from the training rows lowers the bound of the posterior. Hold-out is smaller still: it stakes everything on
# the machine that the training rows prefer, and here they prefer a good one. Decide for one before you see the bounds.

fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.barh(list(means), list(means.values()), color=["0.6", "C0", "0.6", "0.6"])
ax.invert_yaxis()
ax.set_xlabel(f"bound, mean over {DIVISIONS} divisions of ionosphere")
