"""
Which errors does it make?
==========================

A doctor wants to know how many ill people are missed, not how many predictions are wrong. Name the positive class and
the metrics to bound. On the command line: ``--positive malignant --metrics recall,precision,specificity``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier

data = load_breast_cancer()
limits = ("recall", "precision", "specificity")
clf = CertifiedClassifier(metrics=limits, pos_label="malignant", random_state=0)
clf.fit(data.data, data.target_names[data.target])

# %%
# All bounds hold jointly with the certificate. They share a fifth of delta, so the bound on the error rate is slightly
# larger than it would be alone. Request only the metrics you will use.
print(clf.certificate_)

# %%
# The fewer validation rows of a class, the larger the gap between the observed metric and its bound.
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, metric in enumerate(clf.certificate_.metrics):
    ax.hlines(-place, metric.bound, metric.count / metric.rows, color="0.7", linewidth=4)
    ax.plot(metric.bound, -place, "o", color="C0", label="lower bound" if place == 0 else None)
    ax.plot(metric.count / metric.rows, -place, "k|", markersize=14, label="observed" if place == 0 else None)
ax.set_yticks([0, -1, -2], [f"{metric.name}, {metric.rows} rows" for metric in clf.certificate_.metrics])
ax.set(xlabel="value of the metric", xlim=(0.8, 1.005), ylim=(-2.5, 0.5))
ax.legend(frameon=False, loc="upper left")
