"""Utilities: argument validation, outward rounding, formatting, seeds, parallel work, progress, files."""
