"""
What is behind a bound?
=======================

The paper's classifier: 201 support vector machines on one data set, and the weights over them with the smallest bound.
With a file name, it saves the figure::

    python examples/certified_svm.py [FIGURE.svg]
"""

# %%
# Half of the rows train an SVM for each of 201 values of lambda. The other half is the validation set. A fifth is set
# aside first as a test set for comparison; a certificate does not need it.

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from pacbayes import StochasticSVC
from pacbayes._utils.words import format_rounded_up
from pacbayes.report import plot_bounds, plot_gibbs_curve, plot_risks

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
clf = StochasticSVC(random_state=0).fit(X_fit, y_fit)
print(clf.certificate_)
print(clf.posterior_)

# %%
# The stochastic classifier draws an SVM for each row. Alternatives are the majority vote and the best single SVM. Each
# certificate holds alone: choose ``voting`` before you see them. The test errors are estimates from 114 rows.

for voting, certificate in clf.certificates_.items():
    error = 1.0 - clf.set_params(voting=voting).score(X_test, y_test)
    print(f"{voting:<11} bound {format_rounded_up(certificate.bound, 4)}   test error {error:.4f}")
clf.set_params(voting="stochastic")

# %%
# Left: the weights, above the errors of the SVMs. Middle: the bounds of five distances. Right: the bound along the
# Gibbs posteriors; the optimal weights are a point of this curve.

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
plot_risks(clf, left, test=(X_test, y_test))
plot_bounds(clf, middle)
plot_gibbs_curve(clf, right)
if len(sys.argv) > 1:
    fig.savefig(sys.argv[1])
