"""
How do five bounds compare?
===========================

Bounds from arrays: four classifiers made 21, 23, 24 and 40 errors on 250 validation rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from pacbayes import DISTANCES, bound, log_constant, optimal_posterior
from pacbayes._utils.words import format_rounded_up

m, delta = 250, 0.05
risks = np.array([21, 23, 24, 40]) / m
weights = [0.4, 0.3, 0.25, 0.05]

# %%
# The stochastic classifier draws one of them for each row by these weights. Its bound for each distance, with the exact
# constant and with the paper's.

print(f"{'distance':<10}{'bound':>10}{'paper':>10}{'ln I':>10}{'paper':>10}")
for distance in DISTANCES:
    bounds = [bound(weights, risks, m, distance=distance, delta=delta, constant=kind) for kind in ("exact", "paper")]
    constants = [log_constant(distance, m, kind) for kind in ("exact", "paper")]
    print(f"{distance:<10}" + "".join(f"{format_rounded_up(value, 4):>10}" for value in (*bounds, *constants)))

# %%
# The weights with the smallest bound, and a proof: no weights have a bound smaller by more than the gap. Each bound
# holds alone, so fix the distance and delta in advance.

for distance in DISTANCES:
    best = optimal_posterior(risks, m, distance=distance, delta=delta)
    shown = best.weights.round(4).tolist()
    print(f"{distance:<10}{format_rounded_up(best.bound, 4):>10}   gap {best.gap:.0e}   weights {shown}")

# %%
# The bounds of one classifier, by its number of errors.

counts = np.arange(0, 126)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for distance in DISTANCES:
    ax.plot(counts / m, [bound([1.0], [k / m], m, distance=distance, delta=delta) for k in counts], label=distance)
ax.plot(counts / m, counts / m, color="black", linewidth=0.8, label="validation error rate")
ax.set(xlabel=f"error rate on {m} validation rows", ylabel="bound", ylim=(0.0, 0.75))
ax.legend(frameon=False)
