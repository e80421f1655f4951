"""The privacy blanket of one moved item: the law of its privacy gain, and delta of the step from it.

**Theorem** (privacy blanket; Balle, Bell, Gascon and Nissim 2019, sections 5 and 6, here per pair). ``N`` items are
randomized by ``A`` and shuffled; one of them moves from ``x`` to ``x'``, the others are fixed and arbitrary. Let
``q(y) <= min over all items of A[., y]``, let ``L = {y: q(y) = 0}``, ``t = e^epsilon``, and let ``Z`` be
``(A[x, y] - t A[x', y])/q(y)`` with probability ``q(y)`` for each ``y`` outside ``L``, and 0 with what is left. Then

    ``H_t(shuffle with x || shuffle with x') <= sum over L of (A[x, y] - t A[x', y])_+  +  E[(Z_1 + .. + Z_N)_+]/N``.

*Proof.* Let ``g = sum q`` and ``omega = q/g`` (``g = 0``: the release is post-processing of the moved item's output
alone and the others' independent ones, and the first sum is over all outputs). Every other item ``i`` draws from
``A(x_i) = g omega + (1 - g) B_i``, ``B_i`` a law since ``q`` is below every row. Tell the observer which of the
others drew from ``B_i`` and what these drew: it is independent of the moved item, and the release is post-processing
of that and of the multiset of the moved item's output with the ``b ~ Bin(N-1, g)`` draws from ``omega``. An output in
``L`` can only be the moved item's: these multisets contribute the first sum, at most, whatever ``b``. The others, as
a sequence in uniformly random order, ``n = b + 1`` long, have at ``(y_1 .. y_n)`` the probability ``prod omega(y_j)``
times ``(1/n) sum_j A[x, y_j]/omega(y_j)``, so that their contribution is ``E[(1/n) (sum_{j <= n} (A[x, W_j] - t A[x',
W_j]) /omega(W_j))_+]`` with ``W_j ~ omega``. Since ``(1/(b+1)) Pr[Bin(N-1, g) = b] = Pr[Bin(N, g) = b+1]/(N g)``, the
mean over ``b`` is ``(1/(N g)) E[(sum over Bin(N, g) draws)_+]``, and ``1/omega = g/q``. ∎ No hypothesis on ``A`` but
that ``q`` is below every row: a smaller ``q`` is only a looser bound, so it may be rounded down. The bound is for the
ordered pair ``(x, x')``; the other direction is the pair ``(x', x)``.

*Rounding.* Weights are whole numbers over ``2**62``: their differences are exact, ``q`` is rounded down as a float and
``Z`` up; ``(S)_+`` rises with every ``Z``. ``t - 1`` is rounded down (``H_t`` falls with ``t``).
"""

import math

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.privacy.blanket.sum import FINE, find_saddle, log_positive_part

__all__ = ["SCALE", "Step", "blanket_weights", "output_counts", "shift_down"]

SCALE = 2.0**62
"""Denominator of the weights of a law."""
_UNIT = 2.0**-53
"""Half the spacing of doubles at 1."""


