"""`pacbayes certify`: train, choose, certify."""

import re
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pacbayes.cli.interrupted import keeps
from pacbayes.cli.options import (
    NO_GUARANTEE,
    SHARE,
    Column,
    File,
    Name,
    Quiet,
    Separator,
    Share,
    Sign,
    Texts,
    check_outputs,
    parse_hedge,
    parse_size,
)
from pacbayes.cli.presets import apply_preset

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from pacbayes.certificates import Certificate
    from pacbayes.cli.data import Choices, Data
    from pacbayes.cli.show import Note
    from pacbayes.report.view import ReportView

    Tested: TypeAlias = tuple[pd.DataFrame, NDArray[Any]]

EXAMPLES = (
    "pacbayes certify",
    "pacbayes certify data.csv --target class --test new.csv --save model.pacbayes",
    "pacbayes certify data.csv --lambdas 0.1:20:0.01 --kernel linear --report report.html",
    "pacbayes certify data.csv --preset paper",
    "pacbayes certify data.csv --candidates auto",
    "pacbayes certify data.csv --candidates logistic --json",
    "pacbayes certify data.csv --max-error 0.05 --save model.pacbayes",
    "pacbayes certify data.csv --recall 0.6 --fpr 0.6",
    "pacbayes certify data.csv --voting majority --by-class",
    "pacbayes certify data.csv --metrics recall,precision,f1 --cost costs.csv",
    "pacbayes certify --predictions predictions.csv --target class --primary second",
    "pacbayes certify --counts counts.csv --fail-above 0.05",
    "pacbayes certify data.csv --candidates sklearn.tree.DecisionTreeClassifier --grid depths.json",
)

#: What arguments and options say, by what they are about; those that everybody needs come first.
HELP = {
    "Arguments": {"data": "A CSV, TSV or Parquet file with column names.  [default: the data set wdbc]"},
    "Options that everybody needs": {
        "target": "The column with the classes.  [default: the last]",
        "group": "Examples with equal entries here (one patient) stay together and count as one; not a feature.",
        "save": "Save the model for pacbayes predict.",
        "report": "Write an HTML report, for those who rely on the certificate and those who check it.",
        "details": "Print everything: assumptions, other ways to predict, bounds, weights.",
    },
    "Which rows": {
        "dataset": "A data set that comes with pacbayes, instead of a file; see pacbayes datasets.",
        "predictions": "Train nothing: certify classifiers by their predictions, a column for each beside --target.",
        "counts": "Train nothing: certify one classifier by a table with the columns true, predicted and count.",
        "primary": "With --predictions: the column you would use without looking at any.",
        "test": "Other examples; the errors on them are shown beside the certificate.",
        "drop": "Leave a column out; may be repeated.",
        "keep": "Use a column although it looks like row numbers; may be repeated.",
        "categorical": "Treat a column as categories, also that of the classes; may be repeated.",
        "skip_unlabelled": "Leave out examples without a class.",
        "duplicates": "keep: equal examples are draws of their own; independent: the same, and nothing looks for "
        "copies; together: copies, which count once.",
    },
    "Which count errors": {
        "validation": "A division of your own: examples that count errors, in a file like DATA, all of which then "
        "trains.",
        "validation_column": "A division of your own: true or false, whether an example counts errors; not a feature. "
        "It must not depend on the classes.",
        "validation_size": "Fraction or number of examples (or groups) used only to count errors; auto is half of up "
        "to 1000, and a smaller share of more.",
        "split": "shared: one training and validation part for all; independent, for --candidates svm: each has its "
        "own, as in the paper.",
    },
    "What is certified": {
        "delta": "The certificate fails with at most this probability.",
        "metrics": "Limits of other risks too, at once with the certificate, such as recall,precision,f1 (a wrong name "
        "lists all). A fifth of delta is theirs.",
        "by_class": "Limits of the errors in every class too: the same as --metrics error.",
        "slice_": "With --by-class, which it implies: limits for each value of a column.",
        "cost": "A limit of the mean cost too: a CSV table, a line for each true class, a column for each answer.",
        "positive": "The class that matters: what is missed of it is said, and --recall, --precision, --fpr are about "
        "it (else about the second).",
        "fail_above": "End with exit code 3 if the bound on the error rate is above this share.",
    },
    "Instead of a limit of all errors, a target": {
        "max_error": "Answer only where sure, so that at most this share of the answers is wrong.",
        "recall": "Two classes: a threshold at which at least this share of the examples of --positive is found.",
        "precision": "And, or: of those answered so at least this share is right.",
        "fpr": "And, or: of the other class at most this share is answered so.",
    },
    "What is trained": {
        "candidates": "auto: all of svm, forest, boosting, logistic, neighbours; one of these (svm is fast), or "
        "several as in svm,forest; or a classifier's full name under sklearn.",
        "refit": "Train once more on all examples; the certificate is then about answers that the certified "
        "classifier gives too.",
        "lambdas": "For svm, with C = 1/lambda: 0.1:20:0.01 is 0.1, 0.11, ... 19.99; or 0.1,1,10.  [default: 26 "
        "values from 0.001 to 100, evenly on the logarithmic scale]",
        "kernel": "For svm: rbf, linear, or nystroem: rbf for many rows.  [default: rbf]",
        "scale": "For svm: true, false, auto, or kernlab: as the R package does.  [default: auto; true with "
        "--split independent]",
        "grid": 'For a full name: lists of values, such as {"C": [0.1, 1, 10]}.',
        "seed": "Seed of all random choices; fix it before you look.",
        "jobs": "Threads.  [default: all cores]",
        "checkpoint": "Keep finished work here, and continue from it after an interruption.",
    },
    "For those who know the theory": {
        "preset": "paper: the settings of Sahu and Hemachandra (2019): 1990 SVMs with a split for each, delta 0.01, "
        "the paper's constant, the posterior alone. Other options override them.",
        "constant": "With --preset paper or --split independent: exact or paper.",
        "voting": "soft: the class with the largest mean probability; majority: a weighted vote of answers; best: a "
        "single classifier; stochastic: one drawn for each example, as in the paper. auto is soft, and stochastic "
        "with --split independent. Decide before you look.",
        "hedge": "The share of delta kept for what the validation examples may show (a soft vote keeps none): 0 is "
        "holdout, 1 the posterior alone; auto is 0.02, or 1 with --split independent.",
        "prior": "uniform, or cross-validation: weights by errors in it within the training part.",
        "distance": "kl, pinsker, ch, linear, squared, catoni (its C from the training part) or catoni(0.4); if "
        "repeated, delta is divided and the smallest bound used.  [default: kl]",
    },
}

