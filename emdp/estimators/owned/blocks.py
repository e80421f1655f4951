"""Candidate drawings of a statement's sums: their sensitivities, and the one of least error.

A *block* is what one argument gives (:mod:`emdp.questions.owned.totals`): of a user, over all cells, nonnegative
numbers that add up to at most the cap ``C``; or, for people, numbers of at most 1 in each of ``G`` cells that add up
to at most ``L``. What is drawn are *rows* of a matrix over a block's parts, the same in every cell, each times a
public scale.

Theorem (one block of an argument). Let ``v_p`` be the column of part ``p``, scales included. Replacing a user's
records moves the drawn vector, in the noise's norm, by at most ``C`` times the largest of ``|v_p|``, ``|v_p - v_q|``
(a cell) and, with more cells than one, ``|(v_p, v_q)|`` (two cells): ``|v_p|_1 + |v_q|_1`` or ``hypot(|v_p|_2,
|v_q|_2)``. Removing a user, or adding one: by at most ``C max |v_p|``, in any number of cells. Both are attained by
some users, but for rounding.

Proof. A user's numbers lie in ``C`` times the hull of 0 and the unit vectors of (part, cell). The change is a convex
function of the two users' numbers, so it is largest at vertices: 0, or one part in one cell, for each. Of a user who is
removed it is the norm of that user's own numbers, with 0 in the other's place.

Theorem (cap of the 2-norm). Let a user's numbers in cell ``g`` be ``k_g`` times a point of the hull of 0 and the unit
vectors of parts, and ``sum k_g^2 <= C^2``. Removing a user moves what is drawn by at most ``C max |v_p|`` in the
2-norm. Replacing: by at most ``C sqrt(2 (A + N))`` with ``A = max |v_p|^2`` and ``N = max(0, -min v_p.v_q)``; in one
cell as in the theorem above. Proof. In a cell ``|k u - l w|^2 = k^2 |u|^2 + l^2 |w|^2 - 2 k l u.w <= (k^2 + l^2) A + 2
k l N``, ``u`` and ``w`` in the hull of 0 and the ``v_p``; over cells the first add up to ``2 C^2 A``, and ``sum k l <=
C^2`` (Cauchy and Schwarz). Noise of the 1-norm has no use for such a cap.

Theorem (cap of a cell). Let a user's numbers of an argument in each cell lie in ``M`` times the hull of 0 and the unit
vectors of parts, and add up to at most ``L M`` in all ``G`` cells, ``L <= G``. In the norm, or for the square of a
2-norm, let ``A = max |v_p|`` and ``B = max(A, |v_p - v_q|)``. Removing a user moves what is drawn by at most ``L A``,
replacing by the larger of ``c B + 2 (L - c) A`` at ``c = max(0, 2L - G)`` and at ``c = L``, times ``M``, or ``M^2`` for
squares. Proof. The set's vertices have one part with ``M`` in each of at most ``L`` cells: ``0 <= t_g <= M`` and ``sum
t_g <= L M`` have no others, ``L`` being whole. The change is convex, so largest at two of these; with ``c`` cells that
both have it is at most ``c B + 2 (L - c) A``, linear in ``c``, and ``2 L - c <= G``.

Theorem (people). Numbers of at most 1 in each cell that add up to at most ``L`` move by at most ``min(2L, G)`` in the
1-norm and ``sqrt(min(2L, G))`` in the 2-norm. Proof. No cell moves by more than 1, and all together by at most ``2L``;
squares of numbers of at most 1 are no larger than they are (user-level-sql.md, lemma 1). Removing a user: with ``L`` in
place of ``2L``, since it is that user's numbers that go.

Several arguments in one block: a record is in one part of each, so that in the theorems above a column is the sum of
``k`` columns, one of each argument. That is of sums before they are rounded down: a user's sum of a part is less than
``1/U`` short of it in each cell, which moves what is drawn by less than ``sum |v_p|_1/U`` a cell, twice that where a
cap of a cell is rounded besides; for both users it is added to the bound, since differences of arguments need not be
at least 0 after rounding.

Theorem (cap of amounts). Let every part ``p`` of all blocks have a cost ``c_p >= 0``, and let a user's numbers, over
all blocks and cells, be at least 0 with ``sum c_p q_p <= T``. Of a part that costs nothing nothing is drawn: ``v_p =
0``. Removing a user moves what is drawn by at most ``T max |v_p|/c_p`` in the 1-norm. Replacing: by at most ``T`` times
the largest of ``|v_p/c_p|`` and ``|v_p/c_p - v_q/c_q|`` (one cell; of two blocks that is the sum of both sizes), or
twice the former with more cells. Proof. What is drawn depends on the parts with a cost alone, whose numbers lie in
``T`` times the hull of 0 and the unit vectors of (part, cell) over ``c_p``; the change is convex, so largest at
vertices. No rounding has to be added: the hypothesis holds for the numbers that are computed
(:mod:`emdp.questions.owned.totals`). With costs ``c_p`` proportional to ``|v_p|`` the cap is on the norm of what a
user's records add (user-level-sql.md 1.2), or above it where signs cancel: records of small values count little.

Theorem (cap of amounts in the 2-norm). Let ``a_bg = sum c_p q_p`` over the parts of block ``b`` in cell ``g``, and
``sum a_bg^2 <= T^2`` in place of that. Let ``w_p = v_p/c_p``, ``A`` the largest ``|w_p|^2`` and ``N = max(0, -min
w_p.w_q)``, ``p`` and ``q`` of one block. Removing a user moves what is drawn by at most ``T sqrt(A)`` in the 2-norm,
replacing by at most ``T sqrt(2 (A + N))``; with one cell and one block by at most ``T`` times the largest of ``|w_p|``
and ``|w_p - w_q|``. Proof. Of block ``b`` in cell ``g`` is drawn ``a_bg`` times a point of the hull of 0 and the
``w_p``, and blocks and cells have coordinates of their own; the rest is that of the cap of the 2-norm above, with the
``w_p`` for the ``v_p`` and sums over cells and blocks. With one of both ``a <= T``: vertices, as before.

Theorem (cap of amounts of a cell). Let ``sum c_p q_p <= M`` over all blocks in each cell, and ``<= L M`` over all
cells. Then the theorem of the cap of a cell holds with ``A = max |w_p|`` and ``B`` the largest of ``A`` and ``|w_p -
w_q|``, ``p`` and ``q`` of any blocks (of two blocks ``|(w_p, w_q)|``). Proof. It is that theorem, of one block of all
parts, whose unit vectors are divided by their costs.

Blocks stand beside one another: 1-norms add up, 2-norms by Pythagoras. All of it is exact arithmetic, rounded up once.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.mechanisms.contribution.moves import moved_users
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.privacy.rounding import float_at_least, root_up
from emdp.questions.owned.totals import UNIT_BITS, Argument

__all__ = ["Block", "Drawing", "best_drawing", "express", "sensitivity"]

Row = tuple[Fraction, ...]
Functional = tuple[Fraction, ...]
"""Weights of the parts of a block."""

FACTORS = tuple(2.0 ** (step / 3) for step in range(-9, 10))
"""Scales of a count that is drawn beside a centred sum, relative to where both have one size."""


@dataclass(frozen=True)
class Drawing:
    """Rows over the parts of a block, with scales."""

    rows: tuple[Row, ...]  # Linearly independent
    scales: tuple[float, ...]  # One a row, above 0

    def column(self, part: int) -> tuple[Fraction, ...]:
        """Return the change that one row of the table adds to what is drawn, if all of it is in one part."""
        return tuple(row[part] * Fraction(scale) for row, scale in zip(self.rows, self.scales, strict=True))

    def scaled(self, factor: float) -> "Drawing":
        """Return the same rows with scales times a factor."""
        return Drawing(self.rows, tuple(scale * factor for scale in self.scales))

    def error(self, functional: Functional) -> float:
        """Return the root mean square of what noise of size 1 adds to a functional; infinite where it is not drawn."""
        weights = express(self.rows, functional)
        if weights is None:
            return math.inf
        return math.hypot(*(float(weight) / scale for weight, scale in zip(weights, self.scales, strict=True)))


@dataclass(frozen=True)
class Block:
    """The parts of an argument, or of people."""

    first: int  # Number of its first part in the statistic
    parts: int
    most: int | Fraction  # Cap `C`, or `M` where `groups` is given; `L` of people
    cells: int
    is_people: bool = False  # Whether no cell has more than 1 of a user
    argument: Argument | None = None
    neighbours: Neighbours = "replace"  # Whether one user's records become others, or all of them appear or vanish
    norm: int = 1  # Norm of a user's numbers of rows by cell that `most` bounds
    groups: int | None = None  # `L` where `most` is the cap `M` of each cell
    members: tuple[Argument, ...] = ()  # The arguments, where the block is of several
    # Cost of each part, where `most` is the cap `T` of amounts, over all such blocks together, or with `groups` `M` of
    # each cell.
    costs: tuple[Fraction, ...] = ()

    @property
    def cap_of_amounts(self) -> tuple[int | Fraction, int, int, int | None, Neighbours]:
        """What all blocks under one cap of amounts have in common."""
        return self.most, self.cells, self.norm, self.groups, self.neighbours

    def change(self, drawing: Drawing, norm: int) -> Fraction:
        """Return the theorem's bound: of a 1-norm, or of the square of a 2-norm."""
        exact = self._change(drawing, norm)
        if not self.members:
            return exact
        each = sum((_size(drawing.column(part), 1) for part in range(self.parts)), Fraction(0))
        each /= Fraction(2) ** UNIT_BITS
        rounded = each * self.cells * (2 if self.neighbours == "replace" else 1) * (1 if self.groups is None else 2)
        root = exact if norm == 1 else Fraction(root_up(exact))
        return (root + rounded) * (1 if norm == 1 else root + rounded)

    def _columns(self, drawing: Drawing) -> list[tuple[Fraction, ...]]:
        """Return the change that one row of the table may add to what is drawn."""
        if not self.members:
            return [drawing.column(part) for part in range(self.parts)]
        first, own = 0, []
        for argument in self.members:
            own.append(list(dict.fromkeys(drawing.column(first + part) for part in range(argument.parts))))
            first += argument.parts
        sums = (tuple(sum(values, Fraction(0)) for values in zip(*one, strict=True)) for one in itertools.product(*own))
        return list(dict.fromkeys(sums))

    def _change(self, drawing: Drawing, norm: int) -> Fraction:
        columns = self._columns(drawing)
        if self.is_people:
            count = min(moved_users(self.neighbours) * self.most, self.cells)
            return count * max(_size(column, norm) for column in columns)
        unit = self.most if norm == 1 else self.most * self.most
        own = max(_size(column, norm) for column in columns)
        if self.norm == 2 and norm == 1 and self.cells > 1:
            raise InternalError("a cap of the 2-norm was taken for noise of the 1-norm; please report this.")
        if self.neighbours == "remove":
            return own * unit * (1 if self.groups is None else min(self.groups, self.cells))
        pairs = [(left, right) for place, left in enumerate(columns) for right in columns[:place]]
        apart = max(own, *(_size([x - y for x, y in zip(*pair, strict=True)], norm) for pair in pairs), Fraction(0))
        if self.groups is not None:
            return unit * self.in_cells(own, apart)
        if self.cells == 1:
            return apart * unit
        if self.norm == 1:
            return max(apart, 2 * own) * unit
        least = min((_dot(*pair) for pair in pairs), default=own)
        return 2 * (own + max(Fraction(0), -least)) * unit

    def in_cells(self, own: Fraction, apart: Fraction) -> Fraction:
        """Return the most that two users with one part in each of ``L`` cells differ by, for ``M = 1``."""
        kept = min(self.groups or self.cells, self.cells)
        return max(common * apart + 2 * (kept - common) * own for common in (max(0, 2 * kept - self.cells), kept))


