"""Noise: the only randomness of the package, one exact sampler a file, with its law's functions."""

from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.noise.k_norm import draw_k_norm

__all__ = ["draw_discrete_gaussian", "draw_discrete_laplace", "draw_k_norm"]
