"""One draw of noise for a whole select list: how large it is in each coordinate.

Let ``T_i`` be the values of a statement (each a vector over the cells) and ``l_i`` their own constants: a neighbour at
``d_em = d`` changes ``T_i`` by at most ``l_i d`` in the 1-norm. A column ``j`` with share ``p_j`` of the budget
(``sum p_j = 1``) has, to first order, the error ``sum_i c_ji |Z_i|``, ``Z_i`` the noise of ``T_i``: one term for a
mean, numerator and denominator for a quotient.

Separate draws (the reference). With parts ``q_i`` of the budget, ``sum_i q_i = p_j``, noise of scale ``l_i/q_i`` gives
the error ``sum_i c_ji l_i/q_i``, by Cauchy and Schwarz at least ``(sum_i sqrt(c_ji l_i))^2/p_j``, with equality for
``q_i`` in proportion to ``sqrt(c_ji l_i)``.

Theorem (one draw is never worse). Let ``b_i`` be the sum of these ``q_i`` over all columns, so that ``sum_i b_i = 1``,
and ``s_i = b_i/l_i``. The vector of all ``s_i T_i`` changes by at most ``J d`` with ``J <= 1``, and product Laplace
noise of scale ``J`` on it gives every column an error of at most ``J`` times its separate one.

Proof. By the triangle inequality the change is at most ``sum_i s_i l_i d = sum_i b_i d = d``. In its own unit ``T_i``
has noise of scale ``J l_i/b_i <= J l_i/q_i``.

``J`` is below 1 where the constants do not add: values of different parts of a product space (a record that moves in
both pays for both moves), disjoint categories. A value that several columns share is drawn once, with all their parts.

Numerators and denominators. The denominator's scale ``t`` is then moved, all others held, to where the sum over columns
of error over separate error is least, no column becoming worse than its separate draws. In the 1-norm ``J`` is the
largest of some functions ``a + b t`` (``a, b >= 0``), about one a part of the space, and an error is ``J (A + B/t)``:
each ``(a + b t)(A + B/t)`` is convex in ``t``, so their largest is, and golden section finds the least sum. The search
uses a quick model of ``J``; what it finds is taken only if it is better by the proven ``J``, on which alone the noise
rests. All of it is computed from public numbers.
"""

import math
from collections.abc import Callable, Sequence

from emdp.base.classes import dataclass

__all__ = ["Constant", "Want", "relative_errors", "starting_scales", "tuned_scales"]

Constant = Callable[[tuple[float, ...]], float]
"""Function of the scales; returns a bound on the change of the scaled vector."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

_REACH = 4.0
# The denominator's scale is searched within factors e^-4 and e^4 of where it starts.

_STEPS = 12
# Of golden section: leaves e^(8 * 0.618^12), within 3 % of the best scale, where the error is flat.

_NO_WORSE = 1.0 + 1e-9
# How much a column's error may exceed its separate one by rounding.


@dataclass(frozen=True)
class Want:
    """Needs of one column: its share of the noise and the coordinates that it reads."""

    share: float  # Its part of the budget, in (0, 1]
    # Coordinates whose noise reaches it, and by how much: positive, each coordinate once.
    weights: tuple[tuple[int, float], ...]


def starting_scales(changes: Sequence[float], wants: Sequence[Want]) -> tuple[float, ...]:
    """Return the scales ``s_i = b_i/l_i`` of the module's theorem.

    Parameters
    ----------
    changes : sequence of float
        ``l_i``, above 0.
    wants : sequence of Want
        At least one; every coordinate is in one of them.

    >>> starting_scales([1.0, 1.0], [Want(0.75, ((0, 1.0),)), Want(0.25, ((1, 1.0),))])
    (0.75, 0.25)
    """
    parts = [0.0] * len(changes)
    for want in wants:
        roots = [(index, math.sqrt(weight) * math.sqrt(changes[index])) for index, weight in want.weights]
        total = math.fsum(root for _, root in roots)
        for index, root in roots:
            parts[index] += want.share * (root / total)
    return tuple(part / change for part, change in zip(parts, changes, strict=True))


def relative_errors(
    scales: Sequence[float], constant: float, changes: Sequence[float], wants: Sequence[Want]
) -> list[float]:
    """Return each column's error with one Laplace draw, in units of its error with separate ones.

    Parameters
    ----------
    scales : sequence of float
        ``s_i``.
    constant : float
        ``J``: change of the scaled vector.
    changes, wants
        As for :func:`starting_scales`.

    >>> wants = [Want(0.5, ((0, 1.0),)), Want(0.5, ((1, 1.0),))]
    >>> relative_errors([0.5, 0.5], 0.5, [1.0, 1.0], wants)
    [0.5, 0.5]
    """
    found = []
    for want in wants:
        together = constant * math.fsum(weight / scales[index] for index, weight in want.weights)
        separate = math.fsum(math.sqrt(weight) * math.sqrt(changes[index]) for index, weight in want.weights)
        found.append(together / separate * (want.share / separate))
    return found


def tuned_scales(
    changes: Sequence[float],
    wants: Sequence[Want],
    denominator: int | None,
    constant: Constant,
    model: Constant,
) -> tuple[float, ...]:
    """Return the scales for one draw: the starting ones, the denominator's moved to a better place if there is one.

    Parameters
    ----------
    changes, wants
        As for :func:`starting_scales`.
    denominator : int or None
        The coordinate whose scale is moved, if any.
    constant : callable
        From scales to ``J``, in the norm of the noise: proven.
    model : callable
        The same, quick and perhaps off.

    Returns
    -------
    tuple of float
        In units of the first one, which is therefore 1.
    """
    scales = starting_scales(changes, wants)
    if denominator is None or len(scales) == 1:
        return _in_units_of_first(scales)

    def moved(place: float) -> tuple[float, ...]:
        return tuple(scale * math.exp(place) if index == denominator else scale for index, scale in enumerate(scales))

    def badness(candidate: tuple[float, ...], bound: Constant) -> float:
        errors = relative_errors(candidate, bound(candidate), changes, wants)
        return math.fsum(errors) if max(errors) <= _NO_WORSE else math.inf

    def modelled(place: float) -> float:
        found = badness(moved(place), model)
        # Where a column becomes worse, farther is worse still: the search turns back to the start.
        return found if math.isfinite(found) else 1e9 * (1.0 + abs(place))

    start, best = _in_units_of_first(scales), _in_units_of_first(moved(_least(modelled)))
    return best if badness(best, constant) < badness(start, constant) else start


def _in_units_of_first(scales: Sequence[float]) -> tuple[float, ...]:
    return tuple(scale / scales[0] for scale in scales)


def _least(function: Callable[[float], float]) -> float:
    """Return where a function that falls and then rises is least, by golden section."""
    low, high = -_REACH, _REACH
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return left if at_left <= at_right else right
