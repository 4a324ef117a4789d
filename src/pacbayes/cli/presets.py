"""`pacbayes certify --preset paper`: options with the settings of Sahu and Hemachandra (2019)."""

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

#: Names of the presets.
PRESETS = ("paper",)
# Options that require a primary rule, which the preset does not have.
_WITHOUT = (
    "candidates", "grid", "kernel", "refit", "hedge", "prior", "metrics", "by_class", "slice_", "cost", "positive",
    "max_error", "recall", "precision", "fpr", "coverage", "predictions", "primary", "validation", "validation_column",
    "group",
)  # fmt: skip
_SPELLINGS = {"slice_": "slice"}


def fill_in_preset(options: SimpleNamespace, explicit: Collection[str]) -> None:
    """Set the options of a preset that are not set explicitly; raise for options that it does not support."""
    if options.preset is None:
        return
    from pacbayes._utils.checks import check_choice
    from pacbayes.estimators.svc import PAPER_SETTINGS

    check_choice("--preset", options.preset, PRESETS)
    wrong = [name for name in _WITHOUT if name in explicit and (name, getattr(options, name)) != ("candidates", "svm")]
    if wrong:
        option = _SPELLINGS.get(wrong[0], wrong[0]).replace("_", "-")
        raise ValueError(
            f"--{option} cannot be combined with --preset paper, which only certifies a posterior over SVMs"
        )
    settings: dict[str, Any] = {
        name: PAPER_SETTINGS[name] for name in ("split", "validation_size", "delta", "constant", "scale", "voting")
    }
    for name, value in (settings | {"hedge": PAPER_SETTINGS["hedge"], "candidates": "svm"}).items():
        if name not in explicit:
            setattr(options, name, value)


def uses_stochastic_svc(options: SimpleNamespace) -> bool:
    """Whether the options require a `StochasticSVC`: --preset paper or --split independent."""
    return options.preset is not None or options.split != "shared"


def check_paper_options(options: SimpleNamespace) -> None:
    """Raise for options that only `StochasticSVC` supports, or does not support."""
    if options.constant != "exact" and not uses_stochastic_svc(options):
        raise ValueError("--constant paper requires --preset paper or --split independent")
    if options.time_limit is not None and uses_stochastic_svc(options):
        raise ValueError("--time-limit cannot be combined with --preset paper or --split independent")
    if options.scale not in ("true", "false", "auto", "kernlab", None):
        raise ValueError(f"--scale must be true, false, auto or kernlab, got {options.scale!r}")


def scale_parameter(options: SimpleNamespace) -> dict[str, bool | str]:
    """Parameter `scale` of the SVMs; empty for the default."""
    scale: str | None = options.scale
    return {} if scale is None else {"scale": {"true": True, "false": False}.get(scale, scale)}


def paper_parameters(options: SimpleNamespace) -> dict[str, Any]:
    """Parameters that only `StochasticSVC` has, and its grid of lambdas."""
    from pacbayes.estimators.svc import PAPER_LAMBDAS

    parameters: dict[str, Any] = {"constant": options.constant}
    if options.preset is not None:
        parameters |= {"cv": None, "lambdas": PAPER_LAMBDAS}
    return parameters
