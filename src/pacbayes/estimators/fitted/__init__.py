"""What a fitted estimator says of itself."""