def sensitivity(drawings: Iterable[tuple[Block, Drawing]], norm: int) -> float:
    """Return how far one user moves all that is drawn, in a norm, rounded up."""
    pairs = list(drawings)
    total = sum((block.change(drawing, norm) for block, drawing in pairs if not block.costs), Fraction(0))
    total += _amounts([pair for pair in pairs if pair[0].costs], norm)
    return root_up(total) if norm == 2 else float_at_least(total)


def _amounts(drawings: Sequence[tuple[Block, Drawing]], norm: int) -> Fraction:
    """Return the bound of all blocks under a cap of amounts: of a 1-norm, or of the square of a 2-norm."""
    if not drawings:
        return Fraction(0)
    first = drawings[0][0]
    found: list[tuple[int, tuple[Fraction, ...]]] = []
    for place, (block, drawing) in enumerate(drawings):
        for part, cost in enumerate(block.costs):
            column = drawing.column(part)
            if cost:
                found.append((place, tuple(value / cost for value in column)))
            elif any(column):
                raise InternalError("a part that costs nothing was to be drawn; please report this.")
        if block.members or block.norm > norm or block.cap_of_amounts != first.cap_of_amounts:
            raise InternalError("a cap of amounts was taken for another one; please report this.")
    own = max(_size(column, norm) for _, column in found)
    unit = Fraction(first.most) ** norm
    if first.neighbours == "remove":
        return own * unit * (1 if first.groups is None else min(first.groups, first.cells))
    pairs = [(left, right) for place, left in enumerate(found) for right in found[:place]]
    apart = max(own, *(_apart(*pair, norm) for pair in pairs), Fraction(0))
    if first.groups is not None:
        return unit * first.in_cells(own, apart)
    if first.cells == 1 and (norm == 1 or len(drawings) == 1):
        return apart * unit
    if norm == 1:
        return 2 * own * unit
    nearest = min((_dot(left, right) for (one, left), (other, right) in pairs if one == other), default=own)
    return 2 * (own + max(Fraction(0), -nearest)) * unit


