"""`pacbayes certify`: train, choose, certify."""

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pacbayes.cli.interrupted import keeps
from pacbayes.cli.options import (
    NO_GUARANTEE,
    AsJson,
    Decimal,
    MissingTexts,
    Quiet,
    Separator,
    Thousands,
    check_outputs,
    parse_hedge,
    parse_size,
    share_option,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from pacbayes.cli.data import Choices, Data
    from pacbayes.cli.show import Note
    from pacbayes.report.view import ReportView

    Tested: TypeAlias = tuple[pd.DataFrame, NDArray[Any]]

EXAMPLES = (
    "pacbayes certify",
    "pacbayes certify data.csv --target class --test new.csv --save model.pacbayes",
    "pacbayes certify data.csv --lambdas 0.1:20:0.01 --kernel linear --report report.html",
    "pacbayes certify data.csv --candidates auto",
    "pacbayes certify data.csv --candidates logistic --json",
    "pacbayes certify data.csv --max-error 0.05 --save model.pacbayes",
    "pacbayes certify data.csv --recall 0.6 --fpr 0.6",
    "pacbayes certify data.csv --voting majority --by-class",
    "pacbayes certify data.csv --limits recall,precision,f1 --cost costs.csv",
    "pacbayes certify --predictions predictions.csv --target class --proposal second",
    "pacbayes certify data.csv --candidates sklearn.tree.DecisionTreeClassifier --grid depths.json",
)

#: The options by what they are about; those that everybody needs come first.
GROUPS = {
    "Options that everybody needs": "target group save report details",
    "Which rows": "dataset predictions proposal test drop keep categorical missing sep decimal thousands "
    "skip_unlabelled duplicates",
    "Which count errors": "validation validation_column validation_size split",
    "What is certified": "delta limits by_class slice_ cost positive",
    "Instead of a limit of all errors, a target": "max_error recall precision fpr",
    "What is trained": "candidates refit lambdas kernel grid seed jobs checkpoint",
    "For those who know the theory": "voting hedge prior distance",
    "What is printed": "json quiet help",
}


def _file(text: str) -> Any:
    return typer.Option(metavar="FILE", dir_okay=False, help=text)


def _column(text: str) -> Any:
    return typer.Option(metavar="COLUMN", help=text)


def _flag(name: str, text: str) -> Any:
    return typer.Option(name, help=text)


def certify(
    data: Annotated[
        Path | None,
        typer.Argument(
            dir_okay=False, help="A CSV, TSV or Parquet file with column names.  [default: the data set wdbc]"
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A data set that comes with pacbayes, instead of a file; see pacbayes datasets."
        ),
    ] = None,
    target: Annotated[str | None, _column("The column with the classes.  [default: the last]")] = None,
    predictions: Annotated[
        Path | None,
        _file("Train nothing: certify classifiers by their predictions, a column for each beside --target."),
    ] = None,
    proposal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --predictions: the column you would use without looking at any."),
    ] = None,
    drop: Annotated[list[str] | None, _column("Leave a column out; may be repeated.")] = None,
    keep: Annotated[
        list[str] | None, _column("Use a column although it looks like row numbers; may be repeated.")
    ] = None,
    categorical: Annotated[
        list[str] | None, _column("Treat a column as categories, also that of the classes; may be repeated.")
    ] = None,
    missing: MissingTexts = None,
    group: Annotated[
        str | None,
        _column("Examples with equal entries here (one patient) stay together and count as one; not a feature."),
    ] = None,
    duplicates: Annotated[
        str,
        typer.Option(
            help="keep: equal examples are draws of their own; independent: the same, and nothing looks for copies; "
            "together: copies, which count once."
        ),
    ] = "keep",
    sep: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    skip_unlabelled: Annotated[bool, _flag("--skip-unlabelled", "Leave out examples without a class.")] = False,
    test: Annotated[Path | None, _file("Other examples; the errors on them are shown beside the certificate.")] = None,
    candidates: Annotated[
        str,
        typer.Option(
            help="auto: all of svm, forest, boosting, logistic, neighbours; one of these (svm is fast), or several as "
            "in svm,forest; or a classifier's full name under sklearn."
        ),
    ] = "auto",
    lambdas: Annotated[
        str | None,
        typer.Option(
            metavar="START:STOP:STEP",
            help="For svm, with C = 1/lambda: 0.1:20:0.01 is 0.1, 0.11, ... 19.99; or 0.1,1,10.  [default: 26 values "
            "from 0.001 to 100, evenly on the logarithmic scale]",
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="For svm: rbf, linear, or nystroem: rbf for many rows.  [default: rbf]")
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            dir_okay=False,
            help='For a full name: lists of values, such as {"C": [0.1, 1, 10]}.',
        ),
    ] = None,
    delta: Annotated[float, share_option("The certificate fails with at most this probability.")] = 0.05,
    distance: Annotated[
        list[str] | None,
        typer.Option(
            help="kl, pinsker, ch, linear, squared, catoni (its C from the training part) or catoni(0.4); if repeated, "
            "delta is divided and the smallest bound used.  [default: kl]"
        ),
    ] = None,
    hedge: Annotated[
        str,
        typer.Option(
            parser=parse_hedge,
            metavar="SHARE",
            help="The share of delta kept for what the validation examples may show (a soft vote keeps none): 0 is "
            "hold-out, 1 the posterior alone; auto is 0.02, or 1 with --split independent.",
        ),
    ] = "auto",
    prior: Annotated[
        str, typer.Option(help="uniform, or cross-validation: weights by errors in it within the training part.")
    ] = "uniform",
    voting: Annotated[
        str,
        typer.Option(
            help="soft: the class with the largest mean probability; majority: a weighted vote of answers; best: a "
            "single classifier; stochastic: one drawn for each example, as in the paper. auto is soft, and stochastic "
            "with --split independent. Decide before you look.",
        ),
    ] = "auto",
    by_class: Annotated[
        bool, _flag("--by-class", "Limits of the errors in every class too: the same as --limits error.")
    ] = False,
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Limits of other risks too, at once with the certificate, such as recall,precision,f1 (a wrong name "
            "lists all). A fifth of delta is theirs.",
        ),
    ] = None,
    cost: Annotated[
        Path | None,
        _file(
            "A limit of the mean cost too: a CSV or JSON table, a line for each true class, a column for each answer."
        ),
    ] = None,
    slice_: Annotated[
        str | None,
        typer.Option(
            "--slice", metavar="COLUMN", help="With --by-class, which it implies: limits for each value of a column."
        ),
    ] = None,
    max_error: Annotated[
        float | None, share_option("Answer only where sure, so that at most this share of the answers is wrong.")
    ] = None,
    recall: Annotated[
        float | None,
        share_option("Two classes: a threshold at which at least this share of the examples of --positive is found."),
    ] = None,
    precision: Annotated[
        float | None, share_option("And, or: of those answered so at least this share is right.")
    ] = None,
    fpr: Annotated[float | None, share_option("And, or: of the other class at most this share is answered so.")] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The class that matters: what is missed of it is said, and --recall, --precision, --fpr are about it "
            "(else about the second).",
        ),
    ] = None,
    refit: Annotated[
        bool,
        _flag(
            "--refit",
            "Train once more on all examples; the certificate is then about answers that the certified classifier "
            "gives too.",
        ),
    ] = False,
    split: Annotated[
        str,
        typer.Option(
            help="shared: one training and validation part for all; independent, for --candidates svm: each has its "
            "own, as in the paper."
        ),
    ] = "shared",
    validation_size: Annotated[
        str,
        typer.Option(
            parser=parse_size,
            metavar="SIZE",
            help="Fraction or number of examples (or groups) used only to count errors; auto is half of up to 1000, "
            "and a smaller share of more.",
        ),
    ] = "auto",
    validation: Annotated[
        Path | None,
        _file("A division of your own: examples that count errors, in a file like DATA, all of which then trains."),
    ] = None,
    validation_column: Annotated[
        str | None,
        _column(
            "A division of your own: true or false, whether an example counts errors; not a feature. It must not "
            "depend on the classes."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices; fix it before you look.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Threads.  [default: all cores]")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep finished work here, and continue from it after an interruption."),
    ] = None,
    save: Annotated[Path | None, typer.Option(metavar="MODEL", help="Save the model for pacbayes predict.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.html",
            help="Write an HTML report, for those who rely on the certificate and those who check it.",
        ),
    ] = None,
    details: Annotated[
        bool, _flag("--details", "Print everything: assumptions, other ways to predict, bounds, weights.")
    ] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a classifier, and print how often it errs on new examples at most.

    One part of the examples trains classifiers and decides how they vote; the other part only counts errors. Nothing
    that is learnt sees the examples that count errors.

    The exit code is 3 if --max-error, --recall, --precision or --fpr was not reached, and 0 otherwise.
    """
    # By the names of the parameters above, and nowhere else.
    _certify(SimpleNamespace(**locals()))


def _certify(asked: SimpleNamespace) -> None:
    """Read, fit, write the files, print."""
    from pacbayes.cli.show import Note, Shown, warnings_as_notes

    note = Note(asked.quiet)
    choices = _choices(asked)
    rows, tested, remarks = _read(asked, choices)
    for line in (*rows.notes, *(rows.details if asked.details else ())):
        note(line)
    # Only now, when there is work for it: all that was refused so far is refused at once.
    from pacbayes.cli.certified import Files, print_certified, unknown_classes
    from pacbayes.report.record import grid_remarks

    view = _fitted(asked, rows, tested, note)
    files = Files(asked.save, asked.report)
    with warnings_as_notes(note):
        remarks = grid_remarks(view) + remarks + ([] if tested is None else unknown_classes(tested[1], view))
        files.write(view, rows, remarks)
    print_certified(view, rows, choices, asked, remarks, Shown(asked.json, asked.details, note))
    for line in files.written:
        note(line)
    if files.failed is not None:
        raise files.failed
    told = view.certificate.answered or view.certificate.reached
    if told is not None and not told.passed:
        raise typer.Exit(NO_GUARANTEE)


def _choices(asked: SimpleNamespace) -> "Choices":
    from pacbayes.cli.data import Choices
    from pacbayes.data.number_signs import NumberSigns

    return Choices(
        target=asked.target,
        drop=tuple(asked.drop or ()),
        categorical=tuple(asked.categorical or ()),
        missing=tuple(asked.missing or ()),
        keep=tuple(asked.keep or ()),
        sep=asked.sep,
        skip_unlabelled=asked.skip_unlabelled,
        group=asked.group,
        slice=asked.slice_,
        validation=asked.validation,
        validation_column=asked.validation_column,
        signs=NumberSigns.given(asked.decimal, asked.thousands),
    )


def _read(asked: SimpleNamespace, choices: "Choices") -> "tuple[Data, Tested | None, list[str]]":
    """Return the rows, those of a test file, and what to say of both, or raise for what does not go together."""
    from pacbayes.cli.data import check_other, read_data, read_test
    from pacbayes.cli.model import check

    data, test = asked.data, asked.test
    if asked.predictions is not None:
        from pacbayes.cli.predictions import check_proposal, read_predictions, refuse_others

        refuse_others(asked, certify)
        check(asked, prefit=True, proposal=True)
        rows = read_predictions(asked.predictions, choices)
        check_proposal(asked, rows)
    else:
        check(asked)
        if asked.proposal is not None:
            raise ValueError("--proposal is for --predictions FILE: else the training examples propose")
        if data is not None and test is not None and data.exists() and test.exists() and data.samefile(test):
            raise ValueError(f"--test must hold examples other than the data, got {str(test)!r} for both")
        if asked.validation is not None and re.fullmatch(r"0?\.\d+|\d+%?", str(asked.validation)):
            raise ValueError(
                f"--validation names a file; for a share or a number: --validation-size {asked.validation}"
            )
        if (asked.validation or asked.validation_column) is not None and asked.validation_size != "auto":
            raise ValueError("--validation and --validation-column leave no choice to --validation-size")
        rows = read_data(data, asked.dataset, choices)
    check_outputs(
        {"--save": asked.save, "--report": asked.report},
        (data, test, asked.validation, asked.grid, asked.cost, asked.predictions),
    )
    tested = None if test is None else read_test(test, rows, choices)
    return rows, tested, [] if tested is None else check_other(rows.X, tested[0])


def _fitted(asked: SimpleNamespace, rows: "Data", tested: "Tested | None", note: "Note") -> "ReportView":
    """Return the fitted model with its numbers."""
    from joblib import parallel_config

    from pacbayes._utils.memory import THREADS_BYTES, check_libraries, narrow_space
    from pacbayes._utils.progress import quiet
    from pacbayes.cli.model import families, fitted
    from pacbayes.cli.predictions import certified_columns
    from pacbayes.cli.show import warnings_as_notes
    from pacbayes.report.view import ReportView

    if asked.checkpoint is not None:
        from pacbayes._utils.checkpoint import kept_in

        keeps(partial(kept_in, asked.checkpoint, ", the same command continues from there"))
    if asked.predictions is None and "svm" in families(asked):
        check_libraries()
    # Threads: starting processes takes longer than most grids, and the heavy parts of scikit-learn leave threads free.
    # None in a small address space, of which each takes 70 MB, and its buffer for linear algebra.
    backend = "threading" if narrow_space(THREADS_BYTES) is None else "sequential"
    with warnings_as_notes(note), quiet(note.quiet), parallel_config(backend=backend):
        model = fitted(asked, rows) if asked.predictions is None else certified_columns(asked, rows)
        return ReportView.of(model, tested, (rows.X, rows.y))
