"""Loading of data sets by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbayes.data.bundled import DATASETS, Table, read_shipped

if TYPE_CHECKING:
    from sklearn.utils import Bunch

    from pacbayes.data.io import ReadOptions


def load_dataset(
    name: str | os.PathLike[str],
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    sep: str | None = None,
    encoding: str | None = None,
    skip_unlabelled: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    as_frame: bool = False,
) -> Bunch:
    """Load one of the paper's data sets by name, or a CSV, TSV or Parquet file.

    Parameters
    ----------
    name : str or path
        A name in `pacbayes.data.DATASETS`, or the path of a file that ends in ``.csv`` or ``.tsv`` (also with
        ``.gz``, ``.bz2``, ``.xz``, ``.zip``) or ``.parquet`` (needs the extra ``pacbayes[parquet]``).  Text files
        start with a line of column names.  A `MemoryError` is raised if reading a file would take more than half of
        the free memory.  Pass a `pathlib.Path` if the path of a file is also the name of a data set.
    target : str, optional
        For a file: the column with the classes, by default the last one.  All others are features: finite numbers, or
        with `as_frame` also dates, categories and text, and missing values.
    drop : sequence of str
        For a file: columns to leave out.  Unnamed columns are called ``"Unnamed: 0"`` and so on, by position.
    keep : sequence of str
        For a file: columns to accept as measurements although they look like row numbers or identifiers.  Otherwise,
        these are rejected: distinct integers that are monotone, that are too many for their range, or whose name
        suggests an identifier; identifiers of subjects with several rows; and unnamed columns (see
        `pacbayes.data.leakage`).
    sep : str, optional
        For a CSV or TSV file: the field separator; by default, it is detected.
    encoding : str, optional
        For a CSV or TSV file: by default UTF-8, UTF-16 or Latin-1 (Windows-1252), detected from the first megabyte.
    skip_unlabelled : bool
        For a file: leave out rows without a class.  The certificate then holds for examples that have a class.
    decimal, thousands : str, optional
        For a file: the decimal sign, a point or a comma, and the thousands separator, as in ``3,682.50``; by default,
        they are detected from the first megabyte.
    as_frame : bool
        Return pandas objects.

    Returns
    -------
    sklearn.utils.Bunch
        As returned by scikit-learn's loaders:

        * data: ndarray of float64, shape (rows, features); a DataFrame with `as_frame`
        * target: ndarray of shape (rows,), a Series with `as_frame`; class codes 0 and 1 for the named
          data sets, labels as in the file for files
        * frame: DataFrame of `data` and `target` with `as_frame`, otherwise None
        * feature_names: list of str
        * target_names: ndarray of str, the names of the classes in the order of ``numpy.unique(target)``
        * split_sizes: SplitSizes (training, validation, test), the paper's; None for a file and for ``transfusion``,
          which its table does not list
        * DESCR: str, with size, changes, the row of the paper's table, citation and licence
        * filename: str, path of the file

    See Also
    --------
    StochasticSVC : Train and certify support vector machines.

    Notes
    -----
    ``bupa-leaky`` is the paper's version of ``bupa``, with the column that defines the class among the features.
    ``mushroom`` has 5644 rows, the paper's version ``mushroom-paper`` 5643: the first row is missing,
    probably because it was read as column names.  Both have the paper's 116 one-hot columns; 18 of them are zero in
    every row.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] M. Kelly, R. Longjohn and K. Nottingham, "The UCI Machine Learning Repository".

    Examples
    --------
    >>> from pacbayes import load_dataset
    >>> bupa = load_dataset("bupa")
    >>> bupa.data.shape, bupa.feature_names[-1]
    ((345, 6), 'selector')
    >>> [int((bupa.target == code).sum()) for code in (0, 1)]
    [169, 176]
    >>> bupa.split_sizes
    SplitSizes(training=138, validation=138, test=69)
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name must be the name of a data set or the path of a file, got {name!r}")
    if target is not None and not isinstance(target, str):
        raise TypeError(f"target must be the name of a column, got {target!r}")
    for option, value in (("drop", drop), ("keep", keep)):
        if isinstance(value, str) or not all(isinstance(one, str) for one in value):
            raise TypeError(f"{option} must be a list of names of columns, got {value!r}")
    numbers = None
    if decimal is not None or thousands is not None:
        from pacbayes.data.schema import NumberFormat

        numbers = NumberFormat(decimal or ".", thousands)
    if isinstance(name, str) and name in DATASETS:
        if target is not None:
            raise ValueError(f"target is for files only: the class of {name!r} is fixed, got target={target!r}")
        if drop or keep or sep is not None or encoding is not None or skip_unlabelled or numbers is not None:
            raise ValueError(
                "drop, keep, sep, encoding, skip_unlabelled, decimal and thousands are for files only: "
                f"{name!r} is fixed"
            )
        facts = DATASETS[name]
        return _to_bunch(read_shipped(facts), facts.description, facts.split_sizes, as_frame)
    path = Path(name)
    if isinstance(name, str) and not (path.suffix or path.parent != Path() or path.exists()):
        raise ValueError(
            f"unknown data set {name!r}; known are {', '.join(DATASETS)}, or the path of a CSV, TSV or Parquet file"
        )
    # Imported here, like pandas below, to keep `import pacbayes.data` fast.
    from pacbayes.data.io import ReadOptions

    options = ReadOptions(sep, encoding, numbers)
    table, skipped = _read_file(path, target, options, (drop, keep), skip_unlabelled, as_frame)
    rows, features = table.data.shape
    description = (
        f"{table.filename}: {rows} examples, {features} features, {len(table.target_names)} classes in column "
        f"{table.target_column!r}."
    )
    if skip_unlabelled:
        description += f" {skipped} examples without a class were left out."
    return _to_bunch(table, description, None, as_frame)


