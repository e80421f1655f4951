"""The cap on what a user adds, chosen from noisy octaves: post-processing, so nothing here costs or can leak.

With cap ``T`` a sum of totals is too small by ``cut(T) = sum of (t_u - T)+`` and has noise of scale ``kappa T``. The
best ``T`` has about ``kappa`` users above it (Amin, Kulesza, Munoz and Vassilvitskii 2019), fewer than a tenth of
epsilon lets anybody see. So the tail is *extrapolated* from the octaves that are seen:

1. *Sure* bins exceed ``q = scale ln(21/0.001)``: an empty bin does so with probability ``0.0005/21`` at most. A
   highest sure bin more than two octaves above the next, of at most ``2 q`` users, is dropped: few users far away are
   worth less than the noise that they would cost, and may be noise. More than that are neither, and where all users are
   in one octave the next sure bin is noise itself.
   Where none is sure, up to four bins side by side may show together what none of them does: they stand out if noise
   alone has their sum with chance ``exp(-2) 2^(-j/2)`` at most, ``j`` the highest of them. A false high bin costs as
   much more noise as it is higher, so it must show more; of those that stand out the ones that show most are taken.
   Among these the last bin is the fullest, or the highest of the three above it that shows two scales of noise: of
   200 users of lognormal totals that leaves out 17 % (the median) where the fullest alone left out half. Where no
   bins stand out, as of nobody, the last bin is that of one record: the fullest would be any of them, and the noise
   that of a million records as often as of one.
2. From the last three sure bins the logarithm of the counts goes on with its slope and its curvature, never convex,
   bent by at most 0.5, falling by at least 0.7 an octave, and not above ``q``, which an unseen bin hardly exceeds.
   Nor is a bin above what it shows: its own noisy count and some scales of noise, two for the cap, where too many and
   too few are alike, and three for ``cut``, which an interval rests on (noise hides more in one bin of 40). Where the
   first bin after the sure ones shows a steeper fall than they do, a tail that ends there, the fall goes on as steeply:
   1,000 users of 1 to 30 records have a cap of about 70 by this rule, and 256 without it.
3. Inside an octave the counts follow the slope of their logarithm in four quarters.
4. ``T`` is on quarters of octaves, at most 8 times the upper end of the last sure bin, and makes the expected error
   least: ``hypot(cut, sqrt(2) kappa T)`` for one number, ``cut + cells kappa T`` for several.

What a handful of users hide no mechanism bounds: one may own a billion records. ``cut`` rests on the shape of the tail,
and an interval that uses it (``value + z + 2 cut``) must say so.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from emdp.base.checks import check_count, check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.octaves import OCTAVES

__all__ = ["Cap", "choose_among", "choose_cap", "cut_at"]

_QUARTERS = 4
_BEYOND = 6
# Octaves above the last bin that the tail is continued for.

_LEAST_FALL = 0.7
_LARGEST_CURVE = 0.5
# Of the logarithm of counts, an octave: a steeper bend of three noisy bins is mostly noise.

_SPARE = 2.0
_SPARE_CUT = 3.0
# Scales of noise that an unseen bin may hide, for the cap and for what it cuts off.

_NEAR, _SHOWN = 3, 2.0
# Where no bin is sure: how far above the fullest one the last one may lie, and what it must show, in scales of noise.

_SIDE_BY_SIDE, _SURPRISE, _HIGHER = 4, 2.0, 0.5 * math.log(2.0)
# Where no bin is sure: how many are looked at together, and what their sum must show, as a logarithm of a chance, in
# the lowest bin and more an octave.

_STEEPEST = 4.0
# What the fall of a single sure bin grows by, an octave.


@dataclass(frozen=True)
class Cap:
    """A cap and what it is expected to do."""

    cap: Fraction  # `T`, in the unit of the totals, on a grid of 1/16
    cut: float  # Estimate of what it cuts off, of all users together
    expected_error: float  # What step 4 makes least
    seen: int  # Sure bins that the estimate rests on; 0 where no octave stood out from the noise


def choose_cap(noisy: Sequence[int], scale: float, kappa: float, cells: int = 1, record: int = 0) -> Cap:
    """Return the cap with the least expected error.

    Parameters
    ----------
    noisy : sequence of int
        What :meth:`emdp.mechanisms.contribution.octaves.OctaveHistogram.release` returned.
    kappa : float
        Scale of the noise on the capped sum, for a cap of 1: ``1/epsilon``, or by replacement over several cells
        ``2/epsilon``.
    cells : int
        Numbers that get this noise.
    record : int
        Bin of a user with one record: the last bin where none stands out.

    >>> users = [191, 291, 1020, 3268, 8605, 17168, 23713, 21778, 13699, 5962, 1861, 330, 37, 6] + [0] * 7
    >>> found = choose_cap(users, 10.0, 1 / 0.9)
    >>> float(found.cap), found.seen
    (4096.0, 12)
    >>> noise = [-3, 8, 2, -11, 0, 4, 1, -2, 9, -6, 3, 0, -1, 7, 25, -4, 0, 2, -8, 31, 5]
    >>> float(choose_cap(noise, 10.0, 1 / 0.9).cap)
    1.0
    """
    check_positive("kappa", kappa)
    count = check_count("cells", cells)
    quarters, last, seen = _tail(noisy, check_positive("scale", scale), _SPARE, record)
    held, _, _ = _tail(noisy, scale, _SPARE_CUT, record)
    found = []
    for step in range(_QUARTERS * (last + 3) + 1):
        cap = Fraction(math.ceil(16.0 * 2.0 ** (step / _QUARTERS)), 16)
        cut = _cut(quarters, float(cap))
        noise = kappa * float(cap)
        error = math.hypot(cut, math.sqrt(2.0) * noise) if count == 1 else cut + count * noise
        found.append(Cap(cap, cut, error, seen))
    least = min(found, key=lambda one: one.expected_error)
    return replace(least, cut=_cut(held, float(least.cap)))


def cut_at(noisy: Sequence[int], scale: float, cap: float) -> float:
    """Return the estimate of what a given cap cuts off, of all users together.

    >>> users = [191, 291, 1020, 3268, 8605, 17168, 23713, 21778, 13699, 5962, 1861, 330, 37, 6] + [0] * 7
    >>> round(cut_at(users, 10.0, 100.0) / 1e7, 2)
    0.42
    """
    return _cut(_tail(noisy, check_positive("scale", scale), _SPARE_CUT)[0], check_positive("cap", cap))


def choose_among(
    noisy: Sequence[int],
    scale: float,
    caps: Sequence[int],
    error: Callable[[int, float, float], float],
    most: int | None = None,
) -> tuple[int, float]:
    """Return, of some caps on whole numbers, the one with the least error, and an estimate of what it cuts off.

    Parameters
    ----------
    noisy : sequence of int
        What :meth:`emdp.mechanisms.contribution.octaves.OctaveHistogram.release` returned.
    caps : sequence of int
        At least one.
    error : callable
        Of a cap, what it cuts off, and the total of all users.
    most : int or None
        The most that a user's total can be; None where nothing bounds it.

    >>> users = [500, 300, 100, 30] + [0] * 17
    >>> choose_among(users, 1.0, (1, 2, 4, 8), lambda cap, cut, whole: cut + 50 * cap)[0]
    4
    """
    # Totals are whole, and above the middle of their quarter: a user between 1 and 2 has 2.
    highest = math.inf if most is None else float(most)
    quarters = [(min(math.ceil(middle), highest), users) for middle, users in _tail(noisy, scale, _SPARE)[0]]
    whole = math.fsum(middle * users for middle, users in quarters)
    found = [(error(cap, _cut(quarters, cap), whole), place, cap) for place, cap in enumerate(caps)]
    cap = min(found)[2]
    return cap, _cut(quarters, cap)


def _tail(
    noisy: Sequence[int], scale: float, spare: float, record: int = 0
) -> tuple[list[tuple[float, float]], int, int]:
    """Return totals and users of all quarters, the last sure bin, and how many are sure."""
    if len(noisy) != OCTAVES:
        raise UsageError(f"noisy must hold {OCTAVES} counts, got {len(noisy)}; pass what the histogram released.")
    level = scale * math.log(OCTAVES / 0.001)
    sure = [place for place, count in enumerate(noisy) if count > level]
    if len(sure) > 1 and sure[-1] - sure[-2] > 2 and noisy[sure[-1]] <= 2 * level:
        sure.pop()
    last = sure[-1] if sure else _guess(noisy, scale, record)
    counts = [max(float(count), 0.0) for count in noisy[: last + 1]]
    slope, curve = _shape([place for place in sure if place > last - 6][-3:], noisy)
    value = math.log(max(counts[last], 1.0))
    for place in range(last + 1, last + 1 + _BEYOND):
        slope = min(slope + curve, -_LEAST_FALL)
        shown = max(noisy[place], 0) + spare * scale if place < OCTAVES else level
        most = math.log(min(level, shown))
        if place == last + 1:
            slope = min(slope, most - value)
        value = min(value + slope, most)
        counts.append(math.exp(value))
    return _spread(counts), last, len(sure)


def _guess(noisy: Sequence[int], scale: float, record: int) -> int:
    """Return the last bin where none is sure: of bins that stand out together, else that of one record."""
    found = []
    for width in range(1, _SIDE_BY_SIDE + 1):
        for high in range(width - 1, OCTAVES):
            bins = range(high + 1 - width, high + 1)
            shown = _surprise(math.fsum(noisy[place] for place in bins) / scale, width)
            found.append((shown - _SURPRISE - _HIGHER * max(high - record, 0), bins))
    most, among = max(found, key=lambda one: one[0])
    if most <= 0:
        return record
    full = max(among, key=lambda place: noisy[place])
    near = range(full, min(full + _NEAR + 1, OCTAVES))
    return max(place for place in near if place == full or noisy[place] > _SHOWN * scale)


def _surprise(total: float, width: int) -> float:
    """Return ``-log`` of a bound of the chance that noise of some bins adds up to this many scales or more.

    Of one bin ``exp(-s)/2``; of ``w`` bins, by Chernoff, ``min over t of exp(-t s) (1 - t^2)^-w``, for the Laplace law,
    which the discrete one follows where the scale is some users.
    """
    if total <= 0:
        return 0.0
    if width == 1:
        return total + math.log(2.0)
    best = (math.hypot(width, total) - width) / total
    return best * total + width * math.log1p(-best * best)


def _shape(places: list[int], noisy: Sequence[int]) -> tuple[float, float]:
    """Return slope and curvature of the logarithm of the counts at the last of up to three sure bins."""
    logs = [math.log(noisy[place]) for place in places]
    slopes = [(logs[i + 1] - logs[i]) / (places[i + 1] - places[i]) for i in range(len(places) - 1)]
    if not slopes:
        return -_LEAST_FALL, -_STEEPEST
    curve = slopes[-1] - slopes[0] if len(slopes) > 1 else 0.0
    return slopes[-1], max(min(curve, 0.0), -_LARGEST_CURVE)


def _spread(counts: list[float]) -> list[tuple[float, float]]:
    """Return the middle total and the users of every quarter of an octave."""
    logs = [math.log(max(count, 1e-9)) for count in counts]
    found = []
    for place, count in enumerate(counts):
        before, after = logs[max(place - 1, 0)], logs[min(place + 1, len(logs) - 1)]
        slope = max(-3.0, min(3.0, 0.5 * (after - before)))
        shares = [math.exp(slope * (quarter + 0.5) / _QUARTERS) for quarter in range(_QUARTERS)]
        whole = math.fsum(shares)
        for quarter, share in enumerate(shares):
            middle = 2.0 ** (place - 1 + (quarter + 0.5) / _QUARTERS)
            found.append((middle, count * share / whole))
    return found


def _cut(quarters: list[tuple[float, float]], cap: float) -> float:
    return math.fsum(users * max(middle - cap, 0.0) for middle, users in quarters)
