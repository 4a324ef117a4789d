"""
A pipeline instead of GridSearchCV
==================================

Everything that is fitted belongs inside the estimator: then every step sees training rows only and the certificate
holds for the whole pipeline.  The classes are ten digits.
"""

# %%
# Twelve settings of scaler, projection and classifier, each a classifier of the set.  They vote: that is decided before
# any certificate is seen.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pacbayes import CertifiedClassifier, Grid
from pacbayes.report import plot_risks

X, y = load_digits(return_X_y=True)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
pipeline = make_pipeline(StandardScaler(), PCA(), SVC())
grid = {
    "pca__n_components": [20, 40],
    "svc__C": [1.0, 10.0],
    "svc__gamma": [0.003, 0.01, 0.03],
}
clf = CertifiedClassifier(Grid(pipeline, grid), voting="majority", random_state=0).fit(X_fit, y_fit)
print(clf.certificate_)
for name, baseline in clf.certificate_.baselines.items():
    print(f"{name}: {baseline}")

# %%
# The five settings that carry most of the weight.

weights, errors = clf.weights_, clf.classifiers_.errors
for i in weights.argsort()[::-1][:5]:
    print(f"{weights[i]:.4f}  {errors[i]:>3} errors of {clf.classifiers_.m}  {clf.classifiers_.params[i]}")

# %%
# Predictions, on rows that played no part so far.  The soft vote takes one setting of each family, and here is one.

for voting in clf.certificates_:
    error = 1.0 - clf.set_params(voting=voting).score(X_test, y_test)
    print(f"{voting:<11} test error {error:.4f}")

# %%
# Validation risks of the twelve settings, the weights of the vote and its bound.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_risks(clf.set_params(voting="majority"), ax)
