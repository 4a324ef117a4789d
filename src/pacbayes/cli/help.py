"""`pacbayes help`: a command, or the assumptions of every certificate; `pacbayes datasets`."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

#: Where the pages are.
DOCS = "https://pacbayes.readthedocs.io/en/latest"

#: What `pacbayes help assumptions` prints, which the first screen of `certify` names.
ASSUMPTIONS = f"""\
1. The rows are independent draws from where new examples come from.
   Several rows of one patient: --group COLUMN. Rows that were copied:
   --duplicates together. Old rows train, new rows count errors: --validation
   FILE. If the future differs from the past, no certificate helps; watch
   says when it does.
2. The rows that count errors have trained and chosen nothing. Inside pacbayes
   that is so. Scaling, filling gaps or selecting columns on all rows before
   breaks it.
3. You fixed delta, seed, candidates and way of predicting before you saw
   results. To try several and quote the best is not covered.

More: {DOCS}/data-roles.html"""


class GroupedHelp(TyperCommand):
    """A command that shows its options by what they are about: `groups` has their names by heading, apart by blanks."""

    groups: ClassVar[Mapping[str, str]] = {}

    # typer has a click of its own in some versions, and shares the one that is installed in others.
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options under their headings; what is under none comes last."""
        by_name = {str(one.name): one.get_help_record(ctx) for one in self.get_params(ctx)}
        arguments = [str(one.name) for one in self.get_params(ctx) if one.param_type_name == "argument"]
        groups = {"Arguments": arguments} | {heading: names.split() for heading, names in self.groups.items()}
        grouped = {name for names in groups.values() for name in names}
        groups["Other options"] = [name for name in by_name if name not in grouped]
        for heading, names in groups.items():
            records = [record for record in map(by_name.get, names) if record is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def show_help(
    context: typer.Context,
    topic: Annotated[
        str | None, typer.Argument(help="A command, or assumptions; without one, the list of commands.")
    ] = None,
) -> None:
    """Explain a command, or the assumptions of a certificate."""
    root = context.parent
    assert root is not None
    commands: dict[str, Any] = getattr(root.command, "commands", {})
    if topic is None:
        print(f"{root.get_help()}\n\nWhat a certificate assumes: pacbayes help assumptions.\nAll pages: {DOCS}/")
    elif topic == "assumptions":
        print(ASSUMPTIONS)
    elif topic in commands:
        with commands[topic].make_context(topic, [], parent=root, resilient_parsing=True) as own:
            print(own.get_help())
    else:
        raise ValueError(f"unknown TOPIC {topic!r}; known are {', '.join(('assumptions', *commands))}")


def datasets() -> None:
    """List the data sets that come with pacbayes, with the split sizes of the paper's table."""
    from pacbayes.data.datasets import DATASETS

    header = ("name", "examples", "features", "classes", "train/val/test", "title")
    rows = [
        (
            facts.name,
            str(facts.rows),
            str(facts.features),
            "/".join(str(count) for count in facts.classes.values()),
            "–" if facts.split_sizes is None else "/".join(str(size) for size in facts.split_sizes),
            facts.title,
        )
        for facts in DATASETS.values()
    ]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
