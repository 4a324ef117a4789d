"""The paper's data and where they come from."""

from pacbayes.datasets.facts import DATASETS, DatasetFacts, PaperRow, SplitSizes

__all__ = ["DATASETS", "DatasetFacts", "PaperRow", "SplitSizes"]
