"""The common part of additive mechanisms: rounding to a public grid, and the noise drawn on that grid.

Lemma (rounding). Let ``T`` map tables to R^d with ``||T(D) - T(D')|| <= l d_em`` for neighbours (``l`` is
``sensitivity``, the norm the noise's own). Let the computed statistic be within ``e`` of ``T`` in every
coordinate (``statistic_error``), let ``g`` be the grid and ``c`` the norm of the vector of ones. The two
statistics, rounded to the nearest multiples of ``g``, differ by a vector of norm at most ``l d_em + c (g + 2
e)``: rounding moves a coordinate by at most ``g/2`` and computing by at most ``e``, on both tables.

The term ``h = c (g + 2 e)`` stays however small ``d_em`` is, since two tables that nearly agree can round to
different grid points; so no larger sensitivity repairs it, and it is stated as slack (EMD 8.5).
``slack_epsilon`` and ``slack_delta`` have the meaning of :mod:`emdp.privacy.events.table`: with ``P, Q`` the laws
of the answer on two neighbours and ``P', Q'`` those of the ideal mechanism (the exact statistic, continuous
noise) at their distance, for every ``t``, ``H_{t exp(slack_epsilon)}(P || Q) <= exp(slack_epsilon) H_t(P' ||
Q') + slack_delta``. Each mechanism proves its own. With pure noise ``H_t(P' || Q') = 0`` at ``t = exp(alpha
d_em)``, so that the answer is ``(alpha d_em + slack_epsilon, 0)``; with a delta the factor would matter, and
:mod:`emdp.mechanisms.central.gaussian` calibrates sigma so that it does not.

Noise is drawn for zero and added in Python integers, so nothing overflows, whatever the statistic.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.noise.discrete_laplace import MAX_SCALE
from emdp.privacy.calibration import laplace_scale
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import EmdDP, Guarantee
from emdp.privacy.rounding import check_bound, float_at_least, float_up, root_up

__all__ = ["GRID_BITS", "MAX_MULTIPLE_BITS", "AdditiveMechanism", "float_at_least", "independent_tail", "tail_below"]

GRID_BITS = 40
# The grid is 2^-40 of the scale, rounded down to a power of two (EMD 8.5): a slack of about 1e-12 a
# coordinate.

MAX_MULTIPLE_BITS = 62
# The statistic is at most 2^62 grid steps, so that answer and noise together fit signed 64-bit storage.

_LEAST_SCALE, _LARGEST_SCALE = 2.0**-900, 2.0**900
# Of sensitivity/alpha: between these every number of the mechanism, the grid included, is a normal float64.

_CONSTANT = "a constant statistic is the same on every table: exact, no noise, nothing spent (EMD 2 with l = 0)"


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism(ABC):
    """Noise for a statistic of ``dimension`` coordinates, on a public grid; frozen, holds no private value.

    Parameters
    ----------
    sensitivity : float
        Bound of ``||T(D) - T(D')||`` per unit of ``d_em`` in the mechanism's norm: ``l/n`` centrally, ``l``
        for one user. 0 means a constant statistic, which is released exactly.
    alpha : float
        Above 0, per unit of ``d_em`` (for a guarantee at one distance its epsilon, with the sensitivity
        there).
    delta : float
        0, or for Gaussian noise in (0, 1): the whole delta, ``slack_delta`` inside it.
    dimension : int
        Number of coordinates, at least 1.
    statistic_error : float
        Public bound on |computed - exact| of each coordinate, in what depends on the neighbour's user.
        It enters the slack, not the interval.
    magnitude : float
        Public bound on |statistic| of each coordinate. It makes the grid coarser where the answer would
        exceed 2^62 steps, and nothing else; a value beyond it is released all the same.
    step : float
        The grid, a power of two, where it is not the mechanism's own: weaker tiers of a release are on the grid of the
        strongest (:mod:`emdp.mechanisms.central.tiers`). 0 for its own.

    Guarantee
    ---------
    ``(alpha d_em + slack_epsilon, delta)`` at distance ``d_em``: the grid theorem of the subclass.
    """

    name: ClassVar[str]
    norm: ClassVar[Literal[1, 2]]

    sensitivity: float
    alpha: float
    delta: float = 0.0
    dimension: int = 1
    statistic_error: float = 0.0
    magnitude: float = 0.0
    step: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        for name in ("sensitivity", "statistic_error", "magnitude"):
            value = check_bound(name, getattr(self, name))
            if value < 0:
                raise UsageError(f"{name} must be at least 0, got {value}; pass its public bound.")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "alpha", check_positive("alpha", self.alpha))
        object.__setattr__(self, "dimension", check_count("dimension", self.dimension))
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta, zero=True))
        self._check_law()
        if self.is_exact:
            self._check_constant()
        else:
            self._check_grid()

    @property
    def is_exact(self) -> bool:
        """Whether the statistic is constant (sensitivity 0), so that it is released without noise."""
        return self.sensitivity == 0

    @property
    def theorem(self) -> str:
        return _CONSTANT if self.is_exact else self._law_theorem()

    @cached_property
    def scale(self) -> float:
        """Scale of the noise in the statistic's unit: ``sensitivity/alpha``, or sigma; rounded up."""
        return 0.0 if self.is_exact else self._scale()

    @cached_property
    def grid(self) -> float:
        """Step of the public grid, a power of two: ``scale 2^-40`` rounded down, or what ``magnitude`` needs.

        0 for a constant statistic, which is not rounded.
        """
        return 0.0 if self.is_exact else self._grid_for(self.scale)

    @property
    def coordinate_change(self) -> float:
        """Bound of how far the coordinates themselves move per unit of ``d_em``, in the noise's norm."""
        return self.sensitivity

    @property
    def answer_step(self) -> Fraction:
        """Step of the grid that the noise is whole steps of."""
        return Fraction(self.grid)

    @property
    def noise_units(self) -> float:
        """Scale of the noise in grid steps, exactly ``scale/grid``."""
        return 0.0 if self.is_exact else self.scale / self.grid

    @property
    def slack_epsilon(self) -> float:
        """Loss beside ``alpha d_em`` that rounding and the statistic's error cost, rounded up."""
        return 0.0 if self.is_exact else float_up(self._slack())

    @property
    def slack_delta(self) -> float:
        """The part of ``delta`` that covers the grid; 0 for pure noise."""
        return 0.0

    @property
    def expected_absolute_error(self) -> float:
        """Mean of the noise's absolute value in one coordinate, in the statistic's unit."""
        return 0.0 if self.is_exact else self.grid * self._mean_absolute_units()

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the noise in one coordinate, in the statistic's unit."""
        return 0.0 if self.is_exact else self.grid * self._standard_deviation_units()

    def interval_half_width(self, level: float) -> float:
        """Return ``h`` such that each answer is within ``h`` of its statistic with probability ``level``.

        Parameters
        ----------
        level : float
            In (0, 1), such as 0.95.

        Returns
        -------
        float
            Quantile of the noise on the lattice plus half a grid step for rounding, rounded outward.
        """
        tail = tail_below(level)
        return 0.0 if self.is_exact else self._width(self._coordinate_units(tail))

    def simultaneous_half_width(self, level: float) -> float:
        """Return ``h`` such that all answers are within ``h`` of their statistics with probability ``level``.

        Parameters
        ----------
        level : float
            In (0, 1), for all coordinates together.
        """
        tail = tail_below(level)
        return 0.0 if self.is_exact else self._width(self._simultaneous_units(tail))

    def half_widths(self, level: float, *, together: bool = False) -> Sequence[float]:
        """Return the half width of every coordinate's interval: as the two above, which are the widest."""
        width = self.simultaneous_half_width(level) if together else self.interval_half_width(level)
        return (width,) * self.dimension

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return (
            ("sensitivity", f"{self.sensitivity:.6g} per {unit}"),
            ("noise", f"scale {self.scale:.6g}, on a grid of {float(self.grid):.3g}"),
        )

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before a release.

        Parameters
        ----------
        kind : Guarantee, optional
            What the level is stated as, with level and delta 0; by default unbounded central ``EmdDP(0.0)``.
        """
        kind = EmdDP(0.0) if kind is None else kind
        return GuaranteeEvent(kind, "none: constant statistic") if self.is_exact else self._event(kind)

    def release(self, values: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Round a statistic to the grid, add noise, and return it: this spends.

        Parameters
        ----------
        values : sequence of fractions.Fraction
            The computed statistic, ``dimension`` exact numbers (``Fraction(x)`` of a float is exact).

        Returns
        -------
        tuple of fractions.Fraction
            Multiples of ``grid``; the values themselves for a constant statistic.

        Raises
        ------
        UsageError
            If the number of values or their type is wrong: nothing that depends on the data.
        """
        if len(values) != self.dimension:
            raise UsageError(f"values must be {self.dimension} numbers, got {len(values)}; pass that many.")
        if not all(isinstance(value, Fraction | int) for value in values):
            raise UsageError("values must hold exact fractions; pass Fraction(x) for a float x.")
        if self.is_exact:
            return tuple(Fraction(value) for value in values)
        grid = Fraction(self.grid)
        noise = self._draw()
        return tuple((round(value / grid) + draw) * grid for value, draw in zip(values, noise, strict=True))

    @property
    def _ones(self) -> Fraction:
        # Norm of the vector of ones, rounded up.
        return Fraction(self.dimension if self.norm == 1 else root_up(Fraction(self.dimension)))

    @property
    def _rounding(self) -> Fraction:
        # h of the module's lemma.
        return self._ones * (Fraction(self.grid) + 2 * Fraction(self.statistic_error))

    def _grid_for(self, scale: float) -> float:
        if self.step:
            return self.step
        exponent = math.frexp(scale)[1] - 1 - GRID_BITS
        if self.magnitude > 0:
            exponent = max(exponent, math.frexp(self.magnitude)[1] - MAX_MULTIPLE_BITS)
        return math.ldexp(1.0, exponent)

    def _width(self, units: int) -> float:
        return float_at_least((units + Fraction(1, 2)) * Fraction(self.grid))

    def _check_constant(self) -> None:
        if self.statistic_error > 0:
            raise UsageError(
                f"statistic_error must be 0 when sensitivity is 0, got {self.statistic_error}; a constant "
                "statistic is public, so release its public value instead of one computed from the table."
            )

    def _check_grid(self) -> None:
        rough = self.sensitivity / self.alpha
        if not _LEAST_SCALE <= rough <= _LARGEST_SCALE:
            raise UsageError(f"sensitivity and alpha give a noise scale of about {rough}; choose other units.")
        if self.step and (math.frexp(self.step)[0] != 0.5 or self.noise_units > MAX_SCALE):
            raise UsageError(
                f"step must be a power of two of at least 2^-56 of the noise scale {self.scale}, got {self.step}; "
                "leave it out."
            )
        if self.noise_units < math.sqrt(self.dimension):
            raise UsageError(
                f"magnitude must be below 2^{MAX_MULTIPLE_BITS - 1} times the noise scale {self.scale} over "
                f"the root of the dimension, got {self.magnitude}; narrow the range or lower alpha."
            )

    def _check_law(self) -> None:
        if self.delta != 0:
            raise UsageError(f"delta must be 0 for {self.name} noise, got {self.delta}; it spends none.")

    def _scale(self) -> float:
        return laplace_scale(self.alpha, self.sensitivity)

    @abstractmethod
    def _law_theorem(self) -> str:
        """Return the theorem in one line, with its section of EMD."""

    @abstractmethod
    def _slack(self) -> Fraction:
        """Return an upper bound of ``slack_epsilon``."""

    @abstractmethod
    def _event(self, kind: Guarantee) -> Event:
        """Return the event of a release that has noise."""

    @abstractmethod
    def _draw(self) -> Sequence[int]:
        """Draw the noise of one release, in grid steps."""

    @abstractmethod
    def _coordinate_units(self, tail: float) -> int:
        """Return ``k`` with ``P(|z_1| > k) <= tail``."""

    @abstractmethod
    def _simultaneous_units(self, tail: float) -> int:
        """Return ``k`` with ``P(some |z_i| > k) <= tail``."""

    @abstractmethod
    def _mean_absolute_units(self) -> float:
        """Return ``E|z_1|``."""

    @abstractmethod
    def _standard_deviation_units(self) -> float:
        """Return the standard deviation of ``z_1``."""


def independent_tail(tail: float, dimension: int) -> float:
    """Return the tail that each of ``dimension`` independent coordinates may have for ``tail`` together.

    >>> independent_tail(0.05, 1), round(independent_tail(0.05, 2), 6)
    (0.05, 0.025321)
    """
    if dimension == 1 or tail >= 1:
        return tail
    return -math.expm1(math.log1p(-tail) / dimension) * (1.0 - 2.0**-40)


def tail_below(level: float) -> float:
    """Return the largest float at most ``1 - level``: never 1, also where ``1 - level`` would be rounded to it.

    >>> tail_below(0.75)
    0.25
    """
    covered = check_unit_interval("level", level)
    tail = 1.0 - covered
    return tail if Fraction(tail) <= 1 - Fraction(covered) else math.nextafter(tail, 0.0)
