"""Sensitivities of everyday statistics to one user, in both norms (user-level-sql.md 2.1 to 2.3).

A database is a list of users, each with a bag of records. Between neighbours by *removal* all records of one user
appear or vanish; by *replacement* they become any others, also none.

**Lemma 1.** Let a user add a vector of ``K`` to the statistic, ``0`` in ``K``. By removal the statistic moves by at
most the largest norm in ``K``, by replacement by at most the largest norm of a difference ``x - y`` of two members.
*Proof.* Other users' vectors cancel; the user's are ``x`` and 0, or ``x`` and ``y``. So, with ``r = 1`` by removal and
``r = 2`` by replacement:

1. *Nonnegative, 1-norm at most* ``T``: ``r T`` in the 1-norm, ``sqrt(r) T`` in the 2-norm; in one dimension ``T`` in
   either relation. *Proof.* ``|x - y|_1 <= |x|_1 + |y|_1``, and ``|x - y|_2^2 = |x|_2^2 + |y|_2^2 - 2 x.y <= 2 T^2``,
   since ``x.y >= 0`` and ``|x|_2 <= |x|_1``; of two numbers in ``[0, T]`` the difference is at most ``T``.
2. *Nonnegative, 2-norm at most* ``T``: ``sqrt(r) T`` in the 2-norm, as before; with ``G`` entries ``sqrt(G) sqrt(r) T``
   in the 1-norm (Cauchy and Schwarz).
3. *Entries in* ``[0, m]``, *at most* ``L`` *of* ``G`` *not 0*: with ``k = min(r L, G)`` entries, ``k m`` in the 1-norm
and
   ``sqrt(k) m`` in the 2-norm. *Proof.* ``x - y`` has at most ``min(2 L, G)`` entries that are not 0, each of size at
   most ``m``.
4. *A number in an interval that holds 0*: by removal the further end, by replacement the length of the interval or
   that, whichever is more (which is the length, since 0 lies inside).

Each bound is attained (tests: all pairs of small bags).

**What has these forms.** With at most ``C`` records of a user, by weights ``min(1, C/k)``:

- ``COUNT`` by key: form 1 with ``T = C``; without keys, in one dimension.
- *Ends and Bernstein sums.* For ``x`` in [0, 1] the ``d + 1`` numbers ``binom(d, j) x^j (1 - x)^(d - j)`` are
  nonnegative and add up to 1 (binomial theorem), so the sums over a user's weighted records are of form 1 with ``T =
  C``, in ``(d + 1) G >= 2`` dimensions. ``d = 1`` gives COUNT, SUM and AVG, ``d = 2`` VARIANCE also.
- *Simplex layout.* For ``x_1, ..., x_p`` in [0, 1] the numbers ``x_i/p`` and ``1 - mean(x)`` are nonnegative and add up
  to 1: form 1. Likewise with a coordinate for records whose argument is NULL.
- ``COUNT(DISTINCT user)`` by key with ``L`` keys of a user: form 3 with ``m = 1``; ``M`` records in each: ``m = M``.
- The same by weights ``min(1, L/keys)``: the bounds of form 3 again. *Proof.* All ``|x_i - y_i|`` are at most 1 and add
  up to at most ``min(r L, G)``; so do their squares.
- ``SUM(e)`` without keys, ``e`` in ``[a, b]``: form 4 with the interval from ``C min(a, 0)`` to ``C max(b, 0)``.
"""

from fractions import Fraction

from emdp.base.checks import check_choice, check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import NEIGHBOURS, Guarantee, Neighbours, UserDP
from emdp.privacy.rounding import float_at_least, root_up

__all__ = [
    "Move",
    "check_kind",
    "check_neighbours",
    "layout_move",
    "moved_users",
    "norm_cap_move",
    "sparse_move",
    "sum_move",
]


@dataclass(frozen=True)
class Move:
    """The most that one user moves a vector.

    >>> Move(Fraction(2), Fraction(2)).norms
    (2.0, 1.4142135623730951)
    """

    first: Fraction  # In the 1-norm
    square: Fraction  # The square of the move in the 2-norm

    @property
    def norms(self) -> tuple[float, float]:
        """Both norms as floats, rounded up."""
        return float_at_least(self.first), root_up(self.square)


