"""Model files: saved and loaded."""

from pacbayes.files.model_file import UntrustedTypesError, load, save

__all__ = ["UntrustedTypesError", "load", "save"]
