"""`pacbayes posterior`, `bound` and `plan`: numbers without a model, from a file of risks or from the options."""

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
    "pacbayes posterior forest.csv --m examples --column errors --counts",
)
BOUND_EXAMPLES = (
    "pacbayes bound --risk 0.05 --kl 1.5 --m 250",
    "pacbayes bound weights.csv --m 250 --distance kl --distance linear",
)
PLAN_EXAMPLES = (
    "pacbayes plan --error 0.05 --target 0.08",
    "pacbayes plan --error 0.02 --target 0.05 --chance 0.95 --json",
)
# Targets of the table, by how much more than the error they are, in parts of what was asked for; and chances.
_FARTHER = (0.5, 0.75, 1.0, 1.5, 2.0)
_CHANCES = (0.5, 0.8, 0.9, 0.95)

_M = "The number of validation examples behind each risk, or the file's column with each classifier's."
_CONSTANT = "exact, or paper: as in the paper."
POSTERIOR_HELP = {
    "Arguments": {"risks": "A CSV, TSV or Parquet file, one row for each classifier."},
    "Options": {
        "m": _M,
        "column": "The column with the risks.  [default: risk, or the only one]",
        "counts": "The column holds errors out of m, not risks.",
        "prior": "The column with the prior weights.  [default: uniform]",
        "names": "The column with the classifiers' names.  [default: the first with text, if any]",
        "distance": "kl, pinsker, ch, linear, squared, refined-pinsker, or catoni(0.4) with a C fixed beforehand.",
        "delta": "The bound fails with at most this probability.",
        "constant": _CONSTANT,
        "method": "certified, fixed-point, ordered-subsets, ipopt or ccp.",
    },
}
BOUND_HELP = {
    "Arguments": {"weights": "A file with the columns risk and weight, and prior where it is not uniform."},
    "Options": {
        "m": _M,
        "risk": "Without a file: the average empirical risk of the posterior.",
        "kl": "Without a file: its divergence from the prior.",
        "distance": "kl, pinsker, ch, linear, squared, refined-pinsker, or catoni(0.4); may be repeated.  [default: "
        "the first five]",
        "delta": "Each bound fails with at most this probability.",
        "constant": _CONSTANT,
    },
}
PLAN_HELP = {
    "Options": {
        "error": "The share of errors that you expect, such as 0.05.",
        "target": "What the certificate is to say at most, such as 0.08.",
        "chance": "With which probability it is to say so.",
        "delta": "The certificate fails with at most this probability.",
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
    """Print the posterior with the smallest PAC-Bayesian bound: a line for each classifier: name, risk and weight."""
    from pacbayes._utils.checks import check_choice, check_level, warn_of_level
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.distances import get_distance
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.posteriors.optimal import METHODS, optimal_posterior
    from pacbayes.report.tables import TextTable

    level, size = check_level(delta), _sample_size(m)
    chosen = get_distance(distance)
    check_choice("--constant", constant, CONSTANTS)
    check_choice("--method", method, METHODS)
    table = _Table(risks, sep)
    called = table.names(names)
    size = table.sample_sizes(m) if size is None else size
    values = table.risks(column, counts, size)
    weights = None if prior is None else table.numbers(prior, "--prior")
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_of_level(level)
        found = optimal_posterior(
            values, size, distance=chosen, delta=level, prior=weights, constant=constant, method=method
        )
    if json:
        print_json({"names": called} | {name: value for name, value in found.to_dict().items() if name != "details"})
        return
    note(repr(found))
    rows = tuple(
        (name, repr(float(risk)), repr(float(weight)))
        for name, risk, weight in zip(called, values, found.weights, strict=True)
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
    from pacbayes._utils.checks import check_choice, check_level, least_sample_size, warn_of_level
    from pacbayes._utils.words import confidence, format_up
    from pacbayes.bounds.bound import bound as bound_of
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.distances import DISTANCES, get_distance
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.report.tables import TextTable

    size, level = _sample_size(m), check_level(delta)
    if size is None and weights is None:
        raise ValueError(f"--m must be an integer where there is no file, got {m!r}")
    names = tuple(distance or DISTANCES)
    chosen = {name: get_distance(name) for name in names}
    check_choice("--constant", constant, CONSTANTS)
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_of_level(level)
        if weights is None:
            if risk is None or kl is None:
                raise ValueError("give a file with weights and risks, or both --risk and --kl")
            if not 0.0 <= kl < float("inf"):
                raise ValueError(f"--kl must be a number of at least 0, got {kl:g}")
            assert size is not None
            found = {name: float(one.bound_function(size, level, constant)(risk, kl)) for name, one in chosen.items()}
        else:
            if risk is not None or kl is not None:
                raise ValueError("give a file or --risk and --kl, not both")
            q, risks, prior, sizes = _Table(weights, sep).posterior(m, size)
            size = least_sample_size(sizes, risks.size)
            found = {
                name: bound_of(q, risks, sizes, distance=name, delta=level, prior=prior, constant=constant)
                for name in names
            }
    if json:
        print_json({"m": size, "delta": level, "constant": constant, "bounds": found})
        return
    caption = f"Each holds alone, with probability at least {confidence(level)}: fix distance and delta beforehand."
    rows = tuple((name, format_up(value, 6)) for name, value in found.items())
    print_tables([TextTable("Bounds", ("distance", "risk at most"), rows, caption)], note)


def _sample_size(m: str) -> int | None:
    """Return the number of validation examples that --m says; None where it is a column's name.

    Examples
    --------
    >>> _sample_size("250"), _sample_size("examples")
    (250, None)
    """
    from pacbayes._utils.checks import check_sample_size

    try:
        size = int(m)
    except ValueError:
        return None
    return check_sample_size(size)


class _Table:
    """A file with one row for each classifier, whose columns are asked for in the name of an option."""

    def __init__(self, path: Path, sep: str | None) -> None:
        from pacbayes.data.reading import listed, read_frame

        self.frame, self.path = read_frame(path, sep=sep), str(path)
        self.its_columns = f"its columns are {listed(list(self.frame.columns))}"

    def column(self, name: str, option: str, or_else: str = "") -> "pd.Series[Any]":
        """Return a column, or raise if the file has none of this name."""
        if name not in self.frame.columns:
            raise ValueError(f"{option} must {or_else}name a column of {self.path!r}, got {name!r}; {self.its_columns}")
        return self.frame[name]

    def numbers(self, name: str, option: str, or_else: str = "") -> Any:
        """Return a column of numbers, or raise if it is absent, holds anything else or lacks a value."""
        series = self.column(name, option, or_else)
        if series.dtype.kind not in "iuf":
            raise ValueError(f"column {name!r} of {self.path!r} must hold numbers")
        if series.isna().any():
            place = int(series.isna().to_numpy().argmax())
            raise ValueError(f"column {name!r} of {self.path!r} lacks a value in row {place + 1}")
        return series.to_numpy(dtype="float64")

    def names(self, column: str | None) -> list[str]:
        """Return the classifiers' names, or their numbers from 0 where the file has no column of text."""
        text = [str(name) for name in self.frame if self.frame[name].dtype.kind not in "biuf"]
        if column is None and not text:
            return [str(i) for i in range(len(self.frame))]
        series = self.column(column or text[0], "--names")
        return ["" if missing else str(value) for value, missing in zip(series, series.isna(), strict=True)]

    def sample_sizes(self, name: str) -> Any:
        """Return the column that says how many validation examples each classifier has, or raise."""
        values = self.numbers(name, "--m", "be an integer or ")
        return _whole(values, 1.0, 2.0**53, f"--m: column {name!r} must hold whole numbers of at least 1")

    def risks(self, column: str | None, counts: bool, m: Any) -> Any:
        """Return the risks; counts of errors become risks that are never below the exact quotient."""
        from pacbayes.ensemble.validation import risks_of_errors

        name = column or (str(self.frame.columns[0]) if self.frame.shape[1] == 1 else "risk")
        values = self.numbers(name, "--column")
        if counts:
            most = "m" if hasattr(m, "size") else f"m = {m}"
            wanted = f"--counts: column {name!r} must hold whole numbers from 0 to {most}"
            return risks_of_errors(_whole(values, 0.0, m, wanted), m)
        if (values > 1.0).any():
            raise ValueError(
                f"risks must lie in [0, 1], got {values.max():g} in column {name!r}; if these are numbers of errors, "
                "add --counts"
            )
        return values

    def posterior(self, m: str, size: int | None) -> tuple[Any, Any, Any, Any]:
        """Return the weights, the risks, the prior (None for the uniform one) and the sample sizes."""
        if not {"weight", "risk"} <= {*self.frame.columns}:
            raise ValueError(f"{self.path!r} must have the columns 'weight' and 'risk'; {self.its_columns}")
        weights, risks = self.numbers("weight", "the file"), self.numbers("risk", "the file")
        prior = self.numbers("prior", "the file") if "prior" in self.frame.columns else None
        return weights, risks, prior, self.sample_sizes(m) if size is None else size


def _whole(values: Any, least: float, most: Any, wanted: str) -> Any:
    """Return whole numbers as integers, or raise if any is none or beyond its limits."""
    wrong = ~((values >= least) & (values <= most) & (values % 1.0 == 0.0))
    if wrong.any():
        raise ValueError(f"{wanted}, got {values[wrong][0]:g}")
    return values.astype("int64")


def plan(
    error: Annotated[float, SHARE],
    target: Annotated[float, SHARE],
    chance: Annotated[float, SHARE] = 0.8,
    delta: Annotated[float, SHARE] = 0.05,
    plot: Plot = None,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Say how many validation rows it takes until the exact limit of errors stays at or below a target.

    The limit is that of one rule fixed on training rows and tested with all of delta, as the soft vote is. With so many
    rows, and with every larger number, it reaches the target with the given chance.
    """
    from pacbayes._utils.checks import check_level, warn_of_level
    from pacbayes.bounds.binomial import rows_needed
    from pacbayes.certificates.sentences import format_required
    from pacbayes.cli.options import check_outputs, write_plot
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes

    check_outputs({"--plot": plot}, ())
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_of_level(check_level(delta))
    rows = rows_needed(error, target, delta=delta, chance=chance)
    said = (
        f"If {format_required(error)} of new examples are answered wrong, {rows} validation rows, or any larger "
        f"number, keep the bound at or below {format_required(target)} with a chance of {format_required(chance)} or "
        "more."
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
    from pacbayes.certificates.sentences import format_required
    from pacbayes.report.tables import TextTable

    targets, chances = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    lines = [(format_required(t), *(str(found[t, c] or "–") for c in chances)) for t in targets]
    title = f"Rows needed at an error of {format_required(error)}, by target and chance"
    return TextTable(title, ("target", *(f"chance {format_required(c)}" for c in chances)), tuple(lines))
