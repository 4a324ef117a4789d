"""What else an estimator is asked: errors by class, a target with abstention, members that are good enough."""
