"""The events of additive noise: Laplace, K-norm and Gaussian, on a public grid.

Slack and the stability contract are those of :mod:`emdp.privacy.events.table`. Each event checks, while it is
built, that its noise covers what it states; so no ledger holds a charge that its own parameters contradict.
"""

import math
from dataclasses import field
from fractions import Fraction
from typing import Any

from emdp.base.checks import check_choice, check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.calibration import LARGEST_MU, SMALLEST_MU, safe_gaussian_delta
from emdp.privacy.events.base import Event, check_slack_epsilon
from emdp.privacy.guarantees.kinds import EmdDP, Guarantee
from emdp.privacy.rounding import as_decimal, quotient_up

__all__ = ["GaussianEvent", "KNormEvent", "LaplaceEvent"]

_KIND = EmdDP(0.0)
"""Kind of guarantee in which levels are stated by default."""
_TOLERANCE = 5e-10
"""Relative, on a Gaussian event's delta: less than the excess 1e-9 that the profile is computed with, so that
it gives nothing away, and more than the rounding of a caller's ``delta - slack_delta``."""


@dataclass(frozen=True)
class LaplaceEvent(Event):
    """Product Laplace noise: ``dimension`` numbers, rounded to a grid, plus independent discrete Laplace.

    Law: ``P(z) ~ exp(-‖z‖_1/scale)`` on the multiples of ``grid``, added to a vector that moves by at most
    ``sensitivity * d`` in the 1-norm before rounding.

    Parameters
    ----------
    alpha : float
        Stated level, above 0, with ``sensitivity <= alpha * scale`` checked exactly (alpha as its decimal).
    dimension : int
        Number of released numbers.
    scale : float
        Of the noise, in the answer's unit.
    sensitivity : float
        In the 1-norm, in the answer's unit, per unit of ``d``; above 0.
    grid : float
        Spacing of the released numbers, in the answer's unit.
    slack_epsilon : float
        Rounding to the grid, at least ``dimension * grid/scale``, and floating-point sums.
    kind : Guarantee
        What the level is stated as; its own level and delta are 0.

    References
    ----------
    EMD 2 (noise table) and 8.5.

    >>> event = LaplaceEvent(2.0, 1, scale=0.5, sensitivity=1.0, grid=2.0**-40, slack_epsilon=2.0**-39)
    >>> print(event.guarantee)
    alpha = 2.0 per unit of d_em, delta = 0.0 (unbounded central EmdDP)
    """

    alpha: float
    dimension: int
    scale: float
    sensitivity: float
    grid: float
    slack_epsilon: float
    kind: Guarantee = field(default=_KIND, kw_only=True)

    def __post_init__(self) -> None:
        _check_noise(self, "scale")
        _check_scale(self.alpha, self.scale, self.sensitivity)
        _check_grid(self, Fraction(self.dimension) ** 2)

    @property
    def guarantee(self) -> Guarantee:
        """``(alpha, 0)`` in the event's kind."""
        return self.kind.at_level(self.alpha, 0.0)


@dataclass(frozen=True)
class KNormEvent(Event):
    """K-norm noise: ``dimension`` numbers, rounded to a grid, plus noise that falls with its norm.

    Law: ``P(z) ~ exp(-‖z‖/scale)`` on the points of the grid, added to a vector that moves by at most
    ``sensitivity * d`` in the same norm before rounding.

    Parameters
    ----------
    alpha, dimension, scale, sensitivity, grid, kind
        As in :class:`LaplaceEvent`, in the norm of the noise.
    slack_epsilon : float
        Rounding to the grid, at least ``grid/scale`` times the norm of the vector of ones (``sqrt(dimension)``
        in the 2-norm, 1 in the other), and floating-point sums.
    slack_delta : float
        What a sampler that is not exact costs; 0 for an exact one. A law within total variation ``v`` of the
        stated one costs ``(1 + exp(alpha)) v``, since both neighbours' laws are off.
    norm : {"2", "inf"}
        Norm of noise and sensitivity; with the 1-norm the noise is product Laplace or a ``GuaranteeEvent``.

    References
    ----------
    EMD 2 (noise table); Hardt and Talwar 2010.

    >>> KNormEvent(1.0, 3, 0.5, 0.5, 2.0**-41, 2e-12).guarantee.level
    1.0
    """

    alpha: float
    dimension: int
    scale: float
    sensitivity: float
    grid: float
    slack_epsilon: float
    slack_delta: float = 0.0
    norm: str = "2"
    kind: Guarantee = field(default=_KIND, kw_only=True)

    def __post_init__(self) -> None:
        _check_noise(self, "scale")
        _check_scale(self.alpha, self.scale, self.sensitivity)
        object.__setattr__(self, "slack_delta", check_unit_interval("slack_delta", self.slack_delta, zero=True))
        check_choice("norm", self.norm, ("2", "inf"))
        _check_grid(self, Fraction(self.dimension if self.norm == "2" else 1))

    @property
    def guarantee(self) -> Guarantee:
        """``(alpha, slack_delta)`` in the event's kind."""
        return self.kind.at_level(self.alpha, self.slack_delta)


