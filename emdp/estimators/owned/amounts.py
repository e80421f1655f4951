"""Caps on what a user's records add to sums, in the norm of the noise, in place of caps on how many they are.

Of a statement with sums whose records differ in what they add, an automatic cap is one of amounts, and so is a given
one wherever that costs nothing.

Theorem (at a given cap nothing is lost). Let the costs of parts be their sizes in what is drawn over the largest that a
record of one user may add, so that every record costs at most 1 (in the 2-norm: the root of the sum over blocks of the
squares of its costs is at most 1). Then under a cap of ``k`` amounts each user weighs at least what a cap of ``k``
records leaves of that user. Proof. ``A <= n``: of the 1-norm since each of ``n`` records adds at most 1; of the 2-norm
``a_bg <= k_g max_p c_p`` in block ``b`` and cell ``g`` with ``k_g`` records, so that ``A^2 <= sum_g k_g^2``; in a cell
with a cap of its own as of the 1-norm. Weights are ``min(1, k/A)`` and ``min(1, k/n)``. Costs are rounded up, by less
than ``2^-20``, and so are sums, by ``2^-20`` an argument and cell.

Of several arguments that are 0 in every row but for one of them (:mod:`emdp.questions.owned.zeros`) a record adds what
the largest does, not all together, so that their costs are over that: the theorem holds, since a record that is 0 costs
nothing there, 0 being an end of the range that nothing is drawn of.

That the noise is no larger either is compared for each statement, exactly (:mod:`emdp.estimators.owned.blocks`): of
numbers of both signs that replacement may move it would be, and their cap stays one of records.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from emdp.estimators.owned.blocks import Block, Drawing
from emdp.estimators.owned.noise import Chosen
from emdp.privacy.rounding import root_up
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.totals import AMOUNT_BITS, LEAST_COST, MOST_CAP, UNIT_BITS, Argument, OwnedTotals
from emdp.questions.owned.zeros import is_apart

__all__ = ["MOST_AMOUNTS", "at_given_cap", "has_sums", "in_amounts"]

MOST_AMOUNTS = 2**10
"""Largest given cap that is surely one of amounts, measured or not."""

_ROUNDING = 1.0 + 2.0**-40
# Of roots: a sensitivity that is larger by less is as large.


def has_sums(query: OwnedSelect) -> bool:
    """Return whether a statement asks for sums of records that something must cap."""
    return not query.relation.is_per_user and any(item.kind == "sum" for item in query.items)


def at_given_cap(query: OwnedSelect, chosen: Chosen, totals: OwnedTotals) -> tuple[Chosen, OwnedTotals] | None:
    """Return a drawing and its sums under a cap of amounts in place of the same cap of records.

    None where there are no sums, or the noise would be larger.
    """
    given = totals.group_rows or totals.cap
    if given is None or given >= MOST_CAP >> AMOUNT_BITS or not has_sums(query):
        return None
    cap = None if totals.cap is None else totals.cap << AMOUNT_BITS
    found = in_amounts(chosen, replace(totals, cap=cap))
    return None if found is None or found[0].change > chosen.change * _ROUNDING else found


def in_amounts(chosen: Chosen, totals: OwnedTotals) -> tuple[Chosen, OwnedTotals] | None:
    """Return a drawing and its sums under a cap of amounts; None where all records that are summed up add as much.

    Notes
    -----
    Costs are the norms of what the parts add to what is drawn, over the largest that a record adds, rounded up.
    """
    blocks = [pair for pair in chosen.blocks if not pair[0].is_people]
    if any(block.members for block, _ in blocks):
        return None
    norm = chosen.kind.norm
    sizes = [[_size(drawing.column(part), norm) for part in range(block.parts)] for block, drawing in blocks]
    # Of a record with a value: those without one add nothing, or as much.
    if all(len(set(own[1:] or own)) == 1 for own in sizes):
        return None
    # Several numbers of the 2-norm have a cap of it; a cap of each cell is on the sum of what its records add.
    is_root = norm == 2 and totals.group_rows is None and totals.cells * len(blocks) > 1
    largest = _together(_summands(blocks, sizes), is_root=is_root)
    costs = [0] * totals.first_part(len(totals.arguments))
    most = Fraction(totals.cap or 0, 2**AMOUNT_BITS) if totals.group_rows is None else Fraction(totals.group_rows)
    made = []
    for (block, _), own in zip(blocks, sizes, strict=True):
        of_block = [_cost(size / largest) if size else 0 for size in own]
        costs[block.first : block.first + block.parts] = of_block
        exact = tuple(Fraction(cost, 2**UNIT_BITS) for cost in of_block)
        made.append(replace(block, most=most, costs=exact, norm=2 if is_root else 1))
    kept = iter(made)
    drawn = tuple((block if block.is_people else next(kept), drawing) for block, drawing in chosen.blocks)
    return replace(chosen, blocks=drawn), replace(totals, costs=tuple(costs), norm=2 if is_root else 1)


def _summands(blocks: Sequence[tuple[Block, Drawing]], sizes: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return the most that a record adds to each block; of blocks of which it adds to one at most, of all together."""
    found: list[tuple[list[Argument], Fraction]] = []
    for (block, _), own in zip(blocks, sizes, strict=True):
        argument, most = block.argument, max(own)
        if argument is not None and _is_nothing_at_zero(argument, own):
            others = next(
                (one for one in found if one[0] and all(is_apart(argument.node, of.node) for of in one[0])), None
            )
            if others is not None:
                found.remove(others)
                found.append(([*others[0], argument], max(others[1], most)))
                continue
            found.append(([argument], most))
        else:
            found.append(([], most))
    return [most for _, most in found]


def _is_nothing_at_zero(argument: Argument, sizes: Sequence[Fraction]) -> bool:
    """Say whether a record with 0, or without a value, adds nothing to what is drawn."""
    if argument.degree != 1 or argument.weight is not None or sizes[0]:
        return False
    return (argument.low == 0.0 and not sizes[1]) or (argument.high == 0.0 and not sizes[2])


def _size(column: tuple[Fraction, ...], norm: int) -> Fraction:
    if norm == 1:
        return sum(map(abs, column), Fraction(0))
    return Fraction(root_up(sum((value * value for value in column), Fraction(0))))


def _together(sizes: list[Fraction], *, is_root: bool) -> Fraction:
    if not is_root:
        return sum(sizes, Fraction(0))
    # One of them alone is its own root, whatever is rounded.
    return max(*sizes, Fraction(root_up(sum((size * size for size in sizes), Fraction(0)))))


def _cost(share: Fraction) -> int:
    units: int = math.ceil(share * 2**UNIT_BITS)
    return min(max(units, LEAST_COST), 1 << UNIT_BITS)
