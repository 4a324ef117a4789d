"""`pacbayes predict`: predict new rows with a saved model."""

from contextlib import nullcontext
from csv import QUOTE_MINIMAL, QUOTE_NONNUMERIC
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from pacbayes.cli.options import Digest, Input, Name, Quiet, Separator, Sign, Texts

if TYPE_CHECKING:
    import pandas as pd

    from pacbayes.cli.new_rows import NewRows
    from pacbayes.estimators.fitted import CountedBatch

EXAMPLES = (
    "pacbayes predict model.pacbayes new.csv",
    "pacbayes predict model.pacbayes new.csv --voting majority --shares --out predicted.csv",
)


HELP = {
    "Arguments": {
        "model": "A model saved by pacbayes certify --save.",
        "data": "A CSV, TSV or Parquet file with the columns of the training data.",
    },
    "Options": {
        "out": "Output file.  [default: stdout]",
        "voting": "soft: the class with the highest mean probability; majority: weighted majority vote; best: a single "
        "classifier; stochastic: a random classifier for each row.  [default: as saved]",
        "id_": "A column to write before the predictions.",
        "shares": "Add the probability of each class (soft), or the weight of its votes.",
    },
}


def predict(
    model: Input,
    data: Input,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv")] = None,
    id_: Annotated[str | None, typer.Option("--id", metavar="COLUMN")] = None,
    voting: str | None = None,
    shares: bool = False,
    missing: Texts = None,
    not_missing: Texts = None,
    sep: Separator = None,
    encoding: Name = None,
    decimal: Sign = None,
    thousands: Sign = None,
    trust: bool = False,
    sha256: Digest = None,
    quiet: Quiet = False,
) -> None:
    r"""Print the predicted class of every row as CSV, and the certificate on stderr.

    With --out, the certificate is on stdout.  It is followed by an upper bound on the number of wrong predictions in
    this file, whose confidence applies to this file alone, not jointly with the certificate.  There is no such bound
    for groups, duplicates, decision rules, or weights that were optimised on the validation rows.

    A model fitted with --max-error abstains on some rows: their labels are empty.  One fitted with --coverage adds a
    column "set" with the classes of the prediction set, separated by vertical bars.

    A class that a spreadsheet would interpret as a formula (it begins with = + - or @, and is neither a number nor
    that character alone) gets a leading apostrophe; so does a class that is empty or begins with a blank or an
    apostrophe.  compare, gate and certify --predictions remove it.

    On a terminal, control characters in names are shown as \x1b or \u202e; files and pipes contain names unchanged.
    """
    from pacbayes._utils.checks import check_choice
    from pacbayes._utils.files import open_atomic, spooled_file
    from pacbayes.certificates.voting import VOTINGS
    from pacbayes.cli.interrupted import on_interrupt_report
    from pacbayes.cli.new_rows import NewRows, load_model_file, read_options
    from pacbayes.cli.options import check_outputs
    from pacbayes.cli.show import Note, print_file, print_lines, warnings_as_notes

    if voting is not None:
        check_choice("--voting", voting, VOTINGS)
    check_outputs({"--out": out}, (model, data))
    if id_ in ("predicted", "covered", "set"):
        raise ValueError(f"--id must not name a column of the output, got {id_!r}")
    note = Note(quiet)
    loaded = load_model_file(model, trust, sha256)
    if voting is not None:
        loaded.set_params(voting=voting)
    options = read_options(sep, encoding, decimal, thousands, missing)
    rows = NewRows(data, loaded, options, not_missing or (), [] if id_ is None else [id_])
    try:
        batch: CountedBatch | None = loaded._counted_batch()
    except ValueError:  # no bound for a batch is proved
        batch = None
    # Predictions are written only after all of them are computed.
    with spooled_file() if out is None else open_atomic(out) as file:
        with warnings_as_notes(note):
            n_rows, n_abstained = _write_predictions(loaded, rows, shares, file, out, batch)
        if out is None:
            print_file(file)
    notes = rows.notes
    if out is not None:
        on_interrupt_report(lambda: f"the predictions are in {str(out)!r}")
        notes.append(f"{n_rows} predictions written to {out}.")
    if loaded.certificate_.abstains:
        notes.append(f"The model abstains on {n_abstained} of {n_rows} rows: their labels are empty.")
    for line in notes:
        note(line)
    guarantee = (loaded.certificate_.sentence, loaded.certificate_.main_assumption, *_describe_batch_bound(batch))
    if out is not None and out.is_file():
        print_lines(*guarantee, "")
    else:  # stdout contains only the predictions
        for line in guarantee:
            note(line)


