"""What a fit does, fixed before any row is looked at: the parameters of either estimator in one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from pacbayes._utils.checkpoint import part_of, seed_of_run
from pacbayes._utils.checks import warn_of_level
from pacbayes.bounds.distance import CONSTANTS, Distance
from pacbayes.bounds.distances import Catoni
from pacbayes.certificates.compatibility import Choices, Words, python_words
from pacbayes.certificates.decisions import Target, Threshold, positive_class
from pacbayes.certificates.levels import AUTO, hedged_level
from pacbayes.certificates.proposals import CROSS_VALIDATION, asks_for_data, check_distances
from pacbayes.certificates.risks import asked_for, check_classes
from pacbayes.certificates.voting import SOFT, VOTINGS
from pacbayes.data.division import (
    DUPLICATES,
    SHARED,
    SPLITS,
    Division,
    DivisionChoices,
    divide,
    find_units,
    training_division,
    usual_share,
)
from pacbayes.data.labelled import Labelled
from pacbayes.data.preprocessing import check_prepare, resolve_prepare
from pacbayes.ensemble.candidates import GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import Trained, Work
from pacbayes.ensemble.families import Family, SVMs, named_candidates, resolve_families, train_families
from pacbayes.ensemble.portfolio import Size, warn_left_out
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.estimators.rows import FitInput

#: The parameters that both estimators have.
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
    "limits": [tuple, list],
    "limits_share": [Interval(Real, 0, 1, closed="neither")],
    "pos_label": "no_validation",
    "cv": [Interval(Integral, 2, None, closed="left"), None],
    "n_jobs": [Integral, None],
    "checkpoint": "no_validation",
    "random_state": "no_validation",
}
#: Those of the paper's estimator alone.
PAPER_CONSTRAINTS: dict[str, Any] = {"split": [StrOptions(set(SPLITS))], "constant": [StrOptions(set(CONSTANTS))]}


@dataclass(frozen=True, eq=False)
class Recipe:
    """Candidates, how the rows are split, and what is certified: by the names of `CertifiedClassifier`'s parameters."""

    candidates: Any
    prepare: Any
    voting: str
    delta: float
    validation_size: Any
    duplicates: str
    hedge: float | str
    prior: Any
    distance: Any
    limits: Any
    limits_share: float
    target: Target | None
    pos_label: Any
    refit: bool
    cv: int | None
    n_jobs: int | None
    checkpoint: Any
    random_state: Any
    split: str = SHARED
    constant: str = "exact"
    #: Whether rows must be numbers.
    numeric: bool = False

    @property
    def refit_voting(self) -> str | None:
        """How the refitted model predicts; None without a refit."""
        return (SOFT if self.voting == AUTO else self.voting) if self.refit else None

    def choices(self, **others: Any) -> Choices:
        """Name the parameters that depend on each other."""
        names = ("voting", "hedge", "split", "cv", "prior", "distance", "target", "refit", "duplicates")
        limits = asked_for(self.limits, self.pos_label)
        return Choices(limits=limits, **{name: getattr(self, name) for name in names}, **others)

    # -- checks before any work --------------------------------------------------------------------------------------

    def check(self, choices: Choices, words: Words = python_words) -> Recipe:
        """Raise for what does not go together; return the recipe with its share of delta in reserve."""
        # Any parameter will do: the one that is used comes later, from the training rows.
        check_distances(self.distance, catoni=Catoni(1.0))
        choices.check(words)
        hedge, level = choices.resolved_hedge, float(self.delta)
        if hedge > 0.0 and hedged_level(level, hedge, 1) == 0.0:
            raise ValueError(f"hedge * delta must not be less than the smallest number, got {hedge!r} * {level!r}")
        if callable(self.prior):
            asks_for_data(self.prior, self.split == SHARED)
        return replace(self, hedge=hedge)

    def check_candidates(self) -> None:
        """Raise for candidates that cannot be trained."""
        if self.candidates is None:
            raise ValueError(
                "there is nothing to train: candidates is None, as from_fitted leaves it; give some, or call "
                "CertifiedClassifier.from_fitted with fitted classifiers"
            )
        if not isinstance(self.prepare, str):
            check_prepare(self.prepare, self.split)
        families = resolve_families(self.candidates, None, Size(100))
        if any(isinstance(one, SvmFamily) for one in families):
            # Before the machines are trained: settings that do not fit their estimator.
            plan_candidates([one for one in families if isinstance(one, GridFamily)], 0)
        for one in families:
            one.check(self.split)

    def check_classes(self, data: Labelled) -> None:
        """Raise for questions about classes that there are none of; warn of a delta that is meant otherwise."""
        warn_of_level(self.delta)
        check_classes(self.limits, self.pos_label, data.classes)
        if isinstance(self.target, Threshold):
            positive_class(self.pos_label, data.classes)

    # -- training ----------------------------------------------------------------------------------------------------

    def train(self, data: Labelled, rows: FitInput) -> Trained:
        """Split the rows and train the classifiers on training rows alone."""
        warn_left_out(self.candidates, Size.of(data.rows, data.number, self._preparation(data.rows)))
        size, units = self.validation_size, find_units(data, self.duplicates)[1]
        number = data.number if units is None else int(units.max()) + 1
        share = usual_share(number) if isinstance(size, str) else size
        split = DivisionChoices(self.split, share, rows.groups, self.duplicates, rows.validation)
        # With splits of their own there are machines only, as many whatever the size of the data.
        machines = [one for one in self._families(data.rows, 2) if isinstance(one, SvmFamily)]
        classifiers = 1 if self.split == SHARED else sum(one.number for one in machines)
        division = divide(data, split, classifiers, seed_of_run(self.random_state, self.checkpoint))
        return self._trained(Work(data, division, self.n_jobs, self.checkpoint, split.as_dict()))

    def train_all(self, data: Labelled, division: Division) -> Trained:
        """Train the same on all rows."""
        kept = part_of(self.checkpoint, "refit")
        return self._trained(Work(data, training_division(division), self.n_jobs, kept, {"refit": True}))

    def _trained(self, work: Work) -> Trained:
        # How many rows train depends on sizes alone, whatever the seed, but for groups.
        return train_families(self._families(work.data.rows, work.division(0)[0].size), work)

    def _families(self, rows: Any, n_train: int) -> list[Family]:
        prepare = self._preparation(rows)
        return resolve_families(self.candidates, prepare, Size.of(rows, n_train, prepare))

    def _preparation(self, rows: Any) -> Any:
        """Return what prepares rows for families of our own; nothing where there are none, which get rows as given."""
        own = any(isinstance(one, str | SVMs) for _, one in named_candidates(self.candidates))
        return resolve_prepare(self.prepare, rows) if own or not isinstance(self.prepare, str) else None
