"""Noise of a statement: its blocks, their drawings, one law for all, and columns made of the released numbers.

Every item is a combination of the parts of one block (:mod:`emdp.questions.owned.totals`), or a quotient or variance
made of such. Each block is drawn as :func:`emdp.estimators.owned.blocks.best_drawing` says, and gets the part of
epsilon that its items have: ``1/k`` each of ``k``. COUNT(*) is an item of any block; all are tried. Laplace and, with
a delta, Gaussian noise are compared by their mean errors to first order, of quotients at a mean a quarter of the range
above its middle. All of it is public.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.owned.blocks import Block, Drawing, Functional, best_drawing, sensitivity
from emdp.estimators.owned.simplex import simplex_drawing, simplex_functional, simplex_places
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.totals import Argument, OwnedTotals

__all__ = ["Chosen", "Shape", "arguments_of", "cap_norm", "choose", "functionals", "totals_of"]

DEGREES = {"count": 0, "sum": 1, "avg": 1, "variance": 2, "stddev": 2}
TYPICAL_MEAN, TYPICAL_SQUARE = Fraction(3, 4), Fraction(5, 8)
"""Of ``x`` in [0, 1], for the errors of quotients: the mean, and the mean of squares (a variance of 1/16)."""


@dataclass(frozen=True)
class Shape:
    """Make-up of an item from its block's parts."""

    top: Functional  # The number itself, or the numerator of `centre + top/bottom`
    bottom: Functional | None = None
    square: Functional | None = None  # Of a variance: the numerator of the mean of squares
    centre: Fraction = Fraction(0)

    @property
    def noise(self) -> Functional:
        """Noise of the item to first order, times its denominator."""
        if self.bottom is None:
            return self.top
        mean = TYPICAL_MEAN
        if self.square is None:
            at = (Fraction(1, 4)) * (max(self.top) - min(self.top))
            return tuple(own - at * below for own, below in zip(self.top, self.bottom, strict=True))
        weight = 2 * mean * mean - TYPICAL_SQUARE
        return tuple(
            square - 2 * mean * own + weight * below
            for square, own, below in zip(self.square, self.top, self.bottom, strict=True)
        )

    @property
    def needed(self) -> tuple[Functional, ...]:
        """The noise, and all that must be known of the block."""
        return (self.noise, *(own for own in (self.top, self.bottom, self.square) if own is not None))


@dataclass(frozen=True, eq=False)
class Chosen:
    """The chosen drawing."""

    kind: type[AdditiveMechanism]
    blocks: tuple[tuple[Block, Drawing], ...]
    places: tuple[int, ...]  # For each item the number of its block
    shapes: tuple[Shape, ...]  # What each item is of its block
    errors: tuple[float, ...]  # Error of each item, of quotients times the denominator

    @property
    def change(self) -> float:
        """Sensitivity: the most that one user moves what is drawn, in the law's norm."""
        return sensitivity(self.blocks, self.kind.norm)

    def first_row(self, place: int) -> int:
        """Return the number of the first released row of a block."""
        return sum(len(drawing.rows) for _, drawing in self.blocks[:place])

    @property
    def rows(self) -> int:
        """Number of rows that are released of each cell."""
        return self.first_row(len(self.blocks))


def totals_of(query: OwnedSelect) -> OwnedTotals:
    """Return the sums that an engine must compute for a statement: an argument for each expression and range."""
    arguments = arguments_of(query.items)
    counts_users = any(item.kind == "users" for item in query.items)
    cap = query.cap if arguments else None
    return OwnedTotals(
        query.relation,
        query.keys,
        arguments,
        cap,
        counts_users,
        query.groups_cap,
        query.public,
        group_rows=query.group_rows if arguments else None,
    )


def arguments_of(items: Sequence[OwnedItem]) -> tuple[Argument, ...]:
    """Return the arguments summed up for some items: an argument for each expression and range."""
    degrees: dict[Argument, int] = {}
    for item in items:
        if item.node is not None:
            key = Argument(item.node, 1, *_range(item, items), item.weight, item.most)
            degrees[key] = max(degrees.get(key, 0), DEGREES[item.kind])
    found = tuple(replace(key, degree=degree) for key, degree in degrees.items())
    return found or ((Argument(None),) if any(item.kind == "rows" for item in items) else ())


