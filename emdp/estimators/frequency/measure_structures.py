"""Ways to release a measure of places and further parts: one measure of all, or several that are joined.

A structure cuts the parts into *blocks*, each a measure of its own: *given zone* releases places, and all parts once
more, coarser, and gives a place the rest of its zone; *each given zone* does that for every further part by itself;
*independent* releases every part alone. What is released of a block is a marginal, and how far a record moves in the
whole is the sum of how far it moves in each part. So a part has the whole of alpha in a block that it shares with no
other, and fractions that add up to 1 where it is in several
(:mod:`emdp.estimators.frequency.structured_measures` has the proof).

Which is nearest is a public rule. The errors of the blocks, by the rules of
:mod:`emdp.estimators.frequency.measure_cells`, add up, a zone's with a factor; what independence loses at the two
public tables, in which each town, or place, has hours and values of its own, comes to that as the other side of a
right triangle. Factors and losses are of simulations, by ``benchmarks/measures.py --structures``, which prints what
this rule says beside them. What a join loses in the table itself is not public.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from emdp.base.classes import dataclass
from emdp.estimators.frequency.edge_noise import Fractions
from emdp.estimators.frequency.listed_measures import listed_distances, listed_ways
from emdp.estimators.frequency.measure_cells import MeasureCells, chosen_parts, measure_cells
from emdp.expressions.cells.place_graphs import MOST_PLACES
from emdp.questions.comparison import ComparedMethod
from emdp.questions.measures import Measure
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.spaces.combined.elsewhere import COLUMN
from emdp.spaces.listed.categories import Categories
from emdp.spaces.listed.distances import Distances

__all__ = ["Structures", "mean_fraction", "structures_of"]

FIRST = {"given zone": Fraction(3, 5), "each given zone": Fraction(3, 5), "independent": Fraction(4, 5)}
"""Fraction of alpha that places have in the first block where others have them too, and the point elsewhere has there;
the others share the rest alike."""

REMARKS = {
    "given zone": "places, joined with a coarser measure of all parts by zone",
    "each given zone": "places, joined with a coarser measure of these and each other part by zone",
    "independent": "every part alone, joined as if independent",
}

ZONE = {"given zone": (0.6, 0.7), "each given zone": (0.8, 0.7)}
"""Of a zone's expected error at towns and at scattered places, in the error of what is joined."""

LOST = (0.065, 0.18)
"""What independence loses at both public tables, over how far an axis reaches."""

LOST_LISTED = (0.075, 0.3)
"""The same of listed values, over their mean distance."""

LOST_BY_ZONE = {"given zone": (0.0, 0.65), "each given zone": (0.0, 1.0)}
"""What zones lose over what independence loses: a town is a zone, and scattered places are many in each."""