_Columns = Annotated[list[str] | None, typer.Option(metavar="COLUMN")]


def certify(
    context: typer.Context,
    data: Annotated[Path | None, typer.Argument(dir_okay=False)] = None,
    target: Column = None,
    group: Column = None,
    save: Annotated[Path | None, typer.Option(metavar="MODEL")] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html")] = None,
    details: bool = False,
    dataset: Name = None,
    predictions: File = None,
    counts: File = None,
    primary: Name = None,
    test: File = None,
    drop: _Columns = None,
    keep: _Columns = None,
    categorical: _Columns = None,
    skip_unlabelled: bool = False,
    duplicates: str = "keep",
    missing: Texts = None,
    sep: Separator = None,
    decimal: Sign = None,
    thousands: Sign = None,
    validation: File = None,
    validation_column: Column = None,
    validation_size: Annotated[str, typer.Option(parser=parse_size, metavar="SIZE")] = "auto",
    split: str = "shared",
    delta: Annotated[float, SHARE] = 0.05,
    metrics: Annotated[str | None, typer.Option(metavar="NAMES")] = None,
    by_class: bool = False,
    slice_: Annotated[str | None, typer.Option("--slice", metavar="COLUMN")] = None,
    cost: File = None,
    positive: Annotated[str | None, typer.Option(metavar="CLASS")] = None,
    fail_above: Share = None,
    max_error: Share = None,
    recall: Share = None,
    precision: Share = None,
    fpr: Share = None,
    candidates: str = "auto",
    refit: bool = False,
    lambdas: Annotated[str | None, typer.Option(metavar="START:STOP:STEP")] = None,
    kernel: str | None = None,
    scale: str | None = None,
    grid: Annotated[Path | None, typer.Option(metavar="FILE.json", dir_okay=False)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    jobs: Annotated[int | None, typer.Option(min=1)] = None,
    checkpoint: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None,
    preset: Name = None,
    constant: str = "exact",
    voting: str = "auto",
    hedge: Annotated[str, typer.Option(parser=parse_hedge, metavar="SHARE")] = "auto",
    prior: str = "uniform",
    distance: list[str] | None = None,
    json: bool = False,
    quiet: Quiet = False,
) -> None:
    """Train a classifier, and print how often it errs on new examples at most.

    One part of the examples trains classifiers and decides how they vote; the other part only counts errors. Nothing
    that is learnt sees the examples that count errors.

    The exit code is 3 if --max-error, --recall, --precision or --fpr was not reached or the bound is above
    --fail-above, and 0 otherwise.
    """
    # By the names of the parameters above, and nowhere else.
    asked = SimpleNamespace(**{name: value for name, value in locals().items() if name != "context"})
    sources = {name: context.get_parameter_source(name) for name in vars(asked)}
    explicit = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    apply_preset(asked, explicit)
    _certify(asked)


def _certify(asked: SimpleNamespace) -> None:
    """Read, fit, write the files, print."""
    from pacbayes.cli.show import Note, warnings_as_notes

    note = Note(asked.quiet)
    if asked.counts is not None:
        from pacbayes.cli.counts import certify_counts_file
        from pacbayes.cli.predictions import refuse_others

        refuse_others(asked, certify, "counts")
        _end(certify_counts_file(asked, note), asked.fail_above)
        return
    _check_fail_above(asked)
    choices = _choices(asked)
    rows, tested, remarks = _read(asked, choices)
    for line in (*rows.notes, *(rows.details if asked.details else ())):
        note(line)
    # Only now, when there is work for it: all that was refused so far is refused at once.
    from pacbayes.cli.certified import print_certified, unknown_classes, write_files
    from pacbayes.report.record import grid_remarks

    view = _fitted(asked, rows, tested, note)
    with warnings_as_notes(note):
        remarks = grid_remarks(view) + remarks + ([] if tested is None else unknown_classes(tested[1], view))
        written, failed = write_files(asked, view, rows.name, [*rows.notes, *remarks])
    print_certified(view, rows, choices, asked, remarks, note)
    for line in written:
        note(line)
    if failed is not None:
        raise failed
    _end(view.certificate, asked.fail_above)


def _check_fail_above(asked: SimpleNamespace) -> None:
    if asked.fail_above is not None:
        for name in ("recall", "precision", "fpr"):
            if getattr(asked, name) is not None:
                raise ValueError(f"--fail-above is not for --{name}: a threshold has no bound on the error rate")


def _end(certificate: "Certificate", fail_above: float | None) -> None:
    """End with the exit code for a guarantee that was not reached, if so."""
    failed = certificate.decision is not None and not certificate.decision.passed
    if failed or (fail_above is not None and certificate.bound > fail_above):
        raise typer.Exit(NO_GUARANTEE)


def _choices(asked: SimpleNamespace) -> "Choices":
    from pacbayes.cli.data import Choices
    from pacbayes.data.number_format import NumberFormat

    values = vars(asked) | {"slice": asked.slice_, "signs": NumberFormat.given(asked.decimal, asked.thousands)}
    given: dict[str, Any] = {one.name: values[one.name] for one in fields(Choices) if values[one.name] is not None}
    several = {name: tuple(one) for name, one in given.items() if isinstance(one, list)}
    return Choices(**{"target": None} | given | several)


def _read(asked: SimpleNamespace, choices: "Choices") -> "tuple[Data, Tested | None, list[str]]":
    """Return the rows, those of a test file, and what to say of both, or raise for what does not go together."""
    from pacbayes.cli.data import check_other, read_data, read_test
    from pacbayes.cli.model import check

    data, test = asked.data, asked.test
    if asked.predictions is not None:
        from pacbayes.cli.predictions import check_primary, read_predictions, refuse_others

        refuse_others(asked, certify, "predictions")
        check(asked, prefit=True, primary=True)
        rows = read_predictions(asked.predictions, choices)
        check_primary(asked, rows)
    else:
        check(asked)
        if asked.primary is not None:
            raise ValueError("--primary is for --predictions FILE: else the training examples propose")
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
