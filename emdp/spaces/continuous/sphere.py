"""Great-circle angles on the unit sphere, and what is true of them on a box of latitudes and longitudes.

Theorems, with ``p, q`` latitudes, ``t`` in [0, pi] the difference of longitudes and ``h`` the haversine,
``h(p, q, t) = sin^2((p - q)/2) + cos p cos q sin^2(t/2)``, angle ``2 asin(sqrt(h))``:

1. ``h`` rises with ``t``. For fixed ``q, t`` the cosine of the angle is ``a cos p + b sin p`` with
   ``a = cos q cos t``, ``b = sin q``: a sinusoid in ``p``, extreme on an interval at its ends, at
   ``atan2(b, a)`` (nearest) or half a turn from there (farthest).
2. Farthest pair of a box, ``south + north >= 0`` (else mirror it) and ``t = min(width, pi)``: one of the
   pairs ``(p, south)`` with ``p`` in ``[|south|, north]``. Proof: with ``u = p - q >= 0``, ``v = p + q``
   and ``S = sin^2(t/2)``, ``2 h = 1 - (1 - S) cos u + S cos v`` rises with ``u`` and falls as ``|v|``
   grows. At fixed ``v`` widen ``u`` until an edge is met: ``(north, q)`` or ``(p, south)``. Shift the first
   down by ``q - south``: same ``u``, and ``v`` falls to ``v - 2 (q - south) >= -v``, so ``|v|`` does not
   grow. So ``q = south``. If ``south < 0`` and ``p < |south|``, the pair ``(|south|, south)`` has a larger
   ``u`` and ``v = 0``. With theorem 1 this is a closed form.
3. Longitudes (EMD 2): with ``c`` the cosine of the largest |latitude|, ``t`` the *unreduced* difference, up
   to the box's width ``b <= 2 pi``, the angle is at least ``2 asin(c sin(t/2))``, with equality at that
   latitude, and ``(t/2)/asin(c sin(t/2))`` rises with ``t``: up to pi since ``asin(c sin x)`` is concave
   there and 0 at 0 (its squared derivative ``c^2 (1 - s)/(1 - c^2 s)`` falls as ``s = sin^2 x`` grows),
   beyond since its denominator falls. So ``t = b`` gives the largest ratio of a difference of longitudes to
   an angle.

Rounding, with ``u = 2^-53``, of the formula that engines and :func:`great_circle` share, ``2 asin(min(1,
sqrt(sin^2(radians(lat - lat0)/2) + cos(radians(lat)) cos(radians(lat0)) sin^2(radians(lon - lon0)/2))))``,
for elementary functions within 8u relative (4 units in the last place; numpy, C and Java do better) and
``|lon - lon0| <= 540`` degrees. An error ``e`` of ``sqrt(h)`` costs the angle ``2 e/cos(angle/2)`` to first
order. The sine of half the latitudes' difference is off by 12u, of half the longitudes' by 27u. Each cosine
is off by 13u, which costs at most ``13u cos q S/sqrt(h (1 - h)) <= 13u 2 pi/cos(angle/2)``, since either
``cos p >= cos q/2`` and ``h >= S cos^2 q/2``, or ``cos q <= 2 (cos q - cos p) <= 2 pi sqrt(h)``. Products,
sum and root cost 8u. Together ``249u/cos(angle/2)``, and 32u for ``asin`` and the radius.

Where latitudes differ by at most 60 degrees, an engine may take ``cos p``, ``p = q + 2 asin(s)``, from the half-sine
``s`` that it has, as ``cos q (1 - 2 s^2) - 2 sin q s sqrt(1 - s^2)``. Then ``|s| <= 1/2``, and since the derivative
in ``s`` is ``-2 sin p/sqrt(1 - s^2)``, at most 2.31, an error of 12u in ``s`` costs 28u and the operations, with
terms up to 1, another 10u: 38u instead of 13u, 158u more in all, ``407u/cos(angle/2)``. :func:`angle_error` doubles
this for terms of second order. Near the antipode it uses ``|asin x - asin y| <=
asin(sqrt(|x^2 - y^2|))`` instead, with an error of ``h`` of at most 128u.

Rounding of :func:`angle_matrix`, for longitudes within 360 degrees of 0. Degrees become radians within ``2u``
relative: 13u for a longitude, 4u for a latitude. A product of two cosines is within 17u. So a unit vector is
off by less than 31u and a chord, with its own rounding of 7u, by 69u. Up to ``LONG_CHORD`` that costs the angle
``69u/cos(angle/2) <= 105u``, and 98u where the shorter of a chord and the chord to the antipode is taken, which
is at most ``sqrt(2)``; the arc sine and pi cost 17u. Together below 128u, or 1.5e-14. Short angles come from
the haversine of differences that are within u of the exact ones, since a longitude's is reduced with what its
subtraction lost: a half's sine is within 11u, a cosine, as the sine of an exact distance to the pole, within
12u, and the angle within 40u, all relative.
"""

