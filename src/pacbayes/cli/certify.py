"""`pacbayes certify`: train classifiers and certify their error rate."""

import re
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pacbayes.cli.interrupted import on_interrupt_report
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
from pacbayes.cli.presets import fill_in_preset

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from pacbayes.certificates import Certificate
    from pacbayes.cli.data import Choices, Data
    from pacbayes.cli.show import Note
    from pacbayes.report.view import ReportView

    TestData: TypeAlias = tuple[pd.DataFrame, NDArray[Any]]

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

#: Help texts by heading; common options come first.
HELP = {
    "Arguments": {"data": "A CSV, TSV or Parquet file with column names.  [default: the bundled data set wdbc]"},
    "Common options": {
        "target": "The column to predict.  [default: the last]",
        "group": "Keep rows with equal values in this column (one patient) together, and count them once; not a "
        "feature.",
        "save": "Save the model for pacbayes predict.",
        "report": "Write an HTML report on the certificate.",
        "owner": "Who is responsible for the model, for the header of the report.",
        "details": "Print assumptions, alternative ways to predict, bounds and weights.",
    },
    "Data": {
        "dataset": "A bundled data set instead of a file; see pacbayes datasets.",
        "predictions": "Without training: certify classifiers by their predictions, a table with a column for each.",
        "counts": "Without training: certify a classifier by counts, a table with columns true, predicted and count.",
        "primary": "With --predictions: the column of the classifier that you chose before looking at these rows.",
        "test": "A file with test rows, whose error rate is shown with the certificate.",
        "drop": "Drop a column; may be repeated.",
        "keep": "Keep a column that looks like an ID; may be repeated.",
        "categorical": "Treat a column as categorical, features or target; may be repeated.",
        "skip_unlabelled": "Drop rows without a class.",
        "duplicates": "keep: equal rows are separate draws, and suspicious duplicates trigger a warning; independent: "
        "the same, without the check; together: equal rows are one draw and count once.",
    },
    "Validation set": {
        "validation": "User-defined split: a file like DATA with the validation rows; DATA has the training rows.",
        "validation_column": "User-defined split: a column of true and false that marks the validation rows; not a "
        "feature. It must not depend on the target.",
        "validation_size": "Share or number of rows (or groups) in the validation set; auto is half of up to 1000, and "
        "a smaller share of more.",
        "split": "shared: one split for all classifiers; independent, with --candidates svm: a split for each, as in "
        "the paper.",
    },
    "Guarantees": {
        "delta": "Maximum probability that the certificate fails.",
        "metrics": "Bounds on further metrics, jointly with the certificate, such as recall,precision,f1; they use a "
        "fifth of delta. An unknown name lists all.",
        "by_class": "Bound the error rate of every class: short for --metrics error. See also --coverage.",
        "slice_": "Bound the error rate for every value of this column; implies --by-class.",
        "slice_shares": "Bound the error rate for other shares of the slices: a CSV table of two columns.",
        "cost": "Bound the mean cost: a CSV table, with a row for each true and a column for each predicted class.",
        "positive": "The positive class: its misses are reported, and --recall, --precision and --fpr refer to it.  "
        "[default: the second]",
        "fail_above": "Exit with code 3 if the bound on the error rate is above this share.",
    },
    "Decision rules (instead of a bound on the error rate)": {
        "max_error": "Abstain on rows with low confidence, so that at most this share of the accepted predictions is "
        "wrong.",
        "recall": "Minimum recall of --positive at a certified threshold; two classes only.",
        "precision": "Minimum precision for --positive; alone or with the others.",
        "fpr": "Maximum false positive rate; alone or with the others.",
        "coverage": "Predict sets of classes that contain the true class with this probability; with --by-class, for "
        "the rows of every class.",
    },
    "Training": {
        "candidates": "auto: svm, forest, boosting, logistic and neighbours; one of these (svm is fast), or several, "
        "as in svm,forest; lightgbm, xgboost or catboost, where installed; or the full name of a scikit-learn "
        "classifier.",
        "refit": "Refit on all rows; the certificate is then about predictions that agree with the certified model.",
        "lambdas": "For svm, with C = 1/lambda: 0.1:20:0.01 is 0.1, 0.11, ... 19.99; or 0.1,1,10.  [default: 26 "
        "values from 0.001 to 100, evenly spaced on the log scale]",
        "kernel": "For svm: rbf, linear, or nystroem, an approximation of rbf for many rows.  [default: rbf]",
        "scale": "For svm: true, false, auto, or kernlab: as the R package does.  [default: auto; true with "
        "--split independent]",
        "grid": 'Parameter grid of a classifier given by its full name, such as {"C": [0.1, 1, 10]}.',
        "seed": "Random seed; fix it before you see results.",
        "time_limit": "Start families of auto, the most promising first, only while time is left; the result cannot "
        "be reproduced.",
        "jobs": "Number of threads.  [default: all cores]",
        "checkpoint": "Store finished work here, and resume from it after an interruption.",
    },
    "Advanced options": {
        "preset": "paper: the settings of Sahu and Hemachandra (2019): 1990 SVMs with a split for each, delta 0.01, "
        "the paper's constant, the posterior alone. Other options override them.",
        "constant": "With --preset paper or --split independent: exact or paper.",
        "voting": "soft: the class with the highest mean probability; majority: weighted majority vote; best: a single "
        "classifier; stochastic: a random classifier for each row, as in the paper. auto is soft, or stochastic with "
        "--split independent. Choose before you see results.",
        "hedge": "Share of delta for choices made on the validation set (none for a soft vote): 0 is a holdout, 1 the "
        "posterior alone; auto is 0.02, or 1 with --split independent.",
        "prior": "uniform, or cross-validation: weights by cross-validated errors on the training rows.",
        "distance": "kl, pinsker, ch, linear, squared, catoni (its C fitted on the training rows) or catoni(0.4); if "
        "repeated, delta is divided among them and the smallest bound is used.  [default: kl]",
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
    owner: Name = None,
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
    encoding: Name = None,
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
    slice_shares: File = None,
    cost: File = None,
    positive: Annotated[str | None, typer.Option(metavar="CLASS")] = None,
    fail_above: Share = None,
    max_error: Share = None,
    recall: Share = None,
    precision: Share = None,
    fpr: Share = None,
    coverage: Share = None,
    candidates: str = "auto",
    refit: bool = False,
    lambdas: Annotated[str | None, typer.Option(metavar="START:STOP:STEP")] = None,
    kernel: str | None = None,
    scale: str | None = None,
    grid: Annotated[Path | None, typer.Option(metavar="FILE.json", dir_okay=False)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS")] = None,
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
    """Train a classifier, and print a guaranteed upper bound on its error rate on new rows.

    The training rows fit the classifiers and fix how they vote; the validation rows are used only to count errors.

    The exit code is 3 if --max-error, --recall, --precision, --fpr or --coverage was not reached, or if the bound is
    above --fail-above.
    """
    # Before any other local variable: the names are those of the parameters above.
    args = SimpleNamespace(**{name: value for name, value in locals().items() if name != "context"})
    sources = {name: context.get_parameter_source(name) for name in vars(args)}
    explicit = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    fill_in_preset(args, explicit)
    _certify(args)


def _certify(args: SimpleNamespace) -> None:
    """Read the data, fit the model, write files and print the certificate."""
    from pacbayes.cli.show import Note, warnings_as_notes

    note = Note(args.quiet)
    if args.counts is not None:
        from pacbayes.cli.counts import certify_counts_file
        from pacbayes.cli.predictions import reject_other_options

        reject_other_options(args, certify, "counts")
        _exit_if_failed(certify_counts_file(args, note), args.fail_above)
        return
    _check_fail_above(args)
    choices = _choices(args)
    data, test_data, remarks = _read(args, choices)
    for line in (*data.notes, *(data.details if args.details else ())):
        note(line)
    from pacbayes.cli.costs import read_shares

    args.slice_shares = read_shares(args.slice_shares, args.slice_, data.slices)
    # These imports are slow, and not needed to reject invalid input.
    from pacbayes.cli.certified import print_certified, unknown_classes, write_files
    from pacbayes.cli.remarks import grid_remarks

    view = _fit(args, data, test_data, note)
    with warnings_as_notes(note):
        remarks = grid_remarks(view) + remarks + ([] if test_data is None else unknown_classes(test_data[1], view))
        messages, error = write_files(args, view, data.name, [*data.notes, *remarks])
    print_certified(view, data, choices, args, remarks, note)
    for line in messages:
        note(line)
    if error is not None:
        raise error
    _exit_if_failed(view.certificate, args.fail_above)


def _check_fail_above(args: SimpleNamespace) -> None:
    if args.fail_above is not None:
        for name in ("recall", "precision", "fpr", "coverage"):
            if getattr(args, name) is not None:
                raise ValueError(f"--fail-above cannot be combined with --{name}, which has no bound on the error rate")


def _exit_if_failed(certificate: "Certificate", fail_above: float | None) -> None:
    """Exit with code 3 if a requested guarantee was not reached."""
    failed = certificate.decision is not None and not certificate.decision.passed
    if failed or (fail_above is not None and certificate.bound > fail_above):
        raise typer.Exit(NO_GUARANTEE)


def _choices(args: SimpleNamespace) -> "Choices":
    from pacbayes.cli.data import Choices
    from pacbayes.data.schema import NumberFormat

    numbers = NumberFormat.from_options(args.decimal, args.thousands)
    values = vars(args) | {"slice": args.slice_, "numbers": numbers}
    options: dict[str, Any] = {
        field.name: values[field.name] for field in fields(Choices) if values[field.name] is not None
    }
    repeated = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    return Choices(**{"target": None} | options | repeated)


def _read(args: SimpleNamespace, choices: "Choices") -> "tuple[Data, TestData | None, list[str]]":
    """Read the data and the test rows; return both with remarks.  Raise for incompatible arguments."""
    from pacbayes.cli.data import check_test_overlap, read_data, read_test
    from pacbayes.cli.model import validate_options

    path, test = args.data, args.test
    if args.predictions is not None:
        from pacbayes.cli.predictions import check_primary, read_predictions, reject_other_options

        reject_other_options(args, certify, "predictions")
        validate_options(args, prefit=True, primary=True)
        data = read_predictions(args.predictions, choices)
        check_primary(args, data)
    else:
        validate_options(args)
        if args.primary is not None:
            raise ValueError("--primary requires --predictions FILE; otherwise the training rows fix the primary rule")
        if path is not None and test is not None and path.exists() and test.exists() and path.samefile(test):
            raise ValueError(f"--test must be a file other than the data, got {str(test)!r} for both")
        if args.validation is not None and re.fullmatch(r"0?\.\d+|\d+%?", str(args.validation)):
            raise ValueError(
                f"--validation requires a file; for a share or a number, use --validation-size {args.validation}"
            )
        if (args.validation or args.validation_column) is not None and args.validation_size != "auto":
            raise ValueError("--validation-size cannot be combined with --validation or --validation-column")
        data = read_data(path, args.dataset, choices)
    check_outputs(
        {"--save": args.save, "--report": args.report},
        (path, test, args.validation, args.grid, args.cost, args.predictions),
    )
    test_data = None if test is None else read_test(test, data, choices)
    return data, test_data, [] if test_data is None else check_test_overlap(data.X, test_data[0])


def _fit(args: SimpleNamespace, data: "Data", test_data: "TestData | None", note: "Note") -> "ReportView":
    """Fit the model and compute its report."""
    from joblib import parallel_config

    from pacbayes._utils.progress import suppress_progress
    from pacbayes.cli.model import fit_estimator
    from pacbayes.cli.predictions import certify_columns
    from pacbayes.cli.show import warnings_as_notes
    from pacbayes.report.view import ReportView

    if args.checkpoint is not None:
        from pacbayes._utils.checkpoint import describe_stored_results

        on_interrupt_report(partial(describe_stored_results, args.checkpoint, "; the same command resumes from it"))
    # Threads, because most grids take less time than starting processes, and the slow parts of scikit-learn release
    # the GIL.
    with warnings_as_notes(note), suppress_progress(note.quiet), parallel_config(backend="threading"):
        model = fit_estimator(args, data) if args.predictions is None else certify_columns(args, data)
        return ReportView.from_model(model, test_data, (data.X, data.y), owner=args.owner)
