"""How weights of rows reach the classifier in `fit`: directly, or through the steps of a pipeline."""

import inspect
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline

from pacbayes.numeric.arrays import FloatArray


def fit_arguments(estimator: Any, weights: FloatArray | None) -> dict[str, FloatArray]:
    """Return the keyword argument that brings the weights to the last step; with metadata routing the steps ask.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> list(fit_arguments(make_pipeline(make_pipeline(SVC())), np.ones(3)))
    ['pipeline__svc__sample_weight']
    """
    if weights is None:
        return {}
    names = [] if get_config()["enable_metadata_routing"] else _path(estimator)[0]
    return {"__".join([*names, "sample_weight"]): weights}


def check_takes_weights(estimator: Any) -> None:
    """Raise if the last step has no `sample_weight` in its `fit`."""
    last = _path(estimator)[1]
    accepted = inspect.signature(last.fit).parameters
    if "sample_weight" not in accepted and all(one.kind is not one.VAR_KEYWORD for one in accepted.values()):
        raise ValueError(f"sample_weight must be None for estimators whose fit does not take it, such as {last!r}")


def _path(estimator: Any) -> tuple[list[str], Any]:
    """Return the names of last steps down to the one that is no pipeline, and that one."""
    names: list[str] = []
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        names.append(name)
    return names, estimator
