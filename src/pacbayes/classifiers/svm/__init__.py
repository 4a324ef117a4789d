"""Support vector machines for many values of the regularisation parameter."""
