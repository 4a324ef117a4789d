"""One support vector machine of a set as a scikit-learn classifier, and what those of a set were asked to be."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import check_choice, check_count, narrow_labels, need, need_array, need_choice, need_whole
from pacbayes._utils.seeds import generator
from pacbayes._utils.threads import one_thread
from pacbayes.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SVM_KERNELS,
    Gamma,
    Kernel,
    Scaling,
    check_gamma,
    check_scale,
    fit_kernels,
    fit_scaling,
    number_of_widths,
)
from pacbayes.svm.landmarks import N_COMPONENTS, choose_landmarks, nystroem_map, train_on_features
from pacbayes.svm.one_vs_one import OneVsOnePaths, OneVsOneSVM, blocks, train_one_vs_one
from pacbayes.svm.path import check_lambdas


class SVMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    r"""Support vector machine with :math:`C = 1/\lambda` that scales its input as it did its training sample.

    A `ClassifierSet` hands these out fitted; `fit` trains one on another sample.  Several classes are told apart by
    one-vs-one machines and scikit-learn's `SVC` vote.  Decisions that are zero up to rounding count as zero.

    Parameters
    ----------
    lam : float
        Regularisation parameter.
    kernel : {"rbf", "linear", "nystroem"}
    gamma : float or "sigest"
        Width of the Gaussian kernel; see `sigest`.
    n_components : int
        Landmarks of "nystroem"; see `svm_set`.
    scale : bool or "kernlab"
        Standardise the columns; see `svm_set`.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For `sigest` and landmarks.

    Examples
    --------
    >>> from pacbayes.svm import SVMClassifier
    >>> machine = SVMClassifier(0.1, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> machine.predict([[1.4], [1.6]]).tolist()
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
        """Train on another sample with the same parameters."""
        lambdas = check_lambdas([self.lam])
        check_choice("kernel", self.kernel, SVM_KERNELS)
        gamma, scale, n_components = (
            check_gamma(self.gamma),
            check_scale(self.scale),
            check_count("n_components", self.n_components),
        )
        if scale == AUTO_SCALE or number_of_widths(gamma) > 1:
            raise ValueError(f"one machine has one width and one scaling, got gamma={gamma!r}, scale={scale!r}")
        features, labels = validate_data(self, X, narrow_labels(y), dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"y must hold at least two classes, got class {classes[0].item()!r} only")
        with one_thread():
            rng = generator(self.random_state)
            scaling, kernel, places, svms = train_one(
                features, codes, lambdas, self.kernel, gamma, scale, n_components, rng, rng
            )
        machine = svms.one(0)
        return self.take_over(classes, scaling, kernel, machine, scaling(features[places[machine.support]]))

    def take_over(
        self, classes: NDArray[Any], scaling: Scaling, kernel: Kernel, machine: OneVsOneSVM, support_vectors: FloatArray
    ) -> Self:
        """Become fitted by what training elsewhere found; the support vectors are scaled."""
        self.classes_ = classes[machine.codes]
        self.n_features_in_ = support_vectors.shape[1]
        self.gamma_ = kernel.gamma
        self.support_vectors_ = support_vectors
        self._labels, self._scaling, self._kernel, self._machine = classes, scaling, kernel, machine
        return self

    def check_state(self) -> None:
        """Raise unless a machine that no constructor has made, but skops, is one on its own support vectors."""
        if not hasattr(self, "_machine"):  # not fitted
            return
        need(isinstance(self._labels, np.ndarray) and self._labels.ndim == 1, "SVMClassifier._labels", "must be labels")
        parts = ((self._machine, OneVsOneSVM), (self._scaling, Scaling), (self._kernel, Kernel))
        for part, kind in parts:
            need(type(part) is kind, "SVMClassifier", f"must have a {kind.__name__}")
            part.__post_init__()
        need(int(self._machine.codes[-1]) < self._labels.size, "OneVsOneSVM.codes", "must be classes")
        size, width = self._machine.coefs.shape[1], self._scaling.shift.size
        need_array(self.support_vectors_, "SVMClassifier.support_vectors_", "f", (size, width))
        need(
            type(self.n_features_in_) is int and self.n_features_in_ == width,
            "SVMClassifier.n_features_in_",
            "is wrong",
        )

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return decision values as scikit-learn's `SVC` does: shape (n,) for two classes, else (n, classes)."""
        decisions = self._decisions(X)
        return decisions[:, 0] if self.classes_.size == 2 else self._machine.votes(decisions)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted labels, shape (n,)."""
        decisions = self._decisions(X)
        return self._labels[self._machine.predict(decisions)]

    def _decisions(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        new = validate_data(self, X, dtype=np.float64, reset=False)
        decisions = np.empty((len(new), len(self._machine.pairs)))
        with one_thread():
            for block in blocks(len(new), self._machine.support.size + new.shape[1] + 4 * decisions.shape[1]):
                K = self._kernel.between(self.support_vectors_, self._scaling(new[block]))
                decisions[block] = self._machine.decisions(K)
        return decisions


def train_one(
    features: FloatArray,
    codes: Rows,
    lambdas: FloatArray,
    kernel: str,
    gamma: Gamma,
    scale: bool | str,
    n_components: int,
    of_width: np.random.Generator,
    of_landmarks: np.random.Generator,
) -> tuple[Scaling, Kernel, Rows, OneVsOnePaths]:
    """Train a machine with a scaling and a width of its own; the rows are those that its coefficients belong to."""
    scaling = fit_scaling(features, scale)
    rows = scaling(features)
    (fitted,) = fit_kernels(rows, kernel, gamma, of_width)
    if kernel == NYSTROEM:
        places = choose_landmarks(len(rows), n_components, of_landmarks)
        found = nystroem_map(rows[places], fitted)
        return scaling, fitted, places, train_on_features(found, found.features(rows), codes, lambdas)
    svms = train_one_vs_one(lambda part: fitted.gram(rows[part]), codes, lambdas)
    return scaling, fitted, np.arange(len(rows)), svms


@dataclass(frozen=True, eq=False)
class SVMSettings:
    """What the machines of a set were asked to be, one for each width and lambda."""

    lambdas: FloatArray
    kernel: str
    gamma: Gamma
    scale: bool | str
    #: Landmarks of the kernel "nystroem".
    n_components: int
    seed: int

    def __post_init__(self) -> None:
        need_array(self.lambdas, "SVMSettings.lambdas", "f", (None,))
        check_lambdas(self.lambdas)
        need_choice(self.kernel, "SVMSettings.kernel", SVM_KERNELS)
        check_gamma(self.gamma)
        need(type(self.scale) in (bool, str), "SVMSettings.scale", "must be True, False or a word")
        check_scale(self.scale)
        need_whole(self.n_components, "SVMSettings.n_components", 1)
        need(type(self.seed) is int and 0 <= self.seed < 2**4096, "SVMSettings.seed", "must be a seed")

    def params(self, gamma: float | None) -> list[dict[str, Any]]:
        """Return what distinguishes the classifiers of one width."""
        return [self.params_of(i, gamma) for i in range(self.lambdas.size)]

    def params_of(self, i: int, gamma: float | None) -> dict[str, Any]:
        """Return what distinguishes the i-th classifier of a width."""
        lam = float(self.lambdas[i])
        return {"lambda": lam} if gamma is None else {"lambda": lam, "gamma": gamma}

    def classifier(
        self,
        i: int,
        classes: NDArray[Any],
        scaling: Scaling,
        kernel: Kernel,
        machine: OneVsOneSVM,
        support_vectors: FloatArray,
    ) -> SVMClassifier:
        """Return the i-th classifier, fitted."""
        unfitted = SVMClassifier(
            float(self.lambdas[i]),
            kernel=self.kernel,
            # Of several widths, and of a scaling that was tried, its own; a linear kernel has no width at all.
            gamma=self.gamma if number_of_widths(self.gamma) == 1 else kernel.gamma or "sigest",
            n_components=self.n_components,
            scale=bool((scaling.width != 1.0).any() or scaling.shift.any()) if self.scale == AUTO_SCALE else self.scale,
            random_state=self.seed,
        )
        return unfitted.take_over(classes, scaling, kernel, machine, support_vectors)
