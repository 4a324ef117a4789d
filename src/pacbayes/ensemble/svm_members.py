"""Support vector machines that share scaling, training rows and kernel blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows
from pacbayes._utils.checks import make_read_only, require
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes.data.preprocessing import apply_preprocessor
from pacbayes.ensemble.calibration import PAIRS
from pacbayes.ensemble.members import Calibrations, Coding, Predictions, smallest_code_dtype
from pacbayes.ensemble.quick import to_numeric_table
from pacbayes.svm.kernel import Kernel, Scaling
from pacbayes.svm.one_vs_one import OneVsOnePaths, row_blocks
from pacbayes.svm.svm_classifier import SVMSettings


@dataclass(frozen=True, eq=False)
class KernelSVMs:
    """SVMs that share the scaling and their expansion rows: the training rows, or landmarks among them.

    There is an SVM for each kernel and each lambda; those of the first kernel come first.
    """

    settings: SVMSettings
    classes: Labels
    scaling: Scaling
    #: Kernel of each width.
    kernels: tuple[Kernel, ...]
    #: Scaled expansion rows.
    rows: FloatArray
    #: Regularisation paths of each kernel.
    svms: tuple[OneVsOnePaths, ...]
    #: Transformer to numeric rows, fitted on the training rows; None for numeric rows.
    preprocessor: Any = None

    def __post_init__(self) -> None:
        make_read_only(self.classes)

    def __len__(self) -> int:
        return len(self.kernels) * int(self.settings.lambdas.size)

    def __getitem__(self, i: int) -> Any:
        """Create a classifier from SVM i, in a pipeline with the preprocessor if there is one."""
        k, position = divmod(i, self.settings.lambdas.size)
        svm, kernel = self.svms[k].svm(position), self.kernels[k]
        classifier = self.settings.classifier(position, self.classes, self.scaling, kernel, svm, self.rows[svm.support])
        return classifier if self.preprocessor is None else make_pipeline(self.preprocessor, classifier)

    @property
    def trained_classes(self) -> Rows:
        """Codes of the classes among the training rows."""
        return self.svms[0].codes

    @property
    def params(self) -> list[dict[str, Any]]:
        """Lambda and kernel width of each SVM."""
        return [params for kernel in self.kernels for params in self.settings.params(kernel.gamma)]

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """SVMs that could not be trained: none."""
        return []

    @property
    def kkt_violation(self) -> FloatArray:
        """KKT violation of each SVM, the maximum over pairs of classes."""
        return np.concatenate([svms.kkt_violation for svms in self.svms])

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether each SVM converged for all pairs of classes."""
        return np.concatenate([svms.converged for svms in self.svms])

    def preprocess(self, X: Any) -> FloatArray:
        """Convert new rows to numbers."""
        table = to_numeric_table(X) if self.preprocessor is None else apply_preprocessor(self.preprocessor, X)
        rows: FloatArray = check_array(X, dtype=np.float64) if table is None else table
        n_columns = self.rows.shape[1]
        if rows.shape[1] != n_columns:
            what = "X must have" if self.preprocessor is None else "preprocessor must give every sample"
            raise ValueError(f"{what} {n_columns} columns, got {rows.shape[1]}")
        return rows

    def predict(self, X: FloatArray, indices: Rows, coding: Coding) -> Predictions:
        """Predict rows with some SVMs; class codes of shape (indices, n)."""
        y_pred = np.empty((indices.size, len(X)), dtype=smallest_code_dtype(coding.labels.size))
        with limit_to_one_thread(), progress("predictions", indices.size * len(X)) as advance:
            for kernel, positions, svms, rows in self._iter_by_kernel(indices):

                def kernel_block(block: slice, kernel: Kernel = kernel, rows: FloatArray = rows) -> FloatArray:
                    return kernel.between(rows, self.scaling(X[block]))

                for block, codes in svms.predict(kernel_block, len(X), len(rows)):
                    y_pred[positions, block] = codes
                    advance(codes.size)
        return y_pred

    def predict_assigned(self, X: FloatArray, assigned: Codes, coding: Coding) -> Codes:
        """Predict row j with SVM ``assigned[j]``."""
        codes = np.empty(assigned.size, dtype=np.intp)
        with limit_to_one_thread(), progress("predictions", assigned.size) as advance:
            for i in np.unique(assigned).tolist():
                k, position = divmod(i, self.settings.lambdas.size)
                svm, rows = self.svms[k].svm(position), np.flatnonzero(assigned == i)
                support = self.rows[svm.support]
                for block in row_blocks(rows.size, len(support) + X.shape[1] + 2 * len(svm.pairs)):
                    K = self.kernels[k].between(support, self.scaling(X[rows[block]]))
                    codes[rows[block]] = svm.predict(svm.decisions(K))
                advance(rows.size)
        return codes

    def mean_probabilities(self, X: FloatArray, weights: FloatArray, calibrations: Calibrations) -> FloatArray:
        """Compute the weighted sum of calibrated probabilities, shape (n, calibrated classes).

        The bits of a row do not depend on the other rows: decision values do not, and they are added in the order of
        the SVMs.
        """
        used = np.flatnonzero(weights)
        total = np.zeros((len(X), calibrations.classes.size))
        with limit_to_one_thread(), progress("probabilities", used.size * len(X)) as advance:
            for kernel, positions, svms, rows in self._iter_by_kernel(used):
                for block in row_blocks(len(X), len(rows) + X.shape[1] + 2 * len(svms.pairs)):
                    K = kernel.between(rows, self.scaling(X[block]))
                    for j, i in enumerate(used[positions].tolist()):
                        total[block] += weights[i] * calibrations.maps[i](svms.decisions_at(j, K))
                        advance(K.shape[1])
        return total

    def check_calibrations(self, calibrations: Calibrations) -> None:
        """Raise unless all maps are for decision values of the pairs of trained classes."""
        of_pairs = all(calibration.kind == PAIRS for calibration in calibrations.maps.values())
        require(of_pairs, "Calibration.kind", f"must be {PAIRS} for support vector machines")
        same = np.array_equal(calibrations.classes, self.trained_classes)
        require(same, "Calibrations.classes", "must be those of the support vector machines")

    def _iter_by_kernel(self, indices: Rows) -> Iterator[tuple[Kernel, Rows, OneVsOnePaths, FloatArray]]:
        """Yield kernel, positions in `indices`, SVMs and support vectors for each kernel with selected SVMs."""
        kernels, lambdas = np.divmod(indices, self.settings.lambdas.size)
        for k in np.unique(kernels).tolist():
            positions = np.flatnonzero(kernels == k)
            svms, support = self.svms[k].select(lambdas[positions])
            yield self.kernels[k], positions, svms, self.rows[: support.size][support]
