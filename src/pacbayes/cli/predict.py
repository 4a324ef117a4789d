"""`pacbayes predict`: the labels a saved model gives new examples."""

from contextlib import nullcontext
from csv import QUOTE_MINIMAL, QUOTE_NONNUMERIC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from pacbayes.cli.options import Digest, Input, Quiet, Separator, Sign, Texts

if TYPE_CHECKING:
    from pacbayes.cli.new_rows import NewRows
    from pacbayes.estimators.fitted import CountedBatch

EXAMPLES = (
    "pacbayes predict model.pacbayes new.csv",
    "pacbayes predict model.pacbayes new.csv --voting majority --shares --out predicted.csv",
)


HELP = {
    "Arguments": {
        "model": "What pacbayes certify --save wrote.",
        "data": "A CSV, TSV or Parquet file with the columns of the training data.",
    },
    "Options": {
        "out": "Write here.  [default: stdout]",
        "voting": "soft: the largest mean probability; stochastic: a classifier drawn for each example; majority: "
        "their weighted vote; best: a single one.  [default: as saved]",
        "shares": "Add for each class its probability (soft), or the weight that votes for it.",
    },
}


def predict(
    model: Input,
    data: Input,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv")] = None,
    voting: str | None = None,
    shares: bool = False,
    missing: Texts = None,
    not_missing: Texts = None,
    sep: Separator = None,
    decimal: Sign = None,
    thousands: Sign = None,
    trust: bool = False,
    sha256: Digest = None,
    quiet: Quiet = False,
) -> None:
    r"""Print the predicted class of every row as CSV, and the certificate of the way of predicting on stderr.

    With --out the certificate is on stdout.  Below it stands how many of these answers are wrong at most: one statement
    about this file, beside the certificate and not at once with it.  Nothing is said where that is not proved: for
    groups, copies, a target, and weights that were found on validation examples.

    A model with a target (certify --max-error) leaves the label of an example empty where it is not sure.

    A class whose name a spreadsheet would run as a formula, as it begins with = + - @ and is neither a number nor that
    character alone, gets an apostrophe in front; so does one that is empty or begins with a blank or an apostrophe.
    compare and certify --predictions take it away again.

    A terminal is shown control characters of names as \x1b or \u202e; files and pipes get the names as they are.
    """
    from pacbayes._utils.checks import check_choice
    from pacbayes._utils.files import spooled, writing
    from pacbayes.certificates.voting import VOTINGS
    from pacbayes.cli.interrupted import keeps
    from pacbayes.cli.new_rows import Cells, NewRows, load_saved
    from pacbayes.cli.options import check_outputs
    from pacbayes.cli.show import Note, print_file, print_lines, warnings_as_notes
    from pacbayes.data.number_format import NumberFormat

    if voting is not None:
        check_choice("--voting", voting, VOTINGS)
    check_outputs({"--out": out}, (model, data))
    note = Note(quiet)
    loaded = load_saved(model, trust, sha256)
    if voting is not None:
        loaded.set_params(voting=voting)
    rows = NewRows(data, loaded, Cells(missing or (), not_missing or (), sep, NumberFormat.given(decimal, thousands)))
    try:
        counted: CountedBatch | None = loaded._counted_batch()
    except ValueError:  # nothing is proved of a batch
        counted = None
    # Nothing is seen of the predictions until all of them are there.
    with spooled() if out is None else writing(out) as file:
        with warnings_as_notes(note):
            number, unanswered = _write_predictions(loaded, rows, shares, file, out, counted)
        if out is None:
            print_file(file)
    notes = rows.notes
    if out is not None:
        keeps(lambda: f"the predictions are in {str(out)!r}")
        notes.append(f"{number} predictions written to {out}.")
    if loaded.certificate_.abstains:
        notes.append(f"{unanswered} of {number} examples are not answered: their labels are empty.")
    for line in notes:
        note(line)
    guarantee = (loaded.certificate_.sentence, loaded.certificate_.main_assumption, *_of_these(counted))
    if out is not None and out.is_file():
        print_lines(*guarantee, "")
    else:  # stdout is for the predictions alone
        for line in guarantee:
            note(line)


def _of_these(counted: "CountedBatch | None") -> list[str]:
    """Return how many of the answers are wrong at most, or that the rows are not new."""
    if counted is None:
        return []
    if counted.not_new is not None:
        return [f"How many answers are wrong at most is said of new examples alone: {counted.not_new}."]
    return [str(counted.batch())]


def _write_predictions(
    model: Any, rows: "NewRows", shares: bool, file: BinaryIO, out: Path | None, counted: "CountedBatch | None"
) -> tuple[int, int]:
    """Write the predictions as CSV, block by block; return how many there are, and how many are left empty."""
    from pacbayes._utils.files import naming
    from pacbayes._utils.progress import progress

    number = done = empty = 0
    # The stage of each block has the same name and is not shown: one bar for the file.
    with progress("predictions", rows.total) as advance:
        for block in rows:
            given = block if hasattr(model, "feature_names_in_") else block.to_numpy()
            text, unanswered = _predicted(model, given, shares, header=number == 0)
            if counted is not None:
                counted.add(given)
            with nullcontext() if out is None else naming(out):
                file.write(text.encode())
            number += len(block)
            empty += unanswered
            advance(rows.done - done)
            done = rows.done
    return number, empty


def _predicted(model: Any, given: Any, shares: bool, header: bool) -> tuple[str, int]:
    """Return the predictions of some rows as CSV text, empty where the model does not answer, and how often."""
    import numpy as np
    import pandas as pd

    from pacbayes.certificates.voting import SOFT
    from pacbayes.data.class_names import as_cells

    cells, answered = as_cells(model.predict(given)), np.ones(len(given), dtype=bool)
    if model.certificate_.abstains:
        answered = model.accepts(given)
        cells = np.where(answered, cells.astype(object), "")
    table: dict[str, Any] = {"predicted": cells}
    if model.certificate_.refit:
        table["covered"] = np.where(model.covered(given), "yes", "no")
    if shares:
        # What decides: of a soft vote it is not which class each member would say.
        decides = model.voting_ == SOFT or model.certificate_.refit
        found = model.predict_proba(given) if decides else model.vote_share(given)
        table |= {f"share of {name}": found[:, i] for i, name in enumerate(model.classes_)}
    # The csv module quotes no field for a carriage return alone, at which readers would begin another row.
    returns = any("\r" in str(name) for name in model.classes_)
    options: Any = {"quoting": QUOTE_NONNUMERIC if returns else QUOTE_MINIMAL, "lineterminator": "\n"}
    text = pd.DataFrame(table).to_csv(index=False, header=header, **options)
    return text, int(np.count_nonzero(~answered))
