"""
Answering only where sure
=========================

A target for the errors among answered examples, and what it leaves answered.
"""

import matplotlib.pyplot as plt

from pacbayes import Abstain, CertifiedClassifier, SVMs, load_dataset
from pacbayes.report import plot_coverage

data = load_dataset("waveform")
clf = CertifiedClassifier(SVMs(gamma="sigest"), target=Abstain(0.05), random_state=0).fit(data.data, data.target)
print(clf.certificate_)

# %%
# From right to left the classifier answers fewer rows, those it is surer of. Thresholds were tested against the target
# one after the other, in an order that the training rows fixed; the last that passed is in use.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_coverage(clf, ax)

# %%
# ``answers`` says for which rows a label is meant; the others go to a person.
print(f"{clf.answers(data.data[:200]).sum()} of 200 rows are answered")
