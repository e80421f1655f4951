"""Noise of a trusted curator on a public grid: Laplace, K-norm, Gaussian, and the choice among them."""