def choose(query: OwnedSelect, totals: OwnedTotals | OwnedGroups) -> Chosen:
    """Return the drawing of a statement.

    Raises
    ------
    UsageError
        If Gaussian noise is asked for with too small a delta.
    """
    found: list[tuple[float, Chosen]] = []
    for kind, unit, norm in _laws(query, totals):
        for places in _placings(query, totals):
            chosen = _drawn(query, totals, places, kind, norm)
            scale = unit * chosen.change
            errors = tuple(scale * error for error in chosen.errors)
            found.append((math.fsum(errors), replace(chosen, errors=errors)))
        simplex = _simplex(query, totals, kind, norm)
        if simplex is not None:
            errors = tuple(unit * simplex.change * error for error in simplex.errors)
            found.append((math.fsum(errors), replace(simplex, errors=errors)))
    least = [min(one.errors[place] for _, one in found) or 1.0 for place in range(len(query.items))]

    def mean(one: Chosen) -> float:
        return math.fsum(error / own for error, own in zip(one.errors, least, strict=True))

    best = min((one for _, one in found), key=mean)
    unit = 1.0 / best.blocks[0][1].scales[0]
    return replace(best, blocks=tuple((block, drawing.scaled(unit)) for block, drawing in best.blocks))


def functionals(item: OwnedItem, block: Block) -> Shape:
    """Return an item as a function of the parts of its block."""
    argument = block.argument
    one, none = Fraction(1), Fraction(0)
    if argument is None or argument.node is None:
        return Shape((one,))
    degree = argument.degree
    there = (none, *(one for _ in range(degree + 1)))
    if item.kind == "rows":
        return Shape((one, *there[1:]))
    if item.kind == "count":
        return Shape(there)
    low, high = Fraction(argument.low), Fraction(argument.high)
    # Of x: the control points of x, and of x^2.
    means = tuple(Fraction(place, degree) for place in range(degree + 1))
    if item.kind == "sum":
        return Shape((none, *(low + (high - low) * own for own in means)))
    if item.kind == "avg":
        half = (high - low) / 2
        return Shape((none, *((2 * own - 1) * half for own in means)), there, centre=low + half)
    return Shape((none, *means), there, square=(none, none, none, one))


def _drawn(
    query: OwnedSelect,
    totals: OwnedTotals | OwnedGroups,
    places: Sequence[int],
    kind: type[AdditiveMechanism],
    norm: int,
) -> Chosen:
    blocks = _blocks(totals, query.price.neighbours, kind)
    shapes = tuple(functionals(item, blocks[place]) for item, place in zip(query.items, places, strict=True))
    used = sorted(set(places))
    drawn: list[tuple[Block, Drawing]] = []
    errors = [0.0] * len(places)
    for own in used:
        of_block = [number for number, place in enumerate(places) if place == own]
        drawing, found = best_drawing(blocks[own], [shapes[number].needed for number in of_block], norm)
        share = len(of_block) / len(places)
        drawn.append((blocks[own], drawing.scaled(share)))
        for number, error in zip(of_block, found, strict=True):
            errors[number] = error / share
    return Chosen(kind, tuple(drawn), tuple(used.index(place) for place in places), shapes, tuple(errors))


