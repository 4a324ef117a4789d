"""Classifiers of any kind, found on one part of the rows and certified on the other."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import _BaseComposition

from pacbayes.bounds.distance import Distance
from pacbayes.certificates.decisions import Abstain, Target, Threshold
from pacbayes.certificates.levels import AUTO
from pacbayes.data.preprocessing import ENCODE_FIRST, ENCODE_PREPARE, IN_PREPARE, in_pipeline
from pacbayes.data.rows import pickable_rows
from pacbayes.ensemble.families import Grid, SVMs, is_pair, named_candidates, rows_taken
from pacbayes.estimators.base import CertifiedModel
from pacbayes.estimators.from_fitted import certify_fitted
from pacbayes.estimators.recipe import SHARED_CONSTRAINTS, Recipe
from pacbayes.estimators.rows import Advice


class CertifiedClassifier(_BaseComposition, CertifiedModel):  # type: ignore[misc]  # no types in scikit-learn
    r"""A classifier with a certificate: how often it errs on new examples, at most.

    One part of the rows trains candidates, calibrates their probabilities by cross-validation and fixes a vote; the
    other part counts its errors.  The vote is one classifier that was fixed before, so its limit is the exact binomial
    one:

    .. math:: P\big(R \le B(k, m, \delta)\big) \ge 1 - \delta

    for its true error rate `R`, after `k` errors on `m` rows.

    Parameters
    ----------
    candidates : str, estimator, family, or list of these
        "auto": all families that have a name; "svm", "forest", "boosting", "logistic", "neighbours": one of them; any
        scikit-learn classifier; a family of settings, `SVMs` or `Grid`; or a list, each item of which is one
        family.  In a list of pairs of a name and a candidate `set_params` reaches them.  The list is part of what must
        be fixed before the data are seen.
    prepare : "auto", None or scikit-learn transformer
        What turns rows into numbers for families of our own (named ones and `SVMs`), cloned and fitted on training
        rows alone.  "auto": missing numbers become the median and categories columns of their own, where X is a data
        frame with columns that are no numbers.  Estimators and grids of yours get the rows as they are.
    voting : {"auto", "soft", "majority", "best", "stochastic"}
        How to predict; read when predicting.  "soft": the class with the largest mean of the candidates' calibrated
        probabilities.  "majority": a weighted vote of answers.  "best": one classifier.  "stochastic": for each row a
        classifier drawn by a keyed hash of the row.  "auto", see `voting_`: "soft" where cross-validation gives scores,
        "best" for `from_fitted`, else "stochastic".
    delta : float
        The certificate fails with at most this probability.
    validation_size : "auto", float or int
        The share or number of rows (with groups, of groups) that count errors.  "auto": half of up to 1000 rows, and
        less of more: :math:`\min(1/2, (1000/n)^{0.18}/2)`.
    duplicates, prior, distance, limits, limits_share
        As for `StochasticSVC`.
    target : Abstain, Threshold or None
        What is certified instead of a bound of all errors, at the whole of `delta`.  ``Abstain(max_error=0.02)``: it
        answers only where it is sure, and of these answers at most 2 % are wrong; see `answers`.
        ``Threshold(recall=0.9)``, or of precision or false alarms: two classes, a soft vote, and `predict` says
        `pos_label` where its probability is at least a threshold at which the targets hold.
    pos_label : label, optional
        The class of a `Threshold`, by default the second; and of limits, as for `StochasticSVC`.
    hedge : float or "auto"
        The share of `delta` kept for what the validation rows may show: single classifiers, the posterior, other votes.
        The rest is for what the training rows propose.  "auto" is 0.02 where there is a proposal, else 1.  Nothing
        stands beside a soft vote, which has all of `delta` unless this is 1; with a `Threshold` it is 0.
    refit : bool
        Train once more, on all rows, when everything is certified.  This refit predicts where it is clear, its largest
        mean probability ahead by more than 0.2, and the certified vote elsewhere.  The certificate is then about
        answers that are `covered`: those that the certified vote gives too.
    cv : int or None
        Folds of the cross-validation within the training rows that calibrates and proposes.  At most 50 settings of a
        grid take part, evenly spread.  None leaves it out, and with it the proposal.
    n_jobs : int, optional
        Workers of joblib's backend, as everywhere in scikit-learn.  Where all families are our own they are threads,
        and None means all cores.
    checkpoint : path of a directory, optional
        Where finished classifiers are kept, those of folds too: the same call goes on from there.  All but support
        vector machines are stored as pickles, see `grid_set`.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For the split, the classifiers and the key of the draws.  None draws all of them anew in each `fit`.

    Attributes
    ----------
    certificate_, certificates_
        What is guaranteed, for the way that predicts and for each.
    voting_ : str
        What `voting` stands for.
    posterior_, prior_, has_uniform_prior_, delta_, distances_, classifiers_
        As for `StochasticSVC`.
    hedge_, proposal_, weights_
        As for `StochasticSVC`.
    vote_errors_, vote_risk_, constant_label_
        As for `StochasticSVC`.
    best_index_, best_params_, best_estimator_, cv_results_
        As for `StochasticSVC`.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn, the latter two where the rows have features or names.

    See Also
    --------
    SVMs : Support vector machines of several widths, as candidates.
    Abstain : A target for the errors among answers.
    Threshold : A target for recall, precision or false alarms.
    Grid : An estimator with every setting of a grid, as candidates.
    StochasticSVC : The paper's stochastic support vector machine.
    Certificate : What is guaranteed.
    save : Keep a fitted model.
    write_report : A page about a fitted model.

    Notes
    -----
    A row's answer depends on that row alone.  Probabilities are rounded to multiples of :math:`2^{-20}` before they are
    added in a fixed order: other libraries' last bits may differ with the rows around a row.  With
    ``voting="stochastic"`` a row is hashed by its values: numbers as float64, anything else as its text.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
       methods", Advances in Large Margin Classifiers, 1999.
    .. [2] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import CertifiedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = CertifiedClassifier("svm", random_state=0).fit(X, y)
    >>> print(clf.certificate_)
    With probability at least 95 %, the soft vote errs on at most 5.1 % of new examples.
    It erred on 8 of 284 validation rows.
    Majority class of the training rows (1): error rate at most 38.8 %.
    explain() says what this rests on.
    >>> clf.predict_proba(X[:1]).round(2)
    array([[0.95, 0.05]])
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "candidates": "no_validation",
        "prepare": [HasMethods(["fit", "transform", "get_params"]), StrOptions({AUTO}), None],
        "target": [Abstain, Threshold, None],
        "refit": ["boolean"],
    }

    def __init__(
        self,
        candidates: Any = "auto",
        *,
        prepare: Any = "auto",
        voting: str = "auto",
        delta: float = 0.05,
        validation_size: float | int | str = "auto",
        duplicates: str = "keep",
        hedge: float | str = "auto",
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        limits: Any = (),
        limits_share: float = 0.2,
        target: Target | None = None,
        pos_label: Any = None,
        refit: bool = False,
        cv: int | None = 5,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.prepare = prepare
        self.voting = voting
        self.delta = delta
        self.validation_size = validation_size
        self.duplicates = duplicates
        self.hedge = hedge
        self.prior = prior
        self.distance = distance
        self.limits = limits
        self.limits_share = limits_share
        self.target = target
        self.pos_label = pos_label
        self.refit = refit
        self.cv = cv
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters, with those of named candidates as ``name__parameter``."""
        named = self._named()
        params: dict[str, Any] = self._get_params("candidates", deep=deep) if named else super().get_params(deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of named candidates too."""
        if "candidates" in params:
            self.candidates = params.pop("candidates")
        if self._named():
            self._set_params("candidates", **params)
        else:
            super().set_params(**params)
        return self

    def _named(self) -> bool:
        """Return whether all candidates are pairs of a name and a candidate, which alone scikit-learn knows."""
        given = self.candidates
        return isinstance(given, list) and len(given) > 0 and all(map(is_pair, given))

    def _recipe(self) -> Recipe:
        if isinstance(self.candidates, list):
            self._validate_names([one[0] for one in self.candidates if is_pair(one)])
        return Recipe(**super().get_params(deep=False))

    @classmethod
    def from_fitted(
        cls,
        estimators: Any,
        X_val: Any,
        y_val: ArrayLike,
        *,
        proposal: Any = None,
        groups: ArrayLike | None = None,
        duplicates: str = "keep",
        most_frequent: Any = None,
        prior: Any = "uniform",
        distance: str | Distance | list[str | Distance] = "kl",
        delta: float = 0.05,
        hedge: float | str = "auto",
        limits: Any = (),
        limits_share: float = 0.2,
        pos_label: Any = None,
        target: None = None,
        voting: str = "auto",
        random_state: Any = None,
    ) -> Self:
        """Make a fitted estimator of classifiers that were trained elsewhere, on other rows than these.

        It predicts, certifies, reports and is saved as one that was fitted here.  A clone of it has no classifiers and
        nothing to train.

        Parameters
        ----------
        estimators : fitted classifier, or iterable of such
            Anything with a method `predict`.  One alone has the exact limit of its errors.  None may depend on a
            validation row: not through training, nor scaling, early stopping or the choice which are on the list.  What
            `copy.deepcopy` copies of them is certified, and stays as it is whatever is done to them later; a warning
            names those that it does not copy.
        X_val : array_like, sparse matrix, data frame or list of m rows
            Rows that all count errors; handed to the classifiers as they are.
        y_val : array_like of shape (m,)
            Their labels.
        proposal : int or array_like of shape (H,), optional
            What you would use without looking at these rows: the number of one classifier, or weights of a vote.  It is
            tested with most of `delta`, and its certificate is then nearly that of a hold-out.
        groups, duplicates
            Which of these rows are one draw, as for `fit`.
        most_frequent : label, optional
            The most frequent class of the training rows, for the baseline of always answering it; left out without, as
            these rows must not choose it.
        prior, distance, delta, voting, random_state
            As for the estimator; neither prior nor distance can come from training rows.
        hedge : float or "auto"
            The share of `delta` kept for what these rows may show; "auto" is 0.02 with a proposal, 1 without, and 0 for
            one classifier alone, which is its own proposal.
        limits, limits_share, pos_label
            As for the estimator, where there is a proposal.
        target : None
            Refused: which thresholds are tested comes from training rows, which are not here.

        Returns
        -------
        CertifiedClassifier
            Fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import train_test_split
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from pacbayes import CertifiedClassifier
        >>> X, X_val, y, y_val = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.5, random_state=0)
        >>> fitted = [one.fit(X, y) for one in (GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0))]
        >>> clf = CertifiedClassifier.from_fitted(fitted, X_val, y_val, proposal=0, voting="best", random_state=0)
        >>> print(clf.certificate_)
        With probability at least 95 %, the best single classifier errs on at most 9.3 % of new examples.
        It erred on 18 of 285 validation rows.
        explain() says what this rests on.
        """
        model = cls(
            None,
            prepare=None,
            cv=None,
            duplicates=duplicates,
            prior=prior,
            distance=distance,
            delta=delta,
            hedge=hedge,
            limits=limits,
            limits_share=limits_share,
            pos_label=pos_label,
            target=target,
            voting=voting,
            random_state=random_state,
        )
        facts = {"proposal": proposal, "groups": groups, "most_frequent": most_frequent}
        return model._take(certify_fitted(model, estimators, pickable_rows(X_val), y_val, **facts))

    # -- what it says of itself --------------------------------------------------------------------------------------

    def _theirs(self) -> list[Any]:
        """Return the estimators that get the rows as given; None stands for a list of them."""
        if self.candidates is None:
            return [None]
        given = [one for _, one in named_candidates(self.candidates) if not isinstance(one, str | SVMs)]
        return [getattr(one, "estimator", one) if isinstance(one, Grid) else one for one in given]

    @property
    def _advice(self) -> Advice:
        theirs = self._theirs()
        if theirs:
            return Advice(in_pipeline(theirs[0]), ENCODE_FIRST)
        return Advice(IN_PREPARE.replace("StochasticSVC", "CertifiedClassifier"), ENCODE_PREPARE)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.candidates is not None:
            tags.input_tags = rows_taken(self.candidates, self.prepare)
        return tags
