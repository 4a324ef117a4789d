"""`pacbayes certify`: train, choose, certify."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacbayes.cli.interrupted import keeps
from pacbayes.cli.options import AsJson, MissingTexts, Quiet, Separator

if TYPE_CHECKING:
    from pacbayes.cli.inputs.data import Choices, Data
    from pacbayes.cli.inputs.model import CertifyOptions
    from pacbayes.cli.show import Note
    from pacbayes.report.view import ReportView

EXAMPLES = (
    "pacbayes certify",
    "pacbayes certify data.csv --target class --test new.csv --save model.pacbayes",
    "pacbayes certify data.csv --lambdas 0.1:20:0.01 --kernel linear --report report.html",
    "pacbayes certify data.csv --estimator logistic --json",
    "pacbayes certify data.csv --max-error 0.05 --save model.pacbayes",
    "pacbayes certify data.csv --voting majority --by-class --below 0.2",
    "pacbayes certify --predictions predictions.csv --target class --proposal second",
    "pacbayes certify data.csv --estimator sklearn.tree.DecisionTreeClassifier --grid depths.json",
)


def certify(
    data: Annotated[
        Path | None,
        typer.Argument(help="A CSV, TSV or Parquet file with column names.  [default: the data set wdbc]"),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A data set that comes with pacbayes, instead of a file; see pacbayes datasets."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the classes.  [default: the last]")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Train nothing: certify classifiers by their predictions, a column for each beside --target.",
        ),
    ] = None,
    proposal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --predictions: the column you would use without looking at any."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Use a column although it looks like row numbers; may be repeated."),
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Treat a column as categories; may be repeated.")
    ] = None,
    missing: MissingTexts = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Examples with equal entries here (one patient) stay together and count as one; not a feature.",
        ),
    ] = None,
    duplicates: Annotated[
        str,
        typer.Option(help="keep: equal examples are draws of their own; together: copies, which count once."),
    ] = "keep",
    sep: Separator = None,
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Leave out examples without a class.")
    ] = False,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Other examples; the errors on them are shown beside the certificate."),
    ] = None,
    estimator: Annotated[
        str, typer.Option(help="svm, logistic, forest, boosting, or a classifier's full name under sklearn.")
    ] = "svm",
    lambdas: Annotated[
        str | None,
        typer.Option(
            metavar="START:STOP:STEP",
            help="For svm, with C = 1/lambda: 0.1:20:0.01 is 0.1, 0.11, ... 19.99; or 0.1,1,10.  [default: 201 values "
            "from 0.01 to 100, evenly on the logarithmic scale]",
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="For svm: rbf, linear, or nystroem: rbf for many rows.  [default: rbf]")
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help='For other estimators: lists of values, such as {"C": [0.1, 1, 10]}.'),
    ] = None,
    delta: Annotated[float, typer.Option(help="The certificate fails with at most this probability.")] = 0.05,
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
            metavar="SHARE",
            help="The share of delta kept for what the validation examples may show: 0 is hold-out, 1 the posterior "
            "alone; auto is 0.1, or 1 with --split independent.",
        ),
    ] = "auto",
    prior: Annotated[
        str, typer.Option(help="uniform, or cross-validation: weights by errors in it within the training part.")
    ] = "uniform",
    voting: Annotated[
        str,
        typer.Option(
            help="stochastic: a classifier drawn for each example, as in the paper; majority: their weighted vote, "
            "usually what a practitioner wants, as its bound is the smallest on average; best: a single one. Decide "
            "before you look.",
        ),
    ] = "stochastic",
    by_class: Annotated[
        bool,
        typer.Option(
            "--by-class",
            help="Limits of the errors in every class too, at once with the certificate: a fifth of delta is theirs.",
        ),
    ] = False,
    slice_: Annotated[
        str | None,
        typer.Option(
            "--slice", metavar="COLUMN", help="With --by-class, which it implies: limits for each value of a column."
        ),
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Answer only where sure, so that at most this share of the answers is wrong."
        ),
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="List the single classifiers certified to err on at most this share."),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            help="shared: one training and validation part for all; independent: each classifier has its own."
        ),
    ] = "shared",
    validation_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Fraction or number of examples (or groups) used only to count errors.")
    ] = "0.5",
    seed: Annotated[int, typer.Option(help="Seed of all random choices; fix it before you look.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads.  [default: all cores]")] = None,
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
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train many classifiers, test what they propose, and print what is guaranteed.

    One part of the examples trains a classifier for every lambda (or setting) and proposes, by cross-validation within
    it, how to predict; the other counts errors. The posterior with the smallest PAC-Bayesian bound is found too, with
    proof; whichever has the smaller bound predicts (see --hedge). Nothing that is learnt, encoding and imputation
    included, sees the examples that count errors.
    """
    from pacbayes.cli.inputs.data import Choices, check_other, read_data, read_test
    from pacbayes.cli.inputs.model import CertifyOptions, check_outputs, make_model
    from pacbayes.cli.show import Note, warnings_as_notes

    note = Note(quiet)
    choices = Choices(
        target=target,
        drop=tuple(drop or ()),
        categorical=tuple(categorical or ()),
        missing=tuple(missing or ()),
        keep=tuple(keep or ()),
        sep=sep,
        skip_unlabelled=skip_unlabelled,
        group=group,
        slice=slice_,
    )
    options = CertifyOptions(
        estimator=estimator,
        lambdas=lambdas,
        kernel=kernel,
        grid=grid,
        delta=delta,
        distances=tuple(distance or ("kl",)),
        split=split,
        validation_size=validation_size,
        seed=seed,
        jobs=jobs,
        checkpoint=checkpoint,
        duplicates=duplicates,
        grouped=group is not None,
        prior=prior,
        hedge=hedge,
        voting=voting,
        by_class=by_class or slice_ is not None,
        max_error=max_error,
        below=below,
    )
    options.check()
    if predictions is not None:
        from pacbayes.cli.inputs.predictions import (
            PREDICTIONS,
            certified_columns,
            check_proposal,
            read_predictions,
            refuse_others,
        )

        refuse_others(choices, options, {"DATA": data, "--dataset": dataset, "--test": test, "--save": save})
        options = replace(options, estimator=PREDICTIONS)
    elif proposal is not None:
        raise ValueError("--proposal is for --predictions FILE: else the training examples propose")
    if data is not None and test is not None and data.exists() and test.exists() and data.samefile(test):
        raise ValueError(f"--test must hold examples other than the data, got {str(test)!r} for both")
    rows = read_data(data, dataset, choices) if predictions is None else read_predictions(predictions, choices)
    if predictions is not None:
        check_proposal(proposal, rows, options)
    check_outputs({"--save": save, "--report": report}, (data, test, grid, predictions))
    tested = None if test is None else read_test(test, rows, choices)
    copied = [] if tested is None else check_other(rows.X, tested[0])
    for line in rows.notes:
        note(line)
    # Only now, when there is work for it: all that was refused so far is refused at once.
    from joblib import parallel_config

    from pacbayes.cli.remarks import unknown_classes
    from pacbayes.report.record import grid_remarks
    from pacbayes.report.view import ReportView
    from pacbayes.runtime.memory import LIBRARY_BYTES, narrow_space, readable
    from pacbayes.runtime.quiet import quiet as silence

    if checkpoint is not None:
        from pacbayes.runtime.checkpoint import kept_in

        keeps(partial(kept_in, checkpoint, ", the same command continues from there"))
    if predictions is None and options.estimator == "svm" and narrow_space() is not None:
        # Where linear algebra finds no room, it ends the process itself.
        raise MemoryError(f"the compiler of support vector machines takes up to {readable(LIBRARY_BYTES)}")
    # Threads: starting processes takes longer than most grids, and the heavy parts of scikit-learn leave threads free.
    with warnings_as_notes(note), silence(quiet), parallel_config(backend="threading"):
        if predictions is not None:
            model = certified_columns(rows, options, proposal)
        else:
            model = make_model(options, rows.columns).fit(rows.X, rows.y, groups=rows.groups, slices=rows.slices)
            model._reading = rows.reading
        view = ReportView.of(model, tested, (rows.X, rows.y))
    files = Files(save, report)
    with warnings_as_notes(note):
        remarks = grid_remarks(view) + copied + ([] if tested is None else unknown_classes(tested[1], view))
        files.write(view, rows, remarks)
    _print(view, rows, choices, options, remarks, json, note)
    for line in files.written:
        note(line)
    if files.failed is not None:
        raise files.failed


