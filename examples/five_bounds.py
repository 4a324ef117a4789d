"""Five bounds and their constants for a small built-in example: four classifiers, 250 validation examples."""

from pacbayes import DISTANCES, bound, log_constant

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
print("\nEach bound holds alone: fix the distance and delta before you look at the data.")
