"""One module for each figure of the paper."""
