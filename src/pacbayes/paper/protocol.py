"""How the paper's classifiers were made: what it says, and what it leaves open."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pacbayes.classifiers.svm.kernels.kernel import fit_scaling
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_choice
from pacbayes.paper.profiles import LAMBDAS

#: The paper's confidence parameter: Mushroom's 0.00405 at H = 50, where no classifier errs, is its bound for no other.
DELTA = 0.01

SCALINGS = ("kernlab", "raw", "min-max")
SPLIT_SCHEMES = ("independent", "shared", "overlapping")
SIGMAS = ("per split", "once")
COSTS = ("1/lambda", "1/(2 lambda)", "1/(m lambda)")

#: The paper's nine data sets in its order; the two names that differ from its own say what was done to the data.
NINE = (
    "spambase", "bupa-leaky", "mammographic", "wdbc", "banknote", "mushroom-paper", "ionosphere", "waveform", "haberman"
)  # fmt: skip
#: A run of 1990 independent splits takes more than ten seconds on two cores.
LARGE = ("spambase", "mushroom-paper", "waveform")


@dataclass(frozen=True)
class Protocol:
    """One reading of the paper's protocol.

    Attributes
    ----------
    scaling : {"kernlab", "raw", "min-max"}
        "kernlab" is what `ksvm` does unless told otherwise: standardise by the training sample, but scale nothing when
        a column of it is constant.  "min-max" maps every column of the whole data set to [0, 1] before it is split.
    split : {"independent", "shared", "overlapping"}
        A training and a validation sample for every classifier, without common examples (what the paper describes); one
        of each for all; or one of each, the validation sample drawn from all examples that are not for the test,
        trained on or not.  The bounds are valid for the first two; the numbers of the paper's main table are those of
        the third, see `pacbayes reproduce protocols`.
    sigma : {"per split", "once"}
        `sigest` on every training sample, or once on the whole data set.
    cost : {"1/lambda", "1/(2 lambda)", "1/(m lambda)"}
        `C` of the support vector machine, m being the size of the training sample.
    """

    scaling: str = "kernlab"
    split: str = "independent"
    sigma: str = "per split"
    cost: str = "1/lambda"

    def __post_init__(self) -> None:
        for name, allowed in (("scaling", SCALINGS), ("split", SPLIT_SCHEMES), ("sigma", SIGMAS), ("cost", COSTS)):
            check_choice(name, getattr(self, name), allowed)

    def with_split(self, split: str) -> "Protocol":
        """Return the same protocol with another split scheme."""
        return replace(self, split=split)

    def to_dict(self) -> dict[str, str]:
        """Return the choices by name."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.scaling}, sigma {self.sigma}, C = {self.cost}"

    def lambdas(self, lambdas: FloatArray, n_train: int) -> FloatArray:
        """Return what `svm_set`, whose C is 1/lambda, has to be told.

        Examples
        --------
        >>> Protocol(cost="1/(2 lambda)").lambdas(np.array([0.1]), 100)
        array([0.2])
        """
        factor = {"1/lambda": 1.0, "1/(2 lambda)": 2.0, "1/(m lambda)": float(n_train)}[self.cost]
        return lambdas * factor

    def prepare(self, X: FloatArray) -> tuple[FloatArray, bool | str]:
        """Return the rows and the `scale` to hand to `svm_set`."""
        if self.scaling == "min-max":
            low, high = X.min(axis=0), X.max(axis=0)
            return (X - low) / np.where(high > low, high - low, 1.0), False
        return X, "kernlab" if self.scaling == "kernlab" else False

    def width_rows(self, X: FloatArray) -> FloatArray:
        """Return the rows a width that is estimated once is estimated from: prepared, and scaled if `svm_set` does."""
        rows, scale = self.prepare(X)
        return fit_scaling(rows, scale)(rows)


#: The protocol of every data set; `pacbayes reproduce protocols` shows what the alternatives give.
PROTOCOLS = {name: Protocol("raw") for name in (*NINE, "bupa")}


def small_grid() -> FloatArray:
    r"""Return the 500 values of the paper's second grid: 0.10, 0.11, ..., 5.00, and nine below.

    The nine are :math:`10^{-5} \cdot 10^{4k/9}`, k = 0..8: our reading of "a combination of arithmetic-geometric
    progression for the interval (1e-5, 0.1)", which the paper does not define; 500 - 491 = 9 is all it fixes.

    Examples
    --------
    >>> grid = small_grid()
    >>> grid.size, float(grid[0]), float(grid[9]), float(grid[-1])
    (500, 1e-05, 0.1, 5.0)
    """
    return np.concatenate([1e-5 * 10.0 ** (4.0 * np.arange(9) / 9.0), LAMBDAS[:491]])


def describe(value: Any) -> str:
    """Return how a data set is called in the paper's tables."""
    return {"bupa": "Bupa, no leak", "bupa-leaky": "Bupa", "mushroom-paper": "Mushroom"}.get(
        str(value), str(value).capitalize()
    )
