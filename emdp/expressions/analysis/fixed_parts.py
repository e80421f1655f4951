"""Sharper bounds on parts with a 0/1 distance: an expression is analysed with such a part held at each value.

EMD 2: the constant of a categorical part is the range of the expression over that part. The structural rules
alone add up terms that are never on together, as in ``2 category_is("cafe") + 3 category_is("bar")``.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from emdp.base.classes import dataclass
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.categories import Labelled, covers_domain
from emdp.expressions.numbers.bounds import Analysis, Domain, largest_parts
from emdp.expressions.numbers.outward import add_up, div_up, mul_up
from emdp.spaces.base import Space

__all__ = ["UNNAMED", "HeldPart", "combined", "discrete_scales", "held_parts", "tightened"]

MOST_HELD_NODES = 4_000
"""Most analyses of nodes with a part held at a value: keeps the check of an expression within some 50 ms."""

UNNAMED = -1.0
"""Position that stands for every value of a part that the expression does not name."""


@dataclass(frozen=True)
class HeldPart:
    """A 0/1 part that an expression names values of."""

    index: int
    scale: float  # The part's diameter per its distance between values (mostly 1)
    positions: tuple[float, ...]  # Encoded values that the expression names, then `UNNAMED` if there are others


def discrete_scales(space: Space) -> tuple[float | None, ...]:
    """Return for each part with a 0/1 distance its diameter per that distance (mostly 1), else None.

    On such a part any function changes by at most its range, over exactly that distance.
    """
    return tuple(
        div_up(part.diameter, part.domain_diameter)
        if part.structure == "discrete" and part.domain_diameter > 0
        else None
        for part in space.parts
    )


def held_parts(nodes: Sequence[Expression], domain: Domain) -> tuple[HeldPart, ...]:
    """Return the 0/1 parts that the nodes name values of, but for those that would cost too many analyses."""
    scales = discrete_scales(domain.space)
    named: dict[int, dict[float, None]] = {}
    for node in nodes:
        if isinstance(node, Labelled):
            located = node.locate_in(domain)
            named.setdefault(located.index, {}).update(dict.fromkeys(located.found))
    found: list[HeldPart] = []
    left = MOST_HELD_NODES
    for index, positions in sorted(named.items(), key=lambda item: len(item[1])):
        scale = scales[index]
        is_open = not covers_domain(domain.space.parts[index], tuple(positions))
        count = len(positions) + is_open
        if scale is not None and count * len(nodes) <= left:
            left -= count * len(nodes)
            found.append(HeldPart(index, scale, (*positions, *((UNNAMED,) if is_open else ()))))
    return tuple(found)


def combined(part: HeldPart, held: Mapping[float, Analysis]) -> Analysis:
    """Return the bound that holds wherever the part is, given what holds at each of its positions.

    Moves of other parts leave the position as it is, so the worst position's constants are valid for them. A
    move of the part itself goes from one position's range to another's, or between two unnamed values.
    """
    cases = [held[position] for position in part.positions]
    jump = max((max(add_up(a.high, -b.low), add_up(b.high, -a.low)) for a, b in combinations(cases, 2)), default=0.0)
    unnamed = held[UNNAMED].parts[part.index] if UNNAMED in held else 0.0
    parts = list(largest_parts(case.parts for case in cases))
    parts[part.index] = max(mul_up(max(jump, 0.0), part.scale), unnamed)
    low, high = min(case.low for case in cases), max(case.high for case in cases)
    return Analysis(tuple(parts), low, high, max(case.rounding for case in cases))


def tightened(first: Analysis, second: Analysis) -> Analysis:
    """Return the better of two valid analyses of one expression, number by number."""
    return Analysis(
        tuple(map(min, first.parts, second.parts)),
        max(first.low, second.low),
        min(first.high, second.high),
        min(first.rounding, second.rounding),
    )
