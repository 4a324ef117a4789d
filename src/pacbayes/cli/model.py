"""Convert the arguments of `pacbayes certify` to an estimator; errors name options."""

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
from pacbayes._utils.words import escape_controls
from pacbayes.certificates.metric_bounds import Cost
from pacbayes.cli.options import option_name
from pacbayes.cli.presets import check_paper_options, paper_parameters, scale_parameter, uses_stochastic_svc
from pacbayes.data.spelling import align_spellings, escape_cells

if TYPE_CHECKING:
    from pacbayes.cli.data import Data

# Copy of the names in ensemble/families.py, which is slow to import; a test compares the two.
PORTFOLIO = ("svm", "forest", "boosting", "logistic", "neighbours")
LIBRARIES = ("lightgbm", "xgboost", "catboost")
# More values are probably a typing error.
_MAX_LAMBDAS = 100_000


def validate_options(args: SimpleNamespace, **prefit: bool) -> None:
    """Raise for invalid or incompatible arguments, before any file is read."""
    _check_candidates(args)
    check_paper_options(args)
    # Placeholder, because the file is read later.
    costs = () if args.cost is None else (Cost([[0, 1], [1, 0]], "ab"),)
    make_user_split = args.validation is not None or args.validation_column is not None
    model = make_estimator(args)
    model._validate_params()
    guarantees = {"metrics": (*metric_names(args), *costs), "decision": _decision(args), "refit": args.refit}
    recipe = replace(model._recipe(), **guarantees)
    if not uses_stochastic_svc(args):
        recipe = replace(recipe, candidates=[("svm", _svms(args))])
    recipe.check_candidates()
    choices = recipe.choices(groups=args.group is not None, validation=make_user_split, **prefit)
    recipe.validate(choices, option_name)


def make_estimator(args: SimpleNamespace) -> Any:
    """Create the estimator with the parameters that do not depend on the data."""
    from pacbayes.ensemble.families import SVM_FAMILY_LAMBDAS
    from pacbayes.estimators import CertifiedClassifier, StochasticSVC

    params: dict[str, Any] = {
        "validation_size": args.validation_size,
        "distance": _distance(args),
        "prior": args.prior,
        "delta": args.delta,
        "hedge": args.hedge,
        "voting": args.voting,
        "duplicates": args.duplicates,
        "random_state": args.seed,
        "checkpoint": None if args.checkpoint is None else str(args.checkpoint),
        # SVMs choose their number of threads; other classifiers use all cores by default.
        "n_jobs": args.jobs if families(args) == ["svm"] else args.jobs or -1,
    }
    if uses_stochastic_svc(args):
        svms = _svms(args)
        paper = {"lambdas": list(SVM_FAMILY_LAMBDAS)} | paper_parameters(args)
        if svms.lambdas is not None:
            paper["lambdas"] = svms.lambdas
        if args.scale is not None:
            paper["scale"] = svms.scale
        return StochasticSVC(kernel=svms.kernel, split=args.split, **paper, **params)
    params |= {"refit": args.refit, "time_limit": args.time_limit}
    return CertifiedClassifier(metrics=metric_names(args), decision=_decision(args), **params)


def fit_estimator(args: SimpleNamespace, data: "Data") -> Any:
    """Fit the requested estimator."""
    from pacbayes.cli.costs import read_cost
    from pacbayes.data.encoder import TableEncoder
    from pacbayes.estimators.rows import attach_schema

    model = make_estimator(args).set_params(pos_label=parse_positive(args.positive, sorted(set(data.y.tolist()))))
    if uses_stochastic_svc(args):
        if not data.is_complete_numeric:
            names = ", ".join(map(repr, dict.fromkeys((*data.schema.other_columns.names, *data.missing))))
            raise ValueError(
                f"--split independent requires numeric columns without missing values, unlike {names}: use --drop, or "
                "--split shared"
            )
    else:
        cost = read_cost(args.cost, data.y)
        encoder = TableEncoder(categorical=list(data.categorical), numbers=data.schema.numbers)
        preprocessor = None if data.is_complete_numeric else encoder
        metrics = model.metrics if cost is None else (*model.metrics, cost)
        model.set_params(candidates=make_candidates(args, preprocessor), preprocessor=preprocessor, metrics=metrics)
    X = attach_schema(data.X, data.schema)
    return model.fit(X, data.y, groups=data.groups, slices=data.slices, validation=data.validation)


# -- candidates -----------------------------------------------------------------------------------------------------


def families(args: SimpleNamespace) -> list[str]:
    """Names in --candidates: families, or one full name of a classifier."""
    names = [name.strip() for name in args.candidates.split(",")]
    return list(PORTFOLIO) if names == ["auto"] else names


def make_candidates(args: SimpleNamespace, preprocessor: Any) -> Any:
    """Value of the parameter `candidates`: names, SVMs with their settings, or a grid of one classifier."""
    from pacbayes.ensemble.by_name import make_classifier_by_name
    from pacbayes.ensemble.families import Grid
    from pacbayes.ensemble.portfolio import AUTO, FAMILIES

    has_svm_options = any(value is not None for value in (args.lambdas, args.kernel, args.scale))
    if not has_svm_options and args.candidates.strip() == "auto":
        return AUTO
    names = families(args)
    candidates: list[Any] = []
    for name in names:
        if name in FAMILIES or (name == "svm" and not has_svm_options):
            candidates.append(name)
        elif name != "svm":
            candidates.append(Grid(*make_classifier_by_name(name, _read_grid(args.grid), preprocessor)))
        else:
            # In a list of several candidates it keeps its name.
            candidates.append(_svms(args) if len(names) == 1 else (name, _svms(args)))
    return candidates[0] if len(candidates) == 1 else candidates


