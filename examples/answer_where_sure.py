"""
How do I answer only where it is sure?
======================================

You want few errors among the answers, and a person looks at the rest. Name the share of errors that you can bear. On
the command line: ``--max-error 0.03``.
"""

import matplotlib.pyplot as plt

from pacbayes import Abstain, CertifiedClassifier, load_dataset
from pacbayes.report import plot_coverage

data = load_dataset("waveform")
clf = CertifiedClassifier("logistic", target=Abstain(max_error=0.03), random_state=0).fit(data.data, data.target)
print(clf.certificate_)

# %%
# From right to left the classifier answers fewer rows, those it is surer of. Thresholds were tested one after the
# other, in an order that the training rows fixed. The last that passed is in use.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_coverage(clf, ax)

# %%
# ``answers`` says for which rows a label is meant. The others go to a person.
print(f"{clf.answers(data.data[:200]).sum()} of 200 rows are answered")