def check_neighbours(neighbours: str) -> None:
    """Raise ``UsageError`` if this names no relation between neighbours.

    >>> check_neighbours("remove")
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)


def check_kind(kind: Guarantee | None, neighbours: Neighbours) -> Guarantee:
    """Return the kind that a price is stated as, by default a ``UserDP`` by replacement.

    Raises
    ------
    UsageError
        If it is no ``UserDP`` of the central model with parameters 0, or one for other neighbours: noise for removal
        does not cover replacement.

    >>> check_kind(None, "replace")
    UserDP(epsilon=0.0, delta=0.0, model='central')
    """
    found = UserDP(0.0) if kind is None else kind
    if not isinstance(found, UserDP) or found != found.kind or found.model != "central":
        raise UsageError("kind must be a central UserDP with parameters 0; pass guarantee.kind.")
    if found.neighbours != neighbours:
        raise UsageError(f"kind must be a UserDP whose neighbours are {neighbours!r}, as the noise is; pass that kind.")
    return found


def moved_users(neighbours: Neighbours) -> int:
    """Return ``r``: how many vectors of a user lie between neighbours, 1 by removal and 2 by replacement.

    >>> moved_users("remove"), moved_users("replace")
    (1, 2)
    """
    check_neighbours(neighbours)
    return 1 if neighbours == "remove" else 2


def layout_move(cap: Fraction | int, dimensions: int, neighbours: Neighbours) -> Move:
    """Return the move of nonnegative numbers that add up to at most ``cap`` a user: form 1 of the module's lemma.

    Parameters
    ----------
    cap : Fraction or int
        ``T`` or ``C``, at least 0.
    dimensions : int
        All coordinates together: of counts by key the number of keys, of Bernstein sums ``(d + 1)`` times it; any
        number above 1 where it is not known.
    neighbours : {"replace", "remove"}

    >>> layout_move(2, 1, "replace").norms, layout_move(2, 3, "replace").norms, layout_move(2, 3, "remove").norms
    ((2.0, 2.0), (4.0, 2.8284271247461903), (2.0, 2.0))
    """
    size, factor = _size("cap", cap), moved_users(neighbours) if check_count("dimensions", dimensions) > 1 else 1
    return Move(factor * size, factor * size**2)


def norm_cap_move(cap: Fraction | int, dimensions: int, neighbours: Neighbours) -> Move:
    """Return the move of nonnegative numbers of 2-norm at most ``cap`` a user: form 2 of the module's lemma.

    The 1-norm is rounded up to a whole number of 2^-40.

    >>> norm_cap_move(2, 3, "replace").norms[1], norm_cap_move(2, 1, "replace").norms
    (2.8284271247461903, (2.0, 2.0))
    """
    size, count = _size("cap", cap), check_count("dimensions", dimensions)
    square = size**2 * (moved_users(neighbours) if count > 1 else 1)
    return Move(Fraction(root_up(square * count)), square)


def sparse_move(largest: Fraction | int, keys: int, listed: int | None, neighbours: Neighbours) -> Move:
    """Return the move of entries in ``[0, largest]`` of which at most ``keys`` are not 0: form 3 of the module's lemma.

    Parameters
    ----------
    largest : Fraction or int
        ``m``: 1 for users by key, ``M`` for at most that many records of a user in each key.
    keys : int
        ``L``.
    listed : int or None
        ``G``, the number of keys there are; None where it is not known.
    neighbours : {"replace", "remove"}

    >>> sparse_move(1, 2, 3, "replace").norms, sparse_move(1, 2, None, "replace").norms
    ((3.0, 1.7320508075688774), (4.0, 2.0))
    """
    size, entries = _size("largest", largest), moved_users(neighbours) * check_count("keys", keys)
    if listed is not None:
        entries = min(entries, check_count("listed", listed))
    return Move(entries * size, entries * size**2)


def sum_move(cap: Fraction | int, low: Fraction, high: Fraction, neighbours: Neighbours) -> Move:
    """Return the move of a sum of at most ``cap`` numbers in ``[low, high]`` a user: form 4 of the module's lemma.

    >>> sum_move(2, Fraction(-1), Fraction(2), "remove").first, sum_move(2, Fraction(-1), Fraction(2), "replace").first
    (Fraction(4, 1), Fraction(6, 1))
    """
    size = _size("cap", cap)
    if low > high:
        raise UsageError("low must be at most high; exchange the two.")
    below, above = min(low, Fraction(0)), max(high, Fraction(0))
    first = size * (max(-below, above) if moved_users(neighbours) == 1 else above - below)
    return Move(first, first**2)


def _size(name: str, value: Fraction | int) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise UsageError(f"{name} must be an int or a Fraction, not {type(value).__name__}; pass an exact number.")
    if value < 0:
        raise UsageError(f"{name} must be at least 0, got {value}; pass a number that is not negative.")
    return Fraction(value)
