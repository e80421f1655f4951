"""Gaussian noise on the rows of a stream, each drawn when its period is there, at one price for all of them.

Row ``t`` is ``Y_t = (Ĉ X)_t + Z_t``: ``X_s`` are integers, the statistic of period ``s`` rounded to the grid ``g``;
``Ĉ`` the integers of :mod:`emdp.mechanisms.streams.strategy` over ``S = 2^12``; ``Z_t`` fresh discrete Gaussians of
scale ``S sigma/g``. Nothing of ``Z_t`` is needed later; the exact past ``X_1 .. X_(t-1)`` is.

**Theorem 1 (row form).** Let ``‖C Δ‖_F <= c d`` for the two histories of a user that are compared, ``C = Ĉ/S``. With
continuous noise ``N(0, sigma^2)`` a coordinate all rows together are a Gaussian release of ``mu = c/sigma``, also where
later data, other releases and their parameters depend on the rows so far. *Proof.* Given what was answered before, row
``t`` is a Gaussian pair shifted by ``(C Δ)_t``, which the past fixes, since ``C`` is lower triangular. The squares of
the shifts add up to at most ``(c d)^2`` on every path, so the Gaussian part of the filter's proof
(:mod:`emdp.privacy.account.filter`) covers them one by one, whatever stands between. ∎

**Theorem 2 (paying).** A stream is paid, whole and before its first row, from the Gaussian reserve by ``mu^2``, or
outside of it as ``(alpha, delta)`` with ``H_(exp(alpha d))(N(mu d, 1)‖N(0, 1)) <= delta`` for ``d`` in [0, 1], although
other releases stand between its rows. *Proof.* In the filter's proof let ``(a, b, m)`` be what is left of level, delta
and ``mu^2`` at ``d``. What has ``(a - alpha d, b - delta, m + mu^2 d^2)`` left is within the claim for ``(a, b, m)``:
``G(t e^(alpha d), m + mu^2 d^2) <= G(t, m) + delta`` for every ``t``, since a Gaussian pair of square ``m + mu^2 d^2``
is the product of two, the second of which is ``(alpha d, delta)``. So the price in level and delta may be exchanged for
squares at any time, and the rows are then paid by theorem 1. ∎ (The theory's page asks for the reserve alone; the
exchange is what it lacks.)

**Theorem 3 (grid).** Rounding costs beside the ideal rows, once for the whole stream,

    ``slack_epsilon = L eta + eta^2/2 + D (1 + K^2)/(24 s^2)``,  ``slack_delta = (2 D + 1) e^-72``,

``eta = h/sigma``, ``h = sqrt(d) ‖C 1‖ (g + 2 e)``, ``L = 12``, ``K = L + mu + eta``, ``D`` the number of all released
coordinates, ``d`` those of a period, ``s >= sigma/g``. *Proof.* Every ``X_s`` is off by at most ``g/2 + e`` in each
coordinate, on both histories, and ``C >= 0``: what is added to ``C Δ`` has norm at most ``h``. The rest is the grid
theorem of :mod:`emdp.mechanisms.central.gaussian`; its third step compares laws of whole transcripts, whose log ratio
is the sum over rows of independent normals, other releases having the same law in both, so that rows may lie apart. ∎

``eta`` is slack beside the price, and no part of ``mu``: a charge of ``mu + eta`` would promise ``(mu + eta) d`` at
distance ``d``, and two histories that nearly agree (``d`` near 0) may still be rounded apart by ``h``.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from emdp.base.checks import check_choice, check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.gaussian import GaussianMechanism, least_gaussian_delta
from emdp.mechanisms.streams.strategy import SCALE, Strategy
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.privacy.calibration import gaussian_alpha
from emdp.privacy.events.noise import GaussianEvent
from emdp.privacy.guarantees.kinds import UNITS, Guarantee, Unit
from emdp.privacy.rounding import as_decimal, float_down, float_up, quotient_up, root_up

__all__ = ["StreamMechanism"]


@dataclass(frozen=True)
class StreamMechanism:
    """Noise of a stream; frozen, holds no private value.

    Parameters
    ----------
    periods : int
        How many periods the price covers.
    unit : {"period", "user", "history"}
        What the stated level is for: histories that differ in one period, in any, or in a part of all periods.
    sensitivity : float
        Bound, in the 2-norm, of how the statistic of one period moves, per unit of ``d``; above 0.
    alpha, delta : float
        Level and delta of the whole stream in its unit; delta above 0.
    statistic_error : float
        Bound on |computed - exact| of each coordinate.
    sigma : float, optional
        Of a stream that was opened for fewer periods, whose noise stays.
    active : int, optional
        Most periods in which one user counts, by whatever part of the product keeps that; for the unit "user".
    reach : float, optional
        With ``active``, the number ``sqrt(2 r^2 + 2 rho)`` of the theorem on it, or ``r`` by removal
        (:mod:`emdp.mechanisms.streams.strategy`), in the statistic's unit; without it that of twice as many periods
        holds.

    Guarantee
    ---------
    ``(alpha d + slack_epsilon, delta)`` in its unit: theorems 1 to 3 of the module.

    >>> days = StreamMechanism(Strategy.of("days", 52), 52, "period", 0.1, 1, 1.0, 1e-6)
    >>> weeks = StreamMechanism(Strategy.of("totals", 52), 52, "period", 0.1, 1, 1.0, 1e-6)
    >>> round(weeks.sigma / days.sigma, 3)
    1.524
    """

    strategy: Strategy
    periods: int
    unit: Unit
    sensitivity: float
    dimension: int
    alpha: float
    delta: float
    statistic_error: float = 0.0
    fixed_sigma: float | None = None
    active: int | None = None
    reach: float | None = None

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, UNITS)
        check_count("periods", self.periods)
        check_count("dimension", self.dimension)
        if self.active is not None and (check_count("active", self.active) and self.unit != "user"):
            raise UsageError("active must be left out unless unit is 'user', since it bounds what one user adds.")
        if self.sensitivity <= 0:
            raise UsageError("sensitivity must be above 0: a constant statistic needs no stream; ask for it once.")
        if self.delta <= least_gaussian_delta(self._released):
            raise UsageError(
                f"delta must be above {least_gaussian_delta(self._released)} for a stream, whose noise is Gaussian, "
                f"got {self.delta}; ask with a delta, such as 1e-8, well below 1/users."
            )

    @cached_property
    def sigma(self) -> float:
        """Noise of each released row, in the statistic's unit; its entries are those of ``Ĉ/S``."""
        return self._noise.scale if self.fixed_sigma is None else self.fixed_sigma

    @cached_property
    def grid(self) -> float:
        """Step to which statistics are rounded: a power of two, ``sigma 2^-40``."""
        return self._noise.grid if self.fixed_sigma is None else self._noise._grid_for(self.fixed_sigma)

    def mu(self, unit: Unit) -> float:
        """Return the ``mu`` of all rows together in a unit, rounded up."""
        return quotient_up(self._largest(unit), self.sigma)

    def level_of(self, mu: float) -> float:
        """Return the level of Gaussian noise of a ``mu`` at the stream's delta, rounded up."""
        return gaussian_alpha(mu, float_down(as_decimal(self.delta) - as_decimal(self.slack_delta)))

    def prolonged(self, periods: int, sigma: float, opened: int) -> "StreamMechanism":
        """Return the mechanism of a stream that was opened for fewer periods, at the level that it has by now."""
        longer = replace(self, periods=periods, fixed_sigma=sigma)
        return longer if periods <= opened else replace(longer, alpha=longer.level_of(longer.mu(self.unit)))

    def slack_epsilon(self, unit: Unit) -> Fraction:
        """Return the slack of theorem 3, rounded up."""
        sigma = Fraction(self.sigma)
        eta = self._rounding() / sigma
        reach = 12 + Fraction(self.mu(unit)) + eta
        return 12 * eta + eta**2 / 2 + self._released * (1 + reach**2) / (24 * (sigma / Fraction(self.grid)) ** 2)

    @property
    def slack_delta(self) -> float:
        """The part of delta that covers noise beyond 12 sigmas."""
        return least_gaussian_delta(self._released) / 2

    def event(self, unit: Unit, kind: Guarantee, *, before: "StreamMechanism | None" = None) -> GaussianEvent:
        """Return what opening the stream is charged in a unit; or prolonging it, beside what the shorter one was.

        Parameters
        ----------
        unit : {"period", "user", "history"}
            Whose histories differ.
        kind : Guarantee
            What the level is stated as, with level and delta 0.
        before : StreamMechanism, optional
            The stream as it was paid already, of fewer periods and the same noise. Squares of ``mu`` add up, so that
            the difference of the squares is due.
        """
        mu = Fraction(self.mu(unit))
        if before is not None:
            mu = Fraction(root_up(max(mu**2 - Fraction(before.mu(unit)) ** 2, Fraction(1, 10**24))))
        alpha = self.alpha if unit == self.unit and before is None else self.level_of(float(mu))
        return GaussianEvent(
            alpha,
            self.delta,
            self._released,
            sigma=self.sigma,
            # What the difference of two squares is the square of: a little less than mu times sigma, as events check.
            sensitivity=math.nextafter(float(mu) * self.sigma, 0.0) * (1 - 2**-50) if before else self._largest(unit),
            grid=self.grid,
            slack_epsilon=float_up(self.slack_epsilon(unit)),
            slack_delta=self.slack_delta,
            mu=float(mu),
            kind=kind,
        )

    def rounded(self, values: Sequence[Fraction]) -> tuple[int, ...]:
        """Return a period's statistic as integers, in grid steps."""
        if len(values) != self.dimension:
            raise UsageError(f"values must be {self.dimension} numbers, got {len(values)}; pass that many.")
        grid = Fraction(self.grid)
        return tuple(round(value / grid) for value in values)

    def exact_rows(self, past: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return the rows of the last period given before noise, one a block: private numbers."""
        return tuple(
            tuple(
                sum(entry * own[place] for entry, own in zip(row, past, strict=True) if entry)
                for place in range(self.dimension)
            )
            for row in self.strategy.rows(len(past))
        )

    def draw(self) -> tuple[tuple[int, ...], ...]:
        """Draw the noise of one period's rows, as integers: each is used once, and not kept."""
        scale = SCALE * (self.sigma / self.grid)
        drawn = draw_discrete_gaussian(scale, self.strategy.blocks * self.dimension)
        return tuple(tuple(drawn[start : start + self.dimension]) for start in range(0, len(drawn), self.dimension))

    @property
    def _released(self) -> int:
        return self.dimension * self.periods * self.strategy.blocks

    @cached_property
    def _noise(self) -> GaussianMechanism:
        return GaussianMechanism(
            sensitivity=self._largest(self.unit), alpha=self.alpha, delta=self.delta, dimension=self._released
        )

    def _largest(self, unit: Unit) -> float:
        """Return the bound of ``‖C Δ‖`` per unit of ``d``, rounded up."""
        strategy, periods = self.strategy, self.periods
        squares = {"period": strategy.period_square(periods), "user": strategy.user_square(periods)}
        if unit == "user" and self.active is not None:
            return self._largest_of_active(self.active)
        # What a history moves by is at most a period's column times the sum of its distances: T times their mean.
        square = squares["period"] * periods**2 if unit == "history" else squares[unit]
        return root_up(Fraction(square) * Fraction(self.sensitivity) ** 2 / SCALE**2)

    def _largest_of_active(self, active: int) -> float:
        """Return the bound of ``‖C Δ‖`` where a user counts in so many periods in each world, rounded up."""
        strategy, periods = self.strategy, self.periods
        square = strategy.active_square(periods, 2 * active) * Fraction(self.sensitivity) ** 2
        if self.reach is not None:
            square = min(square, strategy.active_square(periods, active) * Fraction(self.reach) ** 2)
        return root_up(square / SCALE**2)

    def _rounding(self) -> Fraction:
        """Return ``h`` of theorem 3, rounded up."""
        ones = root_up(Fraction(self.dimension * self.strategy.user_square(self.periods), SCALE**2))
        return Fraction(ones) * (Fraction(self.grid) + 2 * Fraction(self.statistic_error))
