"""What all estimators share: from a trained set to posterior and certificates, and from these to predictions."""

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.certify import POSTERIOR, VOTINGS
from pacbayes.certificates.constant import most_frequent
from pacbayes.certificates.posterior_choice import BITS, choose_posterior, integer_weights
from pacbayes.certificates.rules.hedge import hedged_level, resolve_hedge
from pacbayes.certificates.rules.proposals import propose
from pacbayes.certificates.rules.rule import PROPOSAL, Rule
from pacbayes.certificates.rules.tandem_vote import TANDEM, tandem_parts
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.group_errors import GroupErrors, count_errors_by_kind
from pacbayes.data.division import GROUP, SPLITS
from pacbayes.data.rows import hashed_rows
from pacbayes.data.tables import TableReading
from pacbayes.data.unusable import naming_remedy
from pacbayes.estimators.available import available
from pacbayes.estimators.fitted.conclusions import Conclusions
from pacbayes.estimators.fitted.shown import Shown
from pacbayes.estimators.prediction.asked_rows import AskedRows
from pacbayes.estimators.prediction.testing import tested
from pacbayes.estimators.questions.asked import Asked, CrossScores, Slices, check_questions
from pacbayes.estimators.training.beforehand import Beforehand
from pacbayes.estimators.training.prior import check_prior_kind, prior_kind, resolve_prior
from pacbayes.estimators.training.training_choices import check_training_choices, resolve_distances
from pacbayes.estimators.whole_fits import forget_fit
from pacbayes.numeric.arrays import Codes, FloatArray
from pacbayes.numeric.checks import check_choice, check_level, warn_of_level
from pacbayes.runtime.checkpoint import begun_seed
from pacbayes.runtime.seeds import seed_of


