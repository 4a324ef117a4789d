"""Sequential monitoring of a certificate: an e-process against it, updated as labelled rows arrive.

While the conditional risk of the next row is at most the bound, equation (still-true), the e-process of equation
(e-process) is a nonnegative supermartingale, so by Ville's inequality it is unlikely ever to be large: equation (ville)
of docs/mathematics.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, nextafter
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import EPS, FloatArray, round_up
from pacbayes._utils.checks import check_not_masked, check_number, require, require_choice, require_int
from pacbayes._utils.files import write_file
from pacbayes._utils.progress import cached_njit
from pacbayes._utils.words import PLURAL, html_card
from pacbayes.certificates import sentences
from pacbayes.data.dataset import (
    check_groups,
    check_label_types,
    check_no_missing_labels,
    check_same_order,
    flatten_predictions,
)
from pacbayes.data.split import GROUP

#: Risks of the eight alternatives that are bet on, as multiples of the bound; `bets_against` lowers those near 1.
MULTIPLES = tuple(round(1.25 * 6.4 ** (k / 7), 4) for k in range(8))
#: Computes losses from the arguments of `update`: 1 for a wrong prediction, 0 for a correct one.
Wrong = Callable[..., ArrayLike]
# Format name and version of saved monitors.
_FORMAT = "pacbayes monitor 3"
# Factor of an error if the bound is 0: a single error raises the alarm.
_WIN_AT_ZERO = 1e300
_INITIAL_CAPACITY = 256
# The capital is limited, which is valid: an infinite capital could never decrease again.
_MAX_CAPITAL = 1e300
# A step has at most nine roundings, each of half an EPS (see docs/mathematics.md); the sum over bets has eleven.
_DOWN = 1.0 - 8.0 * EPS
# Files with more rows are rejected: memory is allocated before the rows are read.
_MAX_ROWS = 10**8


def count_wrong(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[np.bool_]:
    """Whether each prediction is wrong.

    Examples
    --------
    >>> count_wrong(["a", "b"], ["a", "a"])
    array([False,  True])
    """
    check_same_order(y_true=y_true, y_pred=y_pred)
    labels = np.asarray(check_no_missing_labels(y_true, "y_true"))
    if labels.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, got shape {labels.shape}")
    predictions = flatten_predictions("y_pred", check_no_missing_labels(y_pred, "y_pred"), labels.size)
    if labels.size:
        check_label_types("y_pred", predictions, labels, "y_true")
    return np.asarray(predictions != labels)


@dataclass(frozen=True)
class Bets:
    """Factors by which bets against a bound multiply their capital, at the losses 0 (`lose`) and 1 (`win`)."""

    lose: FloatArray
    win: FloatArray


def bets_against(bound: float, multiples: tuple[float, ...] = MULTIPLES) -> Bets:
    r"""Factors of bets on risks :math:`p > B`, rounded down: :math:`(1-p)/(1-B)` and :math:`p/B`.

    These are equation (factor) of docs/mathematics.md at the losses 0 and 1.

    The bet for the multiple c is on :math:`p = cB` as long as :math:`(1-p)/(1-B) \ge 1/c`, else on the p with equality:
    then no row can lower the capital by more than the factor c, and :math:`p < 1`.

    Examples
    --------
    >>> small, large = bets_against(0.05), bets_against(0.5)
    >>> small.win.round(3)[[0, -1]], small.lose.round(3)[[0, -1]]
    (array([1.25, 8.  ]), array([0.987, 0.632]))
    >>> large.win.round(3)[[0, -1]], large.lose.round(3)[[0, -1]]
    (array([1.2  , 1.875]), array([0.8  , 0.125]))
    """
    B, lose, win = Fraction(bound), [], []
    for c in map(Fraction, multiples):
        p = min(c * B, 1 - (1 - B) / c)
        lose.append(_round_down((1 - p) / (1 - B)) if B < 1 else float(1 / c))
        win.append(_round_down(p / B) if B > 0 else _WIN_AT_ZERO)
    return Bets(np.array(lose), np.array(win))


def _round_down(exact: Fraction) -> float:
    """Round an exact number down to a double."""
    near = float(exact)
    return near if Fraction(near) <= exact else nextafter(near, -inf)


class EProcess:
    """The e-process of `Monitor`, without its history.

    Examples
    --------
    >>> process = EProcess(0.05)
    >>> process.update(np.zeros(3)).round(3), process.update(np.ones(1)).round(3)
    (array([0.927, 0.847, 0.773]), array([2.014]))
    """

    def __init__(self, bound: float) -> None:
        self._bets, self._capital, self._rows = bets_against(bound), np.zeros(len(MULTIPLES)), 0

    def update(self, losses: FloatArray) -> FloatArray:
        """Update with losses in [0, 1], and return the e-value after each."""
        e_values = np.empty(losses.size)
        _compile_update()(losses, float(self._rows), self._capital, self._bets.lose, self._bets.win, e_values)
        self._rows += losses.size
        return e_values

    @staticmethod
    def threshold(alpha: float) -> float:
        """Compute the e-value that raises the alarm, rounded up."""
        return float(round_up(1.0 / alpha))


class Monitor:
    r"""Sequential test of a certificate: raises an alarm once incoming rows contradict its bound.

    Let :math:`x_t` be the error of row t (0 or 1; for a group its share of errors) and B the bound.  Eight bets, on
    risks p from 1.25 B to 8 B, restart with every row:

    .. math:: A_t(p) = \big(A_{t-1}(p) + w_t\big)\Big(1 + \frac{p - B}{B(1 - B)}(x_t - B)\Big), \qquad
              E_t = \tfrac18 \sum_p A_t(p) + \tfrac1{t+1}, \qquad w_t = \tfrac1{t(t+1)}.

    While the conditional risk is at most B, the e-value :math:`E_t` is a nonnegative supermartingale that starts at 1,
    and it ever reaches :math:`1/\alpha` with probability at most :math:`\alpha` (Ville's inequality [1]_): this is the
    alarm.  It holds at every stopping time, so the monitor may be checked as often as desired.

    P(the certificate is true, nothing changed, and there is ever an alarm) is at most alpha, equation (false-alarm) of
    docs/mathematics.md.

    Parameters
    ----------
    bound : float
        B, from 0 to 1: the bound of the risk.
    alpha : float
        The probability of any false alarm, over all time.
    unit : {"example", "distinct example", "group"}
        The unit of the bound.
    about : str
        The classifier, in words.
    wrong : callable
        Computes errors from the arguments of `update`.
    fingerprint : str
        Identifies the certificate, and the model if there is one: `resume` rejects the file of another.

    Attributes
    ----------
    bound, alpha, unit, about, fingerprint
        The parameters.
    alarm_at : int or None
        The number of rows (groups) at the first alarm; it stays.

    See Also
    --------
    Certificate : Its method `monitor` is for predictions made outside this library.
    CertifiedClassifier : Its method `monitor` is for a fitted model.
    pacbayes.report.plot_monitor : Plot of the e-values.

    Notes
    -----
    Pass rows in the order in which they arrived.  Which rows get a label must not depend on whether their predictions
    are wrong.

    References
    ----------
    .. [1] J. Ville, "Étude critique de la notion de collectif", 1939.
    .. [2] A. Podkopaev and A. Ramdas, "Tracking the risk of a deployed model and detecting harmful distribution
       shifts", International Conference on Learning Representations, 2022.
    .. [3] J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for sequential change detection",
       New England Journal of Statistics in Data Science 2, 2024.

    Examples
    --------
    >>> monitor = Monitor(0.05)
    >>> monitor.update_errors([0] * 200)
    Monitor(no alarm after 200 rows, 0 errors; bound 5.0 %, alpha=0.01)
    >>> monitor.update_errors([0, 1] * 20)
    Monitor(alarm after 220 rows, of 240; 20 errors; bound 5.0 %, alpha=0.01)
    >>> monitor.e_values.shape, monitor.alarm
    ((240,), True)
    """

    def __init__(
        self,
        bound: float,
        alpha: float = 0.01,
        *,
        unit: str = "example",
        about: str = "the classifier",
        wrong: Wrong = count_wrong,
        fingerprint: str = "",
    ) -> None:
        self.bound = check_number("bound", bound, "a number from 0 to 1")
        if not 0.0 <= self.bound <= 1.0:
            raise ValueError(f"bound must lie in [0, 1], got {bound!r}")
        self.alpha = check_number("alpha", alpha, "a number between 0 and 1")
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must be strictly between 0 and 1, got {alpha!r}")
        require_choice(unit, "unit", PLURAL)
        self.unit, self.about, self._wrong, self.fingerprint = unit, about, wrong, fingerprint
        self.alarm_at: int | None = None
        self._process = EProcess(self.bound)
        self._rows, self._losses, self._e_values = 0, np.empty(_INITIAL_CAPACITY), np.empty(_INITIAL_CAPACITY)

    # -- rows --------------------------------------------------------------------------------------------------------

    def update(self, *rows: Any, groups: ArrayLike | None = None, **named: Any) -> Self:
        """Update with any number of rows, in the order in which they arrived.

        Parameters
        ----------
        X, y_true
            Rows and true labels, for the monitor of a model.  Rows on which the model abstains are ignored.
        y_true, y_pred
            True labels and predictions, for the monitor of a certificate.
        groups : array_like, optional
            The group of every row; required if and only if the certificate is about groups.  All rows of a group must
            come in one call.  Groups are ordered by their first rows.

        Returns
        -------
        self
        """
        wrong = self._wrong(*rows, **named)
        check_same_order(**{f"rows[{i}]": values for i, values in enumerate(rows)}, **named, groups=groups)
        return self.update_errors(wrong, groups=groups)

    def update_errors(self, wrong: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Update with whether the prediction of each row is wrong.

        Parameters
        ----------
        wrong : array_like of shape (n,)
            Booleans, or 0 and 1, in the order in which the rows arrived.
        groups : array_like of shape (n,), optional
            As for `update`.

        Returns
        -------
        self
        """
        check_same_order(wrong=wrong, groups=groups)
        losses = _check_wrong(wrong)
        if (groups is None) is (self.unit == GROUP):
            raise ValueError(
                "groups are required, because the certificate is for groups"
                if groups is None
                else "groups must be None, because the certificate is for rows"
            )
        if groups is not None:
            numbers = check_groups(groups, losses.size)
            losses = np.bincount(numbers, losses) / np.bincount(numbers)
        return self._accumulate(losses)

    def _accumulate(self, losses: FloatArray) -> Self:
        """Update the e-process with losses in [0, 1], one for each row or group."""
        before, after = self._rows, self._rows + losses.size
        if after > self._losses.size:
            capacity = max(after, 2 * self._losses.size) - before
            self._losses = np.append(self._losses[:before], np.empty(capacity))
            self._e_values = np.append(self._e_values[:before], np.empty(capacity))
        self._losses[before:after] = losses
        e_values = self._e_values[before:after] = self._process.update(losses)
        self._rows = after
        reached = e_values >= EProcess.threshold(self.alpha)
        if self.alarm_at is None and reached.any():
            self.alarm_at = before + int(reached.argmax()) + 1
        return self

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def alarm(self) -> bool:
        """Whether the alarm was raised."""
        return self.alarm_at is not None

    @property
    def rows(self) -> int:
        """The number of rows, or groups."""
        return self._rows

    @property
    def losses(self) -> FloatArray:
        """The error of every row, or the share of errors of every group, in the order of arrival."""
        return _read_only_view(self._losses[: self._rows])

    @property
    def e_values(self) -> FloatArray:
        """The e-value after every row, rounded down; it starts at 1."""
        return _read_only_view(self._e_values[: self._rows])

    @property
    def largest_e_value(self) -> float:
        """The largest e-value so far, at least 1."""
        return max(1.0, float(self.e_values.max(initial=0.0)))

    @property
    def errors(self) -> float:
        """The sum of the losses: for rows, the number of errors."""
        return float(self.losses.sum())

    @property
    def needed(self) -> float:
        """The e-value that raises the alarm, 1 / alpha."""
        return 1.0 / self.alpha

    # -- in words ----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return sentences.monitor_text(self)

    def __repr__(self) -> str:
        units, errors = PLURAL[self.unit], f"{self.errors:g} errors"
        state = f"no alarm after {self.rows} {units}, {errors}"
        if self.alarm_at is not None:
            state = f"alarm after {self.alarm_at} {units}, of {self.rows}; {errors}"
        return f"Monitor({state}; bound {sentences.written_percent(self.bound)}, alpha={self.alpha:g})"

    def _repr_html_(self) -> str:
        last = float(self.e_values[-1]) if self.rows else 1.0
        facts = {PLURAL[self.unit]: str(self.rows), "errors": f"{self.errors:g}", "e-value": f"{last:.3g}"}
        facts["alarm at"], facts["α"] = f"{self.needed:.6g}", f"{self.alpha:g}"
        return html_card("Alarm" if self.alarm else "No alarm", [str(self)], facts)

    # -- in a file ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Convert the parameters and losses to plain Python values for JSON; the e-values follow from them.

        Examples
        --------
        >>> state = Monitor(0.05).update_errors([0, 0, 1]).to_dict()
        >>> state["rows"], state["errors_at"], state["losses"]
        (3, [2], None)
        """
        places = np.flatnonzero(self.losses)
        losses = self.losses[places]
        return {
            "format": _FORMAT,
            "bound": self.bound,
            "alpha": self.alpha,
            "unit": self.unit,
            "about": self.about,
            "fingerprint": self.fingerprint,
            "rows": self.rows,
            "errors_at": places.tolist(),
            "losses": None if (losses == 1.0).all() else losses.tolist(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the monitor as JSON.

        Parameters
        ----------
        path : str or path
            An existing file is replaced atomically.
        """
        write_file(path, json.dumps(self.to_dict(), allow_nan=False).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a saved monitor; its e-values are recomputed.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Monitor
            Its `update` requires y_true and y_pred; use `resume` for the monitor of a model.
        """
        try:
            return cls._from_dict(json.loads(Path(path).read_bytes()))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"{str(path)!r} is not a valid monitor file: {error}") from None

    @classmethod
    def _from_dict(cls, state: Any) -> Self:
        known = isinstance(state, dict) and state.get("format") == _FORMAT
        require(
            known, "format", f"must be {_FORMAT!r}; files of version 0.2 cannot be read: start again at the first row"
        )
        texts = {name: state[name] for name in ("about", "fingerprint")}
        for name, text in texts.items():
            require(isinstance(text, str), name, "must be a string")
        require_choice(state["unit"], "unit", PLURAL)
        monitor = cls(state["bound"], state["alpha"], unit=state["unit"], **texts)
        require_int(state["rows"], "rows", 0, _MAX_ROWS)
        places, values = state["errors_at"], state["losses"]
        whole = isinstance(places, list) and all(type(place) is int for place in places)
        increasing = whole and all(a < b for a, b in zip([-1, *places], [*places, state["rows"]], strict=True))
        require(increasing, "errors_at", "must be increasing row numbers")
        losses = np.zeros(state["rows"])
        losses[places] = 1.0 if values is None else values
        require(
            values is None or (state["unit"] == GROUP and len(values) == len(places)), "losses", "must be of groups"
        )
        require(bool(((losses >= 0.0) & (losses <= 1.0)).all()), "losses", "must lie in [0, 1]")
        return monitor._accumulate(losses)

    def resume(self, path: str | os.PathLike[str]) -> Self:
        """Continue from a saved monitor; this one must not have any rows yet.

        Parameters
        ----------
        path : str or path
            Its certificate, model (if there is one) and alpha must be the same.

        Returns
        -------
        self
        """
        stored = Monitor.load(path)
        if self.rows:
            raise ValueError(f"resume requires a monitor without rows, got {self.rows} rows")
        for name in ("bound", "alpha", "unit"):
            if getattr(stored, name) != getattr(self, name):
                raise ValueError(
                    f"{str(path)!r} belongs to another monitor: {name} {getattr(stored, name)!r} there, "
                    f"{getattr(self, name)!r} here"
                )
        if stored.fingerprint != self.fingerprint:
            raise ValueError(f"{str(path)!r} belongs to another certificate, or another model")
        return self._accumulate(stored.losses)


def _check_wrong(wrong: ArrayLike) -> FloatArray:
    """Validate row-wise errors and convert them to losses 0 and 1."""
    check_not_masked("wrong", wrong)
    values = np.asarray(wrong)
    expected = "wrong must contain a boolean, or 0 or 1, for every row"
    if values.ndim != 1 or (values.dtype.kind not in "biuf" and values.size):
        raise ValueError(f"{expected}; got shape {values.shape} of {values.dtype}")
    losses = values.astype(np.float64)
    invalid = (losses != 0.0) & (losses != 1.0)
    if invalid.any():
        raise ValueError(f"{expected}; got {values[invalid][0]}")
    return losses


def _read_only_view(values: FloatArray) -> FloatArray:
    view = values.view()
    view.setflags(write=False)
    return view


def _update_e_values(
    losses: FloatArray, seen: float, capital: FloatArray, lose: FloatArray, win: FloatArray, e_values: FloatArray
) -> None:
    """Update the capital of every bet with losses in [0, 1], after `seen` earlier ones, and store the e-values.

    `lose` and `win` are the factors of each bet at the losses 0 and 1; in between, factors are linear.
    """
    for i in range(losses.size):
        t = seen + i + 1.0
        new, x, total = 1.0 / (t * (t + 1.0)), losses[i], 0.0
        for k in range(capital.size):
            capital[k] = min((capital[k] + new) * (lose[k] + x * (win[k] - lose[k])) * _DOWN, _MAX_CAPITAL)
            total += capital[k]
        e_values[i] = (total / capital.size + 1.0 / (t + 1.0)) * _DOWN


@cache
def _compile_update() -> Any:
    """Compile `_update_e_values`; numba is imported on first use.

    Without fastmath: batches of any size give the same bits.
    """
    return cached_njit()(_update_e_values)