def _simplex(
    query: OwnedSelect, totals: OwnedTotals | OwnedGroups, kind: type[AdditiveMechanism], norm: int
) -> Chosen | None:
    """Return the layout in which COUNT(*) and all SUMs are one block, where it fits."""
    together = simplex_places(query.items, totals.arguments) if isinstance(totals, OwnedTotals) else ()
    if not together:
        return None
    apart = _blocks(totals, query.price.neighbours, kind)
    block = replace(apart[0], parts=3 * len(totals.arguments), argument=None, members=totals.arguments)
    drawing = simplex_drawing(block)
    drawing = drawing.scaled(1.0 / sensitivity([(block, drawing)], norm))
    share = len(together) / len(query.items)
    drawn = [(block, drawing.scaled(share))]
    of_argument = {(own.node, own.low, own.high): place for place, own in enumerate(totals.arguments)}
    shapes, errors = [], []
    for place, item in enumerate(query.items):
        if place in together:
            number = 0 if item.node is None else of_argument[item.node, item.low, item.high]
            shapes.append(Shape(simplex_functional(item, block, number)))
            errors.append(drawing.error(shapes[-1].top) / share)
        else:
            shapes.append(functionals(item, apart[-1]))
            errors.append(0.0)
    if share < 1.0:
        people, found = best_drawing(apart[-1], [own.needed for own in shapes if len(own.top) == 1], norm)
        drawn.append((apart[-1], people.scaled(1.0 - share)))
        errors = [error or found[0] / (1.0 - share) for error in errors]
    places = tuple(0 if place in together else 1 for place in range(len(query.items)))
    return Chosen(kind, tuple(drawn), places, tuple(shapes), tuple(errors))


def cap_norm(totals: OwnedTotals | OwnedGroups, kind: type[AdditiveMechanism]) -> int:
    """Return the norm of a user's rows by cell that a cap is of: that of the noise."""
    return kind.norm if totals.cap is not None and totals.cells > 1 else 1


def _blocks(totals: OwnedTotals | OwnedGroups, neighbours: Neighbours, kind: type[AdditiveMechanism]) -> list[Block]:
    most, norm = totals.group_rows or totals.cap or 0, cap_norm(totals, kind)
    groups = None if totals.group_rows is None else min(totals.groups_cap or totals.cells, totals.cells)
    blocks = [
        Block(totals.first_part(place), own.parts, most, totals.cells, False, own, neighbours, norm, groups)
        for place, own in enumerate(totals.arguments)
    ]
    if totals.counts_users:
        most = min(totals.groups_cap or totals.cells, totals.cells)
        blocks.append(Block(totals.parts - 1, 1, most, totals.cells, is_people=True, neighbours=neighbours))
    return blocks


def _placings(query: OwnedSelect, totals: OwnedTotals | OwnedGroups) -> Iterator[tuple[int, ...]]:
    """Yield the block of each item; COUNT(*) may be an item of any argument."""
    by_node = {(own.node, own.low, own.high, own.weight, own.most): place for place, own in enumerate(totals.arguments)}
    is_counted = any(item.kind != "users" and item.node is None for item in query.items)
    for counted in range(max(len(totals.arguments), 1) if is_counted else 1):
        yield tuple(
            len(totals.arguments)
            if item.kind == "users"
            else counted
            if item.node is None
            else by_node[item.node, *_range(item, query.items), item.weight, item.most]
            for item in query.items
        )


def _range(item: OwnedItem, items: Sequence[OwnedItem]) -> tuple[float, float]:
    """Return the range of an item's argument; of COUNT(e) that of another item of ``e``."""
    if item.kind != "count":
        return item.low, item.high
    others = (own for own in items if own.node == item.node and own.kind != "count" and own.weight is None)
    found = next(others, None)
    return (0.0, 1.0) if found is None else (found.low, found.high)


def _laws(query: OwnedSelect, totals: OwnedTotals | OwnedGroups) -> list[tuple[type[AdditiveMechanism], float, int]]:
    """Return the laws that may be used, each with its error at sensitivity 1, and its norm."""
    price = query.price
    dimension = totals.dimension
    found: list[tuple[type[AdditiveMechanism], float, int]] = []
    if query.noise != "gaussian":
        found.append((LaplaceMechanism, math.sqrt(2.0) / price.level, LaplaceMechanism.norm))
    is_possible = price.delta > least_gaussian_delta(dimension) and price.level <= LARGEST_ALPHA
    if query.noise == "gaussian" and not is_possible:
        raise UsageError("noise 'gaussian' needs a larger delta for so many numbers; pass delta = 1e-9 or so.")
    if query.noise in ("gaussian", "auto") and is_possible:
        unit = GaussianMechanism(sensitivity=1.0, alpha=price.level, delta=price.delta, dimension=dimension)
        found.append((GaussianMechanism, unit.scale, GaussianMechanism.norm))
    return found
