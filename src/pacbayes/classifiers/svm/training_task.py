"""What is to be trained, checked: the arguments of `svm_set` as its two ways of training receive them."""

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from pacbayes.classifiers.svm.kernel import Kernel, Scaling
from pacbayes.classifiers.svm.landmarks import N_COMPONENTS
from pacbayes.classifiers.svm.machines import OneMachine
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier
from pacbayes.data.division import Splits
from pacbayes.numeric.arrays import FloatArray, Rows


@dataclass(frozen=True)
class SvmTrainingTask:
    """Data, grid and choices; class numbers instead of labels."""

    X: FloatArray
    codes: Rows
    classes: NDArray[Any]
    lambdas: FloatArray
    kernel: str
    gamma: float | str
    scale: bool | str
    splits: Splits
    seed: int
    jobs: int
    #: Validation rows with an equal training row; None where that is not known.
    copies: int | None = None
    #: Fitted on the training rows of a shared split; X is what it made of the rows.
    prepare: Any = None
    #: Landmarks of the kernel "nystroem".
    n_components: int = N_COMPONENTS
    keep_error_rows: bool = False

    def params(self, gammas: list[float | None]) -> list[dict[str, Any]]:
        """Return what distinguishes each classifier."""
        return [
            {"lambda": float(lam)} if gamma is None else {"lambda": float(lam), "gamma": gamma}
            for lam, gamma in zip(self.lambdas, gammas, strict=True)
        ]

    def with_rows(self, X: FloatArray) -> "SvmTrainingTask":
        """Return the task with other rows in place of the data, for machines that are trained already."""
        return replace(self, X=X, codes=self.codes[:0])

    def classifier(
        self, i: int, scaling: Scaling, kernel: Kernel, machine: OneMachine, support_vectors: FloatArray
    ) -> SVMClassifier:
        """Return the i-th classifier, fitted."""
        unfitted = SVMClassifier(
            float(self.lambdas[i]),
            kernel=self.kernel,
            gamma=self.gamma,
            n_components=self.n_components,
            scale=self.scale,
            random_state=self.seed,
        )
        return unfitted.take_over(self.classes, scaling, kernel, machine, support_vectors)
