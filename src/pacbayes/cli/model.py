"""From the arguments of `pacbayes certify` to an unfitted estimator."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from typer import BadParameter

from pacbayes._utils.checks import check_choice, check_level, did_you_mean
from pacbayes._utils.words import printable
from pacbayes.bounds.distances import CATONI, get_distance
from pacbayes.certificates.limits import COST, Cost
from pacbayes.certificates.sentences import WORDS
from pacbayes.certificates.voting import SOFT, VOTINGS
from pacbayes.cli.options import parse_share
from pacbayes.data.class_names import aligned, as_cells
from pacbayes.data.columns import Columns, preparation
from pacbayes.data.division import DUPLICATES, INDEPENDENT, SPLITS

# As in ensemble/families.py, which takes long to import; a test compares.
PORTFOLIO = ("svm", "forest", "boosting", "logistic", "neighbours")
PREDICTIONS = "predictions"
# More values than anybody means.
_MOST_LAMBDAS = 100_000


@dataclass(frozen=True)
class CertifyOptions:
    """What the user asked for."""

    candidates: str
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
    voting: str = "auto"
    limits: tuple[str, ...] = ()
    cost: Path | None = None
    max_error: float | None = None
    recall: float | None = None
    precision: float | None = None
    fpr: float | None = None
    positive: str | None = None
    refit: bool = False

    @classmethod
    def usual(cls) -> "CertifyOptions":
        """Return what is done where nothing is asked for."""
        return cls(
            candidates="auto",
            lambdas=None,
            kernel=None,
            grid=None,
            delta=0.05,
            distances=("kl",),
            split="shared",
            validation_size="auto",
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
        check_choice("--split", self.split, SPLITS)
        check_choice("--voting", self.voting, ("auto", *VOTINGS))
        check_choice("--prior", self.prior, ("uniform", "cross-validation"))
        everywhere = "with --split independent every example validates some classifier"
        if self.split == INDEPENDENT and CATONI in self.distances:
            raise ValueError(
                f"--distance catoni takes its C from the training part, and {everywhere}: fix it beforehand, as in "
                "--distance 'catoni(0.4)'"
            )
        if self.split == INDEPENDENT and self.prior != "uniform":
            raise ValueError(f"--prior {self.prior} comes from the training part, and {everywhere}")
        check_choice("--duplicates", self.duplicates, DUPLICATES)
        if self.grouped and self.duplicates == "together":
            raise ValueError("--duplicates together is not for --group: a group counts once, whatever copies it holds")
        check_choice("--kernel", self.kernel or "rbf", ("rbf", "linear", "nystroem"))
        self.size()
        self.resolved_hedge()
        if self.voting == SOFT and (self.split == INDEPENDENT or self.resolved_hedge() == 1.0):
            raise ValueError("--voting soft needs what the training part proposes: --split shared, and --hedge below 1")
        self._check_questions()
        if self.lambdas is not None:
            parse_lambdas(self.lambdas)
        if self.seed < 0:
            raise ValueError(f"--seed must not be negative, got {self.seed}")
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"--jobs must be at least 1, got {self.jobs}")
        self._check_candidates()

    @property
    def families(self) -> list[str]:
        """The families that candidates name; a full name of a classifier is one."""
        names = [name.strip() for name in self.candidates.split(",")]
        return list(PORTFOLIO) if names == ["auto"] else names

    @property
    def machines(self) -> bool:
        """Whether there are support vector machines among the candidates."""
        return "svm" in self.families

    def _check_candidates(self) -> None:
        """Raise for candidates that nobody knows, and for options that are for others."""
        unknown = [name for name in self.families if name not in PORTFOLIO]
        if unknown and (len(self.families) > 1 or "." not in unknown[0]):
            raise ValueError(
                f"--candidates must be auto, some of {', '.join(PORTFOLIO)}, or one full name of a classifier under "
                f"sklearn., such as sklearn.tree.DecisionTreeClassifier; got {self.candidates!r}"
                f"{did_you_mean(unknown, ('auto', *PORTFOLIO))}"
            )
        if len(set(self.families)) < len(self.families):
            raise ValueError(f"--candidates must name each family once, got {self.candidates!r}")
        if not unknown and self.grid is not None:
            raise ValueError("--grid is for the full name of a classifier; the grid of svm is --lambdas")
        if not self.machines and (self.lambdas is not None or self.kernel is not None):
            others = f"the grid of {self.candidates} is --grid FILE.json" if unknown else "other families have none"
            raise ValueError(f"--lambdas and --kernel are for svm; {others}")
        if self.split == INDEPENDENT and self.families != ["svm"]:
            raise ValueError(f"--split independent is for --candidates svm, as in the paper, got {self.candidates!r}")

    def _check_questions(self) -> None:
        """Raise for limits that are not proved, and for targets that are none."""
        for name, value in self.targets.items():
            if value is not None and not 0.0 < value < 1.0:
                example = 0.9 if name in ("--recall", "--precision") else 0.05
                raise ValueError(f"{name} must be a share between 0 and 1, such as {example}, got {value!r}")
        limits = "--limits (and --by-class, --slice, --cost)"
        asks = bool(self.limits) or self.cost is not None
        targets = [name for name, value in self.targets.items() if value is not None]
        if asks and targets:
            raise ValueError(f"{limits} are not for {targets[0]}, which is tested at the whole of delta")
        self._check_targets(targets)
        asked = limits if asks else targets[0] if targets else "--refit" if self.refit else None
        if asked is None:
            return
        if self.grouped and (self.limits or targets):
            raise ValueError(
                f"{'--limits (and --by-class, --slice)' if self.limits else asked} is not for --group: where examples "
                "come in groups, limits of costs alone are proved (--cost, for classifiers that are trained here)"
            )
        if self.split == INDEPENDENT or self.resolved_hedge() == 1.0:
            raise ValueError(f"{asked} needs what the training part proposes: --split shared, and --hedge below 1")

    @property
    def targets(self) -> dict[str, float | None]:
        """What may be asked for instead of a bound of all errors, by option."""
        named = {"--max-error": self.max_error, "--recall": self.recall}
        return named | {"--precision": self.precision, "--fpr": self.fpr}

    def _check_targets(self, given: list[str]) -> None:
        """Raise for targets that do not go together, or with what else is asked for."""
        by_threshold = [name for name in given if name != "--max-error"]
        if by_threshold and self.max_error is not None:
            raise ValueError(f"--max-error is not for {by_threshold[0]}: it leaves examples out, a threshold none")
        if by_threshold and self.voting not in ("auto", "soft"):
            raise ValueError(f"{by_threshold[0]} is for --voting soft: a threshold is one of its probability")
        if given and self.refit:
            raise ValueError(f"--refit is not for {given[0]}: what was tested belongs to the certified vote")

    @property
    def target(self) -> Any:
        """The target as the estimator takes it, None without one."""
        from pacbayes.certificates.decisions import Abstain, Threshold

        if self.max_error is not None:
            return Abstain(self.max_error)
        if self.recall is None and self.precision is None and self.fpr is None:
            return None
        return Threshold(recall=self.recall, precision=self.precision, fpr=self.fpr)

    def positive_of(self, classes: Sequence[Any]) -> Any:
        """Class that --positive names as the file or a screen writes it; None where the option is not used."""
        if self.positive is None:
            return None
        named = {str(label): label for label in classes}
        cells = as_cells(np.array([*named], dtype=object))
        shown = dict(zip(map(printable, named), named.values(), strict=True))
        written = dict(zip(cells, named.values(), strict=True)) | shown | named
        # Of numbers and truth values any spelling will do: 02 for 2, true for True.
        spelled = aligned([self.positive], [*named], "--positive")[0]
        name = self.positive if self.positive in written else spelled
        if name not in written:
            raise ValueError(
                f"--positive must be one of the classes {', '.join(named)}, got {self.positive!r}"
                f"{did_you_mean([self.positive], named)}"
            )
        return written[name]

    def resolved_lambdas(self) -> list[float] | None:
        """Return the grid of a support vector machine, the usual one where none was asked for; None for others."""
        from pacbayes.ensemble.families import FEW_LAMBDAS

        if not self.machines:
            return None
        return list(FEW_LAMBDAS) if self.lambdas is None else parse_lambdas(self.lambdas)

    def resolved_hedge(self) -> float | str:
        """Return the share of delta kept for what the validation examples may show, or "auto"."""
        if self.hedge == "auto":
            return self.hedge
        try:
            share = parse_share(self.hedge)
        except BadParameter:
            raise ValueError(f"--hedge must be auto or a number from 0 to 1, got {self.hedge!r}") from None
        if share < 1.0 and self.split == INDEPENDENT:
            raise ValueError("--hedge below 1 is for --split shared: else every example validates some classifier")
        return share

    def size(self) -> float | int | str:
        """Return the validation size: a number of examples, a fraction, or "auto"."""
        if self.validation_size == "auto":
            return self.validation_size
        try:
            return int(self.validation_size)
        except ValueError:
            pass
        try:
            return parse_share(self.validation_size)
        except BadParameter:
            raise ValueError(
                f"--validation-size must be auto, a fraction or a number of examples, got {self.validation_size!r}"
            ) from None


def parse_limits(text: str | None, by_class: bool) -> tuple[str, ...]:
    """Return the names of the risks that limits are wanted of; errors by class may have been asked for otherwise.

    Examples
    --------
    >>> parse_limits("recall, f1", True), parse_limits(None, False)
    (('error', 'recall', 'f1'), ())
    >>> parse_limits("recal", False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: --limits must be some of error, recall, precision, f1, ...; got 'recal'; did you mean 'recall'?
    """
    known = [name for name in WORDS if name != COST]
    named = [] if text is None else [name.strip() for name in text.split(",")]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise ValueError(
            f"--limits must be some of {', '.join(known)}, as in recall,f1; got {text!r}"
            f"{' (costs: --cost FILE)' if COST in unknown else did_you_mean(unknown, known)}"
        )
    if len(set(named)) < len(named):
        raise ValueError(f"--limits must name each risk once, got {text!r}")
    return tuple(["error"] if by_class and "error" not in named else []) + tuple(named)


def make_model(options: CertifyOptions, columns: Columns, cost: Cost | None = None, classes: Sequence[Any] = ()) -> Any:
    """Return an unfitted estimator for columns of these types."""
    from pacbayes.estimators.classifier import CertifiedClassifier
    from pacbayes.estimators.svc import StochasticSVC

    alone = options.families == ["svm"]
    params: dict[str, Any] = {
        "validation_size": options.size(),
        "distance": options.distances[0] if len(options.distances) == 1 else list(options.distances),
        "prior": options.prior,
        "delta": options.delta,
        "hedge": options.resolved_hedge(),
        "voting": options.voting,
        "pos_label": options.positive_of(classes),
        "duplicates": options.duplicates,
        "random_state": options.seed,
        "checkpoint": None if options.checkpoint is None else str(options.checkpoint),
        # SVMs use threads of their own; other classifiers are given one for each core.
        "n_jobs": options.jobs if alone else options.jobs or -1,
    }
    if options.split == INDEPENDENT:
        if not columns.plain:
            names = ", ".join(map(repr, dict.fromkeys((*columns.categorical, *columns.missing))))
            raise ValueError(
                f"--split independent is for columns of numbers without missing values, unlike {names}: leave them out "
                "with --drop, or use --split shared"
            )
        kernel = options.kernel or "rbf"
        return StochasticSVC(options.resolved_lambdas(), kernel=kernel, split=INDEPENDENT, **params)
    prepare = preparation(columns)
    candidates = _candidates(options, prepare)
    return CertifiedClassifier(
        candidates[0] if len(candidates) == 1 else candidates,
        prepare=prepare,
        limits=options.limits if cost is None else (*options.limits, cost),
        target=options.target,
        refit=options.refit,
        **params,
    )


def _candidates(options: CertifyOptions, prepare: Any) -> list[Any]:
    """Return what the estimator takes: names, machines with their settings, or a grid of one classifier."""
    from pacbayes.ensemble.families import Grid, SVMs
    from pacbayes.ensemble.portfolio import AUTO, FAMILIES, classifier_by_name

    found: list[Any] = []
    given = options.lambdas is not None or options.kernel is not None
    if not given and options.candidates.strip() == "auto":
        return [AUTO]
    for name in options.families:
        if name in FAMILIES or (name == "svm" and not given):
            found.append(name)
        elif name != "svm":
            found.append(Grid(*classifier_by_name(name, _read_grid(options.grid), prepare)))
        else:
            lambdas = None if options.lambdas is None else options.resolved_lambdas()
            machines = SVMs(lambdas, kernel=options.kernel or "rbf")
            # Among others it needs its name.
            found.append(machines if len(options.families) == 1 else (name, machines))
    return found


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
