"""What can be asked for, families of classifiers as parameter objects, by name or as estimators; and their training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import InputTags, get_tags

from pacbayes.ensemble.candidates import GridFamily, check_classifier, plan_candidates
from pacbayes.ensemble.classifier_set import Trained, Work
from pacbayes.ensemble.cross_validation import CompositeFolds
from pacbayes.ensemble.grid import train_grids
from pacbayes.ensemble.members import CompositeMembers, Members
from pacbayes.ensemble.portfolio import (
    AUTO,
    FAMILIES,
    NAMES,
    PORTFOLIO,
    SPARSE,
    SVM,
    Size,
    named_family,
    portfolio,
    svm_settings,
)
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.svm.kernel import Gamma
from pacbayes.svm.landmarks import N_COMPONENTS

#: The costs of machines where nobody gives lambdas: 26 values of C from 0.01 to 1000.
FEW_LAMBDAS = tuple(np.logspace(2, -3, 26).tolist())
_ALLOWED = (
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
        Widths of the kernel.  "widths": that of `sigest` times 1/16, 1/4, 1, 4 and 16, with all lambdas each; "three
        widths": the three in the middle.
    n_components : int
        Landmarks of "nystroem".
    scale : bool, "auto" or "kernlab"
        Whether to standardise the columns, as for `svm_set`.

    See Also
    --------
    CertifiedClassifier : What takes it as `candidates`.
    svm_set : The machines alone.

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
        As for `grid_set`.  Part of what is fixed beforehand.
    n_iter : int, optional
        Settings to draw from `param_grid`; None for all of them.
    error_score : {"raise", "drop"}
        What to do with a classifier that cannot be fitted; see `grid_set`.

    See Also
    --------
    CertifiedClassifier : What takes it as `candidates`.
    grid_set : The classifiers alone.

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


def named_candidates(candidates: Any) -> list[tuple[str, Any]]:
    """Return candidates as a list of names and what they stand for, one for each family; names are made where missing.

    Examples
    --------
    >>> named_candidates("svm"), [name for name, _ in named_candidates([SVMs(), "logistic", ("mine", SVMs())])]
    ([('svm', 'svm')], ['svms', 'logistic', 'mine'])
    """
    if isinstance(candidates, str) and candidates == AUTO:
        return [(name, name) for name in PORTFOLIO]
    if isinstance(candidates, tuple):
        raise TypeError(f"candidates must be {_ALLOWED}, got the tuple {candidates!r}")
    several = list(candidates) if isinstance(candidates, list) else [candidates]
    if not several:
        raise ValueError("candidates must hold at least one family, got none")
    named: list[tuple[str, Any]] = []
    for one in several:
        if isinstance(one, tuple):
            if not is_pair(one):
                raise TypeError(f"candidates must be families, or pairs of a name and a family, got {one!r}")
            named.append(one)
        else:
            named.append((one if isinstance(one, str) else type(one).__name__.lower(), one))
    return _unique_names(named)


def is_pair(one: Any) -> bool:
    """Return whether an item of candidates is a name with what it stands for."""
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)


def _unique_names(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the same with different names: equal ones get a number."""
    names = [name for name, _ in named]
    numbers = [names[:place].count(name) for place, name in enumerate(names)]
    return [
        (name if names.count(name) == 1 else f"{name}-{number + 1}", one)
        for (name, one), number in zip(named, numbers, strict=True)
    ]


def resolve_families(candidates: Any, preprocessor: Any, size: Size) -> list[Family]:
    """Return the families that candidates stand for, checked, for data of a size.

    `preprocessor` is what turns rows into numbers for families of our own; estimators and grids get the rows as given.
    """
    named = named_candidates(candidates)
    if isinstance(candidates, str) and candidates == AUTO:
        named = [(name, name) for name in portfolio(size)]
    return [_family(name, one, preprocessor, size) for name, one in named]


