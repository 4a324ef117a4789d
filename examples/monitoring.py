"""
Does the certificate still hold?
================================

A certificate is about rows like those it came from. In production, the distribution changes: here a sensor fails. A
monitor tests the certificate on new labelled rows (e-process). On the command line: ``pacbayes watch``.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from pacbayes import CertifiedClassifier, load_dataset
from pacbayes.report import plot_monitor

data = load_dataset("waveform")
X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=1500, random_state=0)
clf = CertifiedClassifier("logistic", random_state=0).fit(X, y)
X_new[1000:, 10:16] = 0.0  # six sensors read zero from row 1000 on

# %%
# Check after every row if you like. If nothing changes and the certificate is true, the probability of any alarm, ever,
# is at most 1 %.
monitor = clf.monitor(alpha=0.01)
print(monitor.update(X_new[:1000], y_new[:1000]))
print(monitor.update(X_new[1000:], y_new[1000:]))

# %%
# Before the fault, the e-value decreases. After it, there are more errors than the bound allows, and the e-value grows.
# The absence of an alarm proves nothing: a small change takes many rows to detect.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.axvline(1000, color="0.6", linewidth=1, label="the sensor fails")
plot_monitor(monitor, ax)
