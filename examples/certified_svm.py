"""
What is behind a bound?
=======================

The paper's classifier: 201 support vector machines on one data set, and the weights over them with the smallest bound.
With a file name it saves the pictures::

    python examples/certified_svm.py [FIGURE.svg]
"""

# %%
# Half of the rows train a machine for each of 201 values of lambda. The other half counts their errors. A fifth is put
# aside first, to compare with; a certificate does not need it.

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from pacbayes import StochasticSVC
from pacbayes._utils.words import format_up
from pacbayes.report import plot_bounds, plot_gibbs_curve, plot_risks

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
clf = StochasticSVC(random_state=0).fit(X_fit, y_fit)
print(clf.certificate_)
print(clf.posterior_)

# %%
# To draw a machine for each row is one way to predict. A vote of all and the best single machine are others. Each
# certificate holds alone: choose the way before you see them. The test errors are estimates from 114 rows.

for voting, certificate in clf.certificates_.items():
    error = 1.0 - clf.set_params(voting=voting).score(X_test, y_test)
    print(f"{voting:<11} bound {format_up(certificate.bound, 4)}   test error {error:.4f}")
clf.set_params(voting="stochastic")

# %%
# On the left the weights on top of the machines' errors. In the middle the bounds of five distances. On the right the
# bound along the Gibbs posteriors; the best weights are a point of this curve.

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
plot_risks(clf, left, test=(X_test, y_test))
plot_bounds(clf, middle)
plot_gibbs_curve(clf, right)
if len(sys.argv) > 1:
    fig.savefig(sys.argv[1])