def _family(name: str, one: Any, preprocessor: Any, size: Size) -> Family:
    if isinstance(one, str):
        if one == SVM and not size.sparse:
            one = SVMs(**svm_settings(size))
        elif one in NAMES:
            if size.sparse and one not in SPARSE:
                raise ValueError(f"candidates {one!r} does not take sparse rows; those that do are {', '.join(SPARSE)}")
            return GridFamily(name, None, named_family(one, preprocessor, size.rows, size.sparse), own=True)
        elif one == AUTO:
            raise ValueError(f"candidates 'auto' is no item of a list: name its families, {', '.join(NAMES)}")
        else:
            raise ValueError(f"candidates must name one of {', '.join((AUTO, *NAMES))}, got {one!r}")
    if isinstance(one, SVMs):
        lambdas = FEW_LAMBDAS if one.lambdas is None else one.lambdas
        return SvmFamily.checked(name, lambdas, one.kernel, one.gamma, one.n_components, one.scale, preprocessor)
    if isinstance(one, Grid):
        return GridFamily(name, one.estimator, one.param_grid, one.n_iter, one.error_score)
    if isinstance(one, type) or not hasattr(one, "fit"):
        raise TypeError(f"candidates must be {_ALLOWED}, got {one!r}")
    check_classifier("candidates", one)
    return GridFamily(name, None, [one])


def input_tags_of(candidates: Any, preprocessor: Any) -> InputTags:
    """Return which rows all candidates take, in scikit-learn's words.

    Examples
    --------
    >>> input_tags_of("forest", None).sparse, input_tags_of(["forest", "boosting"], None).sparse
    (True, False)
    """
    if isinstance(candidates, str) and candidates == AUTO and isinstance(preprocessor, str | None):
        # Of sparse rows others are trained.
        return InputTags(sparse=True)
    try:
        several = [tags for _, one in named_candidates(candidates) for tags in _tags_of(one, preprocessor)]
    except (TypeError, ValueError):  # wrong candidates are said in `fit`
        return InputTags()
    # All but these are what a classifier can do; these are what it demands.
    demands = ("positive_only", "pairwise")
    names = [field.name for field in fields(InputTags)]
    return InputTags(
        **{name: (any if name in demands else all)(getattr(one, name) for one in several) for name in names}
    )


def _tags_of(one: Any, preprocessor: Any) -> list[InputTags]:
    """Return which rows each classifier of a family takes; numbers in dense rows where it does not say."""
    several = [one]
    if isinstance(one, str | SVMs) and preprocessor is not None and not isinstance(preprocessor, str):
        several = [preprocessor]
    elif isinstance(one, str) and one in (SVM, "logistic"):
        # Of sparse rows linear machines are made, and columns are not centred.
        return [InputTags(sparse=True)]
    elif isinstance(one, str) and one in FAMILIES:
        # Where columns are centred rows are dense.
        several = [None if isinstance(member, Pipeline) else member for member in named_family(one, None, 100)]
    elif isinstance(one, Grid):
        several = list(one.param_grid) if one.estimator is None else [one.estimator]
    tagged = [hasattr(each, "__sklearn_tags__") and not isinstance(each, type | SVMs) for each in several]
    return [get_tags(each).input_tags if known else InputTags() for each, known in zip(several, tagged, strict=True)]


def train_families(families: Sequence[Family], work: Work) -> Trained:
    """Train families on training rows alone, and join them."""
    svms = [one for one in families if isinstance(one, SvmFamily)]
    grids = [one for one in families if isinstance(one, GridFamily)]
    parts = [one.train(work) for one in svms]
    if grids:
        parts.append(train_grids(plan_candidates(grids, work.split.seed), work))
    if len(parts) == 1:
        return parts[0]
    # Of several grids each classifier says what its own is called; of a single one none does.
    names = [*(one.name for one in svms), *([grids[0].name] if len(grids) == 1 else [""] * bool(grids))]
    members: tuple[Members, ...] = tuple(part.members for part in parts)
    folds = [part.folds for part in parts]
    # Of machines one each has a part in the soft vote.
    kinds = [np.full(len(part), place) for place, part in enumerate(members[: len(svms)])]
    kinds += [len(svms) + one.families for one in folds[len(svms) :] if one is not None]
    known = tuple(one for one in folds if one is not None)
    sizes = tuple(map(len, members))
    whole = CompositeFolds(known, sizes, np.concatenate(kinds).astype(np.int64))
    return Trained(CompositeMembers(members, tuple(names)), work.split, whole)
