"""One kernel matrix, many lambdas."""
