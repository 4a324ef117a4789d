"""What is fixed before validation rows are counted: prior, proposals of the user, choices of cross-validation."""
