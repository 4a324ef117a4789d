"""Families of classifiers, specified by name, parameter object or estimator."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import InputTags, get_tags

from pacbayes.ensemble.by_name import NAMES
from pacbayes.ensemble.candidates import GridFamily, check_classifier
from pacbayes.ensemble.portfolio import (
    AUTO,
    BOOSTING,
    FAMILIES,
    FOREST,
    MANY_CLASSES,
    PORTFOLIO,
    SPARSE,
    SVM,
    Size,
    make_named_family,
    select_portfolio,
    select_svm_settings,
)
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.svm.kernel import Gamma
from pacbayes.svm.landmarks import N_COMPONENTS

#: Default lambdas of `SVMs`: 26 values of C from 0.01 to 1000.
SVM_FAMILY_LAMBDAS = tuple(np.logspace(2, -3, 26).tolist())
_EXPECTED = (
    f"one of the names {', '.join((AUTO, *PORTFOLIO))}, an unfitted scikit-learn classifier, a family (SVMs or "
    "Grid(estimator, param_grid)), or a list of these"
)


class SVMs(BaseEstimator):  # type: ignore[misc]  # no types in scikit-learn
    r"""Support vector machines for many :math:`\lambda` and several widths of the Gaussian kernel, as one family.

    Parameters
    ----------
    lambdas : array_like of shape (H,), optional
        Regularisation parameters, :math:`C = 1/\lambda`; by default 26 values, `C` from 0.01 to 1000.
    kernel : {"rbf", "linear", "nystroem"}
        As for `svm_set`.
    gamma : {"widths", "three widths", "sigest", "scale", "auto"}, float, or list of floats
        Widths of the kernel, each combined with all lambdas.  "widths" is that of `sigest` times 1/16, 1/4, 1, 4 and
        16, "three widths" the three in the middle.
    n_components : int
        Number of landmarks of "nystroem".
    scale : bool, "auto" or "kernlab"
        Whether to standardise the columns, as for `svm_set`.

    See Also
    --------
    CertifiedClassifier : Takes families as `candidates`.
    svm_set : Train a set of SVMs without a certificate.

    References
    ----------
    .. [1] B. Caputo, K. Sim, F. Furesjo and A. Smola, "Appearance-based object recognition using SVMs: which kernel
       should I use?", NIPS workshop on statistical methods for computational experiments in visual processing and
       computer vision, 2002.

    Examples
    --------
    >>> from pacbayes import SVMs
    >>> SVMs(gamma="sigest").get_params()["scale"]
    'auto'
    """

    def __init__(
        self,
        lambdas: ArrayLike | None = None,
        *,
        kernel: str = "rbf",
        gamma: Gamma | list[float] = "widths",
        n_components: int = N_COMPONENTS,
        scale: bool | str = "auto",
    ) -> None:
        self.lambdas = lambdas
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.scale = scale


class Grid(BaseEstimator):  # type: ignore[misc]  # no types in scikit-learn
    """Any scikit-learn classifier with every setting of a grid, as one family.

    Parameters
    ----------
    estimator : scikit-learn classifier or None
        Cloned, never fitted itself; None where `param_grid` is a list of estimators.
    param_grid : dict, list of dicts, or list of estimators
        As for `grid_set`.  It must be fixed before validation.
    n_iter : int, optional
        Number of settings to draw from `param_grid`; None for all of them.
    error_score : {"raise", "drop"}
        How to handle classifiers that cannot be fitted; see `grid_set`.

    See Also
    --------
    CertifiedClassifier : Takes families as `candidates`.
    grid_set : Train a set of classifiers without a certificate.

    References
    ----------
    .. [1] D. A. McAllester, "PAC-Bayesian model averaging", COLT, 1999.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from pacbayes import Grid
    >>> Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]}).n_iter is None
    True
    """

    def __init__(
        self, estimator: Any, param_grid: Any, *, n_iter: int | None = None, error_score: str = "raise"
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.error_score = error_score


Family = SvmFamily | GridFamily


def name_candidates(candidates: Any) -> list[tuple[str, Any]]:
    """Convert candidates to a list of distinct names and families, with default names if needed.

    Examples
    --------
    >>> name_candidates("svm"), [name for name, _ in name_candidates([SVMs(), "logistic", ("mine", SVMs())])]
    ([('svm', 'svm')], ['svms', 'logistic', 'mine'])
    """
    if isinstance(candidates, str) and candidates == AUTO:
        return [(name, name) for name in PORTFOLIO]
    if isinstance(candidates, tuple):
        raise TypeError(f"candidates must be {_EXPECTED}, got the tuple {candidates!r}")
    items = list(candidates) if isinstance(candidates, list) else [candidates]
    if not items:
        raise ValueError("candidates must hold at least one family, got none")
    named: list[tuple[str, Any]] = []
    for item in items:
        if isinstance(item, tuple):
            if not has_name(item):
                raise TypeError(f"candidates must be families, or pairs of a name and a family, got {item!r}")
            named.append(item)
        else:
            named.append((item if isinstance(item, str) else type(item).__name__.lower(), item))
    names = [name for name, _ in named]
    return [
        (name if names.count(name) == 1 else f"{name}-{names[:position].count(name) + 1}", family)
        for position, (name, family) in enumerate(named)
    ]


def has_name(candidate: Any) -> bool:
    """Whether an item of candidates is a pair of a name and a family."""
    return isinstance(candidate, tuple) and len(candidate) == 2 and isinstance(candidate[0], str)


def resolve_families(candidates: Any, preprocessor: Any, size: Size) -> list[Family]:
    """Validate candidates and resolve names for data of a size.

    Named families and `SVMs` use the preprocessor; estimators and grids get the rows as passed to `fit`.
    """
    named = name_candidates(candidates)
    if isinstance(candidates, str) and candidates == AUTO:
        named = [(name, name) for name in select_portfolio(size)]
        families = [_resolve_family(name, family, preprocessor, size) for name, family in named]
        return [replace(family, optional=True) if isinstance(family, SvmFamily) else family for family in families]
    return [_resolve_family(name, family, preprocessor, size) for name, family in named]


def _resolve_family(name: str, family: Any, preprocessor: Any, size: Size) -> Family:
    if isinstance(family, str):
        if family == SVM and not size.sparse:
            svms = _resolve_family(name, SVMs(**select_svm_settings(size)), preprocessor, size)
            assert isinstance(svms, SvmFamily)
            return replace(svms, subsample=not size.few or size.classes > MANY_CLASSES)
        if family in NAMES:
            if size.sparse and family not in SPARSE:
                raise ValueError(f"candidates {family!r} does not support sparse rows; use {', '.join(SPARSE)}")
            models = make_named_family(family, preprocessor, size)
            separate = not size.few and family in (BOOSTING, FOREST)
            return GridFamily(name, None, models, builtin=True, separate=separate)
        if family == AUTO:
            raise ValueError(f"candidates 'auto' cannot be an item of a list: name its families, {', '.join(NAMES)}")
        raise ValueError(f"candidates must name one of {', '.join((AUTO, *NAMES))}, got {family!r}")
    if isinstance(family, SVMs):
        lambdas = SVM_FAMILY_LAMBDAS if family.lambdas is None else family.lambdas
        return SvmFamily.from_settings(
            name, lambdas, family.kernel, family.gamma, family.n_components, family.scale, preprocessor
        )
    if isinstance(family, Grid):
        return GridFamily(name, family.estimator, family.param_grid, family.n_iter, family.error_score)
    if isinstance(family, type) or not hasattr(family, "fit"):
        raise TypeError(f"candidates must be {_EXPECTED}, got {family!r}")
    check_classifier("candidates", family)
    return GridFamily(name, None, [family])


def get_input_tags(candidates: Any, preprocessor: Any) -> InputTags:
    """Combine the input tags of all candidates.

    Examples
    --------
    >>> get_input_tags("forest", None).sparse, get_input_tags(["forest", "boosting"], None).sparse
    (True, False)
    """
    if isinstance(candidates, str) and candidates == AUTO and isinstance(preprocessor, str | None):
        # For sparse rows, "auto" trains other families.
        return InputTags(sparse=True)
    try:
        tags = [tags for _, family in name_candidates(candidates) for tags in _get_family_tags(family, preprocessor)]
    except (TypeError, ValueError, ImportError):  # `fit` raises for invalid candidates
        return InputTags()
    # Most tags are capabilities, which all candidates must have; these are requirements, which one candidate makes.
    requirements = ("positive_only", "pairwise")
    names = [field.name for field in fields(InputTags)]
    return InputTags(
        **{name: (any if name in requirements else all)(getattr(tag, name) for tag in tags) for name in names}
    )


def _get_family_tags(family: Any, preprocessor: Any) -> list[InputTags]:
    """Return the input tags of the classifiers of a family; default tags for classifiers without tags."""
    estimators = [family]
    if isinstance(family, str | SVMs) and preprocessor is not None and not isinstance(preprocessor, str):
        estimators = [preprocessor]
    elif isinstance(family, str) and family in (SVM, "logistic"):
        # For sparse rows, these families are linear and do not centre columns.
        return [InputTags(sparse=True)]
    elif isinstance(family, str) and family in FAMILIES:
        # Pipelines centre columns, which makes them dense.
        models = make_named_family(family, None, Size(100))
        estimators = [None if isinstance(model, Pipeline) else model for model in models]
    elif isinstance(family, Grid):
        estimators = list(family.param_grid) if family.estimator is None else [family.estimator]
    return [
        get_tags(estimator).input_tags
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type | SVMs)
        else InputTags()
        for estimator in estimators
    ]
