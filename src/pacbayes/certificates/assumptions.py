"""Which rows did what, and what must hold outside: the assumptions of a certificate in words."""

from pacbayes._utils.words import PLURAL, format_share
from pacbayes.data.division import DISTINCT, EXAMPLE, GROUP, Division

ALONE = (
    "This certificate holds alone at its level, not jointly with those of the other ways of predicting; distance, "
    "delta and way of predicting were fixed before their results were seen."
)
BY_ROW = (
    "What a classifier, with all that prepares its rows, says of a row depends on that row alone, not on the rows "
    "it is asked about together with it."
)
#: What is assumed of the draws: on average over them, or of those of one key.
AVERAGED = "The bound is on the average over the draws of classifiers; random_state was chosen without the data."
KEYED = (
    "The bound is for the draws of this key, which is certified as it is; random_state, which fixed it, was chosen "
    "without the data."
)
#: What is said where limits were asked for.
NO_LIMITS = (
    "There are no other limits: the rule that predicts is a posterior that the validation rows chose, of which none "
    "are proved."
)
LIMITS = (
    "The limits of classes, slices and other risks hold at once with the bound: they have {share:g} of the rule's "
    "level, and are about new examples of that class or slice. The slice of a row was fixed without a look at other "
    "rows or labels, and which classes there are, and what answers cost, without a look at the validation rows."
)
#: And where a target was.
TARGET = (
    "It answers an example if a score of confidence, fixed on the training rows, is large enough; thresholds were "
    "tested one after the other in an order fixed on the training rows, each at the whole of delta."
)
THRESHOLD = (
    "It answers by a threshold of the probability of one class; thresholds were tested one after the other in an order "
    "fixed on the training rows, each target at the whole of delta. Only the targets are certified: other numbers at "
    "that threshold are shown as they were observed."
)
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
# And where the user divided: whatever the training rows are, only those that validate need be such draws.
_GIVEN = {
    unit: tuple(
        line.replace("The rows are", "Whatever rows trained, the validation rows are")
        .replace("The distinct rows are", "Whatever rows trained, the distinct validation rows are")
        .replace("The groups are", "Whatever groups trained, the validation groups are")
        for line in lines
    )
    for unit, lines in _DRAWN.items()
}


def roles(splits: Division) -> tuple[str, ...]:
    """Say which rows did what, and what must hold outside."""
    m, all_units, what = splits.m, splits.n_train + splits.m, PLURAL[splits.unit]
    if splits.trained_elsewhere:
        return _elsewhere(m, what, splits.unit)
    others = f"the other {m} only counted"
    if splits.unit == GROUP:
        others = f"the rows of the other {m} only counted"
    elif splits.unit == DISTINCT:
        others = f"the other {m}, each taken once, only counted"
    if splits.kind == "shared":
        trained = "trained all classifiers, with everything fitted inside them (scaling, kernel width)"
        rows = f"{splits.n_train} of {all_units} {what} {trained}; {others} their errors."
    else:
        rows = (
            f"For each classifier {splits.n_train} {what} of {all_units}, drawn for it alone, trained it, "
            f"with everything fitted inside it (scaling, kernel width); {others} its errors."
        )
    if splits.own:
        by, drawn = f"The user divided the {what}; their labels must have had no part in that.", _GIVEN[splits.unit]
    else:
        by, drawn = f"The {what} were divided at random without looking at the labels.", _DRAWN[splits.unit]
    return (
        f"{rows} {by}",
        *drawn,
        "Nothing outside this estimator has seen the validation rows: not a scaler fitted before it in a Pipeline, "
        "not a GridSearchCV around it. What is fitted belongs inside: CertifiedClassifier(pipeline).",
    )


def _elsewhere(m: int, what: str, unit: str) -> tuple[str, ...]:
    """Say what somebody must ensure whose classifiers were trained on rows that are not here."""
    return (
        f"These {m} {what} trained, tuned and chose nothing: no classifier, and nothing that was fitted or chosen "
        "before (scaling, features, thresholds, early stopping, which classifiers are on the list). Which "
        f"{what} count errors was decided without looking at the labels.",
        *_DRAWN[unit],
        "What was proposed, if anything, was fixed before the errors were known.",
    )


def shares_of_delta(hedge: float, elsewhere: bool) -> tuple[str, ...]:
    """Say how delta was divided; nothing where it was not."""
    if hedge == 1.0:
        return ()
    if hedge == 0.0:
        fixed = "beforehand" if elsewhere else "on the training rows alone"
        return (f"What predicts was fixed {fixed}; the validation rows only counted its errors.",)
    proposed = "was proposed beforehand" if elsewhere else "the training rows proposed"
    return (
        f"Of delta, {format_share(1.0 - hedge)} was given to what {proposed} and {format_share(hedge)} "
        "to what the validation rows might show. Of all these rules the one with the smallest bound predicts.",
    )
