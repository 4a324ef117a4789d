"""`pacbayes reproduce`: the paper's tables and figures."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Tables and figures; all if none is given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, in about a minute.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="The paper's own counts: 1000 starts, Ipopt on all seeds, 5 seeds also where slow."
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for NAME.md, NAME.csv and figures.")] = Path("results"),
    cache: Annotated[Path | None, typer.Option(help="Folder for intermediate results.  [default: OUT/.cache]")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads.  [default: all cores]")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds.  [default: 10 for one split, 5 or 1 for many]", show_default=False)
    ] = None,
    split: Annotated[str, typer.Option(help="independent, shared, overlapping or all.")] = "all",
    limit: Annotated[float, typer.Option(help="Seconds of processor time for one Ipopt solve.")] = 30.0,
    list_names: Annotated[bool, typer.Option("--list", help="List the names and stop.")] = False,
) -> None:
    """Compute the paper's tables and figures, its own numbers beside ours.

    What was computed is kept and used again: a second run, or one after an interruption, computes only what is missing.
    """
    from pacbayes._utils.checks import check_choice
    from pacbayes.cli.interrupted import keeps
    from pacbayes.paper.protocol import SPLIT_SCHEMES
    from pacbayes.paper.tables import DESCRIPTIONS, load
    from pacbayes.paper.workspace import Workspace

    if list_names:
        for name, description in DESCRIPTIONS.items():
            print(f"{name:18s}{description}")
        return
    for name in names or ():
        check_choice("NAME", name, DESCRIPTIONS)
    if not limit > 0.0:
        raise ValueError(f"--limit must be positive, got {limit:g}")
    splits = SPLIT_SCHEMES if check_choice("--split", split, (*SPLIT_SCHEMES, "all")) == "all" else (split,)
    space = Workspace.at(
        out / ".cache" if cache is None else cache, quick=quick, full=full, seeds=seeds, splits=splits, jobs=jobs,
        ipopt_seconds=min(limit, 3.0) if quick else limit, quiet=False,
    )  # fmt: skip
    kept = str(out / ".cache" if cache is None else cache)
    keeps(lambda: f"what was computed is kept in {kept!r}, the same command continues from there")
    for name in names or DESCRIPTIONS:
        start = time.perf_counter()
        for path in load(name)(space).write(out):
            print(path)
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
