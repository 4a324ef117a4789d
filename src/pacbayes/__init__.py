"""pacbayes: choose among many trained classifiers with a guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacbayes.bounds import DISTANCES, bound, kl_divergence, kl_roots, log_constant, rows_needed
    from pacbayes.certificates import (
        Abstain,
        Baseline,
        Certificate,
        Cost,
        Difference,
        Ledger,
        MetricBound,
        Monitor,
        PredictionSet,
        Threshold,
        certify_counts,
        certify_difference,
        certify_predictions,
        certify_sets,
        compare_classifiers,
    )
    from pacbayes.data import load_dataset
    from pacbayes.ensemble import (
        ClassifierSet,
        Grid,
        SVMs,
        grid_set,
        svm_set,
    )
    from pacbayes.estimators import CertifiedClassifier, StochasticSVC
    from pacbayes.files import load, save
    from pacbayes.posteriors import (
        Posterior,
        VotePosterior,
        gibbs_posterior,
        optimal_posterior,
        optimal_vote,
        vote_bound,
    )
    from pacbayes.report import model_card, write_report
    from pacbayes.svm import SVMPath, sigest, svm_path

__version__ = "0.3.0"

# Public name -> the module that holds it, imported when the name is first used: `import pacbayes` itself loads nothing.
_LAZY_IMPORTS = {
    "Abstain": "pacbayes.certificates",
    "Baseline": "pacbayes.certificates",
    "Certificate": "pacbayes.certificates",
    "CertifiedClassifier": "pacbayes.estimators",
    "ClassifierSet": "pacbayes.ensemble",
    "Cost": "pacbayes.certificates",
    "DISTANCES": "pacbayes.bounds",
    "Difference": "pacbayes.certificates",
    "Grid": "pacbayes.ensemble",
    "Ledger": "pacbayes.certificates",
    "MetricBound": "pacbayes.certificates",
    "Monitor": "pacbayes.certificates",
    "Posterior": "pacbayes.posteriors",
    "PredictionSet": "pacbayes.certificates",
    "SVMPath": "pacbayes.svm",
    "SVMs": "pacbayes.ensemble",
    "StochasticSVC": "pacbayes.estimators",
    "Threshold": "pacbayes.certificates",
    "VotePosterior": "pacbayes.posteriors",
    "bound": "pacbayes.bounds",
    "certify_counts": "pacbayes.certificates",
    "certify_difference": "pacbayes.certificates",
    "certify_predictions": "pacbayes.certificates",
    "certify_sets": "pacbayes.certificates",
    "compare_classifiers": "pacbayes.certificates",
    "gibbs_posterior": "pacbayes.posteriors",
    "grid_set": "pacbayes.ensemble",
    "kl_divergence": "pacbayes.bounds",
    "kl_roots": "pacbayes.bounds",
    "load": "pacbayes.files",
    "load_dataset": "pacbayes.data",
    "log_constant": "pacbayes.bounds",
    "model_card": "pacbayes.report",
    "optimal_posterior": "pacbayes.posteriors",
    "optimal_vote": "pacbayes.posteriors",
    "rows_needed": "pacbayes.bounds",
    "save": "pacbayes.files",
    "sigest": "pacbayes.svm",
    "svm_path": "pacbayes.svm",
    "svm_set": "pacbayes.ensemble",
    "vote_bound": "pacbayes.posteriors",
    "write_report": "pacbayes.report",
}

__all__ = [
    "DISTANCES",
    "Abstain",
    "Baseline",
    "Certificate",
    "CertifiedClassifier",
    "ClassifierSet",
    "Cost",
    "Difference",
    "Grid",
    "Ledger",
    "MetricBound",
    "Monitor",
    "Posterior",
    "PredictionSet",
    "SVMPath",
    "SVMs",
    "StochasticSVC",
    "Threshold",
    "VotePosterior",
    "bound",
    "certify_counts",
    "certify_difference",
    "certify_predictions",
    "certify_sets",
    "compare_classifiers",
    "gibbs_posterior",
    "grid_set",
    "kl_divergence",
    "kl_roots",
    "load",
    "load_dataset",
    "log_constant",
    "model_card",
    "optimal_posterior",
    "optimal_vote",
    "rows_needed",
    "save",
    "sigest",
    "svm_path",
    "svm_set",
    "vote_bound",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'pacbayes' has no attribute {name!r}")
    return getattr(import_module(_LAZY_IMPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
