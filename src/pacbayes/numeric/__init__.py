"""What every folder needs: checks of arguments, outward rounding, numbers in words, array types."""
