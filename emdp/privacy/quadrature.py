"""One quadrature rule for the smooth integrals of the accountants."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["unit_quadrature"]

_NODES = 10
"""Gauss-Legendre nodes: exact for polynomials up to degree 19."""


@lru_cache(maxsize=1)
def unit_quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return nodes and weights of Gauss-Legendre quadrature on [0, 1], each of shape (10,).

    >>> nodes, weights = unit_quadrature()
    >>> round(float(weights @ nodes**2), 15)
    0.333333333333333
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2
