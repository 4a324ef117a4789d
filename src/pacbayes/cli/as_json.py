"""What `pacbayes certify --json` prints."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pacbayes
from pacbayes.cli.data import Data
from pacbayes.cli.model import Wanted
from pacbayes.posteriors.posterior import Posterior
from pacbayes.report.tables import Carrier, Observed


def certified_as_dict(
    model: Any,
    data: Data,
    observed: Observed | None,
    wanted: Wanted,
    bounds: Sequence[Posterior],
    weights: Sequence[Carrier],
) -> dict[str, Any]:
    """Return the result as plain values; shares between 0 and 1, bounds as computed."""
    posterior = model.posterior_
    return {
        "version": pacbayes.__version__,
        "certificate": str(model.certificates_["stochastic"]),
        "data": {
            "name": data.name,
            "examples": len(data.y),
            "target": data.target,
            "classes": data.class_names,
            "numeric": list(data.columns.numeric),
            "categorical": list(data.columns.categorical),
            "missing": data.columns.missing,
            "group": data.group,
            "groups": None if data.groups is None else len(set(data.groups.tolist())),
            "copies": model.classifiers_.copies,
        },
        "settings": {
            "estimator": wanted.estimator,
            "lambdas": wanted.lambdas,
            "kernel": wanted.kernel,
            "grid": None if wanted.grid is None else str(wanted.grid),
            "classifiers": len(model.classifiers_),
            "split": wanted.split,
            "unit": model.classifiers_.unit,
            "duplicates": wanted.duplicates,
            "validation_examples": model.classifiers_.m,
            "distance": list(model._distances),
            "delta": model._level,
            "seed": wanted.seed,
        },
        "certificates": {
            voting: {name: value for name, value in certificate.to_dict().items() if name != "baselines"}
            for voting, certificate in model.certificates_.items()
        },
        "posterior": {
            name: getattr(posterior, name)
            for name in ("distance", "bound", "lower_bound", "empirical_risk", "kl", "beta", "n_effective")
        },
        "bounds": [
            {"distance": one.distance, "bound": one.bound, "empirical_risk": one.empirical_risk, "kl": one.kl}
            for one in bounds
        ],
        "bounds_note": "Each bound holds alone: fix distance and delta before looking.",
        "baselines": {name: asdict(baseline) for name, baseline in model.certificates_["stochastic"].baselines.items()},
        "weights": [asdict(carrier) for carrier in weights if carrier.weight > 0.0],
        "test": None if observed is None else asdict(observed),
    }
