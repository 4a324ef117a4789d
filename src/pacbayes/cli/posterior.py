"""`pacbayes posterior`: the best posterior for risks in a file; `pacbayes bound`: the bounds of one posterior."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.options import AsJson, Quiet, Separator, share_option

if TYPE_CHECKING:
    import pandas as pd

POSTERIOR_EXAMPLES = (
    "pacbayes posterior risks.csv --m 250",
    "pacbayes posterior errors.csv --m 250 --column errors --counts --distance linear --json",
    "pacbayes posterior forest.csv --m examples --column errors --counts",
)
BOUND_EXAMPLES = (
    "pacbayes bound --risk 0.05 --kl 1.5 --m 250",
    "pacbayes bound weights.csv --m 250 --distance kl --distance linear",
)


def posterior(
    risks: Annotated[
        Path, typer.Argument(dir_okay=False, help="A CSV, TSV or Parquet file, one row for each classifier.")
    ],
    m: Annotated[
        str,
        typer.Option(
            "--m",
            metavar="INTEGER|COLUMN",
            help="The number of validation examples behind each risk, or the column with each classifier's.",
        ),
    ],
    column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the risks.  [default: risk, or the only one]")
    ] = None,
    counts: Annotated[bool, typer.Option("--counts", help="The column holds errors out of m, not risks.")] = False,
    prior: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the prior weights.  [default: uniform]")
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column with the classifiers' names.  [default: the first with text, if any]"
        ),
    ] = None,
    sep: Separator = None,
    distance: Annotated[
        str, typer.Option(help="kl, pinsker, ch, linear, squared, or catoni(0.4) with a C fixed beforehand.")
    ] = "kl",
    delta: Annotated[float, share_option("The bound fails with at most this probability.")] = 0.05,
    constant: Annotated[str, typer.Option(help="exact, or paper: as in the paper.")] = "exact",
    method: Annotated[str, typer.Option(help="certified, fixed-point, ordered-subsets, ipopt or ccp.")] = "certified",
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print the posterior with the smallest PAC-Bayesian bound: a line for each classifier: name, risk and weight."""
    from pacbayes._utils.checks import check_choice, check_level, warn_of_level
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.distances import get_distance
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.data.reading import read_frame
    from pacbayes.posteriors.optimal import METHODS, optimal_posterior
    from pacbayes.report.tables import TextTable

    level, said = check_level(delta), _number_said(m)
    chosen = get_distance(distance)
    check_choice("--constant", constant, CONSTANTS)
    check_choice("--method", method, METHODS)
    frame = read_frame(risks, sep=sep)
    called = _names(frame, risks, names)
    size = _sample_sizes(frame, risks, m) if said is None else said
    values = _risks(frame, risks, column, counts, size)
    weights = None if prior is None else _read_column(frame, prior, risks, "--prior")
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
    m: Annotated[
        str,
        typer.Option(
            "--m",
            metavar="INTEGER|COLUMN",
            help="The number of validation examples behind each risk, or the file's column with each classifier's.",
        ),
    ],
    weights: Annotated[
        Path | None,
        typer.Argument(
            dir_okay=False, help="A file with the columns risk and weight, and prior where it is not uniform."
        ),
    ] = None,
    risk: Annotated[float | None, share_option("Without a file: the average empirical risk of the posterior.")] = None,
    kl: Annotated[float | None, typer.Option(help="Without a file: its divergence from the prior.")] = None,
    sep: Separator = None,
    distance: Annotated[
        list[str] | None,
        typer.Option(
            help="kl, pinsker, ch, linear, squared, or catoni(0.4); may be repeated.  [default: the first five]"
        ),
    ] = None,
    delta: Annotated[float, share_option("Each bound fails with at most this probability.")] = 0.05,
    constant: Annotated[str, typer.Option(help="exact, or paper: as in the paper.")] = "exact",
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print PAC-Bayesian bounds on the risk of a posterior, rounded up."""
    from pacbayes._utils.checks import check_level, warn_of_level
    from pacbayes._utils.words import confidence, format_up
    from pacbayes.bounds.distances import DISTANCES, get_distance
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.report.tables import TextTable

    said, level = _number_said(m), check_level(delta)
    if said is None and weights is None:
        raise ValueError(f"--m must be an integer where there is no file, got {m!r}")
    names = tuple(distance or DISTANCES)
    for name in names:
        get_distance(name)
    note = Note(quiet)
    with warnings_as_notes(note):
        warn_of_level(level)
        size, found = _bounds(weights, sep, risk, kl, m if said is None else said, level, names, constant)
    if json:
        print_json({"m": size, "delta": level, "constant": constant, "bounds": found})
        return
    caption = f"Each holds alone, with probability at least {confidence(level)}: fix distance and delta beforehand."
    rows = tuple((name, format_up(value, 6)) for name, value in found.items())
    print_tables([TextTable("Bounds", ("distance", "risk at most"), rows, caption)], note)


def _bounds(
    path: Path | None,
    sep: str | None,
    risk: float | None,
    kl: float | None,
    m: int | str,
    delta: float,
    names: tuple[str, ...],
    constant: str,
) -> tuple[int, dict[str, float]]:
    """Return the number of validation examples that counts, and the bound for each distance."""
    from pacbayes._utils.checks import check_choice, check_sample_size, least_sample_size
    from pacbayes.bounds.bound import bound as bound_of
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.distances import get_distance

    check_choice("--constant", constant, CONSTANTS)
    if path is None:
        point, size = _point(risk, kl), check_sample_size(m)
        return size, {name: float(get_distance(name).bound_function(size, delta, constant)(*point)) for name in names}
    if risk is not None or kl is not None:
        raise ValueError("give a file or --risk and --kl, not both")
    from pacbayes.data.reading import listed, read_frame

    frame = read_frame(path, sep=sep)
    absent = [name for name in ("weight", "risk") if name not in frame.columns]
    if absent:
        raise ValueError(
            f"{str(path)!r} must have the columns 'weight' and 'risk', but lacks {listed(absent)}; its columns are "
            f"{listed(list(frame.columns))}"
        )
    weights, risks = _read_column(frame, "weight", path, "the file"), _read_column(frame, "risk", path, "the file")
    prior: Any = _read_column(frame, "prior", path, "the file") if "prior" in frame.columns else None
    sizes = _sample_sizes(frame, path, m) if isinstance(m, str) else m
    return least_sample_size(sizes, risks.size), {
        name: bound_of(weights, risks, sizes, distance=name, delta=delta, prior=prior, constant=constant)
        for name in names
    }


def _point(risk: float | None, kl: float | None) -> tuple[float, float]:
    if risk is None or kl is None:
        raise ValueError("give a file with weights and risks, or both --risk and --kl")
    if not 0.0 <= kl < float("inf"):
        raise ValueError(f"--kl must be a number of at least 0, got {kl:g}")
    return risk, kl


def _names(frame: "pd.DataFrame", path: Path, column: str | None) -> list[str]:
    """Return the classifiers' names, or their numbers from 0 where the file has no column of text."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    from pacbayes.data.reading import listed

    if column is None:
        text = [name for name in frame if not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))]
        if not text:
            return [str(i) for i in range(len(frame))]
        column = str(text[0])
    if column not in frame.columns:
        known = listed(list(frame.columns))
        raise ValueError(f"--names must name a column of {str(path)!r}, got {column!r}; its columns are {known}")
    return ["" if missing else str(value) for value, missing in zip(frame[column], frame[column].isna(), strict=True)]


