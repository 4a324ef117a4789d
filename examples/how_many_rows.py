"""
How many rows do I need?
========================

You expect an error rate of 5 % and want a certificate of at most 8 %: how many validation rows do you need? On the
command line: ``pacbayes plan --error 0.05 --at-most 0.08``.
"""

import matplotlib.pyplot as plt

from pacbayes import rows_needed
from pacbayes.report import plot_plan

print(f"{rows_needed(error=0.05, target=0.08, chance=0.8)} validation rows, for a chance of 80 %")

# %%
# The probability of reaching the bound grows with the number of rows. It has steps because errors are integers. By
# default, half of up to 1000 rows are validation rows, so label about twice as many.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_plan(0.05, 0.08, ax)

# %%
# A bound close to the expected error rate takes many rows.
for target in (0.06, 0.07, 0.08, 0.1, 0.15):
    print(f"at most {target:>4.0%}: {rows_needed(0.05, target):>6} validation rows")
