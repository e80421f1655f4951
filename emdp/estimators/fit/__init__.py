"""Linear models by private gradient descent: price, records as numbers, rows."""
