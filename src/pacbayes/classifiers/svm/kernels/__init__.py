"""Kernel values of pairs of rows, and the width of R's kernlab."""
