"""
Can I guarantee a recall of 90 %?
=================================

A decision threshold at which at least nine in ten ill patients are detected. The price is false alarms. On the command
line: ``--positive 1 --recall 0.9``.
"""

import matplotlib.pyplot as plt

from pacbayes import CertifiedClassifier, Threshold, load_dataset
from pacbayes.report import plot_decision

data = load_dataset("mammographic")
clf = CertifiedClassifier("logistic", decision=Threshold(recall=0.9), pos_label=1, random_state=0)
clf.fit(data.data, data.target)
print(clf.certificate_)

# %%
# ``predict`` returns 1 where the probability reaches the threshold. The lower bound on the recall there is at least 90
# %. Only this recall is guaranteed; the other curves show observed values.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_decision(clf, ax)

# %%
# If no threshold passes, the certificate says so, and ``predict`` uses the default threshold. A recall of 99 % needs
# 299 positive validation rows, all of them predicted correctly. Here there are fewer.
strict = CertifiedClassifier("logistic", decision=Threshold(recall=0.99), pos_label=1, random_state=0)
print(strict.fit(data.data, data.target).certificate_)
