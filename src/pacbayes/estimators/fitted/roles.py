"""Which rows did what, and what must hold outside: the assumptions of a certificate in words."""

from pacbayes.certificates.units import PLURAL
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.data.division import DISTINCT, EXAMPLE, GROUP, OUT_OF_BAG, Splits

# What must hold of what was drawn.
_DRAWN = {
    EXAMPLE: ("The rows are independent draws from the distribution that new examples come from.",),
    DISTINCT: (
        "Rows equal in features and class are one example that was copied after sampling. The distinct rows are "
        "independent draws from the distribution that new originals come from, and how often one was copied was not "
        "decided by looking at others.",
    ),
    GROUP: (
        "The groups are independent draws from the distribution that new groups come from; rows of one group may "
        "depend on each other in any way.",
        "Bounded is the mean over new groups of the share of errors among a group's rows. Every group counts once, "
        "whatever its size: it is not the share of errors among all rows.",
    ),
}


def _out_of_bag(splits: Splits) -> tuple[str, ...]:
    """Say which rows did what in a forest."""
    return (
        f"For each classifier a bag of {splits.n_train} draws from all {splits.n_rows} rows trained it, with "
        f"everything fitted inside it; the rows left out of the bag, at least {splits.m}, only counted its errors. The "
        "bags were drawn at random without looking at rows or labels.",
        *_DRAWN[EXAMPLE],
        "Bounded are draws and votes of the forest's classifiers, one vote for each with its weight: not the "
        "forest's own predict, which averages probabilities.",
        "Nothing outside this estimator has seen the rows: not a scaler fitted before it, not a search around it. What "
        "is fitted belongs inside the bags: BaggingClassifier(pipeline).",
    )


def roles(classifiers: ClassifierSet) -> tuple[str, ...]:
    """Say which rows did what, and what must hold outside."""
    splits = classifiers.splits
    assert splits is not None
    m, all_units, what = splits.m, splits.n_train + splits.m, PLURAL[splits.unit]
    if splits.trained_elsewhere:
        return _elsewhere(m, what, splits.unit)
    others = f"the other {m} only counted"
    if splits.unit == GROUP:
        others = f"the rows of the other {m} only counted"
    elif splits.unit == DISTINCT:
        others = f"the other {m}, each taken once, only counted"
    if splits.kind == OUT_OF_BAG:
        return _out_of_bag(splits)
    if splits.kind == "shared":
        trained = "trained all classifiers, with everything fitted inside them (scaling, kernel width)"
        rows = f"{splits.n_train} of {all_units} {what} {trained}; {others} their errors."
    else:
        rows = (
            f"For each classifier {splits.n_train} {what} of {all_units}, drawn for it alone, trained it, "
            f"with everything fitted inside it (scaling, kernel width); {others} its errors."
        )
    return (
        f"{rows} The {what} were divided at random without looking at the labels.",
        *_DRAWN[splits.unit],
        "Nothing outside this estimator has seen the validation rows: not a scaler fitted before it in a Pipeline, "
        "not a GridSearchCV around it. What is fitted belongs inside: StochasticClassifier(pipeline, grid).",
    )


def _elsewhere(m: int, what: str, unit: str) -> tuple[str, ...]:
    """Say what somebody must ensure whose classifiers were trained on rows that are not here."""
    return (
        f"The classifiers were trained elsewhere. None of the {m} {what} that counted their errors was used for it, "
        "nor for anything fitted or chosen before (scaling, features, thresholds, early stopping, which classifiers "
        f"are on the list); which {what} count errors was decided without looking at the labels.",
        *_DRAWN[unit],
        "What was proposed, if anything, was fixed before the errors were known.",
    )
