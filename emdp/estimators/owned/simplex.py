"""Simplex layout: COUNT(*) and SUMs of several arguments in one draw of one row more than there are SUMs.

Let ``f_1, .., f_p`` be numbers of a row, each of one sign and at most ``M_i`` in size, 0 where a row has no value, and
``x_i = |f_i|/M_i``. Drawn are ``x_1/p, .., x_p/p`` and what is missing to 1, ``1 - (x_1 + .. + x_p)/p``: all at least
0, and 1 together for each row, so that the cap ``C`` bounds their sums for each user, as it does for one argument
(:mod:`emdp.estimators.owned.blocks`). COUNT(*) is the sum of all, each SUM one of them times ``p M_i``. By removal with
Laplace noise a SUM has the noise of ``epsilon/p``, and COUNT(*) that of ``p + 1`` numbers: ``sqrt(2 (p + 1))
C/epsilon`` (user-level-sql.md 2.3). Rows without a value are rows, so that one argument has two numbers here where its
ends and what has no value are three.

It is one candidate beside the others: :func:`emdp.estimators.owned.noise.choose` takes the one of least mean error,
relative to each item's own best, which public numbers alone tell.
"""

from collections.abc import Sequence
from fractions import Fraction

from emdp.estimators.owned.blocks import Block, Drawing, Functional
from emdp.questions.owned.question import OwnedItem
from emdp.questions.owned.totals import Argument

__all__ = ["MOST_ARGUMENTS", "simplex_drawing", "simplex_functional", "simplex_places"]

MOST_ARGUMENTS = 4
"""Most arguments of one block: a record may be in one of three parts of each, and all pairs of such are compared."""

ZERO, ONE = Fraction(0), Fraction(1)


def simplex_places(items: Sequence[OwnedItem], arguments: Sequence[Argument]) -> tuple[int, ...]:
    """Return the numbers of the items of the block: COUNT(*) and SUMs, if there is nothing else but people; or none."""
    kinds = {item.kind for item in items}
    is_fitting = {"rows", "sum"} <= kinds <= {"rows", "sum", "users"} and len(arguments) <= MOST_ARGUMENTS
    if not is_fitting or any(own.degree != 1 or own.low < 0.0 < own.high for own in arguments):
        return ()
    return tuple(place for place, item in enumerate(items) if item.kind != "users")


def simplex_functional(item: OwnedItem, block: Block, place: int) -> Functional:
    """Return an item as a function of the parts of the block; ``place`` is the number of a SUM's argument."""
    made = [ZERO] * block.parts
    first = 3 * place
    if item.kind == "rows":
        made[0:3] = [ONE] * 3
    else:
        argument = block.members[place]
        made[first + 1 : first + 3] = [Fraction(argument.low), Fraction(argument.high)]
    return tuple(made)


def simplex_drawing(block: Block) -> Drawing:
    """Return the rows of the layout, all with scale 1."""
    count = len(block.members)
    rows: list[list[Fraction]] = []
    rest = [*([ONE] * 3), *([ZERO] * (block.parts - 3))]
    for place, argument in enumerate(block.members):
        low, high = Fraction(argument.low), Fraction(argument.high)
        most = max(abs(low), abs(high)) * count * (1 if high > 0 else -1)
        row = [ZERO] * block.parts
        row[3 * place + 1 : 3 * place + 3] = [low / most, high / most]
        rest = [own - part for own, part in zip(rest, row, strict=True)]
        rows.append(row)
    return Drawing(tuple(map(tuple, (*rows, rest))), (1.0,) * (count + 1))
