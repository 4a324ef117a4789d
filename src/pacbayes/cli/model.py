"""From the arguments of `pacbayes certify` to an unfitted estimator."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from pacbayes.bounds.registry import CATONI, get_distance
from pacbayes.certificates.classes import USUAL_SHARE
from pacbayes.certificates.voting import VOTINGS
from pacbayes.data.columns import Columns, preparation
from pacbayes.numeric.checks import check_choice, check_level

# More values than anybody means.
_MOST_LAMBDAS = 100_000


@dataclass(frozen=True)
class CertifyOptions:
    """What the user asked for."""

    estimator: str
    lambdas: str | None
    kernel: str | None
    grid: Path | None
    delta: float
    distances: tuple[str, ...]
    split: str
    validation_size: str
    seed: int
    jobs: int | None
    checkpoint: Path | None
    duplicates: str = "keep"
    grouped: bool = False
    prior: str = "uniform"
    hedge: str = "auto"
    voting: str = "stochastic"
    by_class: bool = False
    max_error: float | None = None
    below: float | None = None

    @classmethod
    def usual(cls) -> "CertifyOptions":
        """Return what is done where nothing is asked for."""
        return cls(
            estimator="svm",
            lambdas=None,
            kernel=None,
            grid=None,
            delta=0.05,
            distances=("kl",),
            split="shared",
            validation_size="0.5",
            seed=0,
            jobs=None,
            checkpoint=None,
        )

    def check(self) -> None:
        """Raise before any work, in the words of the command line."""
        check_level(self.delta)
        for name in self.distances:
            if name != CATONI:
                get_distance(name)
        check_choice("--split", self.split, ("shared", "independent"))
        check_choice("--voting", self.voting, VOTINGS)
        check_choice("--prior", self.prior, ("uniform", "cross-validation"))
        everywhere = "with --split independent every example validates some classifier"
        if self.split == "independent" and CATONI in self.distances:
            raise ValueError(
                f"--distance catoni takes its C from the training part, and {everywhere}: fix it beforehand, as in "
                "--distance 'catoni(0.4)'"
            )
        if self.split == "independent" and self.prior != "uniform":
            raise ValueError(f"--prior {self.prior} comes from the training part, and {everywhere}")
        check_choice("--duplicates", self.duplicates, ("keep", "together"))
        if self.grouped and self.duplicates == "together":
            raise ValueError("--duplicates together is not for --group: a group counts once, whatever copies it holds")
        check_choice("--kernel", self.kernel or "rbf", ("rbf", "linear", "nystroem"))
        self.size()
        self.resolved_hedge()
        self._check_questions()
        if self.lambdas is not None:
            parse_lambdas(self.lambdas)
        if self.seed < 0:
            raise ValueError(f"--seed must not be negative, got {self.seed}")
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"--jobs must be at least 1, got {self.jobs}")
        svm = self.estimator == "svm"
        if svm and self.grid is not None:
            raise ValueError("--grid is for other estimators; the grid of svm is --lambdas")
        if not svm and (self.lambdas is not None or self.kernel is not None):
            raise ValueError(f"--lambdas and --kernel are for svm; the grid of {self.estimator} is --grid FILE.json")
        if svm and self.checkpoint is not None and self.split == "shared":
            raise ValueError(
                "--checkpoint is for --split independent and for other estimators: the machines of a shared split are "
                "trained as one"
            )

    def _check_questions(self) -> None:
        """Raise for limits that are not proved, and for targets that are none."""
        for name, value in (("--max-error", self.max_error), ("--below", self.below)):
            if value is not None and not 0.0 < value < 1.0:
                raise ValueError(f"{name} must be a share between 0 and 1, such as 0.05, got {value!r}")
        if self.by_class and self.max_error is not None:
            raise ValueError("--by-class and --slice are not for --max-error, which is tested at the whole of delta")
        asked = "--by-class (and --slice)" if self.by_class else "--max-error" if self.max_error is not None else None
        if asked is None:
            return
        if self.grouped:
            raise ValueError(f"{asked} is not for --group: no such limit is proved where examples come in groups")
        if self.split == "independent" or self.resolved_hedge() == 1.0:
            raise ValueError(f"{asked} needs what the training part proposes: --split shared, and --hedge below 1")

    def resolved_lambdas(self) -> list[float] | None:
        """Return the grid of a support vector machine, the usual one where none was asked for; None for others."""
        from pacbayes.estimators.svc import DEFAULT_LAMBDAS

        if self.estimator != "svm":
            return None
        return list(DEFAULT_LAMBDAS) if self.lambdas is None else parse_lambdas(self.lambdas)

    def resolved_hedge(self) -> float | str:
        """Return the share of delta kept for what the validation examples may show, or "auto"."""
        if self.hedge == "auto":
            return self.hedge
        try:
            share = float(self.hedge)
        except ValueError:
            share = math.nan
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"--hedge must be auto or a number from 0 to 1, got {self.hedge!r}")
        if share < 1.0 and self.split == "independent":
            raise ValueError("--hedge below 1 is for --split shared: else every example validates some classifier")
        return share

    def size(self) -> float | int:
        """Return the validation size: a number of examples, or a fraction."""
        try:
            return int(self.validation_size)
        except ValueError:
            pass
        try:
            return float(self.validation_size)
        except ValueError:
            raise ValueError(
                f"--validation-size must be a fraction or a number of examples, got {self.validation_size!r}"
            ) from None


def make_model(options: CertifyOptions, columns: Columns) -> Any:
    """Return an unfitted estimator for columns of these types."""
    from pacbayes.estimators.by_name import classifier_by_name
    from pacbayes.estimators.classifier import StochasticClassifier
    from pacbayes.estimators.svc import StochasticSVC

    prepare = preparation(columns)
    common: dict[str, Any] = {
        "split": options.split,
        "validation_size": options.size(),
        "distance": options.distances[0] if len(options.distances) == 1 else list(options.distances),
        "prior": options.prior,
        "delta": options.delta,
        "hedge": options.resolved_hedge(),
        "voting": options.voting,
        "class_share": USUAL_SHARE if options.by_class else 0.0,
        "max_error": options.max_error,
        "duplicates": options.duplicates,
        "random_state": options.seed,
        "checkpoint": None if options.checkpoint is None else str(options.checkpoint),
    }
    if options.estimator != "svm":
        pipeline, grid = classifier_by_name(options.estimator, _read_grid(options.grid), prepare)
        return StochasticClassifier(pipeline, grid, n_jobs=options.jobs or -1, **common)
    lambdas = options.resolved_lambdas()
    kernel = options.kernel or "rbf"
    if prepare is None or options.split == "shared":
        return StochasticSVC(lambdas, kernel=kernel, prepare=prepare, n_jobs=options.jobs, **common)
    # With independent splits each machine prepares the rows it is trained on, all over again.
    from sklearn.pipeline import Pipeline

    from pacbayes.classifiers.svm.svm_classifier import SVMClassifier

    pipeline = Pipeline([("prepare", prepare), ("model", SVMClassifier(kernel=kernel))])
    return StochasticClassifier(pipeline, {"model__lam": lambdas}, n_jobs=options.jobs or -1, **common)


def _read_grid(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"--grid: cannot read {str(path)!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"--grid: {str(path)!r} is not JSON: {error}") from None


def parse_lambdas(text: str) -> list[float]:
    """Return the grid that ``a:b:s`` (a, a + s, ... below b) or ``x,y,z`` stands for.

    Decimal arithmetic: 0.1:20:0.01 is the paper's grid of 1990 values, each the double nearest to its decimals.

    Examples
    --------
    >>> parse_lambdas("0.1:0.5:0.1")
    [0.1, 0.2, 0.3, 0.4]
    >>> len(parse_lambdas("0.1:20:0.01")), parse_lambdas("0.1:20:0.01")[-1]
    (1990, 19.99)
    >>> parse_lambdas("10,0.5")
    [10.0, 0.5]
    >>> parse_lambdas("1:2")
    Traceback (most recent call last):
    ValueError: --lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got '1:2'
    """
    wrong = ValueError(
        f"--lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got {text!r}"
    )
    parts = text.split(":") if ":" in text else text.split(",")
    try:
        numbers = [Decimal(part.strip()) for part in parts]
    except InvalidOperation:
        raise wrong from None
    if (":" in text and len(numbers) != 3) or not all(number.is_finite() for number in numbers):
        raise wrong
    if min(numbers) <= 0 or math.isinf(float(max(numbers))) or float(min(numbers)) == 0.0:
        raise ValueError(f"--lambdas must be positive numbers, got {text!r}")
    if ":" not in text:
        return [float(number) for number in numbers]
    start, stop, step = numbers
    if stop <= start:
        raise ValueError(f"--lambdas START:STOP:STEP needs a STOP above START, got {text!r}")
    if (stop - start) / step > _MOST_LAMBDAS:
        raise ValueError(f"--lambdas must be at most {_MOST_LAMBDAS} values, got {text!r}")
    count = math.ceil((stop - start) / step)
    return [float(start + i * step) for i in range(count)]
