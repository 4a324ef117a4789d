"""
Can the classifier abstain when it is unsure?
=============================================

Selective classification: predictions are accepted only where the classifier is confident, and a person decides the
rest. The error rate among accepted predictions is guaranteed. On the command line: ``--max-error 0.03``.
"""

import matplotlib.pyplot as plt

from pacbayes import Abstain, CertifiedClassifier, load_dataset
from pacbayes.report import plot_coverage

data = load_dataset("waveform")
clf = CertifiedClassifier("logistic", decision=Abstain(max_error=0.03), random_state=0).fit(data.data, data.target)
print(clf.certificate_)

# %%
# From right to left, the classifier accepts fewer predictions, those with a higher confidence. Cut-offs were tested in
# an order fixed on the training rows (fixed-sequence testing). The last one that passed is used.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_coverage(clf, ax)

# %%
# ``accepts`` returns the mask of accepted predictions. The other rows go to a person.
print(f"{clf.accepts(data.data[:200]).sum()} of 200 predictions are accepted")
