"""
How often does it err?
======================

A table in, a classifier and a limit of its errors out. On the command line: ``pacbayes certify --dataset wdbc``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier
from pacbayes.report import plot_certificate

X, y = load_breast_cancer(return_X_y=True)
clf = CertifiedClassifier(random_state=0).fit(X, y)
print(clf.certificate_)

# %%
# The picture compares the limit with two others. The hold-out is one classifier, chosen within the training rows. The
# last bar is what you get without any classifier.
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
plot_certificate(clf, ax)

# %%
# ``explain`` says what the limit rests on. Read the lines that begin with "Assumed".
print(clf.certificate_.explain())
