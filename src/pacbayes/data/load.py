"""`load_dataset`: a data set by name or from a file."""

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
        start with a line of column names.  A file that would take more than half of the free memory is a `MemoryError`
        before it does.  A file whose path is also the name of a data set is reached with a
        `pathlib.Path`.
    target : str, optional
        For a file: the column with the classes, by default the last one.  All others are features: finite numbers, or
        with `as_frame` also dates, categories and text, and missing values.
    drop : sequence of str
        For a file: columns to leave out; one without a name in the file is called ``"Unnamed: 0"``, with its place.
    keep : sequence of str
        For a file: columns to take as measurements although they look like row numbers or identifiers, which are
        refused otherwise: whole numbers, no two of them equal, that rise or fall from row to row or are too many for
        their range to be measurements (`pacbayes.data.leakage`), or that a name such as ``id`` gives away;
        numbers of subjects with several rows (`pacbayes.data.leakage`); and columns without a name.
    sep : str, optional
        For a CSV or TSV file: the character between two fields, by default the one that all lines agree on.
    encoding : str, optional
        For a CSV or TSV file: by default UTF-8, UTF-16 or Latin-1 (Windows-1252), by the first megabyte.
    skip_unlabelled : bool
        For a file: leave out rows without a class; the certificate is then about examples that have one.
    decimal, thousands : str, optional
        For a file: the decimal sign of numbers, a point or a comma, and the sign between thousands, as in
        ``3,682.50``; by default the signs that read the numbers of the first megabyte.
    as_frame : bool
        Return pandas objects.

    Returns
    -------
    sklearn.utils.Bunch
        As from scikit-learn's own loaders:

        * data: ndarray of float64, shape (rows, features); a DataFrame with `as_frame`
        * target: ndarray of shape (rows,), a Series with `as_frame`; for the named data sets the class as a code,
          0 or 1, for a file the labels as they stand there
        * frame: DataFrame of `data` and `target` with `as_frame`, otherwise None
        * feature_names: list of str
        * target_names: ndarray of str, the names of the classes in the order of ``numpy.unique(target)``
        * split_sizes: SplitSizes (training, validation, test), the paper's; None for a file and for ``transfusion``,
          which its table does not list
        * DESCR: str, with size, what was changed, what the paper's table says, whom to cite, licence
        * filename: str, the file read

    See Also
    --------
    StochasticSVC : What to do with one.

    Notes
    -----
    ``bupa-leaky`` is the paper's version of ``bupa``, with the column that defines the class among the features.
    ``mushroom`` has 5644 rows, the paper's version ``mushroom-paper`` 5643: it lost the first, evidently to a reader
    that took it for column names.  Both have the paper's 116 one-hot columns; 18 of them are zero in every row.

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
        return _bunch(read_shipped(facts), facts.description, facts.split_sizes, as_frame)
    path = Path(name)
    if isinstance(name, str) and not (path.suffix or path.parent != Path() or path.exists()):
        raise ValueError(
            f"unknown data set {name!r}; known are {', '.join(DATASETS)}, or the path of a CSV, TSV or Parquet file"
        )
    # Imported here, as pandas below: `import pacbayes.data` is to stay quick.
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
    return _bunch(table, description, None, as_frame)


def _read_file(
    path: Path,
    target: str | None,
    options: ReadOptions,
    drop_and_keep: tuple[Sequence[str], Sequence[str]],
    skip_unlabelled: bool,
    as_frame: bool,
) -> tuple[Table, int]:
    """Read the rows of a file, and count the rows without a class that were left out."""
    from pacbayes.data.io import open_table
    from pacbayes.data.leakage import reject_columns
    from pacbayes.data.rejections import in_python, listed
    from pacbayes.data.schema import BOOLEAN, NUMBER, Schema
    from pacbayes.data.targets import has_label, labels_of, similar_columns, target_of

    file, (drop, keep) = open_table(path, options), drop_and_keep
    for option, columns in (("drop", drop), ("keep", keep)):
        unknown = sorted(set(columns) - set(file.columns))
        if unknown:
            similar = similar_columns(file.columns, unknown)
            raise ValueError(f"{option} must name columns of {str(path)!r}, got {listed(unknown)}; {similar}")
    names = [name for name in file.columns if name not in drop]
    chosen = target_of(names, target, str(path))
    frame = file.read(strings=[chosen])[names]
    kept = has_label(frame, chosen, str(path)) if skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = frame[kept].reset_index(drop=True), int((~kept).sum())
    labels = labels_of(frame.pop(chosen), str(path))
    schema = Schema.of(frame)
    reject_columns(frame, schema, keep, in_python)
    others = [column.name for column in schema.columns if column.kind not in (NUMBER, BOOLEAN) or column.strings]
    if others and not as_frame:
        raise ValueError(
            f"features must be numbers, but in {str(path)!r} these columns are not: {listed(others)} ({others[0]!r} "
            f"holds {frame[others[0]].dropna().iloc[0]!r}); use as_frame=True, leave them out with drop={others!r}, or "
            "say which column is the class with target="
        )
    data: Any = schema.numeric(frame)
    missing = [str(name) for name in frame if data[name].isna().any()]
    if not as_frame:
        if missing:
            raise ValueError(
                f"features must be finite, but columns {listed(missing)} of {str(path)!r} have missing values, the "
                f"first in example {int(data[missing[0]].isna().to_numpy().argmax()) + 1}; fill them in, or "
                "use as_frame=True"
            )
        data = data.to_numpy(dtype=np.float64)
    classes = [str(label) for label in np.unique(labels)]
    return Table(data, labels, [str(name) for name in frame], classes, chosen, str(path)), skipped


def _bunch(table: Table, description: str, split_sizes: tuple[int, int, int] | None, as_frame: bool) -> Bunch:
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
