"""Parquet files: the extra they need, and texts and numbers in them that stand for missing values."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path) -> "pd.DataFrame":
    """Return the whole of a file."""
    import pandas as pd

    with need_pyarrow(path):
        return pd.read_parquet(path)


@contextmanager
def need_pyarrow(path: Path) -> Iterator[None]:
    """Say which extra is missing, or that a file is no Parquet."""
    try:
        yield
    except ImportError:
        raise ImportError(
            f"reading {str(path)!r} needs pyarrow, which is not installed: pip install 'pacbayes[parquet]'"
        ) from None
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise ValueError(f"cannot read {str(path)!r} as Parquet: {error}") from None


def without_missing(frame: "pd.DataFrame", missing: Sequence[str], but: Sequence[str] = ()) -> "pd.DataFrame":
    """Return a frame, in which gaps are gaps, without the texts and numbers that stand for some too.

    Examples
    --------
    >>> import pandas as pd
    >>> without_missing(pd.DataFrame({"a": [1, 999], "b": ["?", "x"]}), ["999", "?"]).isna().to_numpy().tolist()
    [[False, True], [True, False]]
    """
    from pandas.api.types import is_bool_dtype

    gaps = [*missing, *_numbers(missing)]
    for name in frame.columns if gaps else ():
        if name in but or is_bool_dtype(frame[name]):
            continue
        found = frame[name].isin(gaps)
        if found.any():
            frame[name] = frame[name].mask(found)
    return frame


def _numbers(texts: Sequence[str]) -> Iterator[float]:
    for text in texts:
        try:
            yield float(text)
        except ValueError:
            continue