import math

import numpy as np
import numpy.typing as npt

from emdp.spaces.base import Floats
from emdp.spaces.rounding import UNIT_ROUNDOFF

__all__ = [
    "NARROW",
    "Box",
    "angle_error",
    "angle_matrix",
    "angle_range",
    "box_angle",
    "degrees_per_angle",
    "great_circle",
    "smallest_cosine",
    "unit_vectors",
]

Indices = npt.NDArray[np.intp]

Box = tuple[float, float, float, float]
"""South, west, north, east in degrees, ``south <= north``, ``west <= east <= west + 360``."""

WIDEST_ARC = 120.0
"""Degrees of longitude, and ``HIGHEST`` of latitude: up to here the tangents of ``smallest_cosine`` are within 64
roundings."""

HIGHEST = 89.0

NARROW = 1e-4
"""Angle in radians, 637 m on the Earth: chords of unit vectors are off by too much of a smaller one."""

CHORD_SLACK = 1e-13
"""More than the error of a chord: no angle up to ``unit`` may miss the accurate formula."""

LONG_CHORD = 1.5
"""Chord of 97 degrees: where no pair is farther, no chord to an antipode is needed."""

SMALLEST_COSINE = 1e-6
"""Smallest cosine of half the angle: above it the module's first-order bound moves the cosine by less than 6 %."""


def great_circle(lat: Floats, lon: Floats, lat0: float, lon0: float) -> Floats:
    """Return the angles in radians between points and one point, all given in degrees, by the haversine.

    >>> great_circle(np.array([0.0, 90.0]), np.array([0.0, 0.0]), 0.0, 180.0).round(6).tolist()
    [3.141593, 1.570796]
    """
    across = np.sin(np.radians(lon - lon0) / 2)
    along = np.sin(np.radians(lat - lat0) / 2)
    cosines = np.cos(np.radians(lat)) * math.cos(math.radians(lat0))
    h = along * along + cosines * (across * across)
    return np.asarray(2 * np.arcsin(np.minimum(1.0, np.sqrt(h))), dtype=np.float64)


def angle_matrix(left: Floats, right: Floats, *, unit: float = 1.0) -> Floats:
    """Return the matrix of angles in radians between two arrays of (lat, lon) rows in degrees.

    From chords between unit vectors, or to the antipode where that is shorter: six times faster than the
    haversine, since no sine is taken per pair. Only where ``unit`` is below ``NARROW`` are short ones taken by
    the haversine of exact differences.

    Parameters
    ----------
    left, right : numpy.ndarray
        Shapes (n, 2) and (m, 2).
    unit : float
        The angle in radians that counts as a distance of 1.

    Returns
    -------
    numpy.ndarray
        Shape (n, m). Each angle is within 1.5e-14 radians of the exact one, and within 1e-14 times itself where
        ``unit < NARROW`` and it is at most ``unit``: either way within 1.5e-10 of ``unit``, up to ``unit`` (the
        module's text has the proof).

    >>> angle_matrix(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 90.0], [0.0, 180.0]])).round(6).tolist()
    [[0.0, 1.570796, 3.141593]]
    """
    from scipy.spatial.distance import cdist

    vectors, others = unit_vectors(left), unit_vectors(right)
    chords: Floats = cdist(vectors, others)
    short = chords <= 2 * unit + CHORD_SLACK if unit < NARROW else None
    if chords.max(initial=0.0) <= LONG_CHORD:
        angles = _arcs(chords)
    else:
        opposite: Floats = cdist(vectors, -others)
        is_long = opposite < chords
        angles = _arcs(np.minimum(chords, opposite, out=opposite))
        np.subtract(math.pi, angles, out=angles, where=is_long)
    if short is not None:
        angles[short] = _short_angles(left, right, *np.nonzero(short))
    return angles


