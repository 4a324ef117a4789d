"""
How many rows do I need?
========================

You expect errors on 5 % of new rows, and want a certificate of at most 8 %. So many rows must validate. On the command
line: ``pacbayes plan --error 0.05 --target 0.08``.
"""

import matplotlib.pyplot as plt

from pacbayes import rows_needed
from pacbayes.report import plot_plan

print(f"{rows_needed(error=0.05, target=0.08, chance=0.8)} validation rows, for a chance of 80 %")

# %%
# With few rows you may be lucky, with many you need no luck. The chance has steps, because errors are whole numbers.
# By default half of up to 1000 rows validate, so label about twice as many.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_plan(0.05, 0.08, ax)

# %%
# A target near the errors that you expect is dear.
for target in (0.06, 0.07, 0.08, 0.1, 0.15):
    print(f"at most {target:>4.0%}: {rows_needed(0.05, target):>6} validation rows")
