"""`pacbayes posterior`, `bound` and `plan`: computations without a model, from a file of risks or from options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pacbayes.cli.options import SHARE, Column, Input, Plot, Quiet, Separator, Share

if TYPE_CHECKING:
    import pandas as pd

    from pacbayes.report.tables import TextTable

POSTERIOR_EXAMPLES = (
    "pacbayes posterior risks.csv --m 250",
    "pacbayes posterior errors.csv --m 250 --column errors --counts --distance linear --json",
    "pacbayes posterior forest.csv --m rows --column errors --counts",
)
BOUND_EXAMPLES = (
    "pacbayes bound --risk 0.05 --kl 1.5 --m 250",
    "pacbayes bound weights.csv --m 250 --distance kl --distance linear",
)
PLAN_EXAMPLES = (
    "pacbayes plan --error 0.05 --at-most 0.08",
    "pacbayes plan --error 0.02 --at-most 0.05 --chance 0.95 --json",
)
# The table has rows for multiples of the requested margin (bound minus error rate), and columns for chances.
_MARGINS = (0.5, 0.75, 1.0, 1.5, 2.0)
_CHANCES = (0.5, 0.8, 0.9, 0.95)

_M = "Number of validation rows behind each risk, or the column of the file with this number."
_CONSTANT = "exact, or paper: the constants of the paper."
POSTERIOR_HELP = {
    "Arguments": {"risks": "A CSV, TSV or Parquet file with a row for each classifier."},
    "Options": {
        "m": _M,
        "column": "The column of risks.  [default: risk, or the only one]",
        "counts": "The column holds numbers of errors, not risks.",
        "prior": "The column of prior weights.  [default: uniform]",
        "names": "The column of classifier names.  [default: the first text column, if any]",
        "distance": "kl, pinsker, ch, linear, squared, refined-pinsker, or catoni(0.4) with C fixed before validation.",
        "delta": "Maximum probability that the bound fails.",
        "constant": _CONSTANT,
        "method": "certified, fixed-point, ordered-subsets, ipopt or ccp.",
    },
}
BOUND_HELP = {
    "Arguments": {"weights": "A file with the columns risk and weight, and prior unless it is uniform."},
    "Options": {
        "m": _M,
        "risk": "Without a file: the mean empirical risk of the posterior.",
        "kl": "Without a file: the divergence of the posterior from the prior.",
        "distance": "kl, pinsker, ch, linear, squared, refined-pinsker, or catoni(0.4); may be repeated.  [default: "
        "the first five]",
        "delta": "Maximum probability that each bound fails.",
        "constant": _CONSTANT,
    },
}
PLAN_HELP = {
    "Options": {
        "error": "The error rate that you expect, such as 0.05.",
        "at_most": "The bound that you need, such as 0.08.",
        "chance": "Probability of reaching it.",
        "delta": "Maximum probability that the certificate fails.",
    }
}
_SampleSize: TypeAlias = Annotated[str, typer.Option("--m", metavar="INTEGER|COLUMN")]


def posterior(
    risks: Input,
    m: _SampleSize,
    column: Column = None,
    counts: bool = False,
    prior: Column = None,
    names: Column = None,
    sep: Separator = None,
    distance: str = "kl",
    delta: Annotated[float, SHARE] = 0.05,
    constant: str = "exact",
    method: str = "certified",
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Compute the posterior with the smallest PAC-Bayesian bound, and print the weight of each classifier."""
    from pacbayes._utils.checks import check_choice, check_level, warn_if_large_delta
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.distances import get_distance
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.posteriors.optimal import METHODS, optimal_posterior
    from pacbayes.report.tables import TextTable

    level, size = check_level(delta), _sample_size(m)
    resolved_distance = get_distance(distance)
    check_choice("--constant", constant, CONSTANTS)
    check_choice("--method", method, METHODS)
    table = _Table(risks, sep)
    labels = table.names(names)
    size = table.numbers(m, "--m") if size is None else size
    values = table.risks(column, counts, size)
    weights = None if prior is None else table.numbers(prior, "--prior")
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_if_large_delta(level)
        result = optimal_posterior(
            values, size, distance=resolved_distance, delta=level, prior=weights, constant=constant, method=method
        )
    if json:
        print_json({"names": labels} | {name: value for name, value in result.to_dict().items() if name != "details"})
        return
    note(repr(result))
    rows = tuple(
        (name, repr(float(risk)), repr(float(weight)))
        for name, risk, weight in zip(labels, values, result.weights, strict=True)
    )
    print_tables([TextTable("Posterior", ("classifier", "risk", "weight"), rows)], note)


