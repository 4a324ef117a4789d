"""Watching a certificate: labelled rows arrive, and evidence gathers that it does not hold for them.

While the risk of the next row is at most the bound, whatever came before, equation (still-true), the evidence of
equation (evidence) is a supermartingale, and large at any time with a small probability only, equation (ville) of
docs/mathematics.md.
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
from pacbayes._utils.checks import check_not_masked, check_number, need, need_choice, need_whole
from pacbayes._utils.files import write_file
from pacbayes._utils.progress import compiled
from pacbayes._utils.words import PLURAL, card
from pacbayes.certificates import sentences
from pacbayes.data.dataset import check_complete, check_groups, check_same_kind, check_same_order, one_label_each
from pacbayes.data.split import GROUP

#: How many times the bound the eight bets expect the risk to be; where that is near 1 or above, see `bets_against`.
TIMES = tuple(round(1.25 * 6.4 ** (k / 7), 4) for k in range(8))
#: What makes losses of the arguments of `update`: 1 for a row that counts as wrong, 0 for one that does not.
Wrong = Callable[..., ArrayLike]
# What a file of a monitor begins with.
_FORMAT = "pacbayes monitor 3"
# At a bound of 0 one error is enough.
_AT_ONCE = 1e300
_FIRST_ROOM = 256
# No capital is larger: it may be lowered at any time, and infinity would not come back.
_MOST = 1e300
# A step has at most nine roundings, each of half an EPS (see docs/mathematics.md); the sum over bets has eleven.
_DOWN = 1.0 - 8.0 * EPS
# A file that claims more rows is not believed: room for them is made before any is looked at.
_MOST_ROWS = 10**8


def count_wrong(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[np.bool_]:
    """Return for every row whether what was predicted is not what is true.

    Examples
    --------
    >>> count_wrong(["a", "b"], ["a", "a"])
    array([False,  True])
    """
    check_same_order(y_true=y_true, y_pred=y_pred)
    labels = np.asarray(check_complete(y_true, "y_true"))
    if labels.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, with a label for every row, got shape {labels.shape}")
    said = one_label_each("y_pred", check_complete(y_pred, "y_pred"), labels.size)
    if labels.size:
        check_same_kind("y_pred", said, labels, "y_true")
    return np.asarray(said != labels)


@dataclass(frozen=True)
class Bets:
    """By what bets against a bound multiply their capital: at the loss 0, and at the loss 1."""

    lose: FloatArray
    win: FloatArray


def bets_against(bound: float, times: tuple[float, ...] = TIMES) -> Bets:
    r"""Return the factors of bets on risks :math:`p > B`, rounded down: :math:`(1-p)/(1-B)` and :math:`p/B`.

    At the losses 0 and 1 of equation (factor) of docs/mathematics.md.

    The bet with the number c is on :math:`p = cB`, as long as :math:`(1-p)/(1-B) \ge 1/c`, else on the p at which these
    are equal: the largest of a row's losses is as bounded as the largest of its gains, and :math:`p < 1`.

    Examples
    --------
    >>> usual, large = bets_against(0.05), bets_against(0.5)
    >>> usual.win.round(3)[[0, -1]], usual.lose.round(3)[[0, -1]]
    (array([1.25, 8.  ]), array([0.987, 0.632]))
    >>> large.win.round(3)[[0, -1]], large.lose.round(3)[[0, -1]]
    (array([1.2  , 1.875]), array([0.8  , 0.125]))
    """
    B, lose, win = Fraction(bound), [], []
    for c in map(Fraction, times):
        p = min(c * B, 1 - (1 - B) / c)
        lose.append(_down((1 - p) / (1 - B)) if B < 1 else float(1 / c))
        win.append(_down(p / B) if B > 0 else _AT_ONCE)
    return Bets(np.array(lose), np.array(win))


def _down(exact: Fraction) -> float:
    """Return the largest double that is not above a number."""
    near = float(exact)
    return near if Fraction(near) <= exact else nextafter(near, -inf)


class Monitor:
    r"""Evidence, row by row, that a certificate does not hold for the rows that arrive.

    Let :math:`x_t` be the error of row t (0 or 1; of a group its share of errors) and B the bound.  Eight bets, on
    risks p from 1.25 B to 8 B, begin anew with every row:

    .. math:: A_t(p) = \big(A_{t-1}(p) + w_t\big)\Big(1 + \frac{p - B}{B(1 - B)}(x_t - B)\Big), \qquad
              E_t = \tfrac18 \sum_p A_t(p) + \tfrac1{t+1}, \qquad w_t = \tfrac1{t(t+1)}.

    While the risk is at most B, whatever came before, :math:`E_t` does not grow on average, and it is ever
    :math:`1/\alpha` or more with probability at most :math:`\alpha` (Ville's inequality): then there is an alarm.

    P(the certificate is true, nothing changed, and an alarm is ever seen) is at most alpha, equation (false-alarm) of
    docs/mathematics.md.  How often one looks, and when one stops, plays no role.

    Parameters
    ----------
    bound : float
        B, from 0 to 1: what the risk should not be above.
    alpha : float
        The probability of a false alarm, ever.
    unit : {"example", "distinct example", "group"}
        What the bound counts.
    about : str
        Whose errors they are.
    wrong : callable
        What makes errors of the arguments of `update`.
    fingerprint : str
        Identifies the certificate, and the model if there is one: `resume` refuses a file of another.

    Attributes
    ----------
    bound, alpha, unit, about, fingerprint
        As given.
    alarm_at : int or None
        After how many rows (groups) the alarm came; it stays.

    See Also
    --------
    Certificate : Its method `monitor` is for predictions from elsewhere.
    CertifiedClassifier : Its method `monitor` is for a fitted model.
    pacbayes.report.plot_monitor : The picture.

    Notes
    -----
    Rows are to be handed over in the order in which they arrived.  Which rows get a label must not depend on whether
    they are wrong.

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
        need_choice(unit, "unit", PLURAL)
        self.unit, self.about, self._wrong, self.fingerprint = unit, about, wrong, fingerprint
        self.alarm_at: int | None = None
        self._bets, self._capital = bets_against(self.bound), np.zeros(len(TIMES))
        self._rows, self._losses, self._evidence = 0, np.empty(_FIRST_ROOM), np.empty(_FIRST_ROOM)

    # -- rows --------------------------------------------------------------------------------------------------------

    def update(self, *rows: Any, groups: ArrayLike | None = None, **named: Any) -> Self:
        """Take the next rows, in the order in which they arrived: any number of them.

        Parameters
        ----------
        X, y_true
            The rows and their true labels, if the monitor is a model's.  With `max_error` rows that the model does not
            answer do not count.
        y_true, y_pred
            What was true and what was predicted, if it is a certificate's.
        groups : array_like, optional
            For a certificate about groups, and then needed: the group of every row.  A group must be complete in one
            call.  Groups count in the order in which they begin.

        Returns
        -------
        self
        """
        wrong = self._wrong(*rows, **named)
        check_same_order(**{f"rows[{i}]": one for i, one in enumerate(rows)}, **named, groups=groups)
        return self.update_errors(wrong, groups=groups)

    def update_errors(self, wrong: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Take the next rows by whether each of them was wrong.

        Parameters
        ----------
        wrong : array_like of shape (n,)
            True or False, or 1 and 0; in the order in which the rows arrived.
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
                "groups must name the group of every row: the certificate is about groups"
                if groups is None
                else "groups are for a certificate about groups; this one is about rows"
            )
        if groups is not None:
            numbers = check_groups(groups, losses.size)
            losses = np.bincount(numbers, losses) / np.bincount(numbers)
        return self._follow(losses)

    def _follow(self, losses: FloatArray) -> Self:
        """Move on by losses in [0, 1], one for each row or group."""
        before, after = self._rows, self._rows + losses.size
        if after > self._losses.size:
            room = max(after, 2 * self._losses.size) - before
            self._losses = np.append(self._losses[:before], np.empty(room))
            self._evidence = np.append(self._evidence[:before], np.empty(room))
        self._losses[before:after] = losses
        found, bets = self._evidence[before:after], self._bets
        _compiled()(losses, float(before), self._capital, bets.lose, bets.win, found)
        self._rows = after
        reached = found >= round_up(1.0 / self.alpha)
        if self.alarm_at is None and reached.any():
            self.alarm_at = before + int(reached.argmax()) + 1
        return self

    # -- what is known -----------------------------------------------------------------------------------------------

    @property
    def alarm(self) -> bool:
        """Whether there was an alarm."""
        return self.alarm_at is not None

    @property
    def rows(self) -> int:
        """How many rows, or groups, were counted."""
        return self._rows

    @property
    def losses(self) -> FloatArray:
        """The error of every row, or the share of errors of every group, in the order of arrival."""
        return _shown(self._losses[: self._rows])

    @property
    def e_values(self) -> FloatArray:
        """The evidence after every row, rounded down; before the first it is 1."""
        return _shown(self._evidence[: self._rows])

    @property
    def errors(self) -> float:
        """The sum of the losses: of rows, how many were wrong."""
        return float(self.losses.sum())

    @property
    def needed(self) -> float:
        """The evidence at which there is an alarm."""
        return 1.0 / self.alpha

    # -- in words ----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return sentences.monitor_text(self)

    def __repr__(self) -> str:
        units, errors = PLURAL[self.unit], f"{self.errors:g} errors"
        seen = f"no alarm after {self.rows} {units}, {errors}"
        if self.alarm_at is not None:
            seen = f"alarm after {self.alarm_at} {units}, of {self.rows}; {errors}"
        return f"Monitor({seen}; bound {sentences.written_percent(self.bound)}, alpha={self.alpha:g})"

    def _repr_html_(self) -> str:
        last = float(self.e_values[-1]) if self.rows else 1.0
        facts = {PLURAL[self.unit]: str(self.rows), "errors": f"{self.errors:g}", "evidence now": f"{last:.3g}"}
        facts["alarm at"], facts["α"] = f"{self.needed:.6g}", f"{self.alpha:g}"
        return card("Alarm" if self.alarm else "No alarm", [str(self)], facts)

    # -- in a file ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return what was counted as plain Python values, ready for JSON; all else follows from it.

        Examples
        --------
        >>> found = Monitor(0.05).update_errors([0, 0, 1]).to_dict()
        >>> found["rows"], found["errors_at"], found["losses"]
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
        """Write what was counted to a file, as JSON.

        Parameters
        ----------
        path : str or path
            Replaced in one step if it exists.
        """
        write_file(path, json.dumps(self.to_dict(), allow_nan=False).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote, its evidence computed anew.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Monitor
            Its `update` takes y_true and y_pred; see `resume` for one of a model.
        """
        try:
            found = json.loads(Path(path).read_bytes())
            return cls._from_dict(found)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"{str(path)!r} holds no monitor that can be read: {error}") from None

    @classmethod
    def _from_dict(cls, found: Any) -> Self:
        known = isinstance(found, dict) and found.get("format") == _FORMAT
        need(known, "format", f"must be {_FORMAT!r}; for a file of version 0.2 begin again with the first row")
        texts = {name: found[name] for name in ("about", "fingerprint")}
        for name, text in texts.items():
            need(isinstance(text, str), name, "must be text")
        need_choice(found["unit"], "unit", PLURAL)
        monitor = cls(found["bound"], found["alpha"], unit=found["unit"], **texts)
        need_whole(found["rows"], "rows", 0, _MOST_ROWS)
        places, values = found["errors_at"], found["losses"]
        whole = isinstance(places, list) and all(type(one) is int for one in places)
        rise = whole and all(a < b for a, b in zip([-1, *places], [*places, found["rows"]], strict=True))
        need(rise, "errors_at", "must be rows, one after the other")
        losses = np.zeros(found["rows"])
        losses[places] = 1.0 if values is None else values
        need(values is None or (found["unit"] == GROUP and len(values) == len(places)), "losses", "must be of groups")
        need(bool(((losses >= 0.0) & (losses <= 1.0)).all()), "losses", "must lie in [0, 1]")
        return monitor._follow(losses)

    def resume(self, path: str | os.PathLike[str]) -> Self:
        """Take up what `save` wrote: for a model's monitor that has seen no row yet, and goes on.

        Parameters
        ----------
        path : str or path
            The file must be of the same certificate, and the same model if there is one, and of the same alpha.

        Returns
        -------
        self
        """
        stored = Monitor.load(path)
        if self.rows:
            raise ValueError(f"resume is for a monitor that has seen no row yet, this one has seen {self.rows}")
        for name in ("bound", "alpha", "unit"):
            if getattr(stored, name) != getattr(self, name):
                raise ValueError(
                    f"{str(path)!r} is of another monitor: {name} {getattr(stored, name)!r} there, "
                    f"{getattr(self, name)!r} here"
                )
        if stored.fingerprint != self.fingerprint:
            raise ValueError(f"{str(path)!r} is of another certificate, or another model, than this monitor")
        return self._follow(stored.losses)


def _check_wrong(wrong: ArrayLike) -> FloatArray:
    """Return for every row 1 if it is wrong, else 0; or raise."""
    check_not_masked("wrong", wrong)
    values = np.asarray(wrong)
    said = "wrong must say for every row whether it is wrong: a list of True and False, or of 1 and 0"
    if values.ndim != 1 or (values.dtype.kind not in "biuf" and values.size):
        raise ValueError(f"{said}; got shape {values.shape} of {values.dtype}")
    losses = values.astype(np.float64)
    other = (losses != 0.0) & (losses != 1.0)
    if other.any():
        raise ValueError(f"{said}; got {values[other][0]}")
    return losses


def _shown(values: FloatArray) -> FloatArray:
    """Return values that nobody can write into."""
    seen = values.view()
    seen.setflags(write=False)
    return seen


def _follow(
    losses: FloatArray, seen: float, capital: FloatArray, lose: FloatArray, win: FloatArray, e_values: FloatArray
) -> None:
    """Move the capital of every bet over losses in [0, 1], after `seen` others, and note the evidence after each.

    `lose` and `win` are by what each bet multiplies its capital at the losses 0 and 1; between them, linearly.
    """
    for i in range(losses.size):
        t = seen + i + 1.0
        new, x, total = 1.0 / (t * (t + 1.0)), losses[i], 0.0
        for k in range(capital.size):
            capital[k] = min((capital[k] + new) * (lose[k] + x * (win[k] - lose[k])) * _DOWN, _MOST)
            total += capital[k]
        e_values[i] = (total / capital.size + 1.0 / (t + 1.0)) * _DOWN


@cache
def _compiled() -> Any:
    """Return `_follow` compiled; numba is imported here, when first needed.

    Not with fastmath: the capital after a row has the same bits however the rows before it were handed over.
    """
    return compiled()(_follow)