def _svms(args: SimpleNamespace) -> Any:
    from pacbayes.ensemble.families import SVMs

    lambdas = None if args.lambdas is None else parse_lambdas(args.lambdas)
    parameters: dict[str, Any] = {"kernel": args.kernel or "rbf"} | scale_parameter(args)
    return SVMs(lambdas, **parameters)


def _check_candidates(args: SimpleNamespace) -> None:
    """Raise for unknown candidates, and for options that require other candidates."""
    names, known = families(args), ("auto", *PORTFOLIO, *LIBRARIES)
    unknown = [name for name in names if name not in known]
    if unknown and (len(names) > 1 or "." not in unknown[0]):
        raise ValueError(
            f"--candidates must be auto, some of {', '.join(known[1:])}, or the full name of one scikit-learn "
            f"classifier, such as sklearn.tree.DecisionTreeClassifier; got {args.candidates!r}"
            f"{did_you_mean(unknown, known)}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"--candidates contains duplicates: got {args.candidates!r}")
    if not unknown and args.grid is not None:
        raise ValueError("--grid requires the full name of a classifier in --candidates; for svm, use --lambdas")
    if "svm" not in names and any(value is not None for value in (args.lambdas, args.kernel, args.scale)):
        hint = f"; for {args.candidates}, use --grid FILE.json" if unknown else ""
        raise ValueError(f"--lambdas, --kernel and --scale require svm in --candidates{hint}")
    if args.split == "independent" and names != ["svm"]:
        raise ValueError(f"--split independent requires --candidates svm, as in the paper, got {args.candidates!r}")


def _read_grid(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"--grid: cannot read {str(path)!r}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"--grid: {str(path)!r} is not JSON: {error}") from None


# -- guarantees -------------------------------------------------------------------------------------------------------


def _distance(args: SimpleNamespace) -> Any:
    distances = args.distance or ["kl"]
    return distances[0] if len(distances) == 1 else distances


def metric_names(args: SimpleNamespace) -> tuple[str, ...]:
    """Names in --metrics; --by-class and --slice are short for error."""
    names = [] if args.metrics is None else [name.strip() for name in args.metrics.split(",")]
    # With --coverage, --by-class is about the sets.
    by_class = args.slice_ is not None or (args.by_class and args.coverage is None)
    by_class = by_class and "error" not in names
    return ("error", *names) if by_class else tuple(names)


def _decision(args: SimpleNamespace) -> Any:
    """Value of the parameter `decision`; None without a decision."""
    from pacbayes.certificates.decisions import Abstain, PredictionSet, Threshold

    shares = {name: getattr(args, name) for name in ("recall", "precision", "fpr")}
    requested = [name for name, share in shares.items() if share is not None]
    if args.max_error is None and args.coverage is None:
        return Threshold(**shares) if requested else None
    name = "max-error" if args.max_error is not None else "coverage"
    others = requested if args.coverage is None or name == "coverage" else ["coverage"]
    if others:
        raise ValueError(f"--{name} cannot be combined with --{others[0]}: each is a different decision")
    return PredictionSet(args.coverage, args.by_class) if name == "coverage" else Abstain(args.max_error)


def parse_positive(positive: str | None, classes: Sequence[Any]) -> Any:
    """Class named by --positive, in its spelling in the file or on the terminal; None without the option."""
    if positive is None:
        return None
    by_name = {str(label): label for label in classes}
    cells = escape_cells(np.array([*by_name], dtype=object))
    printed = dict(zip(map(escape_controls, by_name), by_name.values(), strict=True))
    spellings = dict(zip(cells, by_name.values(), strict=True)) | printed | by_name
    # Numbers and booleans in any spelling: 02 for 2, true for True.
    name = positive if positive in spellings else align_spellings([positive], [*by_name], "--positive")[0]
    if name not in spellings:
        hint = did_you_mean([positive], by_name)
        raise ValueError(f"--positive must be one of the classes {', '.join(by_name)}, got {positive!r}{hint}")
    return spellings[name]


# -- values of options -----------------------------------------------------------------------------------------------


def parse_lambdas(text: str) -> list[float]:
    """Parse a grid ``a:b:s`` (a, a + s, ... below b) or ``x,y,z``.

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
    invalid = ValueError(
        f"--lambdas must be START:STOP:STEP, such as 0.1:20:0.01, or values such as 0.1,1,10; got {text!r}"
    )
    parts = text.split(":") if ":" in text else text.split(",")
    try:
        numbers = [Decimal(part.strip()) for part in parts]
    except InvalidOperation:
        raise invalid from None
    if (":" in text and len(numbers) != 3) or not all(number.is_finite() for number in numbers):
        raise invalid
    if min(numbers) <= 0 or math.isinf(float(max(numbers))) or float(min(numbers)) == 0.0:
        raise ValueError(f"--lambdas must be positive numbers, got {text!r}")
    if ":" not in text:
        return [float(number) for number in numbers]
    start, stop, step = numbers
    if stop <= start:
        raise ValueError(f"--lambdas START:STOP:STEP requires STOP > START, got {text!r}")
    if (stop - start) / step > _MAX_LAMBDAS:
        raise ValueError(f"--lambdas must have at most {_MAX_LAMBDAS} values, got {text!r}")
    count = math.ceil((stop - start) / step)
    return [float(start + i * step) for i in range(count)]