def _read_file(
    path: Path,
    target: str | None,
    options: ReadOptions,
    drop_and_keep: tuple[Sequence[str], Sequence[str]],
    skip_unlabelled: bool,
    as_frame: bool,
) -> tuple[Table, int]:
    """Read a file; return its table, and the number of rows without a class that were left out."""
    from pacbayes.data.io import open_table
    from pacbayes.data.leakage import reject_columns
    from pacbayes.data.rejections import format_argument, format_names
    from pacbayes.data.schema import BOOLEAN, NUMBER, Schema
    from pacbayes.data.targets import labelled_mask, parse_labels, select_target, suggest_columns

    file, (drop, keep) = open_table(path, options), drop_and_keep
    for option, columns in (("drop", drop), ("keep", keep)):
        unknown = sorted(set(columns) - set(file.columns))
        if unknown:
            similar = suggest_columns(file.columns, unknown)
            raise ValueError(f"{option} must name columns of {str(path)!r}, got {format_names(unknown)}; {similar}")
    names = [name for name in file.columns if name not in drop]
    class_column = select_target(names, target, str(path))
    frame = file.read(strings=[class_column])[names]
    keep_mask = labelled_mask(frame, class_column, str(path)) if skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = frame[keep_mask].reset_index(drop=True), int((~keep_mask).sum())
    labels = parse_labels(frame.pop(class_column), str(path))
    schema = Schema.infer(frame)
    reject_columns(frame, schema, keep, format_argument)
    non_numeric = [column.name for column in schema.columns if column.kind not in (NUMBER, BOOLEAN) or column.strings]
    if non_numeric and not as_frame:
        raise ValueError(
            f"features must be numbers, but in {str(path)!r} these columns are not: {format_names(non_numeric)} "
            f"({non_numeric[0]!r} holds {frame[non_numeric[0]].dropna().iloc[0]!r}); use as_frame=True, leave them out "
            f"with drop={non_numeric!r}, or name the column of classes with target="
        )
    data: Any = schema.to_numeric(frame)
    missing = [str(name) for name in frame if data[name].isna().any()]
    if not as_frame:
        if missing:
            raise ValueError(
                f"features must be finite, but columns {format_names(missing)} of {str(path)!r} have missing values, "
                f"the first in example {int(data[missing[0]].isna().to_numpy().argmax()) + 1}; fill them in, or "
                "use as_frame=True"
            )
        data = data.to_numpy(dtype=np.float64)
    classes = [str(label) for label in np.unique(labels)]
    return Table(data, labels, [str(name) for name in frame], classes, class_column, str(path)), skipped


def _to_bunch(table: Table, description: str, split_sizes: tuple[int, int, int] | None, as_frame: bool) -> Bunch:
    from sklearn.utils import Bunch

    contents: dict[str, Any] = {"data": table.data, "target": table.target, "frame": None}
    if as_frame:
        import pandas as pd

        data = pd.DataFrame(table.data, columns=table.feature_names)
        target = pd.Series(table.target, name=table.target_column)
        contents = {"data": data, "target": target, "frame": pd.concat([data, target], axis=1)}
    return Bunch(
        **contents,
        feature_names=table.feature_names,
        target_names=np.array(table.target_names),
        split_sizes=split_sizes,
        DESCR=description,
        filename=table.filename,
    )
