"""Rows and labels: read, checked, divided; and the data sets that come with the package."""

from pacbayes.data.datasets import DATASETS, DatasetFacts, PaperRow, SplitSizes
from pacbayes.data.load import load_dataset

__all__ = ["DATASETS", "DatasetFacts", "PaperRow", "SplitSizes", "load_dataset"]
