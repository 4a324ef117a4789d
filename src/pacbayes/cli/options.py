"""Options that several commands have, each with one help text."""

from typing import Annotated

import typer

MissingTexts = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A text that means a missing value, such as ?."),
]
NotMissing = Annotated[
    list[str] | None,
    typer.Option("--not-missing", metavar="TEXT", help="A text that means no missing value, such as NA for Namibia."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHARACTER",
        help="The separator of fields, such as ';' or tab.  [default: comma, or tab in TSV]",
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Load types of scikit-learn too that skops does not trust: for files whose origin you know."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors to stderr.")]
