"""`pacbayes plan`: how many validation rows it takes to certify a target."""

from typing import TYPE_CHECKING, Annotated

from pacbayes.cli.options import AsJson, Plot, Quiet, share_option

if TYPE_CHECKING:
    from pacbayes.report.tables import TextTable

EXAMPLES = (
    "pacbayes plan --error 0.05 --target 0.08",
    "pacbayes plan --error 0.02 --target 0.05 --chance 0.95 --json",
)
# Targets of the table, by how much more than the error they are, in parts of what was asked for; and chances.
_FARTHER = (0.5, 0.75, 1.0, 1.5, 2.0)
_CHANCES = (0.5, 0.8, 0.9, 0.95)


def plan(
    error: Annotated[float, share_option("The share of errors that you expect, such as 0.05.")],
    target: Annotated[float, share_option("What the certificate is to say at most, such as 0.08.")],
    chance: Annotated[float, share_option("With which probability it is to say so.")] = 0.8,
    delta: Annotated[float, share_option("The certificate fails with at most this probability.")] = 0.05,
    plot: Plot = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say how many validation rows it takes until the exact limit of errors stays at or below a target.

    The limit is that of one rule fixed on training rows and tested with all of delta, as the soft vote is. With so many
    rows, and with every larger number, it reaches the target with the given chance.
    """
    from pacbayes._utils.checks import check_level, warn_of_level
    from pacbayes.bounds.binomial import rows_needed
    from pacbayes.certificates.sentences import format_target
    from pacbayes.cli.options import check_outputs, write_plot
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes

    check_outputs({"--plot": plot}, ())
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_of_level(check_level(delta))
    rows = rows_needed(error, target, delta=delta, chance=chance)
    said = (
        f"If {format_target(error)} of new examples are answered wrong, {rows} validation rows, or any larger number, "
        f"keep the limit at or below {format_target(target)} with a chance of {format_target(chance)} or more."
    )
    if plot is not None:
        from pacbayes.report.plots import plot_plan

        write_plot(plot, lambda axes: plot_plan(error, target, axes, delta=delta, chance=chance))
    others = _others(error, target, delta, chance)
    if json:
        table = [{"target": t, "chance": c, "rows": number} for (t, c), number in others.items()]
        given = {"error": error, "target": target, "delta": delta, "chance": chance}
        print_json({"rows": rows} | given | {"table": table, "text": said})
        return
    print(f"{said}\n")
    print_tables([_table(error, others)], note)


def _others(error: float, target: float, delta: float, chance: float) -> dict[tuple[float, float], int | None]:
    """Return the rows for targets and chances around those that were asked for; None where it takes too many."""
    from pacbayes.bounds.binomial import rows_needed

    # As a person would write them; the one asked for stays as it is.
    gaps = [float(f"{part * (target - error):.4g}") for part in _FARTHER]
    farther = [target if part == 1.0 else round(error + gap, 12) for part, gap in zip(_FARTHER, gaps, strict=True)]
    found: dict[tuple[float, float], int | None] = {}
    for t in (t for t in farther if error < t < 1.0 or t == target):
        for c in sorted({chance, *_CHANCES}):
            try:
                found[t, c] = rows_needed(error, t, delta=delta, chance=c)
            except ValueError:  # too near to the error
                found[t, c] = None
    return found


def _table(error: float, found: dict[tuple[float, float], int | None]) -> "TextTable":
    from pacbayes.certificates.sentences import format_target
    from pacbayes.report.tables import TextTable

    targets, chances = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    lines = [(format_target(t), *(str(found[t, c] or "–") for c in chances)) for t in targets]
    title = f"Rows needed at an error of {format_target(error)}, by target and chance"
    return TextTable(title, ("target", *(f"chance {format_target(c)}" for c in chances)), tuple(lines))