def _apart(left: tuple[int, Row], right: tuple[int, Row], norm: int) -> Fraction:
    """Return how far two columns are apart, in the norm or its square; those of two blocks share no coordinate."""
    if left[0] != right[0]:
        return _size((*left[1], *right[1]), norm)
    return _size([x - y for x, y in zip(left[1], right[1], strict=True)], norm)


def _dot(left: Row, right: Row) -> Fraction:
    return sum((x * y for x, y in zip(left, right, strict=True)), Fraction(0))


def express(rows: Sequence[Row], functional: Functional) -> tuple[Fraction, ...] | None:
    """Return the weights of rows that make a functional, exactly; None where it is no combination of them.

    >>> one, two = Fraction(1), Fraction(2)
    >>> express([(one, one), (-one, one)], (Fraction(0), two))
    (Fraction(1, 1), Fraction(1, 1))
    """
    return _expressed(tuple(rows), functional)


@lru_cache(256)
def _expressed(rows: tuple[Row, ...], functional: Functional) -> tuple[Fraction, ...] | None:
    """Return what :func:`express` does; drawings of the same rows differ in their scales alone."""
    # Gauss's elimination on the transposed system: unknown weights, an equation a part.
    equations = [[*(row[part] for row in rows), functional[part]] for part in range(len(functional))]
    done = 0
    for unknown in range(len(rows)):
        pivot = next((place for place in range(done, len(equations)) if equations[place][unknown]), None)
        if pivot is None:
            return None
        equations[done], equations[pivot] = equations[pivot], equations[done]
        head = [value / equations[done][unknown] for value in equations[done]]
        equations[done] = head
        for place, own in enumerate(equations):
            if place != done and own[unknown]:
                equations[place] = [value - own[unknown] * lead for value, lead in zip(own, head, strict=True)]
        done += 1
    if any(own[-1] for own in equations[done:]):
        return None
    return tuple(own[-1] for own in equations[:done])


