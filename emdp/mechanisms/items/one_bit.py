"""One bit about a function: the randomizer of metric one-bit test functions.

Theorem (EMD 4, last item). Let ``g: X -> R`` have values within ``B`` of a centre ``c`` and ``|g(x) - g(x')| <= L
d_X(x, x')``; ``e = alpha/L``, ``t = B e/(1 + B e)``. A user with mean value ``q = E_{x~K} g(x)`` reports ``s = +1``
with probability ``1/2 + t (q - c)/(2 B)``, else ``-1``. Then between two users, of any sizes, the log ratio of either
report's probabilities is at most ``alpha d_em(K, K')`` and at most ``ln(1 + 2 B e)``; ``c + B s/t`` is unbiased for
``q``, of variance ``B^2/t^2 - (q - c)^2``. An item is a user with one record: ``alpha0``-``d_X``-DP.

Proof. With ``v = (q - c)/B`` in ``[-1, 1]`` the derivative of ``ln((1 + t v)/2)`` by ``q`` is ``t/(B (1 + t v)) <= t/(B
(1 - t)) = e``, and ``|q - q'| <= L d_em`` (EMD 2). The largest ratio is ``(1 + t)/(1 - t) = 1 + 2 B e``.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_positive
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.weights import TOTAL, Floats, Integers
from emdp.spaces import Space

__all__ = ["OneBit"]

LARGEST_VALUE = 1e100
"""Largest absolute value of a test function: differences and quotients then stay finite."""


class OneBit(FiniteRandomizer):
    """One random sign about a Lipschitz function of the item.

    It estimates the mean of that function, :meth:`estimate_mean`; with more than two items there is no right inverse,
    since two outputs cannot tell three items apart.

    Parameters
    ----------
    space : Space
        A finite item space.
    alpha0 : float
        The strength asked for, positive.
    values : sequence of float
        The function's value for each item, in the order of :func:`emdp.spaces.finite_items`, not all equal.
    lipschitz : float, optional
        A constant per unit of ``d_X``, at least the one of the values, which is the default.

    Attributes
    ----------
    centre, bound : float
        ``c`` and ``B``: the middle and half the width of the values' range.
    lipschitz : float
        ``L``.

    Raises
    ------
    UsageError
        If an argument is malformed, the function is constant or differs on items at distance 0, or ``lipschitz`` is
        below what the values need.

    Guarantee
    ---------
    ``alpha0``-``d_X``-DP, by the theorem of this file, from the integer weights.

    >>> from emdp.spaces import Distances
    >>> space = Distances("stop", ["A", "B", "C"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> bit = OneBit(space, 2.0, [0.0, 5.0, 10.0])
    >>> bit.centre, bit.bound, bit.matrix[:, 1].round(9).tolist(), round(bit.estimate_mean(np.array([25, 75])), 9)
    (5.0, 5.0, [0.25, 0.5, 0.75], 10.0)
    """

    name: ClassVar[str] = "one-bit test function"
    theorem: ClassVar[str] = "one bit of a Lipschitz function with P(+1) = 1/2 + t (g - c)/(2 B) (EMD 4)"

    def __init__(self, space: Space, alpha0: float, values: Sequence[float], lipschitz: float | None = None) -> None:
        super().__init__(space, alpha0)
        self.values = _check_values(values, self.items.count)
        low, high = float(self.values.min()), float(self.values.max())
        self.centre, self.bound = (low + high) / 2, (high - low) / 2
        needed = _lipschitz_of(self.values, self.items.matrix)
        self.lipschitz = needed if lipschitz is None else check_positive("lipschitz", lipschitz)
        if self.lipschitz < needed * (1 - 1e-9):
            raise UsageError(
                f"lipschitz must be at least {needed}, which the values need, got {self.lipschitz}; leave it out."
            )

    @cached_property
    def tilt(self) -> float:
        """``t`` of the integer weights: by how much the probability of +1 differs between the extreme items."""
        low, high = int(self.values.argmin()), int(self.values.argmax())
        return (int(self.weights[high, 1]) - int(self.weights[low, 1])) / TOTAL

    @property
    def right_inverse(self) -> Floats:
        """``B`` with ``A B = I``, shape (2, 2), for two items.

        Raises
        ------
        RefusedError
            For more items.
        """
        if self.items.count > 2:
            raise RefusedError("one bit does not determine the shares of more than two items; use estimate_mean.")
        inverse = np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)
        self._check_inverse(inverse)
        return inverse

    def outputs_frame(self) -> dict[str, list[Any]]:
        """Return the outputs, -1 and +1, in order."""
        return {"output": [-1, 1]}

    def estimate_mean(self, counts: npt.NDArray[Any]) -> float:
        """Return the unbiased estimate ``c + B s/t`` of the function's mean, ``s`` the mean sign.

        Parameters
        ----------
        counts : numpy.ndarray
            How many outputs were -1 and how many +1, shape (2,), with a positive sum.
        """
        given = np.asarray(counts, dtype=np.float64)
        if given.shape != (2,) or not given.sum() > 0:
            raise UsageError(
                f"counts must be 2 numbers with a positive sum, got shape {given.shape}; pass a histogram."
            )
        return float(self.centre + self.bound * (given[1] - given[0]) / given.sum() / self.tilt)

    @property
    def mean_variance(self) -> float:
        """Largest variance of :meth:`estimate_mean` from one report, ``B^2/t^2``; from ``N`` that divided by ``N``."""
        return (self.bound / self.tilt) ** 2

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "lipschitz": self.lipschitz, "centre": self.centre, "bound": self.bound}

    def _weights_at(self, strength: float) -> Integers:
        reach = self.bound * strength / self.lipschitz
        tilt = reach / (1 + reach)
        share = 0.5 + tilt * ((self.values - self.centre) / (2 * self.bound))
        ones = np.clip(np.rint(share * float(TOTAL)).astype(np.int64), 1, TOTAL - 1)
        return np.stack([TOTAL - ones, ones], axis=1)

    def _pairs(self) -> Integers | None:
        return None


def _check_values(values: object, count: int) -> Floats:
    try:
        given = np.asarray(values)
    except ValueError:
        given = np.empty(0)
    if given.shape != (count,) or given.dtype.kind not in "iuf":
        raise UsageError(f"values must be {count} numbers, one for each item, got shape {given.shape}; pass a list.")
    numbers = given.astype(np.float64)
    if not (np.abs(numbers) <= LARGEST_VALUE).all():
        raise UsageError(f"values must be finite and at most {LARGEST_VALUE}; rescale the function.")
    if not np.ptp(numbers) > 1e-12 * np.abs(numbers).max():
        raise UsageError("values must differ; a constant function needs no report.")
    return numbers


def _lipschitz_of(values: Floats, matrix: Floats) -> float:
    """Return the largest difference of values by distance, rounded up."""
    gaps = np.abs(np.subtract.outer(values, values))
    if gaps[matrix == 0].any():
        raise UsageError("values differ on items at distance 0 of each other; give such items one value.")
    return float((gaps[matrix > 0] / matrix[matrix > 0]).max() * (1 + 2.0**-50))