@dataclass(frozen=True)
class GaussianEvent(Event):
    """Gaussian noise: ``dimension`` numbers, rounded to a grid, plus independent discrete Gaussians.

    Law: ``P(z) ~ exp(-‖z‖_2^2/(2 sigma^2))`` on the points of the grid, added to a vector that moves by at
    most ``sensitivity * d`` in the 2-norm before rounding. The ideal pair of the slack is ``N(mu d, 1)`` and
    ``N(0, 1)``.

    Parameters
    ----------
    alpha, delta : float
        Stated level, in [0, 1e12], and delta in (0, 1). ``delta`` holds the noise's own delta at this level
        *and* ``slack_delta``; both are checked against the exact profile.
    dimension : int
        Number of released numbers.
    sigma : float
        Standard deviation of the noise in each number, in the answer's unit.
    sensitivity : float
        In the 2-norm, in the answer's unit, per unit of ``d``; above 0.
    grid : float
        Spacing of the released numbers, in the answer's unit.
    slack_epsilon : float
        At least 0: rounding, floating-point sums and the lattice's law, where they are stated as an epsilon; of
        :class:`emdp.mechanisms.GaussianMechanism`, all of them for noise within 12 sigmas. No least value is
        checked, since a mechanism may state the same as a ``slack_delta`` instead (EMD 8.5).
    slack_delta : float
        At least 0: what is stated as a probability; of that mechanism, noise beyond 12 sigmas.
    mu : float, optional
        ``sensitivity/sigma``, or more, in [1e-100, 1e100]; by default that quotient, rounded up. Squares of
        ``mu`` add.
    kind : Guarantee
        What the level is stated as; its own level and delta are 0.

    References
    ----------
    EMD 2, "Gaussian calibration [fix]"; EMD 7; EMD 8.5.

    >>> event = GaussianEvent(1.0, 1e-6, 2, sigma=4.3, sensitivity=1.0, grid=2.0**-60,
    ...                       slack_epsilon=0.0, slack_delta=1e-18)
    >>> round(event.mu, 6)
    0.232558
    """

    alpha: float
    delta: float
    dimension: int
    sigma: float
    sensitivity: float
    grid: float
    slack_epsilon: float
    slack_delta: float
    mu: float = math.nan
    kind: Guarantee = field(default=_KIND, kw_only=True)

    def __post_init__(self) -> None:
        _check_noise(self, "sigma", zero_level=True)
        object.__setattr__(self, "delta", check_unit_interval("delta", self.delta))
        object.__setattr__(self, "slack_delta", check_unit_interval("slack_delta", self.slack_delta, zero=True))
        if isinstance(self.mu, float) and math.isnan(self.mu):
            object.__setattr__(self, "mu", quotient_up(self.sensitivity, self.sigma))
        object.__setattr__(self, "mu", check_range("mu", _check_float("mu", self.mu), SMALLEST_MU, LARGEST_MU))
        if Fraction(self.mu) * Fraction(self.sigma) < Fraction(self.sensitivity):
            raise UsageError(f"mu must be at least sensitivity/sigma, got {self.mu}; round the quotient up.")
        room = as_decimal(self.delta) - as_decimal(self.slack_delta)
        if Fraction(safe_gaussian_delta(self.alpha, self.mu)) > room * (1 + Fraction(_TOLERANCE)):
            raise UsageError(
                f"sigma = {self.sigma} is too small for alpha = {self.alpha} and delta = {self.delta}; "
                "take gaussian_sigma(alpha, delta - slack_delta, sensitivity)."
            )

    @property
    def guarantee(self) -> Guarantee:
        """``(alpha, delta)`` in the event's kind."""
        return self.kind.at_level(self.alpha, self.delta)

    @property
    def gaussian_mu(self) -> float:
        return self.mu


def _check_noise(event: Any, scale_name: str, *, zero_level: bool = False) -> None:
    level = check_finite("alpha", event.alpha)
    if level < 0 or (level == 0 and not zero_level):
        raise UsageError(f"alpha must be above 0, got {level}; state a release without noise as a GuaranteeEvent.")
    object.__setattr__(event, "alpha", level)
    object.__setattr__(event, "dimension", check_count("dimension", event.dimension))
    for name in (scale_name, "sensitivity", "grid"):
        object.__setattr__(event, name, _check_float(name, getattr(event, name)))
    check_slack_epsilon(event)
    if not isinstance(event.kind, Guarantee) or event.kind != event.kind.kind:
        raise UsageError(f"kind must be a guarantee with parameters 0, got {event.kind}; pass guarantee.kind.")


def _check_float(name: str, value: Any) -> float:
    number = check_positive(name, value)
    if number != value:
        raise UsageError(f"{name} must be a float64, and {value} is none; round it outward first.")
    return number


def _check_grid(event: Any, square: Fraction) -> None:
    """Check the slack of rounding alone, ``square`` that of the norm of the vector of ones."""
    if as_decimal(event.slack_epsilon) ** 2 < square * (Fraction(event.grid) / Fraction(event.scale)) ** 2:
        raise UsageError(
            f"slack_epsilon = {event.slack_epsilon} is less than rounding to grid = {event.grid} costs with "
            f"scale = {event.scale} in dimension {event.dimension}; state it whole, or take a finer grid."
        )


def _check_scale(alpha: float, scale: float, sensitivity: float) -> None:
    if Fraction(sensitivity) > as_decimal(alpha) * Fraction(scale):
        raise UsageError(
            f"scale = {scale} is too small for alpha = {alpha} and sensitivity = {sensitivity}; "
            "take laplace_scale(alpha, sensitivity)."
        )
