"""Rules that share delta: fixed on the training rows or found on the validation rows, each with what it claims."""
