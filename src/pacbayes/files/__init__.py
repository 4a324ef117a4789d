"""Saving and loading models."""

from pacbayes.files.model_file import load, save
from pacbayes.files.objects import UntrustedTypesError

__all__ = ["UntrustedTypesError", "load", "save"]
