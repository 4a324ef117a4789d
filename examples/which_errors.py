"""
Which errors does it make?
==========================

A doctor asks how many ill people are missed, not how many answers are wrong. Name the class that matters, and the
numbers that you want limits of. On the command line: ``--positive malignant --limits recall,precision,specificity``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier

data = load_breast_cancer()
limits = ("recall", "precision", "specificity")
clf = CertifiedClassifier(limits=limits, pos_label="malignant", random_state=0)
clf.fit(data.data, data.target_names[data.target])

# %%
# All limits hold at once with the certificate. They share a fifth of delta, so the limit of the errors is a little
# larger than it would be alone. Ask only for what you will use.
print(clf.certificate_)

# %%
# Fewer validation rows mean a longer way from what was counted to what is guaranteed.
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, limit in enumerate(clf.certificate_.limits):
    ax.hlines(-place, limit.bound, limit.count / limit.rows, color="0.7", linewidth=4)
    ax.plot(limit.bound, -place, "o", color="C0", label="at least" if place == 0 else None)
    ax.plot(limit.count / limit.rows, -place, "k|", markersize=14, label="counted" if place == 0 else None)
ax.set_yticks([0, -1, -2], [f"{limit.name}, {limit.rows} rows" for limit in clf.certificate_.limits])
ax.set(xlabel="share", xlim=(0.8, 1.005), ylim=(-2.5, 0.5))
ax.legend(frameon=False, loc="upper left")
