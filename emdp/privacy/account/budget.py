"""A budget: the promise made for a table, and how it is divided; :mod:`emdp.privacy.account.filter` proves it."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

from emdp.base.checks import check_positive, check_range
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.calibration import gaussian_mu, safe_gaussian_delta
from emdp.privacy.guarantees.kinds import Guarantee, guarantee_from_json
from emdp.privacy.rounding import as_decimal, float_down

__all__ = ["LARGEST_SLACK_LIMIT", "SLACK_LIMIT", "Budget", "Reserve"]

SLACK_LIMIT = 1e-3
"""Additive epsilon that a budget tolerates for rounding by default: far below what protects anybody."""
LARGEST_SLACK_LIMIT = 0.5
"""Largest slack that a budget may tolerate: more would be no rounding, and the reserve's delta must cover it."""
_SLACK_PART = Fraction(1, 1024)
"""Part of the Gaussian reserve's delta that is kept for the ``slack_delta`` of its events."""
_TOLERANCE = 5e-10
"""Relative, on a stored cap: half the excess that the profile is computed with, so it gives nothing away."""


@dataclass(frozen=True)
class Reserve:
    """The part of a budget that is set aside for Gaussian noise, as exact numbers; see
    :mod:`emdp.privacy.account.filter`.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> Budget(EmdDP(10.0, 1e-8), gaussian_share=0.5).reserve.level
    Fraction(5, 1)
    """

    # level, delta: The budget's level and delta times its `gaussian_share`.
    level: Fraction
    delta: Fraction
    # noise_delta, slack_delta: What of that delta is for the noise itself, and for its events' `slack_delta`.
    noise_delta: Fraction
    slack_delta: Fraction
    slack_epsilon: Fraction  # For its events' `slack_epsilon`: the budget's `slack_limit` times its `gaussian_share`


@dataclass(frozen=True)
class Budget:
    """Limit of spending on one table in one kind of guarantee, and its division; see
    :mod:`emdp.privacy.account.filter`.

    Parameters
    ----------
    guarantee : Guarantee
        The promise. Its level must be above 0.
    gaussian_share : float
        Share ``s`` of level and delta set aside for Gaussian noise, in [0, 1]; a positive share needs a
        delta. With 0 every Gaussian release is charged as its own ``(alpha, delta)``.
    slack_limit : float
        Additive epsilon for rounding that the promise may carry, in [0, 0.5].
    mu_cap : float, optional
        The reserve's cap on the root of the sum of ``mu^2``; by default the largest that the theorem allows.
        It is written to JSON, so that a later version of the numerics cannot move it.

    Raises
    ------
    UsageError
        If a parameter is out of its range, or ``mu_cap`` is larger than the reserve covers.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> round(Budget(EmdDP(10.0, 1e-8), gaussian_share=0.5).mu_cap, 6)
    0.861047
    >>> Budget(EmdDP(10.0)).mu_cap
    0.0
    """

    guarantee: Guarantee
    gaussian_share: float = 0.0
    slack_limit: float = SLACK_LIMIT
    mu_cap: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise UsageError(f"guarantee must be a Guarantee, not {type(self.guarantee).__name__}; pass an EmdDP.")
        check_positive(f"the budget's {self.guarantee.level_name}", self.guarantee.level)
        share = check_range("gaussian_share", self.gaussian_share, 0.0, 1.0)
        object.__setattr__(self, "gaussian_share", share)
        slack = check_range("slack_limit", self.slack_limit, 0.0, LARGEST_SLACK_LIMIT)
        object.__setattr__(self, "slack_limit", slack)
        if share > 0 and self.guarantee.delta == 0:
            raise UsageError("gaussian_share needs a budget with a delta, since Gaussian noise does; declare one.")
        object.__setattr__(self, "mu_cap", self._checked_cap())

    @cached_property
    def reserve(self) -> "Reserve":
        """Part of the budget that is set aside for Gaussian noise."""
        share, limit = as_decimal(self.gaussian_share), as_decimal(self.slack_limit)
        delta = as_decimal(self.guarantee.delta) * share
        return Reserve(
            level=as_decimal(self.guarantee.level) * share,
            delta=delta,
            noise_delta=delta * (1 - _SLACK_PART - limit),
            slack_delta=delta * _SLACK_PART,
            slack_epsilon=share * limit,
        )

    @cached_property
    def plain(self) -> tuple[Fraction, Fraction, Fraction]:
        """Level, delta and slack in epsilon outside that part."""
        return (
            as_decimal(self.guarantee.level) - self.reserve.level,
            as_decimal(self.guarantee.delta) - self.reserve.delta,
            as_decimal(self.slack_limit) - self.reserve.slack_epsilon,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready description that :meth:`from_json` reads back."""
        return {
            "guarantee": self.guarantee.to_json(),
            "gaussian_share": self.gaussian_share,
            "slack_limit": self.slack_limit,
            "mu_cap": self.mu_cap,
        }

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> "Budget":
        """Return the budget that ``to_json`` described.

        Raises
        ------
        UsageError
            If a field is missing, left over, or contradicts the others.

        >>> from emdp.privacy.guarantees.kinds import UserDP
        >>> Budget.from_json(Budget(UserDP(1.0)).to_json()) == Budget(UserDP(1.0))
        True
        """
        names = {"guarantee", "gaussian_share", "slack_limit", "mu_cap"}
        if not isinstance(description, Mapping) or set(description) != names:
            raise UsageError(f"a budget must have exactly the fields {sorted(names)}; pass what to_json() wrote.")
        return cls(**{**description, "guarantee": guarantee_from_json(description["guarantee"])})

    def _checked_cap(self) -> float:
        if self.gaussian_share == 0:
            if self.mu_cap:
                raise UsageError(f"mu_cap must be 0 without a gaussian_share, got {self.mu_cap}; leave it out.")
            return 0.0
        level, delta = float_down(self.reserve.level), float_down(self.reserve.noise_delta)
        if self.mu_cap is None:
            return gaussian_mu(level, delta)
        cap = check_positive("mu_cap", self.mu_cap)
        if safe_gaussian_delta(level, cap) > delta * (1 + _TOLERANCE):
            raise UsageError(f"mu_cap = {cap} is more than the Gaussian reserve covers; leave it out.")
        return cap
