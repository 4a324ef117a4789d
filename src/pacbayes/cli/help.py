"""`pacbayes help TOPIC`: the questions that no option answers, and where to read on; `pacbayes datasets`."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

#: Where the pages are; each topic names its own.
DOCS = "https://pacbayes.readthedocs.io/en/latest"

#: Page and text of each topic.
TOPICS = {
    "certificate": (
        "certificates",
        """\
"With probability at least 95 %, the soft vote errs on at most 4.2 % of new
examples."

One part of the rows trained; the other part only counted errors. The limit
follows from that count. The 95 % are about the rows that were drawn: of 100
samples like yours, at most 5 lead to such a sentence that is false. They are
not about one new example.

The soft vote answers with the class that has the largest mean probability.
Other ways to predict (--voting) have certificates of their own. Each holds
alone: decide which to use before you look. --details shows all of them.""",
    ),
    "assumptions": (
        "data-roles",
        """\
1. The rows are independent draws from where new examples come from.
   Several rows of one patient: --group COLUMN. Rows that were copied:
   --duplicates together. Old rows train, new rows count errors: --validation
   FILE. If the future differs from the past, no certificate helps; watch
   says when it does.
2. The rows that count errors have trained and chosen nothing. Inside pacbayes
   that is so. Scaling, filling gaps or selecting columns on all rows before
   breaks it.
3. You fixed delta, seed, candidates and way of predicting before you saw
   results. To try several and quote the best is not covered.""",
    ),
    "questions": (
        "what-to-certify",
        """\
How often does it err?              pacbayes certify data.csv --target y
Which errors?                       --by-class, --slice COLUMN
How many ill people are missed?     --positive ill
Recall, precision, F1, cost?        --limits recall,precision,f1, --cost FILE
Answer only where it is sure?       --max-error 0.05
Find at least 90 % of a class?      --recall 0.9 --positive ill
Of these rows, how many are wrong?  pacbayes predict MODEL new.csv
Is the new model better?            pacbayes compare
Is it still true?                   pacbayes watch
How many rows do I need?            pacbayes plan

Decide what you ask before you look.""",
    ),
    "data": (
        "command-line",
        """\
A CSV, TSV or Parquet file with a line of column names. --target names the
column with the class.

Text columns become categories and gaps are filled in, both learnt on the
training rows. Columns that identify rows, dates, and numbers mixed with text
are refused, all at once, each with its ways out: --drop, --keep, --group,
--categorical, --missing.

Other separators: --sep ';'. Numbers such as 3,5: --decimal ,
Numbers such as 3,682.50: --thousands ,
Rows without a class: --skip-unlabelled.""",
    ),
    "models": (
        "model-files",
        """\
certify --save FILE writes a model that predict reads. Loading it runs no code
and computes the certificate anew from stored answers. It holds some of your
rows.

Types that skops does not trust need --trust: only for files whose origin you
know. A forged file may crash predict. --sha256 accepts only the file that you
know.

The report (--report FILE.html) is one page that loads nothing from elsewhere.""",
    ),
    "scripts": (
        "command-line",
        """\
stdout: the guarantee, what was seen, then tables that were asked for,
tab-separated where stdout is no terminal. With --json: JSON alone.
stderr: all else.

Exit codes: 0 done; 1 internal error; 2 invalid input, told in one line; 3 the
requested guarantee was not reached (certify --max-error, --recall, --precision,
--fpr; all output is written), or an alarm of watch; 130 interrupted, with a
line that says what was kept.

PACBAYES_DEBUG=1 shows tracebacks. `pacbayes --install-completion` completes
commands and options in your shell.""",
    ),
    "theory": (
        "mathematics",
        """\
Theorems, constants, proofs and what is rounded where stand on one page.
The paper is Sahu and Hemachandra (ACML 2019). `pacbayes reproduce` computes
its tables and figures, from its support vector machines. `pacbayes certify
--hedge 1` certifies a posterior of its kind, but over our own portfolio of
classifiers: that is not the paper's system.""",
    ),
}


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
    topic: Annotated[str | None, typer.Argument(help="A command or a topic; without one, the list of both.")] = None,
) -> None:
    """Explain a command or a topic."""
    root = context.parent
    assert root is not None
    commands: dict[str, Any] = getattr(root.command, "commands", {})
    if topic is None:
        print(root.get_help())
        print(f"\nTopics, for `pacbayes help TOPIC`: {', '.join(TOPICS)}.\nAll pages: {DOCS}/")
    elif topic in TOPICS:
        page, text = TOPICS[topic]
        print(f"{text}\n\nMore: {DOCS}/{page}.html")
    elif topic in commands:
        with commands[topic].make_context(topic, [], parent=root, resilient_parsing=True) as own:
            print(own.get_help())
    else:
        raise ValueError(f"unknown TOPIC {topic!r}; known are {', '.join((*TOPICS, *commands))}")


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
