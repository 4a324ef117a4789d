"""Weights of a majority vote that the validation rows choose, with bounds on the vote's own risk."""