def bound(
    m: _SampleSize,
    weights: Annotated[Path | None, typer.Argument(dir_okay=False)] = None,
    risk: Share = None,
    kl: float | None = None,
    sep: Separator = None,
    distance: list[str] | None = None,
    delta: Annotated[float, SHARE] = 0.05,
    constant: str = "exact",
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Print PAC-Bayesian bounds on the risk of a posterior, rounded up."""
    from pacbayes._utils.checks import check_choice, check_level, min_sample_size, warn_if_large_delta
    from pacbayes._utils.words import format_confidence, format_rounded_up
    from pacbayes.bounds.bound import bound as bound_of
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.distances import DISTANCES, get_distance
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.report.tables import TextTable

    size, level = _sample_size(m), check_level(delta)
    if size is None and weights is None:
        raise ValueError(f"--m must be an integer without a file, got {m!r}")
    names = tuple(distance or DISTANCES)
    distances = {name: get_distance(name) for name in names}
    check_choice("--constant", constant, CONSTANTS)
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_if_large_delta(level)
        if weights is None:
            if risk is None or kl is None:
                raise ValueError("a file with weights and risks, or both --risk and --kl are required")
            if not 0.0 <= kl < float("inf"):
                raise ValueError(f"--kl must be at least 0, got {kl:g}")
            assert size is not None
            bounds = {
                name: float(resolved.bound_function(size, level, constant)(risk, kl))
                for name, resolved in distances.items()
            }
        else:
            if risk is not None or kl is not None:
                raise ValueError("a file cannot be combined with --risk and --kl")
            table = _Table(weights, sep)
            q, risks = table.numbers("weight", "the file"), table.numbers("risk", "the file")
            prior = table.numbers("prior", "the file") if "prior" in table.frame.columns else None
            sizes = table.numbers(m, "--m") if size is None else size
            size = min_sample_size(sizes, risks.size)
            bounds = {
                name: bound_of(q, risks, sizes, distance=name, delta=level, prior=prior, constant=constant)
                for name in names
            }
    if json:
        print_json({"m": size, "delta": level, "constant": constant, "bounds": bounds})
        return
    caption = (
        f"Each bound holds on its own, with {format_confidence(level)} confidence: fix distance and delta before "
        "validation."
    )
    rows = tuple((name, format_rounded_up(value, 6)) for name, value in bounds.items())
    print_tables([TextTable("Bounds", ("distance", "risk at most"), rows, caption)], note)


def _sample_size(m: str) -> int | None:
    """Parse the number of validation rows in --m; None if it is the name of a column.

    Examples
    --------
    >>> _sample_size("250"), _sample_size("rows")
    (250, None)
    """
    from pacbayes._utils.checks import check_sample_size

    try:
        size = int(m)
    except ValueError:
        return None
    return check_sample_size(size)


class _Table:
    """Table with a row for each classifier; error messages name the option that requires a column."""

    def __init__(self, path: Path, sep: str | None) -> None:
        from pacbayes.data.io import ReadOptions, open_table
        from pacbayes.data.rejections import format_option

        self.frame, self.path = open_table(path, ReadOptions(sep, hint=format_option)).read(), str(path)

    def column(self, name: str, option: str) -> "pd.Series[Any]":
        """Return the column `name`; raise if it does not exist."""
        from pacbayes.data.rejections import format_names

        if name not in self.frame.columns:
            columns = format_names(list(self.frame.columns))
            raise ValueError(f"{option} must name a column of {self.path!r}, got {name!r}; its columns are {columns}")
        return self.frame[name]

    def numbers(self, name: str, option: str) -> Any:
        """Return a numeric column; raise if it does not exist or is not numeric."""
        series = self.column(name, option)
        if series.dtype.kind not in "iuf":
            raise ValueError(f"column {name!r} of {self.path!r} must be numeric")
        return series.to_numpy()

    def names(self, column: str | None) -> list[str]:
        """Names of the classifiers; without a text column, their indices."""
        text = [str(name) for name in self.frame if self.frame[name].dtype.kind not in "biuf"]
        if column is None and not text:
            return [str(i) for i in range(len(self.frame))]
        series = self.column(column or text[0], "--names")
        return ["" if missing else str(value) for value, missing in zip(series, series.isna(), strict=True)]

    def risks(self, column: str | None, counts: bool, m: Any) -> Any:
        """Risks of the classifiers; numbers of errors are converted to risks, rounded up."""
        from pacbayes.ensemble.validation import errors_to_risks

        name = column or (str(self.frame.columns[0]) if self.frame.shape[1] == 1 else "risk")
        values = self.numbers(name, "--column")
        if not counts:
            return values
        if values.dtype.kind == "f" or (values < 0).any() or (values > m).any():
            raise ValueError(f"--counts: column {name!r} must contain integers from 0 to the number of validation rows")
        return errors_to_risks(values, m)


def plan(
    error: Annotated[float, SHARE],
    at_most: Annotated[float, SHARE],
    chance: Annotated[float, SHARE] = 0.8,
    delta: Annotated[float, SHARE] = 0.05,
    plot: Plot = None,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Compute how many validation rows are required for a bound on the error rate.

    The bound is that of one rule, fixed before validation and tested with all of delta, such as the soft vote. With the
    printed number of rows, or any larger one, it is reached with the given chance.
    """
    from pacbayes._utils.checks import check_level, warn_if_large_delta
    from pacbayes.bounds.binomial import rows_needed
    from pacbayes.certificates.sentences import format_required
    from pacbayes.cli.options import check_outputs, write_plot
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes

    check_outputs({"--plot": plot}, ())
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_if_large_delta(check_level(delta))
    rows = rows_needed(error, at_most, delta=delta, chance=chance)
    sentence = (
        f"With a true error rate of {format_required(error)}, {rows} validation rows, or any larger number, give a "
        f"bound of at most {format_required(at_most)} with a chance of {format_required(chance)} or more."
    )
    if plot is not None:
        from pacbayes.report.plots import plot_plan

        write_plot(plot, lambda axes: plot_plan(error, at_most, axes, delta=delta, chance=chance))
    grid = _rows_by_bound_and_chance(error, at_most, delta, chance)
    if json:
        table = [{"at_most": b, "chance": c, "rows": number} for (b, c), number in grid.items()]
        settings = {"error": error, "at_most": at_most, "delta": delta, "chance": chance}
        print_json({"rows": rows} | settings | {"table": table, "text": sentence})
        return
    print(f"{sentence}\n")
    print_tables([_requirements_table(error, grid)], note)


def _rows_by_bound_and_chance(
    error: float, at_most: float, delta: float, chance: float
) -> dict[tuple[float, float], int | None]:
    """Rows needed for bounds and chances around the requested ones; None if too many to compute."""
    from pacbayes.bounds.binomial import rows_needed

    # Rounded, except for the requested bound.
    margins = [float(f"{factor * (at_most - error):.4g}") for factor in _MARGINS]
    bounds = [
        at_most if factor == 1.0 else round(error + margin, 12)
        for factor, margin in zip(_MARGINS, margins, strict=True)
    ]
    grid: dict[tuple[float, float], int | None] = {}
    for b in (b for b in bounds if error < b < 1.0 or b == at_most):
        for c in sorted({chance, *_CHANCES}):
            try:
                grid[b, c] = rows_needed(error, b, delta=delta, chance=c)
            except ValueError:  # too close to the error rate
                grid[b, c] = None
    return grid


def _requirements_table(error: float, grid: dict[tuple[float, float], int | None]) -> "TextTable":
    from pacbayes.certificates.sentences import format_required
    from pacbayes.report.tables import TextTable

    bounds, chances = (list(dict.fromkeys(key[i] for key in grid)) for i in (0, 1))
    lines = [(format_required(b), *(str(grid[b, c] or "–") for c in chances)) for b in bounds]
    title = f"Rows required with a true error rate of {format_required(error)}, by bound and chance"
    return TextTable(title, ("bound", *(f"chance {format_required(c)}" for c in chances)), tuple(lines))