def _describe_batch_bound(batch: "CountedBatch | None") -> list[str]:
    """Sentence with the bound on the number of wrong predictions, or the reason why there is none."""
    if batch is None:
        return []
    if batch.overlap_message is not None:
        return [f"No bound on the number of wrong predictions in this file: {batch.overlap_message}."]
    return [str(batch.batch())]


def _write_predictions(
    model: Any, rows: "NewRows", shares: bool, file: BinaryIO, out: Path | None, batch: "CountedBatch | None"
) -> tuple[int, int]:
    """Write the predictions as CSV, block by block; return the numbers of rows and of abstentions."""
    from pacbayes._utils.files import name_file_in_errors
    from pacbayes._utils.progress import progress

    n_rows = done = n_abstained = 0
    # A single progress bar for the file; those of the blocks are hidden.
    with progress("predictions", rows.total) as advance:
        for X in rows:
            text, abstained = _predict_block(model, X, rows.labels, shares, header=n_rows == 0)
            if batch is not None:
                batch.add(X)
            with nullcontext() if out is None else name_file_in_errors(out):
                file.write(text.encode())
            n_rows += len(X)
            n_abstained += abstained
            advance(rows.done - done)
            done = rows.done
    return n_rows, n_abstained


def _predict_block(model: Any, X: Any, labels: "pd.DataFrame", shares: bool, header: bool) -> tuple[str, int]:
    """Predictions of a block as CSV text, empty where the model abstains, and the number of abstentions."""
    import numpy as np
    import pandas as pd

    from pacbayes.certificates.voting import SOFT
    from pacbayes.data.spelling import escape_cells

    cells, accepted = escape_cells(model.predict(X)), np.ones(len(X), dtype=bool)
    if model.certificate_.abstains:
        accepted = model.accepts(X)
        cells = np.where(accepted, cells.astype(object), "")
    # An identifier that a spreadsheet would interpret as a formula is protected like a class.
    table: dict[str, Any] = {name: escape_cells(labels[name].to_numpy(dtype=object)) for name in labels.columns}
    table["predicted"] = cells
    if hasattr(model, "predict_set"):
        names = [*map(str, model.classes_)]
        sets = ["|".join(compress(names, row)) for row in model.predict_set(X).tolist()]
        table["set"] = escape_cells(np.array(sets, dtype=object))
    if model.certificate_.refit:
        table["covered"] = np.where(model.covered(X), "yes", "no")
    if shares:
        # Soft votes and refitted models predict by probabilities, not by the votes of the classifiers.
        predicts_by_probabilities = model.voting_ == SOFT or model.certificate_.refit
        scores = model.predict_proba(X) if predicts_by_probabilities else model.vote_share(X)
        table |= {f"share of {name}": scores[:, i] for i, name in enumerate(model.classes_)}
    # The csv module does not quote a carriage return, at which readers would start a new row.
    texts = [*map(str, model.classes_), *(str(value) for name in labels.columns for value in labels[name])]
    has_returns = any("\r" in text for text in texts)
    options: Any = {"quoting": QUOTE_NONNUMERIC if has_returns else QUOTE_MINIMAL, "lineterminator": "\n"}
    text = pd.DataFrame(table).to_csv(index=False, header=header, **options)
    return text, int(np.count_nonzero(~accepted))