class CertifiedClassifier(Conclusions, ClassifierMixin, Shown):  # type: ignore[misc]  # no types in scikit-learn
    """A set of classifiers as one, with a certificate for each way; subclasses train the set and validate rows."""

    #: How rows may be divided.
    _splits: tuple[str, ...] = SPLITS

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _check_choices(self) -> None:
        """Raise for wrong parameters before any work."""
        check_choice("split", self.split, self._splits)
        if self.cv is not None and (isinstance(self.cv, bool) or not isinstance(self.cv, int | np.integer)):
            raise TypeError(f"cv must be a number of folds or None, got {self.cv!r}")
        if self.cv is not None and self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, or None, got {self.cv}")
        self._check_certified(self._no_proposal(), self._no_proposal())

    def _check_certified(self, no_proposal: str | None, no_training: str | None) -> None:
        """Raise for wrong parameters of what follows training; say why nothing is proposed, or comes from training."""
        check_choice("voting", self.voting, VOTINGS)
        check_choice("constant", self.constant, CONSTANTS)
        level, hedge = check_level(self.delta), resolve_hedge(self.hedge, no_proposal)
        warn_of_level(level)
        if hedge > 0.0 and hedged_level(level, hedge, 1) == 0.0:
            raise ValueError(f"hedge * delta must not be less than the smallest number, got {hedge!r} * {level!r}")
        check_prior_kind(self.prior, self.split)
        check_questions(self.class_share, self.max_error, hedge)
        check_training_choices(self.prior, self.distance, no_training)

    def _no_proposal(self) -> str | None:
        """Say why the training rows propose nothing, None where they do."""
        if self.split != "shared":
            return f"with split={self.split!r} every row validates some classifier"
        return "cv=None leaves out the cross-validation behind it" if self.cv is None else None

    def _forget(self) -> None:
        """Drop what an earlier fit left: if this one fails, no old certificate must stand beside new labels."""
        forget_fit(self)
        self._cross_validated: CrossValidation | None = None
        self.hedge_ = resolve_hedge(self.hedge, self._no_proposal())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificates_")

    def _seed(self) -> int:
        """Return the seed of a fit: that of the run which a checkpoint holds where `random_state` is None."""
        begun = begun_seed(self.checkpoint) if self.random_state is None else None
        return seed_of(self.random_state) if begun is None else begun

    def _remember(self, rows: Any, key: bytes) -> None:
        """Keep by what the rows of a fit are known again, and how a file must be read to hold such."""
        self._fitted_rows, self._reading = hashed_rows(rows, key), TableReading.of(rows)

    def _certify_trained_set(
        self,
        classifiers: ClassifierSet,
        params: list[dict[str, Any]],
        training_rows: Callable[[], tuple[Any, Any]] | None,
        validation_rows: Callable[[], tuple[AskedRows, Codes]] | None,
        key: bytes,
        codes: NDArray[np.int64],
        beforehand: Beforehand | None = None,
        slices: Slices | None = None,
        cross_scores: CrossScores | None = None,
    ) -> Self:
        """Turn a trained set into posterior, tested rules and certificates.

        `params` are what a callable prior may see, `training_rows` a function that gives it the training rows, None
        where there are none to give.  `validation_rows` gives the rows that validated every classifier, as
        `_validated` would, and their class numbers; None where there are no such rows.  `codes` are the class numbers
        of all rows.  `beforehand` is what the user fixed where the set was trained elsewhere; `cross_scores` scores the
        training rows in cross-validation.

        Attributes whose names begin with an underscore are what was so when the model was fitted, whatever its
        parameters are set to later.  They, the errors and the weights are what a file stores; see `_restore`.
        """
        self.classifiers_ = classifiers
        prior = resolve_prior(self.prior, params, training_rows, self._cross_validated, classifiers.splits)
        self.prior_ = np.full(len(classifiers), 1.0 / len(classifiers)) if prior is None else prior
        self._uniform, self._key = prior is None, key
        self._prior_kind = prior_kind(self.prior, self.split == "shared")
        assert classifiers.splits is not None
        # With independent splits no part trains all classifiers; that of the first is as good as another.
        train, validation = classifiers.splits(0)
        constant = most_frequent(codes[train], codes[validation])[0] if beforehand is None else beforehand.constant
        self._constant = None if constant is None else (constant, self._counted(codes[validation] != constant))
        self._level, self._bound_constant = check_level(self.delta), self.constant
        named = ((), "") if slices is None else (slices.names, slices.column)
        target = None if self.max_error is None else float(self.max_error)
        self._asked = Asked(float(self.class_share), *named, max_error=target)
        share = hedged_level(self._main_level, self.hedge_, 1)
        self._distance = copy(self.distance)  # it may be a list
        self._distances = resolve_distances(self._distance, self._cross_validated, classifiers.m, share or self._level)
        # What is proposed is fixed here, before anything that was counted on validation rows is used.
        rules = list(self._proposed(() if beforehand is None else beforehand.rules))
        if self.hedge_ > 0.0:
            self.posterior_ = choose_posterior(
                classifiers.risks,
                classifiers.m,
                distance=self._distances,
                delta=share,
                prior=prior,
                constant=self.constant,
            )
        self._tandem = self._tandem_rule(rules, prior)
        if self._tandem is None:
            self.classifiers_ = classifiers.without_error_rows()
        of_slices = np.zeros(codes.size, dtype=np.intp) if slices is None else slices.codes
        self._test(rules, validation_rows, of_slices[validation])
        if self.max_error is not None:
            assert validation_rows is not None
            assert cross_scores is not None
            self._asked = self._count_thresholds(self._voters(), *validation_rows(), cross_scores, codes[train])
        self._conclude()
        return self

    def _proposed(self, given: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """Return the rules that were given or that the training rows recommend, not yet tested.

        Without a hedge these are the proposals alone.
        """
        found = self._cross_validated
        if self.hedge_ == 1.0:
            return ()
        number = len(self.classifiers_)
        rules = given if found is None else propose(found.candidates, found.totals, number, found.errors_of_votes)
        return rules if self.hedge_ > 0.0 else tuple(rule for rule in rules if rule.name == PROPOSAL)

    def _keeps_error_rows(self, groups: Any) -> bool:
        """Return whether it must be known who errs on which row: for a vote that the hedge pays for."""
        return groups is None and 0.0 < self.hedge_ < 1.0

    def _tandem_rule(self, rules: list[Rule], prior: FloatArray | None) -> Rule | None:
        """Return the vote that the tandem bound recommends, not yet counted; None where there is nothing to pay it."""
        # The vote of a single classifier is among the proposals; out of bag nothing is proposed.
        if self.hedge_ == 0.0 or (rules and len(self.classifiers_) == 1):
            return None
        # The bound holds for all weights at any level; they are sought for about the one that the rule will have.
        number = sum(rule.voting == "majority" and rule.name != PROPOSAL for rule in rules) + 2
        level = hedged_level(self._main_level, self.hedge_, number)
        parts = tandem_parts(self.classifiers_, level, prior, self.constant)
        return None if parts is None else Rule("majority", TANDEM, parts)

    def _test(
        self, rules: list[Rule], validation_rows: Callable[[], tuple[AskedRows, Codes]] | None, slices: Codes
    ) -> None:
        """Count the errors of rules on validation rows.

        Those of votes that these rows chose too, but only to be shown: a limit of their errors would not hold.
        """
        self._rules, self._vote_errors = (), None
        if validation_rows is None:
            return
        chosen = [] if self.hedge_ == 0.0 else [Rule("majority", POSTERIOR, integer_weights(self.posterior_.weights))]
        chosen += [] if self._tandem is None else [self._tandem]
        voters, (rows, codes) = self._voters(), validation_rows()
        parts = self._parts_counter(voters, rows, codes, slices)
        found = tested([*rules, *chosen], voters, rows, codes, self._key, self._counted, parts)
        shown = {rule.name: rule for rule in found[len(rules) :]}
        self._rules, self._tandem = found[: len(rules)], shown.get(TANDEM)
        self._vote_errors = shown[POSTERIOR].errors if POSTERIOR in shown else None

    def _counted(self, wrong: NDArray[np.bool_]) -> int | GroupErrors:
        """Return the errors of one classifier on the validation rows of the first, counted as the rows were divided."""
        splits = self.classifiers_.splits
        if splits is None or splits.unit != GROUP:
            return int(np.count_nonzero(wrong))
        kinds = splits.kinds(splits(0)[1])
        return GroupErrors(splits.sizes, count_errors_by_kind(wrong[None, :], kinds, splits.sizes.size))

    # -- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels, shape (n,), in the way `voting` says now.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            As the classifiers say.  A label that is not in `classes_` (of a classifier that marks outliers, for one) is
            passed on: it counted as an error on the validation rows, and has votes like any other.
        """
        check_is_fitted(self)
        voting = check_choice("voting", self.voting, VOTINGS)
        with naming_remedy(X, self._remedy()):
            rows, voters = self._validated(X), self._voters()
            codes = self._say(voting, voters, rows)
        return voters.labels[codes]

    def vote_share(self, X: Any) -> FloatArray:
        """Return for every row and class the weight of the classifiers that vote for it.

        The weights are those of the rule that predicts: of the draws for ``voting="stochastic"``, where it is also the
        probability with which the stochastic classifier, its key not yet drawn, says that class; else of the vote.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
            Columns in the order of `classes_`.  Rows sum to one, less the weight of classifiers that answer with a
            label which is none of them.
        """
        check_is_fitted(self)
        parts = self._shared_parts()
        chosen = np.flatnonzero(parts)
        with naming_remedy(X, self._remedy()):
            votes = self._voters().votes(self._validated(X).taken, chosen, parts[chosen])
        return np.ldexp(votes[:, : self.classes_.size], -BITS)

    @available(
        lambda self: (
            None
            if self.voting == "majority"
            else f"voting={self.voting!r} does not predict what has the largest share; use vote_share(X), or "
            'set_params(voting="majority")'
        )
    )
    def predict_proba(self, X: Any) -> FloatArray:
        """Return `vote_share`, for ``voting="majority"`` only: there the largest share decides what `predict` says.

        But for rows where a label that is not in `classes_` has more votes still.

        Parameters
        ----------
        X : array_like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, classes)
        """
        return self.vote_share(X)
