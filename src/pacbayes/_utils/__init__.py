"""Used by all layers: argument checks, outward rounding, formatting, seeds, parallel work, progress, files."""
