"""From the arguments of `pacbayes certify` to an unfitted estimator, checked in the words of options."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pacbayes._utils.checks import did_you_mean
from pacbayes._utils.words import printable
from pacbayes.certificates.metric_bounds import Cost
from pacbayes.cli.options import in_words_of_options
from pacbayes.cli.presets import check_paper_options, paper_parameters, scale_of, stochastic_svc
from pacbayes.data.class_names import aligned, as_cells
from pacbayes.data.encoder import TableEncoder

if TYPE_CHECKING:
    from pacbayes.cli.data import Data

# As in ensemble/families.py, which takes long to import; a test compares.
PORTFOLIO = ("svm", "forest", "boosting", "logistic", "neighbours")
# More values than anybody means.
_MOST_LAMBDAS = 100_000


def check(asked: SimpleNamespace, **prefit: bool) -> None:
    """Raise for arguments that are wrong or do not go together, before any file is read."""
    _check_candidates(asked)
    check_paper_options(asked)
    # Any costs will do: their file is read later.
    costs = () if asked.cost is None else (Cost([[0, 1], [1, 0]], "ab"),)
    own = asked.validation is not None or asked.validation_column is not None
    model = unfitted(asked)
    model._validate_params()
    questions = {"metrics": (*metric_bounds_of(asked), *costs), "decision": _target(asked), "refit": asked.refit}
    recipe = replace(model._recipe(), **questions)
    if not stochastic_svc(asked):
        recipe = replace(recipe, candidates=[("svm", _machines(asked))])
    recipe.check_candidates()
    together = recipe.choices(groups=asked.group is not None, validation=own, **prefit)
    recipe.check(together, in_words_of_options)


def unfitted(asked: SimpleNamespace) -> Any:
    """Return an estimator with all parameters that do not depend on the data."""
    from pacbayes.ensemble.families import FEW_LAMBDAS
    from pacbayes.estimators import CertifiedClassifier, StochasticSVC

    params: dict[str, Any] = {
        "validation_size": asked.validation_size,
        "distance": _distance(asked),
        "prior": asked.prior,
        "delta": asked.delta,
        "hedge": asked.hedge,
        "voting": asked.voting,
        "duplicates": asked.duplicates,
        "random_state": asked.seed,
        "checkpoint": None if asked.checkpoint is None else str(asked.checkpoint),
        # SVMs use threads of their own; other classifiers are given one for each core.
        "n_jobs": asked.jobs if families(asked) == ["svm"] else asked.jobs or -1,
    }
    if stochastic_svc(asked):
        svms = _machines(asked)
        of_paper = {"lambdas": list(FEW_LAMBDAS)} | paper_parameters(asked)
        if svms.lambdas is not None:
            of_paper["lambdas"] = svms.lambdas
        if asked.scale is not None:
            of_paper["scale"] = svms.scale
        return StochasticSVC(kernel=svms.kernel, split=asked.split, **of_paper, **params)
    return CertifiedClassifier(metrics=metric_bounds_of(asked), decision=_target(asked), refit=asked.refit, **params)


def fitted(asked: SimpleNamespace, rows: "Data") -> Any:
    """Return the estimator that was asked for, fitted."""
    from pacbayes.cli.costs import cost_of
    from pacbayes.estimators.rows import note_reading

    model = unfitted(asked).set_params(pos_label=positive_of(asked.positive, sorted(set(rows.y.tolist()))))
    if stochastic_svc(asked):
        if not rows.columns.plain:
            names = ", ".join(map(repr, dict.fromkeys((*rows.columns.categorical, *rows.columns.missing))))
            raise ValueError(
                f"--split independent is for columns of numbers without missing values, unlike {names}: leave them out "
                "with --drop, or use --split shared"
            )
    else:
        cost = cost_of(asked.cost, rows.y)
        preprocessor = None if rows.columns.plain else TableEncoder(categorical=list(rows.columns.categorical))
        metrics = model.metrics if cost is None else (*model.metrics, cost)
        model.set_params(candidates=candidates_of(asked, preprocessor), preprocessor=preprocessor, metrics=metrics)
    X = note_reading(rows.X, rows.reading)
    return model.fit(X, rows.y, groups=rows.groups, slices=rows.slices, validation=rows.validation)


# -- what is trained -------------------------------------------------------------------------------------------------


def families(asked: SimpleNamespace) -> list[str]:
    """Return the families that candidates name; a full name of a classifier is one."""
    names = [name.strip() for name in asked.candidates.split(",")]
    return list(PORTFOLIO) if names == ["auto"] else names


def candidates_of(asked: SimpleNamespace, preprocessor: Any) -> Any:
    """Return what the estimator takes: names, machines with their settings, or a grid of one classifier."""
    from pacbayes.ensemble.families import Grid
    from pacbayes.ensemble.portfolio import AUTO, FAMILIES, classifier_by_name

    settings = any(value is not None for value in (asked.lambdas, asked.kernel, asked.scale))
    if not settings and asked.candidates.strip() == "auto":
        return AUTO
    names = families(asked)
    found: list[Any] = []
    for name in names:
        if name in FAMILIES or (name == "svm" and not settings):
            found.append(name)
        elif name != "svm":
            found.append(Grid(*classifier_by_name(name, _read_grid(asked.grid), preprocessor)))
        else:
            # Among others it needs its name.
            found.append(_machines(asked) if len(names) == 1 else (name, _machines(asked)))
    return found[0] if len(found) == 1 else found


def _machines(asked: SimpleNamespace) -> Any:
    from pacbayes.ensemble.families import SVMs

    lambdas = None if asked.lambdas is None else parse_lambdas(asked.lambdas)
    parameters: dict[str, Any] = {"kernel": asked.kernel or "rbf"} | scale_of(asked)
    return SVMs(lambdas, **parameters)


def _check_candidates(asked: SimpleNamespace) -> None:
    """Raise for candidates that nobody knows, and for options that are for others."""
    names, known = families(asked), ("auto", *PORTFOLIO)
    unknown = [name for name in names if name not in PORTFOLIO]
    if unknown and (len(names) > 1 or "." not in unknown[0]):
        raise ValueError(
            f"--candidates must be auto, some of {', '.join(PORTFOLIO)}, or one full name of a classifier under "
            f"sklearn., such as sklearn.tree.DecisionTreeClassifier; got {asked.candidates!r}"
            f"{did_you_mean(unknown, known)}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"--candidates must name each family once, got {asked.candidates!r}")
    if not unknown and asked.grid is not None:
        raise ValueError("--grid is for the full name of a classifier; the grid of svm is --lambdas")
    if "svm" not in names and any(value is not None for value in (asked.lambdas, asked.kernel, asked.scale)):
        others = f"the grid of {asked.candidates} is --grid FILE.json" if unknown else "other families have none"
        raise ValueError(f"--lambdas, --kernel and --scale are for svm; {others}")
    if asked.split == "independent" and names != ["svm"]:
        raise ValueError(f"--split independent is for --candidates svm, as in the paper, got {asked.candidates!r}")


def _read_grid(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"--grid: cannot read {str(path)!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"--grid: {str(path)!r} is not JSON: {error}") from None


# -- what is certified -----------------------------------------------------------------------------------------------


def _distance(asked: SimpleNamespace) -> Any:
    several = asked.distance or ["kl"]
    return several[0] if len(several) == 1 else several


def metric_bounds_of(asked: SimpleNamespace) -> tuple[str, ...]:
    """Return the names of the risks that limits are wanted of; --by-class and --slice are short for error."""
    named = [] if asked.metrics is None else [name.strip() for name in asked.metrics.split(",")]
    by_class = (asked.by_class or asked.slice_ is not None) and "error" not in named
    return ("error", *named) if by_class else tuple(named)


def _target(asked: SimpleNamespace) -> Any:
    """Return the target as the estimator takes it, None without one."""
    from pacbayes.certificates.decisions import Abstain, Threshold

    shares = {name: getattr(asked, name) for name in ("recall", "precision", "fpr")}
    named = [name for name, share in shares.items() if share is not None]
    if asked.max_error is None:
        return Threshold(**shares) if named else None
    if named:
        raise ValueError(f"--max-error is not for --{named[0]}: it leaves examples out, a threshold none")
    return Abstain(asked.max_error)


def positive_of(positive: str | None, classes: Sequence[Any]) -> Any:
    """Class that --positive names as the file or a screen writes it; None where the option is not used."""
    if positive is None:
        return None
    named = {str(label): label for label in classes}
    cells = as_cells(np.array([*named], dtype=object))
    shown = dict(zip(map(printable, named), named.values(), strict=True))
    written = dict(zip(cells, named.values(), strict=True)) | shown | named
    # Of numbers and truth values any spelling will do: 02 for 2, true for True.
    name = positive if positive in written else aligned([positive], [*named], "--positive")[0]
    if name not in written:
        like = did_you_mean([positive], named)
        raise ValueError(f"--positive must be one of the classes {', '.join(named)}, got {positive!r}{like}")
    return written[name]


# -- how values are written ------------------------------------------------------------------------------------------


def parse_lambdas(text: str) -> list[float]:
    """Return the grid that ``a:b:s`` (a, a + s, ... below b) or ``x,y,z`` stands for.

    Decimal arithmetic: 0.1:20:0.01 is the paper's grid of 1990 values, each the double nearest to its decimals.

    Examples
    --------
    >>> parse_lambdas("0.1:0.5:0.1")
    [0.1, 0.2, 0.3, 0.4]
    >>> len(parse_lambdas("0.1:20:0.01")), parse_lambdas("0.1:20:0.01")[-1]
    (1990, 19.99)
    >>> parse_lambdas("10,0.5")
    [10.0, 0.5]
    >>> parse_lambdas("1:2")
    Traceback (most recent call last):
    ValueError: --lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got '1:2'
    """
    wrong = ValueError(
        f"--lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got {text!r}"
    )
    parts = text.split(":") if ":" in text else text.split(",")
    try:
        numbers = [Decimal(part.strip()) for part in parts]
    except InvalidOperation:
        raise wrong from None
    if (":" in text and len(numbers) != 3) or not all(number.is_finite() for number in numbers):
        raise wrong
    if min(numbers) <= 0 or math.isinf(float(max(numbers))) or float(min(numbers)) == 0.0:
        raise ValueError(f"--lambdas must be positive numbers, got {text!r}")
    if ":" not in text:
        return [float(number) for number in numbers]
    start, stop, step = numbers
    if stop <= start:
        raise ValueError(f"--lambdas START:STOP:STEP needs a STOP above START, got {text!r}")
    if (stop - start) / step > _MOST_LAMBDAS:
        raise ValueError(f"--lambdas must be at most {_MOST_LAMBDAS} values, got {text!r}")
    count = math.ceil((stop - start) / step)
    return [float(start + i * step) for i in range(count)]
