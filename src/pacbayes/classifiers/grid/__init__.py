"""Any scikit-learn classifier with every setting of a grid."""
