"""Rows of a measure in blocks: the nodes of every block, and the table that the fits of all make together."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_rows import NO_DISTANCE, WEIGHT, MeasureRows, sampled_count, with_further
from emdp.estimators.frequency.measure_structures import Structures
from emdp.expressions.analysis.checker import analyse, largest_quotient
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.nodes.base import lift
from emdp.questions.columns import Released
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.transport.hilbert import hilbert_order

__all__ = ["StructuredRows"]


@dataclass(frozen=True, eq=False)
class StructuredRows:
    """Rows of measures that are joined: nodes of places, then those of each further block.

    Parameters
    ----------
    name : str
        Column of the shares.
    structure : str
        How they are joined.
    blocks : tuple of MeasureRows
        Rows of each block, places first.
    structures : Structures
        What distances are expected by.
    """

    name: str
    structure: str
    blocks: tuple[MeasureRows, ...]
    structures: Structures

    @property
    def first(self) -> MeasureRows:
        """Rows of places."""
        return self.blocks[0]

    @property
    def space(self) -> Space:
        """The item space."""
        return self.structures.space

    @property
    def items(self) -> tuple[str, ...]:
        """Columns of the joined table's items."""
        return tuple(dict.fromkeys(name for own in self.blocks for name in own.items))

    @property
    def has_away(self) -> bool:
        """Whether the joined table has a column ``elsewhere``."""
        return self.first.has_away

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        return (*self.items, *self.first.columns[len(self.first.items) :])

    @property
    def shape(self) -> Shape:
        """Cells of the map of places where that is one; else rows, of two kinds."""
        return self.first.shape if self.first.shape.is_map else Shape("rows", keys=self.items)

    @property
    def expectation(self) -> str:
        """Expected distances of the joined fit to the truth, in words."""
        return self.structures.expectation(self.structure)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the nodes of all releases; see :class:`Finisher`."""
        own = 1.0 - (1.0 - level) / len(self.blocks) if together else level
        parts = zip(self.blocks, self._apart(released), strict=True)
        return self._stacked([rows.frame(values, own, together=together) for rows, values in parts])

    def drawn(self, released: Released) -> pl.DataFrame:
        """Return the rows as they are drawn: of places alone where these are a map, whose block has most of alpha."""
        if self.first.shape.is_map:
            return self.first.drawn(self._apart(released)[0])
        return self.frame(released, 0.95)

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the nodes with their exact shares; errors as of one measure."""
        if not statistics:
            return self.first.exact(statistics)
        parts = zip(self.blocks, self._apart(statistics), strict=True)
        return self._stacked([rows.exact(values) for rows, values in parts])

    def density(self, released: Released) -> pl.DataFrame:
        """Return the fitted shares of all blocks at their released nodes."""
        parts = zip(self.blocks, self._apart(released), strict=True)
        return self._stacked([rows.density(values) for rows, values in parts])

    @property
    def _table_columns(self) -> tuple[str, ...]:
        return (*self.items, *(("elsewhere",) if self.has_away else ()), WEIGHT)

    def fitted(self, released: Released) -> Floats:
        """Return the weights of the joined table."""
        return self.table(released).get_column(WEIGHT).to_numpy()

    def table(self, released: Released) -> pl.DataFrame:
        """Return the joined table: one row an item, with its ``weight``; computed once a release."""
        if self._kept.get("released") != released:
            first, *others = self._apart(released)
            found = self.first.table(first)
            for rows, values in zip(self.blocks[1:], others, strict=True):
                found = with_further(found, rows, values)
            self._kept["released"], self._kept["table"] = released, found.select(*self._table_columns)
        kept: pl.DataFrame = self._kept["table"]
        return kept

    def sample(self, released: Released, count: int) -> pl.DataFrame:
        """Return so many records, at equal steps of mass along a curve through all places."""
        count = sampled_count(count)
        table = self.table(released)
        order = np.argsort(self._along_curve(table), kind="stable")
        sums = np.cumsum(table.get_column(WEIGHT).to_numpy()[order])
        steps = (np.arange(count) + 0.5) * (sums[-1] / count)
        found: pl.DataFrame = table.drop(WEIGHT)[order[np.minimum(np.searchsorted(sums, steps), len(order) - 1)]]
        return found

    def mean(self, released: Released, function: Any, *, level: float, raw: bool) -> dict[str, float | str | None]:
        """Return the mean of a function over the joined table; of places alone also raw, of the first release."""
        expression = lift(function)
        analysis = analyse(expression, self.space)
        moved = {
            name for own, part in zip(analysis.parts, self.space.parts, strict=True) if own > 0 for name in part.columns
        }
        if moved <= set(self.first.items):
            return self.first.mean(self._apart(released)[0], function, level=level, raw=raw)
        if raw:
            raise UsageError("raw is of functions of places where a measure is several that are joined; leave it out.")
        if not moved <= set(self.items):
            raise UsageError(f"the measure is of {', '.join(self.items)} alone; pass a function of these.")
        table = self.table(released)
        if self.has_away:
            table = table.filter(pl.col(self.items[0]).is_not_null())
        if not table.height:
            return {"mean": None, "towns": None, "scattered": None, "reason": NO_DISTANCE}
        values = evaluate(expression, self.space, self.space.encode(self.first.filled(table.select(self.items))))
        weights = table.get_column(WEIGHT).to_numpy()
        mean = float(weights @ values) / float(weights.sum())
        if self.has_away:
            return {"mean": mean, "towns": None, "scattered": None, "reason": NO_DISTANCE}
        constant = largest_quotient(analysis.parts, self.space)
        towns, scattered = (own * constant for own in self.structures.expected(self.structure))
        return {"mean": mean, "towns": towns, "scattered": scattered}

    def joined(self, released: Released, other: Any, others: Released) -> pl.DataFrame:
        """Refuse: it is joined already."""
        del released, other, others
        raise UsageError("this measure is several that are joined already; ask for measures without a structure.")

    def _apart(self, released: Released) -> tuple[Released, ...]:
        """Return what was released of each block."""
        (values,) = released
        found, start = [], 0
        for rows in self.blocks:
            end = start + int(rows.mechanism.dimension)
            found.append((values[start:end],))
            start = end
        return tuple(found)

    def _stacked(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        kept = [name for name in self.columns if any(name in frame.columns for frame in frames)]
        return pl.concat(frames, how="diagonal").select(kept)

    def _along_curve(self, table: pl.DataFrame) -> Any:
        """Return where on the curve through all places each row of the joined table is."""
        grid = self.first.grid
        ranks = np.empty(grid.places, dtype=np.int64)
        ranks[hilbert_order(grid.counts)] = np.arange(grid.places)
        place = np.zeros(table.height, dtype=np.int64)
        for name, values, count in zip(grid.cells.columns, grid.values, grid.counts, strict=True):
            codes = {value: code for code, value in enumerate(values)}
            own = table.get_column(name).replace_strict(codes, default=0, return_dtype=pl.Int64)
            place = place * count + own.to_numpy()
        found = ranks[place]
        if self.has_away:
            found[table.get_column("elsewhere").to_numpy()] = grid.places
        return found

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}
