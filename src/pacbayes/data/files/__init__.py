"""A user's CSV, TSV or Parquet file: reading it, and what its columns are."""
