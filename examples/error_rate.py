"""
What is the error rate?
=======================

Train a classifier and bound its error rate. On the command line: ``pacbayes certify --dataset wdbc``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier
from pacbayes.report import plot_certificate

X, y = load_breast_cancer(return_X_y=True)
clf = CertifiedClassifier(random_state=0).fit(X, y)
print(clf.certificate_)

# %%
# The figure compares the bound with two others. The holdout is one classifier, chosen within the training rows. The
# last bar is the majority-class baseline.
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
plot_certificate(clf, ax)

# %%
# ``explain`` lists the assumptions. Read the lines that begin with "Assumed".
print(clf.certificate_.explain())
