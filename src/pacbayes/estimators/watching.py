"""What a fitted model's monitor counts: the errors of new rows, where the model answers."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.difference import warn_of_known
from pacbayes.certificates.voting import POSTERIOR
from pacbayes.certificates.watching import wrong_answers
from pacbayes.data.division import DISTINCT
from pacbayes.data.duplicates import check_new_rows
from pacbayes.data.labelled import check_same_order
from pacbayes.estimators.fitted import Fitted


def check_watched(certificate: Certificate, voting: str, copies_left_out: bool = False) -> None:
    """Raise where rows that arrive do not have losses of mean at most the bound, one after the other."""
    if voting == "stochastic" and certificate.rule == POSTERIOR:
        raise ValueError(
            "draws by a posterior cannot be watched: the bound is on their average, and equal rows get equal draws. "
            "Use another voting"
        )
    if certificate.unit == DISTINCT and not copies_left_out:
        raise ValueError(
            "with duplicates='together' every distinct row counts once, and a monitor does not know which came before: "
            "give the errors of distinct rows to certificate_.monitor(); pacbayes watch leaves copies out"
        )


@dataclass(frozen=True, eq=False)
class Watched:
    """The model and its way of predicting when the monitor was made: the limit is theirs, and no others'."""

    model: Any
    fitted: Fitted
    voting: str

    def __call__(self, X: Any, y_true: ArrayLike) -> ArrayLike:
        """Return for every row that the model answers whether it is wrong, and covered where it was refitted."""
        if self.model._fitted is not self.fitted or self.model._voting() != self.voting:
            raise ValueError(
                "the model was fitted again, or predicts in another way, since its monitor was made: make another"
            )
        check_same_order(X=X, y_true=y_true)
        warn_of_known(check_new_rows(self.model, X, "X", "the model"), "X", "the model")
        wrong = wrong_answers(y_true, self.model.predict(X))
        if self.fitted.refit is not None:
            wrong = wrong & self.model.covered(X)
        return wrong if self.fitted.certificates[self.voting].answered is None else wrong[self.model.answers(X)]
