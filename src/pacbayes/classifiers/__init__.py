"""From data to a set of classifiers with risks: splits, kernel widths, support vector machine paths."""

from pacbayes.classifiers.svm_path import SVMPath, svm_path

__all__ = ["SVMPath", "svm_path"]
