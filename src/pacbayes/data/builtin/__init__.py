"""The data sets that come with the package, with their provenance."""
