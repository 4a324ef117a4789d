"""How often is the stated error rate too low?  Simulation with known truth: pacbayes and the best of 60 on a test set.

Each sample has 300 rows of a population whose class probabilities are known, so that true error rates are exact means
over 5000 new points.  Two ways to a classifier and a bound at 95 % confidence:

* pacbayes: ``CertifiedClassifier(random_state=seed).fit(X, y)`` and its certificate.
* best on the test set: 60 classifiers of scikit-learn are trained on one half of the rows; the one with the fewest
  errors on the other half is reported, with the Clopper-Pearson bound of these errors.

Run: python benchmarks/bench_promise.py [--samples 200] [--jobs 2] [--out results/promise.csv]
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit
from scipy.stats import beta, binomtest
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier

ROWS, COLUMNS, NEW, DELTA = 300, 6, 5000, 0.05


def population(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with their probability of the positive class."""
    X = rng.normal(size=(rows, COLUMNS))
    return X, expit(2.0 * X[:, 0] + 1.5 * X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8)


def sixty_classifiers(seed: int) -> list[ClassifierMixin]:
    """List the classifiers that compete on the test set."""
    return [
        *(
            make_pipeline(StandardScaler(), SVC(C=c, gamma=g))
            for c in np.logspace(-1, 3, 6)
            for g in np.logspace(-2, 1, 5)
        ),
        *(KNeighborsClassifier(k) for k in range(1, 21, 2)),
        *(DecisionTreeClassifier(max_depth=d, random_state=seed) for d in range(1, 11)),
        *(LogisticRegression(C=c) for c in np.logspace(-3, 3, 10)),
    ]


def one_sample(seed: int) -> list[tuple[str, int, float, float]]:
    """Bound and true error rate of both ways on one sample."""
    rng = np.random.default_rng(seed)
    X, p = population(ROWS, rng)
    y = (rng.random(ROWS) < p).astype(int)
    new, p_new = population(NEW, rng)

    def error_rate(clf: ClassifierMixin) -> float:
        return float(np.mean(np.where(clf.predict(new) == 1, 1.0 - p_new, p_new)))

    clf = CertifiedClassifier(delta=DELTA, random_state=seed).fit(X, y)
    results = [("pacbayes", seed, float(clf.certificate_.bound), error_rate(clf))]
    half = ROWS // 2
    fitted = [clf.fit(X[:half], y[:half]) for clf in sixty_classifiers(seed)]
    errors = [int(np.sum(clf.predict(X[half:]) != y[half:])) for clf in fitted]
    best = int(np.argmin(errors))
    bound = float(beta.ppf(1.0 - DELTA, errors[best] + 1, ROWS - half - errors[best]))
    return [*results, ("best on the test set", seed, bound, error_rate(fitted[best]))]


def main() -> None:
    """Simulate, write and print the shares of samples in which the bound is below the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    samples = Parallel(args.jobs)(delayed(one_sample)(seed) for seed in range(args.samples))
    rows = pd.DataFrame([row for rows in samples for row in rows], columns=["method", "seed", "bound", "error_rate"])
    if args.out:
        rows.sort_values(["method", "seed"], ascending=[False, True]).to_csv(
            args.out, index=False, float_format="%.6f", lineterminator="\n"
        )
    for method, results in rows.groupby("method", sort=False):
        false = int((results["bound"] < results["error_rate"]).sum())
        p = binomtest(false, len(results), DELTA, alternative="greater").pvalue
        print(
            f"{method}: bound below the true error rate in {false} of {len(results)} samples (p = {p:.1g} for "
            f"a rate of {DELTA}); mean bound "
            f"{results['bound'].mean():.4f}, mean error rate {results['error_rate'].mean():.4f}"
        )


if __name__ == "__main__":
    main()
