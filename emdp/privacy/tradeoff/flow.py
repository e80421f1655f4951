"""Compositions of affine bounds, found by following a flow: the many-step half of
:mod:`emdp.privacy.tradeoff.composition`.

Let a step of *time* ``theta <= longest`` move the law from ``P`` to ``Q`` with, for every event and every line ``i``,

    ``P(S) + G_i <= e^(s_i theta) (Q(S) + G_i)``        (rates ``s_i``, gaps ``G_i``).

**Theorem.** Let a chain of such steps have total time at most ``Theta``. Choose lines ``s_1 < ... < s_n`` with
``G_1 > ... > G_n`` and durations ``tau_1 + ... + tau_n = Theta``. With ``E_i = s_1 tau_1 + ... + s_i tau_i``,
``omega = (s_n - s_1) longest`` and ``Delta = sum_i (e^(E_i) - e^(E_{i-1})) G_i``,

    ``P_first(S) <= e^(E_n + omega) P_last(S) + e^omega Delta + (e^omega - 1) G_1``   for every event ``S``.

With one line ``omega = 0``. If the chain's time is at most ``Theta - x``, ``0 <= x <= Theta``, then ``E_n - s_1 x``
may stand for ``E_n``.

*Proof.* Append steps that change nothing, each of time at most ``longest``, until the total is ``Theta``: they satisfy
the hypothesis. Give a step to the block ``i`` in whose time interval it *ends*. The blocks up to ``i`` then hold a time
``M_i`` with ``T_i - longest < M_i <= T_i``, ``T_i = tau_1 + ... + tau_i``, and ``M_n = T_n``. Let every step use its
block's line. Within a block the affine maps share a fixed point and their exponents add, so the whole chain is an
affine map with the exponents ``F_i = sum_{k<=i} s_k (M_k - M_{k-1})``: slope ``e^(F_n)``, intercept
``sum_i (e^(F_i) - e^(F_{i-1})) G_i = e^(F_n) G_n - G_1 + sum_{i<n} e^(F_i) (G_i - G_{i+1})``, which rises with every
``F_i``. By summation by parts ``F_i = s_i M_i - sum_{k<i} (s_{k+1} - s_k) M_k <= E_i + (s_i - s_1) longest
<= E_i + omega``. Put that in: the intercept is at most ``e^omega (Delta + G_1) - G_1``. For the last claim shorten the
durations from ``n`` downwards by ``x`` in all: ``E_n`` falls by at least ``s_1 x``, no ``E_i`` rises, and ``omega`` may
stay. ∎

**Which durations.** Any are valid; the best follow the flow ``u' = min_i s_i (u + G_i)``, a concave piecewise linear
field. From a start ``a`` it reaches ``h`` after ``Theta``, its map is affine along that path with slope ``e^(E_n)``, so
``Delta = h - e^(E_n) a``; the start is bisected so that the delta is just met. By concavity ``E_n`` falls and ``Delta``
rises with ``a``, but nothing rests on it: the value found is one that the theorem holds for.

**Mixed lines.** For ``s`` between two rates let ``s G`` be the mean of theirs with the weights that make ``s`` the mean
of the rates. This line satisfies the hypothesis too. *Proof.* Let ``u*`` be where the two meet and ``v = s_i (u* +
G_i)`` their height there; the mixed line has it as well, so its map is ``F(s) = u* + (u - u*) e^(s theta) + v integral
of e^(s y) over 0 <= y <= theta``. ``F'(s) = e^(s theta) [(u - u*) theta + v integral of y e^(-s (theta - y))]``, whose
bracket falls with ``s``: ``F`` rises, then falls, so between two rates it is at least the smaller of their values,
which bounds ``P``. ∎ The first and the last line of a path are mixed with their neighbours on it, in proportion to what
the path has of them, so that ``omega`` moves without jumps.

*Numerics.* The flow's exponents are differences of totals up to 700 whose terms carry a relative error below 1e-14, so
their error is below 1e-11 in absolute terms: so much is added to each, and ``1e-11 h`` to ``Delta``, whose ``h`` and
``e^(E_n) a`` are off by as much, relatively; delta must be met with 1e-6 to spare. (On the last line totals are larger
only for starts below 1e-280, where delta is smaller than any double that is asked for.)
"""