def angle_error(largest: float) -> float:
    """Return a bound on the error of a computed angle, in radians, for angles up to ``largest`` radians.

    >>> angle_error(0.01) < 1e-13, angle_error(math.pi) < 3e-7
    (True, True)
    """
    cosine = math.cos(min(largest, math.pi) / 2)
    antipodal = 2 * math.asin(math.sqrt(128 * UNIT_ROUNDOFF))
    first_order = 832 * UNIT_ROUNDOFF / cosine if cosine > SMALLEST_COSINE else antipodal
    return min(first_order, antipodal) + 64 * UNIT_ROUNDOFF


def box_angle(box: Box) -> float:
    """Return an upper bound of the angle of the box's farthest pair, in radians (theorem 2, tight).

    >>> round(math.degrees(box_angle((0, 0, 10, 0))), 6), round(math.degrees(box_angle((-90, 0, 90, 360))), 6)
    (10.0, 180.0)
    """
    south, west, north, east = box
    if south + north < 0:
        south, north = -north, -south
    farthest = _farthest(south, min(east - west, 180.0), abs(south), north)
    return _at_most_half_turn(farthest + angle_error(farthest))


def angle_range(lat: float, lon: float, box: Box) -> tuple[float, float]:
    """Return a lower and an upper bound of the angles, in radians, between a point and the points of a box.

    Theorem 1: the nearest point has the least difference of longitudes in the box, the farthest the largest.

    >>> low, high = angle_range(0, 0, (-10, -10, 10, 10))
    >>> low, round(math.degrees(high), 3)
    (0.0, 14.106)
    """
    south, west, north, east = box
    start = (west - lon) % 360.0
    end = start + (east - west)
    holds_own = start == 0 or end >= 360
    nearest_lon = 0.0 if holds_own else min(start, 360 - end)
    holds_opposite = start <= 180 <= end or end >= 540
    farthest_lon = 180.0 if holds_opposite else max(_reduced(start), _reduced(end))
    near = _nearest(lat, nearest_lon, south, north)
    far = _farthest(lat, farthest_lon, south, north)
    return max(0.0, near - angle_error(near)), _at_most_half_turn(far + angle_error(far))


def degrees_per_angle(box: Box) -> float:
    """Return the largest |difference of longitudes in degrees| / angle in radians in a box (theorem 3).

    Infinite where the box reaches a pole or goes all the way round.

    >>> round(math.radians(degrees_per_angle((0, 0, 60, 90))), 4), degrees_per_angle((0, 0, 90, 1))
    (2.1734, inf)
    """
    south, west, north, east = box
    width = min((east - west) * (1 + 4 * UNIT_ROUNDOFF), 360.0)
    half = min(width / 2, 180.0 - width / 2)
    colatitude = 90.0 - max(abs(south), abs(north))
    sine = math.sin(math.radians(colatitude)) * math.sin(math.radians(half)) * (1 - 32 * UNIT_ROUNDOFF)
    if width == 0:
        return 0.0
    if sine <= 0:
        return math.inf
    return width / (2 * math.asin(sine)) * (1 + 32 * UNIT_ROUNDOFF)


def unit_vectors(items: Floats) -> Floats:
    """Return places in degrees as vectors of length 1, shape (n, 3)."""
    radians = np.radians(items)
    cosine = np.cos(radians[:, 0])
    return np.column_stack([cosine * np.cos(radians[:, 1]), cosine * np.sin(radians[:, 1]), np.sin(radians[:, 0])])


