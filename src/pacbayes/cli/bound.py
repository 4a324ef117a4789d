"""`pacbayes bound`: the bounds of one posterior."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pacbayes.cli.options import AsJson, Quiet, Separator

EXAMPLES = (
    "pacbayes bound --risk 0.05 --kl 1.5 --m 250",
    "pacbayes bound weights.csv --m 250 --distance kl --distance linear",
)


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
        typer.Argument(help="A file with the columns risk and weight, and prior where it is not uniform."),
    ] = None,
    risk: Annotated[
        float | None, typer.Option(help="Without a file: the average empirical risk of the posterior.")
    ] = None,
    kl: Annotated[float | None, typer.Option(help="Without a file: its divergence from the prior.")] = None,
    sep: Separator = None,
    distance: Annotated[
        list[str] | None,
        typer.Option(
            help="kl, pinsker, ch, linear, squared, or catoni(0.4); may be repeated.  [default: the first five]"
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Each bound fails with at most this probability.")] = 0.05,
    constant: Annotated[str, typer.Option(help="exact, or paper: as in the paper.")] = "exact",
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print PAC-Bayesian bounds on the risk of a posterior, rounded up."""
    from pacbayes.bounds.registry import DISTANCES, get_distance
    from pacbayes.cli.posterior import number_said
    from pacbayes.cli.show import Note, print_json, print_tables, warnings_as_notes
    from pacbayes.numeric.checks import check_level, warn_of_level
    from pacbayes.numeric.words import confidence, format_up
    from pacbayes.report.tables import TextTable

    said, level = number_said(m), check_level(delta)
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
    from pacbayes.bounds.bound import bound as bound_of
    from pacbayes.bounds.distance import CONSTANTS
    from pacbayes.bounds.registry import get_distance
    from pacbayes.numeric.checks import check_choice, check_sample_size, least_sample_size

    check_choice("--constant", constant, CONSTANTS)
    if path is None:
        point, size = _point(risk, kl), check_sample_size(m)
        return size, {name: float(get_distance(name).bound_function(size, delta, constant)(*point)) for name in names}
    if risk is not None or kl is not None:
        raise ValueError("give a file or --risk and --kl, not both")
    from pacbayes.cli.posterior import read_column, sample_sizes
    from pacbayes.data.reading import listed, read_frame

    frame = read_frame(path, sep=sep)
    absent = [name for name in ("weight", "risk") if name not in frame.columns]
    if absent:
        raise ValueError(
            f"{str(path)!r} must have the columns 'weight' and 'risk', but lacks {listed(absent)}; its columns are "
            f"{listed(list(frame.columns))}"
        )
    weights, risks = read_column(frame, "weight", path, "the file"), read_column(frame, "risk", path, "the file")
    prior: Any = read_column(frame, "prior", path, "the file") if "prior" in frame.columns else None
    sizes = sample_sizes(frame, path, m) if isinstance(m, str) else m
    return least_sample_size(sizes, risks.size), {
        name: bound_of(weights, risks, sizes, distance=name, delta=delta, prior=prior, constant=constant)
        for name in names
    }


def _point(risk: float | None, kl: float | None) -> tuple[float, float]:
    if risk is None or kl is None:
        raise ValueError("give a file with weights and risks, or both --risk and --kl")
    if not 0.0 <= risk <= 1.0:
        raise ValueError(f"--risk must lie in [0, 1], got {risk:g}")
    if not 0.0 <= kl < float("inf"):
        raise ValueError(f"--kl must be a number of at least 0, got {kl:g}")
    return risk, kl
