"""Forests and other bagged classifiers, trained on all rows and validated by the rows each left out."""