def _number_said(m: str) -> int | None:
    """Return the number of validation examples that --m says; None where it is a column's name.

    Examples
    --------
    >>> _number_said("250"), _number_said("examples")
    (250, None)
    """
    from pacbayes._utils.checks import check_sample_size

    try:
        size = int(m)
    except ValueError:
        return None
    return check_sample_size(size)


def _sample_sizes(frame: "pd.DataFrame", path: Path, name: str) -> Any:
    """Return the column that says how many validation examples each classifier has, or raise."""
    import numpy as np

    if name not in frame.columns:
        from pacbayes.data.reading import listed

        known = listed(list(frame.columns))
        raise ValueError(
            f"--m must be an integer or name a column of {str(path)!r}, got {name!r}; its columns are {known}"
        )
    values = _read_column(frame, name, path, "--m")
    wrong = ~(np.isfinite(values) & (values >= 1.0) & (values <= 2.0**53) & (values == np.floor(values)))
    if wrong.any():
        raise ValueError(f"--m: column {name!r} must hold whole numbers of at least 1, got {values[wrong][0]:g}")
    return values.astype(np.int64)


def _risks(frame: "pd.DataFrame", path: Path, column: str | None, counts: bool, m: Any) -> Any:
    """Return the risks in a file; counts of errors become risks that are never below the exact quotient."""
    import numpy as np

    from pacbayes.ensemble.evidence import risks_of_errors

    name = column or (str(frame.columns[0]) if frame.shape[1] == 1 else "risk")
    values = _read_column(frame, name, path, "--column")
    if not counts:
        if (values > 1.0).any():
            raise ValueError(
                f"risks must lie in [0, 1], got {values.max():g} in column {name!r}; if these are numbers of errors, "
                "add --counts"
            )
        return values
    wrong = ~(np.isfinite(values) & (values >= 0.0) & (values <= m) & (values == np.floor(values)))
    if wrong.any():
        most = np.broadcast_to(m, values.shape)[wrong][0]
        raise ValueError(
            f"--counts: column {name!r} must hold whole numbers from 0 to m = {most}, got {values[wrong][0]:g}"
        )
    return risks_of_errors(values.astype(np.int64), m)


def _read_column(frame: "pd.DataFrame", name: str, path: Path, option: str) -> Any:
    """Return a column of numbers, or raise if it is absent, holds anything else or lacks a value."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    from pacbayes.data.reading import listed

    if name not in frame.columns:
        raise ValueError(
            f"{option} must name a column of {str(path)!r}, got {name!r}; its columns are {listed(list(frame.columns))}"
        )
    series = frame[name]
    if is_bool_dtype(series) or not is_numeric_dtype(series):
        raise ValueError(f"column {name!r} of {str(path)!r} must hold numbers")
    if series.isna().any():
        place = int(series.isna().to_numpy().argmax())
        raise ValueError(f"column {name!r} of {str(path)!r} lacks a value in row {place + 1}")
    return series.to_numpy(dtype="float64")