@dataclass
class Files:
    """What is written: before anything is printed, as the reader of a pipe may go away in the middle of the tables."""

    save: Path | None
    report: Path | None
    written: list[str] = field(default_factory=list)
    #: What went wrong, to be raised once the certificate was printed: a full disk does not undo the work.
    failed: Exception | None = None

    def write(self, view: "ReportView", rows: "Data", remarks: list[str]) -> None:
        """Write what was asked for."""
        if self.save is not None:
            self._try("--save", self.save, lambda: self._save_model(view.model))
        if self.report is not None:
            self._try("--report", self.report, lambda: self._write_report(view, rows, remarks))

    def _try(self, name: str, path: Path, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.failed = self.failed or OSError(f"{name}: cannot write {str(path)!r}: {error.strerror or error}")
        except Exception as error:  # whatever it is, it must not keep the certificate from the user
            self.failed = self.failed or error

    def _save_model(self, model: Any) -> None:
        from pacbayes.estimators.persistence.saving import save

        assert self.save is not None
        self.written.append(f"Model saved in {self.save} (SHA-256 {save(model, self.save)}).")
        keeps(lambda: f"the model is saved in {str(self.save)!r}")

    def _write_report(self, view: "ReportView", rows: "Data", remarks: list[str]) -> None:
        from pacbayes.cli.inputs.data import TARGET_HINT
        from pacbayes.report.page import render
        from pacbayes.runtime.file_write import write_file

        assert self.report is not None
        # Whoever reads the page has no options to give.
        notes = [line.replace(TARGET_HINT, "") for line in rows.notes]
        write_file(self.report, render(view, f"Certificate for {rows.name}", [*notes, *remarks]).encode("utf-8"))
        self.written.append(f"Report written to {self.report}.")
        keeps(lambda: f"the report is in {str(self.report)!r}")


def _print(
    view: "ReportView",
    rows: "Data",
    choices: "Choices",
    options: "CertifyOptions",
    remarks: list[str],
    json: bool,
    note: "Note",
) -> None:
    from pacbayes.cli.remarks import role
    from pacbayes.cli.show import print_guarantee, print_json, print_tables
    from pacbayes.report.questions import below_table, part_table
    from pacbayes.report.tables import bounds_table, certificate_table, weight_table

    if json:
        from pacbayes.cli.as_json import certified_as_dict

        print_json(certified_as_dict(view, rows, choices, options, remarks))
        return
    note("")
    print_guarantee(view.certificate)
    note(role(view))
    for remark in remarks:
        note(remark)
    further = [part_table(view), None if options.below is None else below_table(view.model, options.below)]
    tables = [certificate_table(view), *further, bounds_table(view), weight_table(view)]
    print_tables([table for table in tables if table is not None], note)
