"""Common parameters of both estimators: validation, and training of the candidates."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checkpoint import checkpoint_subdirectory, resolve_run_seed
from pacbayes._utils.checks import warn_if_large_delta
from pacbayes._utils.units import resolve_n_jobs
from pacbayes.bounds.distance import CONSTANTS, Distance
from pacbayes.bounds.distances import Catoni
from pacbayes.certificates.compatibility import Choices, Words, python_words
from pacbayes.certificates.decisions import Decision, Threshold, positive_class_index
from pacbayes.certificates.levels import AUTO, hedged_level
from pacbayes.certificates.metrics import check_classes, parse_metrics
from pacbayes.certificates.primary import CROSS_VALIDATION, check_distances, prior_uses_data
from pacbayes.certificates.voting import SOFT, VOTINGS
from pacbayes.data.dataset import Dataset
from pacbayes.data.preprocessing import check_preprocessor, resolve_preprocessor
from pacbayes.data.split import (
    DUPLICATES,
    SHARED,
    SPLITS,
    Split,
    SplitOptions,
    default_validation_size,
    find_units,
    make_training_split,
    split_rows,
)
from pacbayes.ensemble.candidates import GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import TrainedMembers, TrainingJob
from pacbayes.ensemble.cost import announce_cost
from pacbayes.ensemble.cross_validation import relative_training_cost
from pacbayes.ensemble.families import Family, SVMs, name_candidates, resolve_families
from pacbayes.ensemble.portfolio import Size, warn_about_omitted_families
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.ensemble.training import train_families, train_in_time
from pacbayes.estimators.rows import FitInput

#: Constraints of the common parameters of both estimators.
SHARED_CONSTRAINTS: dict[str, Any] = {
    "voting": [StrOptions({AUTO, *VOTINGS})],
    "delta": [Interval(Real, 0, 1, closed="neither")],
    "validation_size": [
        StrOptions({AUTO}),
        Interval(Integral, 1, None, closed="left"),
        Interval(Real, 0, 1, closed="neither"),
    ],
    "duplicates": [StrOptions(set(DUPLICATES))],
    "hedge": [StrOptions({AUTO}), Interval(Real, 0, 1, closed="both")],
    "prior": [StrOptions({"uniform", CROSS_VALIDATION}), "array-like", callable],
    "distance": [str, Distance, list, tuple],
    "metrics": [tuple, list],
    "metrics_share": [Interval(Real, 0, 1, closed="neither")],
    "pos_label": "no_validation",
    "cv": [StrOptions({AUTO}), Interval(Integral, 2, None, closed="left"), None],
    "n_jobs": [Integral, None],
    "checkpoint": "no_validation",
    "random_state": "no_validation",
}
#: Constraints of further parameters of `StochasticSVC`.
PAPER_CONSTRAINTS: dict[str, Any] = {"split": [StrOptions(set(SPLITS))], "constant": [StrOptions(set(CONSTANTS))]}


@dataclass(frozen=True, eq=False)
class Recipe:
    """Parameters of a fit, named as those of `CertifiedClassifier`."""

    candidates: Any
    preprocessor: Any
    voting: str
    delta: float
    validation_size: Any
    duplicates: str
    hedge: float | str
    prior: Any
    distance: Any
    metrics: Any
    metrics_share: float
    decision: Decision | None
    pos_label: Any
    refit: bool
    cv: int | str | None
    n_jobs: int | None
    checkpoint: Any
    random_state: Any
    split: str = SHARED
    constant: str = "exact"
    #: Whether X must be numeric.
    numeric: bool = False
    #: Seconds; None for no limit.
    time_limit: float | None = None

    @property
    def refit_voting(self) -> str | None:
        """Voting of the refitted model; None without a refit."""
        return (SOFT if self.voting == AUTO else self.voting) if self.refit else None

    def choices(self, **others: Any) -> Choices:
        """Parameters for the validation of their combination."""
        names = ("voting", "hedge", "split", "cv", "prior", "distance", "decision", "refit", "duplicates")
        metrics = parse_metrics(self.metrics, self.pos_label)
        return Choices(metrics=metrics, **{name: getattr(self, name) for name in names}, **others)

    # -- validation --------------------------------------------------------------------------------------------------

    def validate(self, choices: Choices, words: Words = python_words) -> Recipe:
        """Raise for incompatible parameters; return a copy with `hedge` resolved."""
        # Placeholder, because Catoni's parameter is determined later, on the training set.
        check_distances(self.distance, catoni=Catoni(1.0))
        choices.validate(words)
        hedge, level = choices.resolved_hedge, float(self.delta)
        if hedge > 0.0 and hedged_level(level, hedge, 1) == 0.0:
            raise ValueError(f"hedge * delta must not underflow to 0, got {hedge!r} * {level!r}")
        if self.time_limit is not None and self.checkpoint is not None:
            raise ValueError(
                f"{words('time_limit')} cannot be combined with {words('checkpoint')}: which families are "
                "trained depends on the speed of the computer"
            )
        if callable(self.prior):
            prior_uses_data(self.prior, self.split == SHARED)
        return replace(self, hedge=hedge)

    def check_candidates(self) -> None:
        """Raise for invalid candidates."""
        if self.candidates is None:
            raise ValueError(
                "candidates must not be None, as it is after from_fitted: set candidates, or call "
                "CertifiedClassifier.from_fitted with fitted classifiers"
            )
        if not isinstance(self.preprocessor, str):
            check_preprocessor(self.preprocessor, self.split)
        families = resolve_families(self.candidates, None, Size(100))
        if any(isinstance(family, SvmFamily) for family in families):
            # Reject invalid settings of grids before training SVMs, which takes time.
            plan_candidates([family for family in families if isinstance(family, GridFamily)], 0)
        for family in families:
            family.check_split(self.split)

    def check_classes(self, data: Dataset) -> None:
        """Raise if metrics or decisions refer to unknown classes; warn if delta looks like a confidence."""
        warn_if_large_delta(self.delta)
        check_classes(self.metrics, self.pos_label, data.classes)
        if isinstance(self.decision, Threshold):
            positive_class_index(self.pos_label, data.classes)
            if self.decision.cost is not None:
                self.decision.cost.validate(data.classes)

    # -- training ----------------------------------------------------------------------------------------------------

    def train(self, data: Dataset, rows: FitInput) -> TrainedMembers:
        """Split the rows and train the candidates on the training set."""
        warn_about_omitted_families(
            self.candidates, Size.from_data(data.rows, data.codes, self._resolve_preprocessor(data.rows))
        )
        units = find_units(data, self.duplicates)[1]
        n_units = data.n_rows if units is None else int(units.max()) + 1
        size = default_validation_size(n_units) if isinstance(self.validation_size, str) else self.validation_size
        spec = SplitOptions(self.split, size, rows.groups, self.duplicates, rows.validation)
        # Independent splits support SVMs only, whose number does not depend on the number of rows.
        svms = [family for family in self._families(data, data.codes[:2])[1] if isinstance(family, SvmFamily)]
        n_splits = 1 if self.split == SHARED else sum(family.n_svms for family in svms)
        split = split_rows(data, spec, n_splits, resolve_run_seed(self.random_state, self.checkpoint))
        return self._train(TrainingJob(data, split, self.n_jobs, self.checkpoint, spec.as_dict()))

    def train_all(self, data: Dataset, split: Split) -> TrainedMembers:
        """Train the candidates on all rows."""
        checkpoint = checkpoint_subdirectory(self.checkpoint, "refit")
        return self._train(TrainingJob(data, make_training_split(split), self.n_jobs, checkpoint, {"refit": True}))

    def _train(self, work: TrainingJob) -> TrainedMembers:
        # Without groups, the number of training rows does not depend on the seed.
        train = work.split(0)[0]
        size, families = self._families(work.data, work.data.codes[train])
        refits = relative_training_cost(self.cv, train.size)
        if self.time_limit is None:
            announce_cost(families, size, refits, resolve_n_jobs(self.n_jobs))
            return train_families(families, work)
        # The rest is for predictions and the posterior.
        share = 0.45 if self.refit else 0.9
        return train_in_time(families, work, size, refits, time.monotonic() + share * self.time_limit)

    def _families(self, data: Dataset, train_codes: Rows) -> tuple[Size, list[Family]]:
        preprocessor = self._resolve_preprocessor(data.rows)
        size = Size.from_data(data.rows, train_codes, preprocessor)
        return size, resolve_families(self.candidates, preprocessor, size)

    def _resolve_preprocessor(self, rows: Any) -> Any:
        """Preprocessor of the built-in families; for "auto", None if there are no built-in families."""
        built_in = any(isinstance(candidate, str | SVMs) for _, candidate in name_candidates(self.candidates))
        return (
            resolve_preprocessor(self.preprocessor, rows)
            if built_in or not isinstance(self.preprocessor, str)
            else None
        )
