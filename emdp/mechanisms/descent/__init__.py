"""Private gradient descent for linear models, in rounds fixed beforehand."""
