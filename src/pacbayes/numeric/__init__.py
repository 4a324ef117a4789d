"""What every folder needs: checks of arguments, outward rounding, array types."""
