"""
Can it find nine of ten?
========================

A recall of at least 90 %: of the patients who are ill, at least nine in ten are found. The price is false alarms. On
the command line: ``--positive 1 --recall 0.9``.
"""

import matplotlib.pyplot as plt

from pacbayes import CertifiedClassifier, Threshold, load_dataset
from pacbayes.report import plot_target

data = load_dataset("mammographic")
clf = CertifiedClassifier("logistic", target=Threshold(recall=0.9), pos_label=1, random_state=0)
clf.fit(data.data, data.target)
print(clf.certificate_)

# %%
# ``predict`` says 1 where the probability is at least the threshold. The recall there must be above its target by
# enough to be sure of it. Only the target is guaranteed; the other curves were observed.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_target(clf, ax)

# %%
# If no threshold passes, the certificate says so, and ``predict`` answers as without a target. A recall of 99 % needs
# 299 validation rows of people who are ill, and all of them found. Here there are fewer.
strict = CertifiedClassifier("logistic", target=Threshold(recall=0.99), pos_label=1, random_state=0)
print(strict.fit(data.data, data.target).certificate_)