def _arcs(chords: Floats) -> Floats:
    """Return the angles of chords of the unit sphere, in place."""
    chords *= 0.5
    np.minimum(chords, 1.0, out=chords)
    np.arcsin(chords, out=chords)
    chords *= 2.0
    return chords


def _short_angles(left: Floats, right: Floats, rows: Indices, columns: Indices) -> Floats:
    """Return the angles of rows with columns by the haversine, to a relative error where they are small."""
    along = np.sin(np.radians(left[rows, 0] - right[columns, 0]) / 2)
    across = np.sin(np.radians(_apart(left[rows, 1], right[columns, 1])) / 2)
    # the same product for both orders of a pair; and no square that could underflow
    root = np.hypot(along, (_root_cosines(left)[rows] * _root_cosines(right)[columns]) * across)
    return np.asarray(2 * np.arcsin(np.minimum(1.0, root)), dtype=np.float64)


def _root_cosines(items: Floats) -> Floats:
    # the sine of the distance to the pole is accurate near it, as the cosine of the latitude is not
    return np.asarray(np.sqrt(np.sin(np.radians(90.0 - np.abs(items[:, 0])))), dtype=np.float64)


def _apart(lon: Floats, other: Floats) -> Floats:
    """Return differences of longitudes, reduced to half a turn where they are larger, to a relative error."""
    difference = lon - other
    if np.abs(difference).max(initial=0.0) <= 180.0:
        return difference
    # Knuth's TwoSum: what the subtraction lost to rounding
    back = difference - lon
    lost = (lon - (difference - back)) - (other + back)
    turned = (difference - np.copysign(360.0, difference)) + lost
    return np.where(np.abs(difference) > 180.0, turned, difference)


def smallest_cosine(box: Box) -> float | None:
    """Return a lower bound of the cosine of latitude on all shortest paths between places of a box, or None.

    Proof: ``emdp/expressions/cells/hat_bounds.py``.

    >>> round(smallest_cosine((0.0, 0.0, 60.0, 1.0)), 4), smallest_cosine((0.0, 0.0, 90.0, 1.0))
    (0.5, None)
    """
    south, west, north, east = box
    width = (east - west) * (1 + 4 * UNIT_ROUNDOFF)
    highest = max(abs(south), abs(north))
    if width > WIDEST_ARC or highest > HIGHEST:
        return None
    colatitude = math.radians(90.0 - highest)
    tangent = math.cos(colatitude) / math.sin(colatitude) / math.cos(math.radians(width / 2))
    return (1 - 64 * UNIT_ROUNDOFF) / math.hypot(1.0, tangent)


def _nearest(lat: float, lon: float, south: float, north: float) -> float:
    """Return the least angle between ``(lat, 0)`` and ``(p, lon)``, ``p`` in [south, north]."""
    return min(_angles_at(lat, lon, [south, north, _peak(lat, lon)], south, north))


def _farthest(lat: float, lon: float, south: float, north: float) -> float:
    """Return the largest angle between ``(lat, 0)`` and ``(p, lon)``, ``p`` in [south, north]."""
    peak = _peak(lat, lon)
    return max(_angles_at(lat, lon, [south, north, peak - 180.0, peak + 180.0], south, north))


def _peak(lat: float, lon: float) -> float:
    """Return the argument in degrees at which the cosine of the angle, a sinusoid, is largest (theorem 1)."""
    q, t = math.radians(lat), math.radians(lon)
    return math.degrees(math.atan2(math.sin(q), math.cos(q) * math.cos(t)))


def _angles_at(lat: float, lon: float, candidates: list[float], south: float, north: float) -> list[float]:
    inside = np.array([p for p in candidates if south <= p <= north])
    angles: list[float] = great_circle(inside, np.full(len(inside), lon), lat, 0.0).tolist()
    return angles


def _reduced(degrees: float) -> float:
    return abs((degrees + 180.0) % 360.0 - 180.0)


def _at_most_half_turn(angle: float) -> float:
    return min(angle, math.nextafter(math.pi, 4))
