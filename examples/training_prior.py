"""
A prior from the training rows
==============================

A large grid of which a small part is any good makes the divergence from a uniform prior large, and the bound with it.
Where one split serves all classifiers the prior may depend on the training rows, and can prefer that part beforehand.
"""

# %%
# 525 support vector machines: 21 values of lambda for each of 25 kernel widths.  The same `random_state` divides the
# rows in the same way for every width, so that all machines share one training and one validation sample.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold

from pacbayes import load_dataset, optimal_posterior, svm_set
from pacbayes.certificates import binomial_upper
from pacbayes.numeric.words import format_up

DELTA = 0.05
LAMBDAS, WIDTHS = np.logspace(-2, 2, 21), np.logspace(-4, 2, 25)


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
# The prior weighs a machine by exp(-errors) of cross-validation within the training rows; hold-out takes the machine
# with the fewest of these errors, Occam the best of all on the validation rows.


def bounds(name, seed):
    """Return what the methods guarantee after one division of a data set."""
    data = load_dataset(name)
    sets = machines(data.data, data.target, random_state=seed)
    errors, risks = (np.concatenate([getattr(one, what) for one in sets]) for what in ("errors", "risks"))
    m, train = sets[0].m, sets[0].splits(0)[0]
    in_training = errors_in_training(data.data[train], data.target[train])
    prior = np.exp(in_training.min() - in_training)
    uniform = optimal_posterior(risks, m, delta=DELTA)
    informed = optimal_posterior(risks, m, delta=DELTA, prior=prior / prior.sum())
    return [
        uniform.kl,
        informed.kl,
        uniform.bound,
        informed.bound,
        float(binomial_upper(errors.min(), m, DELTA / errors.size)),
        float(binomial_upper(errors[np.argmin(in_training)], m, DELTA)),
    ]


# %%
# Means over five divisions.  K is the divergence of the optimal posterior from its prior.

print(f"{'':14}{'K uniform':>10}{'K prior':>10}{'uniform':>10}{'prior':>10}{'Occam':>10}{'hold-out':>10}")
found = {}
for name in ("ionosphere", "wdbc"):
    found[name] = means = np.mean([bounds(name, seed) for seed in range(5)], axis=0)
    print(f"{name:<14}{means[0]:>10.3f}{means[1]:>10.3f}" + "".join(f"{format_up(mean, 4):>10}" for mean in means[2:]))

# %%
# The informed prior lowers the bound of the posterior to about Occam's.  Hold-out, which pays for one machine only, is
# smaller still: it stakes everything on the machine that the training rows prefer, and here they prefer a good one.
# Which prior, and which method, belongs decided before the bounds are seen.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for place, label in enumerate(("uniform prior", "prior from training rows", "Occam", "hold-out")):
    ax.bar(np.arange(len(found)) + 0.2 * place, [means[2 + place] for means in found.values()], 0.18, label=label)
ax.set_xticks(np.arange(len(found)) + 0.3, list(found))
ax.set_ylabel("bound")
ax.legend(frameon=False)
