"""A smoothed distribution function made of ramps: how it is inverted, and why its intervals hold.

Let ``e`` in [low, high] be a function of a record and ``c >= 0`` its weight (1, or the factor of a filter), and let
``E`` be the mean over users of the mean over their records. With a pitch ``h`` and edges ``a_k = low + k h``, ``a_J >=
high``, ramp ``C_k`` falls from 1 at ``e <= a_k`` to 0 at ``e >= a_{k+1}``: the sum of the hats 0..k of a ``HatAxis``
from ``low`` with ``J + 1`` nodes. ``F_k = E[c C_k]`` for ``k = 0..J-1``; ``F_J = D = E[c]``, since the axis clamps, and
``F_{-1} = 0``. Ramps fall one after another, so ``sum_k |C_k(e) - C_k(e')| <= |e - e'|/h``: without a filter the
constant of the whole vector is ``L(e)/h`` in the 1-norm, however many ramps there are.

Lemma 1 (smoothing). ``G(a_k) <= F_k <= G(a_{k+1}-)`` with ``G(t) = E[c 1{e <= t}]``: with ``t_k = a_k + h/2``, the
middle of its ramp, ``F_k`` lies between the distribution function half a pitch before and half a pitch after ``t_k``.
Proof: ``1{e <= a_k} <= C_k <= 1{e < a_{k+1}}``; at ``k = -1`` all three are 0, at ``k = J`` all are ``D``.

Lemma 2. A q-quantile is a ``t`` with ``G(t-) <= q D <= G(t)``. Let ``D > 0`` and ``k*`` be the largest ``k < J`` with
``F_k <= q D``. Some q-quantile lies in ``[a_{k*}, a_{k*+2}]``. Proof: ``F_{k*+1} > q D``. With ``t'`` the least ``t``
where ``G(t) >= q D`` and ``t''`` the largest where ``G(t-) <= q D``, all of ``[t', t'']`` are q-quantiles. ``G(a_{k*})
<= F_{k*} <= q D`` gives ``t'' >= a_{k*}``, and ``G(a_{k*+2}-) >= F_{k*+1} > q D`` gives ``t' <= a_{k*+2}``.

Theorem (one interval). Let ``Z_k = N_k - q D^`` be released, ``N_k`` for ``F_k`` and ``D^`` for ``D`` (or 1, exactly,
without a filter), and ``w`` such that the noise of each ``Z_k`` is within ``w`` with probability ``level``. Let ``i``
be the first ``k`` with ``Z_k >= -w`` (``J`` if none) and ``j`` the last with ``Z_k <= w`` (-1 if none), among
``0..J-1``. Then ``[a_{i-1}, a_{j+2}]``, cut to [low, high], contains a q-quantile with probability at least ``level``.
Proof: the noise is symmetric, so with probability at least ``level`` that of ``Z_{k*}`` is at most ``w`` and that of
``Z_{k*+1}`` at least ``-w`` (at -1 and ``J`` nothing is needed). Then ``k* <= j`` and ``k* + 1 >= i``, so the interval
holds that of lemma 2; and quantiles lie in [low, high]. It is never empty: before ``i`` all ``Z_k < -w``, so ``j >= i -
1``. As the set of points that a test of level ``1 - level`` would not reject, it is a Neyman inversion.

Theorem (all intervals at once). Let ``w`` hold for all ``k`` together. With ``i`` the last ``k`` with ``Z_k < -w`` (-1
if none) and ``j`` the first with ``Z_k > w`` (``J`` if none), ``[a_i, a_{j+1}]`` contains a q-quantile, for every q and
group, with probability ``level``. Proof: then ``F_i < q D < F_j``, so ``i <= k* < j``.

The estimate is where the released ``F_k/D``, made monotone by isotonic regression (pool adjacent violators), cut to [0,
1] and joined by straight lines between ``t_k`` (from 0 at ``low`` to 1 at ``high``), takes the value q. It lies in its
interval of the first theorem: the fitted value at ``k`` is the largest over ``s <= k`` of the least over ``t >= k`` of
the mean of ``s..t``. For ``k < i`` the means of ``s..k`` are below q, and for ``k > j`` those of ``k..t`` above it.
"""

import math

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats

__all__ = ["Ramps", "monotone"]


@dataclass(frozen=True)
class Ramps:
    """The ramps of one distribution function."""

    # low, high: Range of the expression, `low < high`.
    low: float
    high: float
    step: float  # Pitch `h`, above 0
    count: int  # Number `J` of ramps, at least 1, with `low + count * step` at or beyond `high`, up to rounding

    def __post_init__(self) -> None:
        if not (self.low < self.high and self.step > 0 and math.isfinite(self.step) and self.count >= 1):
            raise UsageError(f"step must be above 0 and the range wide, got {self}; pass another step or expression.")

    def quantile(self, shares: Floats, q: float) -> float:
        """Return the estimate of a quantile: the middle of where the monotone function is q.

        Parameters
        ----------
        shares : numpy.ndarray
            Released ``F_k/D`` for ``k < count``.
        q : float
            In (0, 1).

        >>> Ramps(0.0, 10.0, 5.0, 2).quantile(np.array([0.25, 0.75]), 0.5)
        5.0
        """
        heights = np.concatenate([[0.0], monotone(shares), [1.0]])
        places = np.clip(self.low + (np.arange(self.count + 2) - 0.5) * self.step, self.low, self.high)
        crossings = []
        for side in ("left", "right"):
            after = int(np.searchsorted(heights, q, side=side))
            part = (q - heights[after - 1]) / (heights[after] - heights[after - 1])
            crossings.append(float(places[after - 1] + part * (places[after] - places[after - 1])))
        return min(max(math.fsum(crossings) / 2, self.low), self.high)

    def interval(self, excess: Floats, width: float) -> tuple[float, float]:
        """Return the ends of one interval: the module's first theorem.

        Parameters
        ----------
        excess : numpy.ndarray
            Released ``Z_k`` for ``k < count``.
        width : float
            ``w``, for each of them alone.
        """
        reached, left = np.flatnonzero(excess >= -width), np.flatnonzero(excess <= width)
        first = int(reached[0]) if len(reached) else self.count
        last = int(left[-1]) if len(left) else -1
        return self._edge(first - 1), self._edge(last + 2)

    def joint_interval(self, excess: Floats, width: float) -> tuple[float, float]:
        """Return the ends of one of several intervals that hold at once: the module's second theorem.

        Where noise beyond its width leaves no point, the ends are those of the gap.

        Parameters
        ----------
        excess, width
            As for :meth:`interval`, the width for all of them together.
        """
        under, over = np.flatnonzero(excess < -width), np.flatnonzero(excess > width)
        last = int(under[-1]) if len(under) else -1
        first = int(over[0]) if len(over) else self.count
        ends = self._edge(last), self._edge(first + 1)
        return min(ends), max(ends)

    def _edge(self, place: int) -> float:
        return min(max(self.low + place * self.step, self.low), self.high)


def monotone(shares: Floats) -> Floats:
    """Return the nearest non-decreasing sequence in least squares, cut to [0, 1].

    Cutting the isotonic regression gives the nearest one within [0, 1].

    >>> monotone(np.array([0.2, 0.6, 0.4, 1.2])).tolist()
    [0.2, 0.5, 0.5, 1.0]
    """
    from scipy.optimize import isotonic_regression

    return np.clip(np.asarray(isotonic_regression(shares).x, dtype=np.float64), 0.0, 1.0)
