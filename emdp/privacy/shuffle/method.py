"""Input and result of a shuffle accountant, and the searches that invert it."""

import math
from collections.abc import Callable

from emdp.base.classes import dataclass
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0

__all__ = [
    "Outcome",
    "ShuffleBound",
    "ShuffleMethod",
    "ShuffleSetting",
    "ShuffleStrength",
    "search_strength",
    "step_down",
]

Outcome = tuple[float | None, str]
"""A number, or None and the reason."""

_SEARCH_STEPS = 10
"""Steps of the search for a known randomizer's strength, each of which builds it anew: one part in a thousand."""


@dataclass(frozen=True)
class ShuffleBound:
    """Bound of one accountant for an item-wise release.

    Attributes
    ----------
    method : str
        Name of the accountant.
    alpha : float or None
        Per unit of ``d_em``, rounded up; None where the accountant is not valid.
    delta : float
        What the release has with this alpha: 0 by composition, else the delta that was asked for.
    reason : str
        Why it is not valid; empty where it is.
    theorem : str
        Its source, in one line.
    """

    method: str
    alpha: float | None
    delta: float
    reason: str
    theorem: str


@dataclass(frozen=True)
class ShuffleStrength:
    """Largest strength of an item randomizer for a wanted alpha, by one accountant.

    Attributes
    ----------
    method : str
        Name of the accountant.
    alpha0 : float or None
        Rounded down; None where the accountant is not valid. With a known randomizer, what to ask of its ``at``.
    reason : str
        Why it is not valid; empty where it is.
    theorem : str
        Its source, in one line.
    """

    method: str
    alpha0: float | None
    reason: str
    theorem: str


@dataclass(frozen=True)
class ShuffleSetting:
    """Checked numbers for an accountant of any randomizer (see :func:`shuffle_alpha`)."""

    m: int
    N: int
    delta: float
    w_min: float


@dataclass(frozen=True)
class ShuffleMethod:
    """One theorem about any randomizer, both ways."""

    name: str
    theorem: str
    # From `alpha0` above 0 and a setting to alpha, rounded up; not falling in `alpha0` where it is valid.
    alpha: Callable[[float, ShuffleSetting], Outcome]
    # From alpha at least 0 and a setting to `alpha0`, rounded down, so that `alpha` of it is at most alpha.
    alpha0: Callable[[float, ShuffleSetting], Outcome]


def search_strength(start: float, fits: Callable[[float], bool]) -> float:
    """Return a strength that fits, close below one that does not; 0 if none was found."""
    good, bad, limit = start, start, max(LARGEST_ALPHA0, start)
    if fits(start):
        while good < limit:
            bad = min(2 * good, limit)
            if not fits(bad):
                break
            good = bad
        else:
            return good
    else:
        while not fits(good):
            good, bad = good / 2, good
            if good < start * 2**-20:
                return 0.0
    for _ in range(_SEARCH_STEPS):
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def step_down(start: float, fits: Callable[[float], bool]) -> float:
    """Return ``start``, or the first number a little below it that fits; 0 always does."""
    strength, step = start, 2.0**-52
    while strength > 0 and not fits(strength):
        strength, step = start * (1 - step), 2 * step
        if step >= 1:
            return 0.0
    return strength