@dataclass(frozen=True, eq=False)
class Step:
    """One item's move from ``x`` to ``x'``."""

    # gain, second, mass: Shape (atoms,): `(A[x, y] - A[x', y])/q(y)`, `A[x', y]/q(y)` and `q(y)` where `q > 0`, equal
    # outputs taken together.
    gain: Floats
    second: Floats
    mass: Floats
    # lone_gain, lone_second: Shape (lone outputs,): `A[x, y] - A[x', y]` and `A[x', y]` where `q = 0`.
    lone_gain: Floats
    lone_second: Floats
    distance: float  # `d_X(x, x')`, rounded down

    @classmethod
    def of(cls, law: OutputLaw, pair: tuple[int, int]) -> "Step":
        """Take the two rows of a pair of items out of a law."""
        table, copies = _outcomes(law, pair)
        least = table[0]
        covered = least > 0
        gain = (table[1] - table[2]).astype(np.float64)
        second = table[2].astype(np.float64)
        below = least[covered].astype(np.float64)
        lone = copies[~covered] / SCALE
        return cls(
            gain=gain[covered] / below,
            second=second[covered] / below,
            # An exact whole number of at most 2**62; the product with 1 - 2u lies below it after rounding.
            mass=(least[covered] * copies[covered]).astype(np.float64) * (1 - 2 * _UNIT) / SCALE,
            lone_gain=gain[~covered] * lone,
            lone_second=second[~covered] * lone,
            distance=float(law.distances[pair]),
        )

    @property
    def key(self) -> bytes:
        """The step as bytes: steps with equal keys have equal bounds."""
        parts = (self.gain, self.second, self.mass, self.lone_gain, self.lone_second, np.array([self.distance]))
        return b"|".join(part.tobytes() for part in parts)

    @property
    def farthest(self) -> float:
        """An epsilon from which on no output favours ``x``, so that delta is 0; ``inf`` if there is none."""
        seconds = np.concatenate([self.second, self.lone_second])
        gains = np.concatenate([self.gain, self.lone_gain])
        rising = gains > 0
        if not rising.any():
            return 0.0
        if (seconds[rising] == 0).any():
            return math.inf
        return math.log1p(float((gains[rising] / seconds[rising]).max())) * (1 + 1e-12) + 1e-14

    def values(self, shift: float) -> Floats:
        """Return ``Z`` for ``t = 1 + shift``, each rounded up."""
        # Five roundings of half an ulp, and at most four of the mass, by which Z must be divided.
        return self.gain - shift * self.second + 12 * _UNIT * (np.abs(self.gain) + shift * self.second)

    def log_delta(self, epsilon: float, N: int, *, excess: float = FINE) -> float:
        """Return an upper bound of the logarithm of the step's delta at ``epsilon >= 0``."""
        shift = shift_down(epsilon)
        if epsilon >= self.farthest:
            return -math.inf
        many = -math.inf
        if len(self.mass):
            many = log_positive_part(self.values(shift), self.mass, N, excess=excess) - math.log(N) * (1 - 4 * _UNIT)
        result = float(np.logaddexp(many, self._log_lone(shift)))
        return result + 16 * _UNIT * (1 + abs(result)) if result > -math.inf else result

    def log_estimate(self, epsilon: float, N: int) -> float:
        """Return about what :meth:`log_delta` will be, at a hundredth of its cost: no bound."""
        shift = shift_down(epsilon)
        values = self.values(shift)
        many = -math.inf
        if epsilon < self.farthest and values.max(initial=0.0) > 0:
            many = find_saddle(values, self.mass, N).log_estimate(N) - math.log(N)
        return float(np.logaddexp(many, self._log_lone(shift)))

    def _log_lone(self, shift: float) -> float:
        gains = self.lone_gain - shift * self.lone_second
        slack = 8 * _UNIT * (np.abs(self.lone_gain) + shift * self.lone_second)
        lone = float(np.maximum(gains + slack, 0.0).sum())
        return math.log(lone) + len(gains) * 2 * _UNIT if lone > 0 else -math.inf


def shift_down(epsilon: float) -> float:
    """Return ``e^epsilon - 1``, rounded down.

    >>> shift_down(1e-9) <= math.expm1(1e-9)
    True
    """
    return math.expm1(epsilon) * (1 - 16 * _UNIT)


def blanket_weights(law: OutputLaw) -> Integers:
    """Return ``q``: what every item's law is at least, shape (outputs,), over ``2**62``."""
    return np.asarray(law.weights.min(axis=0), dtype=np.int64) if law.blanket is None else law.blanket


def output_counts(law: OutputLaw) -> Integers:
    """Return how many outputs each column stands for."""
    return np.ones(law.weights.shape[1], dtype=np.int64) if law.counts is None else law.counts


def _outcomes(law: OutputLaw, pair: tuple[int, int]) -> tuple[Integers, Integers]:
    """Return the different columns of (q, A[x, .], A[x', .]), shape (3, atoms), and how often each occurs."""
    table = np.stack([blanket_weights(law), law.weights[pair[0]], law.weights[pair[1]]])
    order = np.lexsort(table)
    table, copies = table[:, order], output_counts(law)[order]
    starts = np.flatnonzero(np.append(True, (table[:, 1:] != table[:, :-1]).any(axis=0)))
    return table[:, starts], np.add.reduceat(copies, starts)
