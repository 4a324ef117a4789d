"""A single SVM as a scikit-learn classifier, and the settings of a set of SVMs."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import (
    check_choice,
    check_count,
    convert_long_labels,
    require,
    require_array,
    require_choice,
    require_int,
)
from pacbayes._utils.seeds import make_rng
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SVM_KERNELS,
    Gamma,
    Kernel,
    Scaling,
    check_gamma,
    check_scale,
    count_widths,
    fit_kernels,
    fit_scaling,
)
from pacbayes.svm.landmarks import N_COMPONENTS, choose_landmarks, nystroem_map, train_on_features
from pacbayes.svm.one_vs_one import OneVsOnePaths, OneVsOneSVM, row_blocks, train_one_vs_one
from pacbayes.svm.path import check_lambdas


class SVMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    r"""Support vector machine with :math:`C = 1/\lambda` that includes the scaling of its inputs.

    The items of a `ClassifierSet` of SVMs have this type.  Multiclass predictions are by one-vs-one votes, as in
    scikit-learn's `SVC`.  Decision values that are zero up to rounding are set to zero.

    Parameters
    ----------
    lam : float
        Regularisation parameter.
    kernel : {"rbf", "linear", "nystroem"}
    gamma : float or "sigest"
        Parameter of the Gaussian kernel; see `sigest`.
    n_components : int
        Landmarks of "nystroem"; see `svm_set`.
    scale : bool or "kernlab"
        Standardise the columns; see `svm_set`.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of `sigest` and landmarks.

    Examples
    --------
    >>> from pacbayes.svm import SVMClassifier
    >>> clf = SVMClassifier(0.1, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> clf.predict([[1.4], [1.6]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: Gamma = "sigest",
        n_components: int = N_COMPONENTS,
        scale: bool | str = True,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the SVM to training data."""
        lambdas = check_lambdas([self.lam])
        check_choice("kernel", self.kernel, SVM_KERNELS)
        gamma, scale = check_gamma(self.gamma), check_scale(self.scale)
        n_components = check_count("n_components", self.n_components)
        if scale == AUTO_SCALE or count_widths(gamma) > 1:
            raise ValueError(
                f"SVMClassifier requires one kernel width and a fixed scaling, got gamma={gamma!r}, scale={scale!r}"
            )
        features, labels = validate_data(self, X, convert_long_labels(y), dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"y must hold at least two classes, got class {classes[0].item()!r} only")
        with limit_to_one_thread():
            rng = make_rng(self.random_state)
            scaling, kernel, rows, svms = train_scaled(
                features, codes, lambdas, self.kernel, gamma, scale, n_components, rng, rng
            )
        svm = svms.svm(0)
        return self.set_fitted(classes, scaling, kernel, svm, scaling(features[rows[svm.support]]))

    def set_fitted(
        self, classes: NDArray[Any], scaling: Scaling, kernel: Kernel, svm: OneVsOneSVM, support_vectors: FloatArray
    ) -> Self:
        """Set the fitted attributes, with scaled support vectors."""
        self.classes_ = classes[svm.codes]
        self.n_features_in_ = support_vectors.shape[1]
        self.gamma_ = kernel.gamma
        self.support_vectors_ = support_vectors
        self._labels, self._scaling, self._kernel, self._svm = classes, scaling, kernel, svm
        return self

    def check_state(self) -> None:
        """Raise unless the fitted attributes are consistent, since skops sets them without the constructor."""
        if not hasattr(self, "_svm"):  # not fitted
            return
        require(
            isinstance(self._labels, np.ndarray) and self._labels.ndim == 1, "SVMClassifier._labels", "must be labels"
        )
        parts = ((self._svm, OneVsOneSVM), (self._scaling, Scaling), (self._kernel, Kernel))
        for part, kind in parts:
            require(type(part) is kind, "SVMClassifier", f"must have a {kind.__name__}")
            part.__post_init__()
        require(int(self._svm.codes[-1]) < self._labels.size, "OneVsOneSVM.codes", "must be classes")
        size, width = self._svm.coefs.shape[1], self._scaling.shift.size
        require_array(self.support_vectors_, "SVMClassifier.support_vectors_", "f", (size, width))
        same = type(self.n_features_in_) is int and self.n_features_in_ == width
        require(same, "SVMClassifier.n_features_in_", "is wrong")

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Decision values as in scikit-learn's `SVC`: shape (n,) for two classes, else (n, classes)."""
        decisions = self._decisions(X)
        return decisions[:, 0] if self.classes_.size == 2 else self._svm.votes(decisions)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict labels."""
        decisions = self._decisions(X)
        return self._labels[self._svm.predict(decisions)]

    def _decisions(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        new = validate_data(self, X, dtype=np.float64, reset=False)
        decisions = np.empty((len(new), len(self._svm.pairs)))
        with limit_to_one_thread():
            for block in row_blocks(len(new), self._svm.support.size + new.shape[1] + 4 * decisions.shape[1]):
                K = self._kernel.between(self.support_vectors_, self._scaling(new[block]))
                decisions[block] = self._svm.decisions(K)
        return decisions


def train_scaled(
    features: FloatArray,
    codes: Rows,
    lambdas: FloatArray,
    kernel: str,
    gamma: Gamma,
    scale: bool | str,
    n_components: int,
    width_rng: np.random.Generator,
    landmark_rng: np.random.Generator,
) -> tuple[Scaling, Kernel, Rows, OneVsOnePaths]:
    """Fit the scaling and the kernel width, and train SVMs; return also the rows that have coefficients."""
    scaling = fit_scaling(features, scale)
    rows = scaling(features)
    (fitted,) = fit_kernels(rows, kernel, gamma, width_rng)
    if kernel == NYSTROEM:
        landmarks = choose_landmarks(len(rows), n_components, landmark_rng)
        nystroem = nystroem_map(rows[landmarks], fitted)
        return scaling, fitted, landmarks, train_on_features(nystroem, nystroem.features(rows), codes, lambdas)
    svms = train_one_vs_one(lambda part: fitted.gram(rows[part]), codes, lambdas)
    return scaling, fitted, np.arange(len(rows)), svms


@dataclass(frozen=True, eq=False)
class SVMSettings:
    """Parameters of a set of SVMs, with one SVM per width and lambda."""

    lambdas: FloatArray
    kernel: str
    gamma: Gamma
    scale: bool | str
    #: Number of landmarks of the kernel "nystroem".
    n_components: int
    seed: int

    def __post_init__(self) -> None:
        require_array(self.lambdas, "SVMSettings.lambdas", "f", (None,))
        check_lambdas(self.lambdas)
        require_choice(self.kernel, "SVMSettings.kernel", SVM_KERNELS)
        check_gamma(self.gamma)
        require(type(self.scale) in (bool, str), "SVMSettings.scale", "must be True, False or a word")
        check_scale(self.scale)
        require_int(self.n_components, "SVMSettings.n_components", 1)
        require(type(self.seed) is int and 0 <= self.seed < 2**4096, "SVMSettings.seed", "must be a seed")

    def params(self, gamma: float | None) -> list[dict[str, Any]]:
        """Parameters that distinguish the classifiers of one width."""
        return [self.classifier_params(i, gamma) for i in range(self.lambdas.size)]

    def classifier_params(self, i: int, gamma: float | None) -> dict[str, Any]:
        """Parameters that distinguish the i-th classifier of a width."""
        lam = float(self.lambdas[i])
        return {"lambda": lam} if gamma is None else {"lambda": lam, "gamma": gamma}

    def classifier(
        self,
        i: int,
        classes: NDArray[Any],
        scaling: Scaling,
        kernel: Kernel,
        svm: OneVsOneSVM,
        support_vectors: FloatArray,
    ) -> SVMClassifier:
        """Create the i-th classifier, already fitted."""
        unfitted = SVMClassifier(
            float(self.lambdas[i]),
            kernel=self.kernel,
            # Replace automatic settings by the fitted values; a linear kernel has no width.
            gamma=self.gamma if count_widths(self.gamma) == 1 else kernel.gamma or "sigest",
            n_components=self.n_components,
            scale=bool((scaling.width != 1.0).any() or scaling.shift.any()) if self.scale == AUTO_SCALE else self.scale,
            random_state=self.seed,
        )
        return unfitted.set_fitted(classes, scaling, kernel, svm, support_vectors)
