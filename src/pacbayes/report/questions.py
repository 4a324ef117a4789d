"""Members that are good enough, as a table."""

from pacbayes._utils.words import OF_NEW, confidence, format_share, percent_up
from pacbayes.certificates.below import CertifiedMember
from pacbayes.certificates.target import format_target
from pacbayes.estimators.base import CertifiedModel
from pacbayes.report.tables import TextTable, format_run
from pacbayes.report.view import ReportView

# Rows of the table of members.
MOST_MEMBERS = 20


def _runs_of(model: CertifiedModel, found: list[CertifiedMember]) -> list[list[CertifiedMember]]:
    """Return the members by limit, those next to each other on a path of lambdas and with equal limits together."""
    numbers = {i: number for number, path in enumerate(ReportView.of(model).paths) for i in path.tolist()}
    runs: list[list[CertifiedMember]] = []
    for one in sorted(found, key=lambda one: (one.bound, one.index)):
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and (last.bound, last.empirical_risk) == (one.bound, one.empirical_risk)
            and (last.index + 1, numbers[last.index]) == (one.index, numbers[one.index])
        ):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def below_table(model: CertifiedModel, target: float) -> TextTable:
    """Return the single classifiers whose limits are at most a target, the smallest first.

    On a path, neighbours with equal limits stand in one line.
    """
    found = model.certified_below(target)
    runs = _runs_of(model, found)
    rows = [
        (
            str(run[0].index) if len(run) == 1 else f"{run[0].index} to {run[-1].index}",
            format_run([one.params for one in run]),
            percent_up(run[0].bound),
            format_share(run[0].empirical_risk),
        )
        for run in runs[:MOST_MEMBERS]
    ]
    more = f" The {MOST_MEMBERS} lines with the smallest limits are shown." if len(runs) > MOST_MEMBERS else ""
    caption = (
        f"{len(found)} of {len(model.classifiers_)} classifiers.{more} All limits hold at once with probability at "
        f"least {confidence(model.delta_)}, so that any of them may be taken for whatever reason; not at once with the "
        f"certificates above. Shares are of {OF_NEW[model.classifiers_.unit]}."
    )
    columns = ("classifier", "parameters", "errs on at most", "validation errors")
    return TextTable(f"Certified to err on at most {format_target(target)}", columns, rows, caption)