def best_drawing(block: Block, functionals: Sequence[tuple[Functional, ...]], norm: int) -> tuple[Drawing, list[float]]:
    """Return the drawing of sensitivity 1 with the least mean error, relative to each item's own best one.

    Parameters
    ----------
    functionals : sequence of tuple of Functional
        For each item what its noise is to first order, and then what else must be known of the block for it.
    norm : {1, 2}
        Of the noise.

    Returns
    -------
    (Drawing, list of float)
        It, and each item's error for noise of size 1.
    """
    drawing, errors = _best(block, tuple(functionals), norm)
    return drawing, list(errors)


@lru_cache(256)
def _best(block: Block, items: tuple[tuple[Functional, ...], ...], norm: int) -> tuple[Drawing, list[float]]:
    """Return what :func:`best_drawing` does; layouts that are compared have blocks in common."""
    alone = [_best(block, (item,), norm)[1][0] for item in items] if len(items) > 1 else [1.0]
    return _least(block, items, norm, alone)


def _least(
    block: Block, items: Sequence[tuple[Functional, ...]], norm: int, alone: Sequence[float]
) -> tuple[Drawing, list[float]]:
    found: list[tuple[float, Drawing, list[float]]] = []
    for drawing in _candidates(block, items):
        change = sensitivity([(block, drawing)], norm)
        if change <= 0 or any(drawing.error(own) == math.inf for item in items for own in item):
            continue
        unit = drawing.scaled(1.0 / change)
        errors = [unit.error(item[0]) for item in items]
        mean = math.fsum(error / reference for error, reference in zip(errors, alone, strict=True))
        found.append((mean, unit, errors))
    _, drawing, errors = min(found, key=lambda one: one[0])
    return drawing, errors


def _candidates(block: Block, items: Sequence[tuple[Functional, ...]]) -> Iterator[Drawing]:
    one, none = Fraction(1), Fraction(0)
    needed = list(dict.fromkeys(own for item in items for own in item))
    yield from (Drawing((own,), (1.0 / float(max(map(abs, own))),)) for own in needed if len(needed) == 1 and any(own))
    used = [part for part in range(block.parts) if any(own[part] for own in needed)]
    unit: Callable[[int], Row] = lambda part: tuple(one if place == part else none for place in range(block.parts))  # noqa: E731
    yield Drawing(tuple(map(unit, used)), (1.0,) * len(used))
    argument = block.argument
    if argument is None or argument.degree != 1:
        return
    # Rows with a value, counted and summed up around the middle of their range.
    width = Fraction(argument.high) - Fraction(argument.low)
    missing = (unit(0),) if 0 in used else ()
    counted, centred = (none, one, one), (none, -width / 2, width / 2)
    for factor in FACTORS:
        scales = (*(1.0 for _ in missing), factor, 2.0 / float(width))
        yield Drawing((*missing, counted, centred), scales)
        if missing:
            # All rows in place of those without a value: COUNT(*) is then one number.
            yield Drawing(((one, one, one), counted, centred), scales)


def _size(column: Sequence[Fraction], norm: int) -> Fraction:
    """Return the 1-norm, or the square of the 2-norm."""
    return sum((abs(value) if norm == 1 else value * value for value in column), Fraction(0))
