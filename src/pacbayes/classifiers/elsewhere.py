"""Classifiers that were trained before, on other rows."""

from typing import Any

from pacbayes.classifiers.members import Estimators
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches


def check_elsewhere(estimators: Any, data: Labelled) -> Estimators:
    """Return fitted classifiers as members, or raise; whether one is fitted shows when it is asked."""
    if hasattr(estimators, "predict"):
        raise TypeError(f"estimators must be a list of fitted classifiers, got the single {type(estimators).__name__}")
    fitted = list(estimators)
    if not fitted:
        raise ValueError("estimators must hold at least one fitted classifier, got none")
    for i, estimator in enumerate(fitted):
        if isinstance(estimator, type) or not callable(getattr(estimator, "predict", None)):
            raise TypeError(f"estimators[{i}] must be a fitted classifier with a method predict, got {estimator!r}")
    params = [one.get_params() if hasattr(one, "get_params") else {} for one in fitted]
    return Estimators(fitted, params, data.classes, elsewhere=True)


def warn_elsewhere(members: Estimators, data: Labelled) -> None:
    """Warn of classifiers whose answer to one of these rows depends on the rows around it."""
    try:
        some = pick_rows(data.rows, few_rows(data.labels))
    except Exception:  # rows, or labels, of a kind that scikit-learn cannot pick from: nobody is asked about them
        return
    warn_of_batches(members.estimators, lambda i: some)
