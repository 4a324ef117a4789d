"""Whether two values, or two runs, are the same."""
