"""
Five bounds from arrays alone
=============================

Five bounds, their constants and optimal posteriors for a small example: four classifiers, 250 examples.
"""

import matplotlib.pyplot as plt
import numpy as np

from pacbayes import DISTANCES, bound, log_constant, optimal_posterior

errors = [21, 23, 24, 40]
m, delta = 250, 0.05
risks = [k / m for k in errors]
weights = [0.4, 0.3, 0.25, 0.05]

print(f"4 classifiers with {errors} errors on m = {m} examples, posterior {weights}, uniform prior")
print(f"With probability at least {1 - delta:.0%} the stochastic classifier errs on at most:\n")
print(f"{'distance':<10}{'bound':>10}{'paper constant':>18}{'ln I exact':>14}{'ln I paper':>14}")
for distance in DISTANCES:
    exact = bound(weights, risks, m, distance=distance, delta=delta)
    paper = bound(weights, risks, m, distance=distance, delta=delta, constant="paper")
    constants = (log_constant(distance, m, kind) for kind in ("exact", "paper"))
    print(f"{distance:<10}{exact:>10.4f}{paper:>18.4f}" + "".join(f"{c:>14.4f}" for c in constants))
print("\nThe posterior with the smallest bound, proved to be the smallest of all posteriors:\n")
for distance in DISTANCES:
    best = optimal_posterior(risks, m, distance=distance, delta=delta)
    print(f"{distance:<10}{best.bound:>10.4f}   gap {best.gap:.0e}   weights {best.weights.round(4).tolist()}")
print("\nEach bound holds alone: fix the distance and delta before you look at the data.")

# %%
# How the bounds compare where a single classifier has made more and more errors.

counts = np.arange(0, 126)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for distance in DISTANCES:
    ax.plot(counts / m, [bound([1.0], [k / m], m, distance=distance, delta=delta) for k in counts], label=distance)
ax.plot(counts / m, counts / m, color="black", linewidth=0.8, label="no bound: the share itself")
ax.set(xlabel=f"share of errors on {m} examples", ylabel="bound", ylim=(0.0, 0.75))
ax.legend(frameon=False)
