"""From the words of a command to rows, labels and an unfitted estimator."""