@dataclass(frozen=True, eq=False)
class Structures:
    """The structures of a measure under alpha, with what is expected of them.

    Parameters
    ----------
    query : Measure
        The question; its structure is of no account here.
    space : Space
        The item space.
    users : int
        Their public number.
    plane : tuple of str
        Columns of the places.
    rest : tuple of tuple of str
        Columns of each further part.
    whole : MeasureCells
        Nodes of the one measure of all.
    """

    query: Measure
    space: Space
    users: int
    plane: tuple[str, ...]
    rest: tuple[tuple[str, ...], ...]
    whole: MeasureCells

    @property
    def names(self) -> tuple[str, ...]:
        """All structures; zones of each further part are those of all where there is one, and areas have none."""
        if len(self.plane) < 2:
            return ("joint", "independent")
        return ("joint", *(name for name in FIRST if len(self.rest) > 1 or name != "each given zone"))

    @property
    def chosen(self) -> str:
        """The structure that is expected to be nearest at towns, as ways of noise are chosen."""
        return min(self.names, key=self.expected)

    def blocks(self, name: str) -> tuple[Measure, ...]:
        """Return the questions for the blocks of a structure: pitch and resolution are those of places."""
        asked = replace(self.query, structure="joint", order=(), limit=None, offset=0)
        if name == "joint":
            return (asked,)
        everything = tuple(column for part in (self.plane, *self.rest) for column in part)
        others = {
            "given zone": (everything,),
            "each given zone": tuple((*self.plane, *part) for part in self.rest),
            "independent": self.rest,
        }[name]
        coarse = replace(asked, pitch=None, resolution=None)
        return (replace(asked, columns=self.plane), *(replace(coarse, columns=own) for own in others))

    def fractions(self, name: str) -> tuple[Fractions, ...]:
        """Return for each block the fraction of alpha that moves along its columns, and to elsewhere, have in it."""
        first, *others = self.blocks(name)
        shares = (FIRST[name], *[(1 - FIRST[name]) / len(others) for _ in others])
        # of all blocks, or of the first alone
        are_shared = self.plane[0] in others[0].columns
        found = []
        for block, share in zip((first, *others), shares, strict=True):
            places = {column: share for column in block.columns if are_shared and column in self.plane}
            found.append(places if self.space.elsewhere is None else {**places, COLUMN: share})
        return tuple(found)

    def expected(self, name: str) -> tuple[float, float]:
        """Return the distance to the truth that is expected at towns and at scattered places, in ``d_X``."""
        return self._expected[name]

    @cached_property
    def _expected(self) -> dict[str, tuple[float, float]]:
        return {name: self._expectation_of(name) for name in self.names}

    def _expectation_of(self, name: str) -> tuple[float, float]:
        if name == "joint":
            towns, scattered = (own * self.whole.scale for own in self.whole.expected)
            return towns, scattered
        noisy, lost = np.zeros(2), np.zeros(2)
        for number, (block, fractions) in enumerate(zip(self.blocks(name), self.fractions(name), strict=True)):
            is_zone = number > 0 and self.plane[0] in block.columns
            noisy += self._own(block, fractions) * (ZONE[name] if is_zone else (1.0, 1.0))
            for part in self.rest if number > 0 else ():
                if set(part) <= set(block.columns):
                    lost += self._lost(part) * (LOST_BY_ZONE[name] if is_zone else (1.0, 1.0))
        towns, scattered = np.hypot(noisy, lost).tolist()
        return towns, scattered

    def compared(self, released: str) -> tuple[ComparedMethod, ...]:
        """Return the structures of several releases, beside one measure of all."""
        found = []
        for name in self.names[1:]:
            towns, scattered = self.expected(name)
            remark = f"{REMARKS[name]}; at scattered places {scattered:.3g}"
            found.append(ComparedMethod(name, towns, name == released, remark))
        return tuple(found)

    def note(self, released: str) -> str:
        """Return how near each structure is expected, which is released, and how the nearest is asked for."""
        told = ", ".join(
            f"{name} {towns / self.whole.scale:.2g}{self.whole.unit} (scattered {scattered / self.whole.scale:.2g})"
            for name, (towns, scattered) in ((name, self.expected(name)) for name in self.names)
        )
        best = self.chosen
        end = "which is the nearest" if best == released else f"and {best} is the nearest (structure='auto')"
        lost = "" if best == released == "joint" else "; what a join loses in this table is not public"
        return f"structures, by simulations at public towns: {told}; this one is {released}, {end}{lost}"

    def expectation(self, name: str) -> str:
        """Return the expected distances of a structure to the truth, in words."""
        towns, scattered = (own / self.whole.scale for own in self.expected(name))
        return (
            f"{name}, expected {towns:.2g}{self.whole.unit} from the truth in earth-mover distance, of scattered "
            f"places {scattered:.2g}{self.whole.unit}, besides what the join loses in this table"
        )

    def _own(self, block: Measure, fractions: Fractions) -> Floats:
        """Return what is expected of a block's own error, in ``d_X``."""
        ways = listed_ways(block, self.space, self.users, fractions)
        if ways:
            grid = min((own for own, _ in ways), key=lambda own: own.expected)
        else:
            loss = block.price.level * self.users * mean_fraction(block.columns, fractions)
            grid = measure_cells(
                self.space, loss, pitch=block.pitch, resolution=block.resolution, columns=block.columns
            )
        return np.array(grid.expected) * grid.scale

    def _lost(self, columns: Sequence[str]) -> Floats:
        """Return what taking a part for independent loses, in ``d_X``."""
        (part,) = chosen_parts(self.space, columns)
        share = float(dict(zip(map(id, self.space.parts), self.space.exact_shares, strict=True))[id(part)])
        if isinstance(part, Categories | Distances):
            apart = listed_distances(part)
            return np.array(LOST_LISTED) * share * float(apart.sum()) / (len(apart) * (len(apart) - 1))
        return np.array(LOST) * share * part.domain_diameter / part.diameter


def mean_fraction(columns: Sequence[str], fractions: Fractions) -> float:
    """Return the harmonic mean of the fractions along some columns: noise of all axes adds up in the distance.

    >>> mean_fraction(["x", "y", "hour"], {"x": Fraction(2, 5), "y": Fraction(2, 5)})
    0.5
    """
    own = [fractions.get(column, Fraction(1)) for column in columns]
    return len(own) / math.fsum(float(1 / one) for one in own) if own else 1.0


def structures_of(query: Measure, space: Space, users: int, whole: MeasureCells) -> Structures | None:
    """Return the structures of a measure of a plane, or else areas, and further parts; None of any other.

    Further parts have one column each. Areas in a product have noise on a graph of them in a block of their own alone.

    >>> from emdp.questions.measures import measure
    >>> from emdp.spaces import Cycle, Product, Vector
    >>> space = Product(Vector(["x", "y"], box=[(0, 10), (0, 10)]), Cycle("hour", 24), Categories("kind", ["a", "b"]))
    >>> found = structures_of(measure(alpha=80.0), space, 500, measure_cells(space, 4e4))
    >>> found.names, [block.columns for block in found.blocks("each given zone")]
    (('joint', 'given zone', 'each given zone', 'independent'), [('x', 'y'), ('x', 'y', 'hour'), ('x', 'y', 'kind')])
    """
    if query.pairs or query.price.is_user_level:
        return None
    kept = chosen_parts(space, whole.cells.columns)
    planes = [part for part in kept if len(part.columns) == 2 and part.labels is None]
    areas: list[Space] = [part for part in kept if isinstance(part, Distances)]
    planes = planes or areas[:1]
    rest = [part for part in kept if part not in planes]
    fits = all(
        len(part.columns) == 1 and (part.labels is None or isinstance(part, Categories | Distances)) for part in rest
    )
    sizes = [len(part.labels or (0, 0)) for part in (*rest, *planes)]
    if query.pitch is not None and planes and planes[0].labels is not None:
        return None
    if len(planes) != 1 or not rest or not fits or not 2 <= min(sizes) <= max(sizes) <= MOST_PLACES:
        return None
    return Structures(query, space, users, planes[0].columns, tuple(part.columns for part in rest), whole)