from typing import Self

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass

__all__ = ["SPARE", "STEPS", "Flow"]

_Array = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.intp]

STEPS = 32
"""Bisection steps, which leave 2e-7 of ln a."""
_LOWEST = -690.0
"""Lowest ln a that is tried."""
_LARGEST_EXPONENT = 650.0
"""Compositions with a larger exponent are not considered: they promise nothing, and doubles end there."""
_LONG = 3
"""Fewer lines on a path than this and one more are not mixed."""
_ROUNDING = 1e-11
"""Relative error of a flow's end, with room to spare."""
_TOTALS = 1e-11
"""Added to an exponent; see the module's text."""
SPARE = 1e-6
"""Share of delta left unused, for rounding."""


@dataclass(frozen=True, eq=False)
class Flow:
    """The flow of the lower envelope of lines ``s (u + G)``."""

    # rates, gaps: Of the envelope's lines, shape (n,): rates rise, gaps fall, the last gap is 0.
    rates: _Array
    gaps: _Array
    kinks: _Array  # Shape (n-1,): where line `i` gives way to line `i+1`, falling
    # exponents, times: Shape (n-1,): what the flow collects from each kink up to the first.
    exponents: _Array
    times: _Array

    @classmethod
    def from_lines(cls, rates: _Array, gaps: _Array) -> Self:
        """Build the flow from any lines, rates rising, the last gap 0.

        >>> flow = Flow.from_lines(np.array([1.0, 1.5, 2.0]), np.array([1.0, 0.9, 0.0]))
        >>> flow.rates, flow.kinks
        (array([1., 2.]), array([1.]))
        """
        # rounding may make neighbours equal: a line with a larger rate is weaker, so it may stand in
        rates = np.maximum.accumulate(rates)
        distinct = np.append(np.diff(rates) > 0, True)
        rates, gaps = rates[distinct], gaps[distinct]
        kept, places = _envelope(rates, gaps)
        s, g, kinks = rates[kept], gaps[kept], np.array(places)
        pieces = np.log((kinks[:-1] + g[1:-1]) / (kinks[1:] + g[1:-1]))
        exponents = np.concatenate([[0.0], np.cumsum(pieces)])[: len(kinks)]
        times = np.concatenate([[0.0], np.cumsum(pieces / s[1:-1])])[: len(kinks)]
        return cls(s, g, kinks, exponents, times)

    def epsilons(self, times: _Array, longest: float, delta: float, steps: int = STEPS) -> tuple[_Array, _Array]:
        """Return for each total time an epsilon that the theorem certifies at ``delta``, and the rate ``s_1``.

        Parameters
        ----------
        times : numpy.ndarray
            Total times ``Theta``, above 0.
        delta : float
            In (0, 1).
        steps : int
            Of the bisection, at least 1: fewer are faster and give larger epsilons.

        Returns
        -------
        tuple of numpy.ndarray
            Epsilons, infinite where nothing is certified, and what they fall by per unit of time that a chain has less.

        >>> flow = Flow.from_lines(np.array([0.1, 0.2]), np.array([1e-3, 0.0]))
        >>> [values.round(3) for values in flow.epsilons(np.array([10.0]), 0.1, 1.5e-3)]
        [array([1.104]), array([0.1])]
        """
        best, rates = np.full(times.shape, np.inf), np.zeros(times.shape)
        if not self.kinks.size:
            return best, rates
        low, high = np.full(times.shape, _LOWEST), np.zeros(times.shape)
        for _ in range(steps):
            middle = (low + high) / 2
            epsilon, total, rate = self._compose(np.exp(middle), times, longest)
            good = (total <= delta * (1 - SPARE)) & (epsilon <= _LARGEST_EXPONENT)
            better = good & (epsilon < best)
            best, rates = np.where(better, epsilon, best), np.where(better, rate, rates)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return best, rates

    def _compose(self, start: _Array, time: _Array, longest: float) -> tuple[_Array, _Array, _Array]:
        """Return the exponent, the delta and the lowest rate of the composition along the flow from ``start``."""
        last = np.searchsorted(-self.kinks, -start)
        first = self._line_at(self._clock(start, last, np.ones_like(start)) - time)
        # over several lines, those at the ends are mixed with their neighbours on the path
        is_long = last - first >= _LONG
        below = np.append(self.kinks, 0.0)[last]
        top = self.kinks[np.maximum(last - 1, 0)]
        share = np.where(is_long, (top - start) / np.where(is_long, top - below, 1.0), 1.0)
        clock = self._clock(start, last, share) - time
        first = self._line_at(clock)
        begin = self._mixed(last, np.maximum(last - 1, 0), share)
        kink = np.maximum(last - 1, 0)
        exponent = np.log((self.kinks[kink] + begin[1]) / (start + begin[1])) + self.exponents[kink]
        passed, reached = np.minimum(first, len(self.kinks) - 1), np.maximum(first - 1, 0)
        spent = self.times[passed] - clock
        whole = np.where(first > 0, self.times[passed] - self.times[reached], 1 / self.rates[0])
        end_share = np.where(is_long, np.clip(spent / np.where(whole > 0, whole, 1.0), 0.0, 1.0), 1.0)
        rate, gap = self._mixed(first, np.minimum(first + 1, len(self.rates) - 1), end_share)
        base = np.where(is_long, passed, reached)
        rest = np.where(is_long, -spent, clock - self.times[reached]) * rate
        exponent = exponent - self.exponents[base] - rest
        omega = np.maximum(begin[0] - rate, 0.0) * longest
        with np.errstate(over="ignore", invalid="ignore"):
            end = (self.kinks[base] + gap) * np.exp(-rest) - gap
            intercept = end - np.exp(exponent) * start + _ROUNDING * end
            total = np.exp(omega) * intercept + np.expm1(omega) * gap
        is_path = np.isfinite(total) & (intercept >= 0) & (~is_long | (first < last))
        total = np.where(is_path, total, np.inf)
        return exponent + omega + _TOTALS, total, rate

    def _clock(self, start: _Array, last: _Integers, share: _Array) -> _Array:
        """Return the time from ``start`` up to the first kink, on a mixed line to the next one."""
        kink = np.maximum(last - 1, 0)
        rate, gap = self._mixed(last, kink, share)
        return np.asarray(self.times[kink] + np.log((self.kinks[kink] + gap) / (start + gap)) / rate)

    def _line_at(self, clock: _Array) -> _Integers:
        return np.searchsorted(self.times, clock, side="right")

    def _mixed(self, one: _Integers, other: _Integers, share: _Array) -> tuple[_Array, _Array]:
        """Return rate and gap of the mean of two lines, ``share`` of the first."""
        rate = share * self.rates[one] + (1 - share) * self.rates[other]
        height = share * self.rates[one] * self.gaps[one] + (1 - share) * self.rates[other] * self.gaps[other]
        return rate, height / rate


def _envelope(rates: _Array, gaps: _Array) -> tuple[list[int], list[float]]:
    """Return the lines that are lowest somewhere on ``u > 0``, by rising rate, and where neighbours meet."""
    kept: list[int] = []
    places: list[float] = []
    for i in range(len(rates)):
        while kept:
            j = kept[-1]
            place = float((rates[j] * gaps[j] - rates[i] * gaps[i]) / (rates[i] - rates[j]))
            if not places or place < places[-1]:
                break
            kept.pop()
            places.pop()
        if kept:
            if place <= 0:
                continue
            places.append(place)
        kept.append(i)
    return kept, places
