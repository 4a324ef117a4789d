"""
Is it still true?
=================

A certificate is about rows like those it came from. In use, rows change: here a sensor fails. A monitor gathers
evidence from the rows whose labels arrive. On the command line: ``pacbayes watch``.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes.report import plot_monitor

data = load_dataset("waveform")
X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=1500, random_state=0)
clf = CertifiedClassifier("logistic", random_state=0).fit(X, y)
X_new[1000:, 10:16] = 0.0  # from row 1000 on six columns read zero

# %%
# You may look after every row. If nothing changes and the certificate is true, there is ever an alarm with probability
# at most 1 %.
monitor = clf.monitor(alpha=0.01)
print(monitor.update(X_new[:1000], y_new[:1000]))
print(monitor.update(X_new[1000:], y_new[1000:]))

# %%
# Before the fault the evidence falls. After it there are more errors than the limit allows, and it grows. Silence
# proves nothing: a small change takes many rows to show.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.axvline(1000, color="0.6", linewidth=1, label="the sensor fails")
plot_monitor(monitor, ax)
