"""Data: reading, validation, splitting, and bundled datasets."""

from pacbayes.data.bundled import DATASETS, DatasetFacts, PaperRow, SplitSizes
from pacbayes.data.load import load_dataset

__all__ = ["DATASETS", "DatasetFacts", "PaperRow", "SplitSizes", "load_dataset"]
