"""From weights and rows to labels: draws and votes."""
