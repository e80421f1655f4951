"""Noise of a figure of a stream, as answers take it: what intervals are made of."""

from typing import Self

from emdp.base.classes import dataclass
from emdp.mechanisms.central.gaussian import GaussianMechanism

__all__ = ["FigureNoise"]


@dataclass(frozen=True, kw_only=True)
class FigureNoise(GaussianMechanism):
    """Independent Gaussian noise of a known deviation in each coordinate; it releases nothing and states no price.

    A weighted sum of discrete Gaussians of scale 2^52 has the law of a continuous one of its deviation, to far below
    what an interval shows.

    >>> FigureNoise.of(0.5, 3).scale
    0.5
    """

    deviation: float = 1.0

    @classmethod
    def of(cls, deviation: float, dimension: int) -> Self:
        """Return the noise of a deviation."""
        return cls(sensitivity=deviation, alpha=1.0, delta=0.5, dimension=dimension, deviation=deviation)

    def _scale(self) -> float:
        return self.deviation
