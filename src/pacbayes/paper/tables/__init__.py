"""One module for each table of the paper."""
