"""Cross-validation of a grid within its training rows: its answers, and how its mean probabilities score these rows."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pacbayes.certificates.rules.vote_trials import VoteTrials
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation, candidates_of, cross_score, cross_validate
from pacbayes.classifiers.grid.grid_in_fold import grid_answers_in_fold, grid_scores_in_fold
from pacbayes.data.rows import pick_rows
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.seeds import Purpose, generator


@dataclass(frozen=True)
class GridFolds:
    """The folds of the training rows that a set of classifiers from a grid shares."""

    classifiers: ClassifierSet
    #: All rows, their labels and class numbers; only training rows are looked at.
    rows: Any
    labels: NDArray[Any]
    codes: Rows
    classes: NDArray[Any]
    #: Number of folds, None for no cross-validation.
    folds: int | None
    n_jobs: int | None
    seed: int

    def validated(self, votes: bool) -> CrossValidation | None:
        """Return what cross-validation counted, with `votes` also the errors of votes."""
        if self.folds is None:
            return None
        train, units = self._training()
        answers_in_fold = grid_answers_in_fold(
            self.classifiers, pick_rows(self.rows, train), self.labels[train], self.classes, self.n_jobs
        )
        candidates, codes = candidates_of(len(self.classifiers)), self.codes[train]
        rng = generator(self.seed, Purpose.FOLDS)
        trials = VoteTrials(codes, candidates.size) if votes else None
        return cross_validate(answers_in_fold, candidates, codes, self.folds, rng, units, trials=trials)

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return how the mean probabilities with some weights score the training rows in cross-validation."""
        assert self.folds is not None
        train, units = self._training()
        training, rng = pick_rows(self.rows, train), generator(self.seed, Purpose.FOLDS)
        in_fold = grid_scores_in_fold(
            self.classifiers, training, self.labels[train], self.classes, weights, self.n_jobs
        )
        return cross_score(in_fold, self.classes.size, self.codes[train], self.folds, rng, units)

    def _training(self) -> tuple[Rows, Rows | None]:
        assert self.classifiers.splits is not None
        train = self.classifiers.splits(0)[0]
        return train, self.classifiers.splits.units_of(train)
