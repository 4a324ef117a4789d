"""Estimators that are quick to fit, for tests of what they do with rows and labels."""

from pacbayes import CertifiedClassifier, Grid


def certified(estimator, grid, **choices):
    """Draws from a grid, with half of the rows for validation."""
    return CertifiedClassifier(
        Grid(estimator, grid), **{"random_state": 0, "voting": "stochastic", "cv": 3, "validation_size": 0.5} | choices
    )
