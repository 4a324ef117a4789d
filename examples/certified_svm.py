"""
A certified support vector machine
==================================

201 support vector machines on one data set, what the training rows propose and the posterior with the smallest bound,
what is guaranteed for the four ways of predicting, and three pictures.  With a file name it saves the pictures::

    python examples/certified_svm.py [FIGURE.svg]
"""

# %%
# Half of the rows train a machine for each of 201 values of lambda and propose, by cross-validation, how to predict.
# The other half only count errors.  ``hedge="auto"`` keeps a fiftieth of delta for the posterior; by default it has all
# of delta, as in the paper.  A fifth is put aside first, to compare with; a certificate does not need it.

import sys

import matplotlib
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from pacbayes import StochasticSVC
from pacbayes.numeric.words import format_up

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
clf = StochasticSVC(hedge="auto", random_state=0).fit(X_fit, y_fit)
print(clf.certificate_.explain())

# %%
# The four ways of predicting, each with its certificate.  Each holds alone: the way belongs chosen before the
# certificates are seen.  The test errors are estimates from 114 rows, the bounds are guarantees.

for voting, certificate in clf.certificates_.items():
    error = 1.0 - clf.set_params(voting=voting).score(X_test, y_test)
    print(f"{voting:<11} bound {format_up(certificate.bound, 4)}   test error {error:.4f}")

# %%
# The weights that predict on top of the risks, the bounds of the five distances, and the bound along the curve of Gibbs
# posteriors on which the minimum is searched, at the share of delta that was kept for it.  How surely it was found:

print(clf.posterior_)

# %%

matplotlib.use("Agg")
from matplotlib import pyplot

from pacbayes.report import plot_bounds, plot_gibbs_curve, plot_risks

figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
plot_risks(clf, left, test=(X_test, y_test))
plot_bounds(clf, middle)
plot_gibbs_curve(clf, right)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1])
