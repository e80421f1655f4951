"""Answers of a released measure: rows of nodes, the fitted measure as a table, samples, means of functions."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_cells import MeasureCells
from emdp.expressions.analysis.checker import analyse, largest_quotient
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.nodes.base import Expression, lift
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.questions.columns import Released
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.transport.fit import FitAxis, coarse_weights, fit_measure
from emdp.transport.hilbert import hilbert_order

__all__ = ["WEIGHT", "MeasureRows"]

WEIGHT = "weight"
"""Column of the fitted measure."""

LEAST_WEIGHT = 1e-12
"""Places with less are left out of tables: what projections leave of nothing."""

MOST_SAMPLED = 10_000_000


@dataclass(frozen=True, eq=False)
class MeasureRows:
    """Rows of a measure: one a node, with its released share and the ends of its interval.

    Parameters
    ----------
    name : str
        Column of the shares.
    grid : MeasureCells
        Nodes and places.
    mechanism : EdgeMechanism
        The noise.
    space : Space
        The item space.
    """

    name: str
    grid: MeasureCells
    mechanism: EdgeMechanism
    space: Space

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        return (*self.grid.cells.columns, self.name, f"{self.name}_low", f"{self.name}_high")

    @property
    def shape(self) -> Shape:
        """Cells of one part, or rows."""
        if len(self.space.parts) == 1:
            return self.grid.cells.shape(())
        return Shape("rows", keys=self.grid.cells.columns)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the nodes with their released shares; see :class:`Finisher`."""
        values, widths = _values(released), np.array(self.mechanism.half_widths(level, together=together))
        ends = [pl.Series(f"{self.name}_low", values - widths), pl.Series(f"{self.name}_high", values + widths)]
        return self.grid.cells.frame().with_columns(pl.Series(self.name, values), *ends)

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the nodes with their exact shares.

        Raises
        ------
        UsageError
            If the answer was stored, without them.
        """
        if not statistics:
            raise UsageError("exact values are not stored with a measure; release it under another name.")
        return self.grid.cells.frame().with_columns(pl.Series(self.name, _values(statistics)))

    def fitted(self, released: Released) -> Floats:
        """Return the measure on the fine grid, computed once a release."""
        if self._kept.get("released") != released:
            self._kept["released"], self._kept["fit"] = released, fit_measure(_values(released), self._axes)
        found: Floats = self._kept["fit"]
        return found

    def table(self, released: Released) -> pl.DataFrame:
        """Return the fitted measure: one row a place that has any of it, with its ``weight``; weights add up to 1."""
        weights = self.fitted(released).ravel()
        kept = np.flatnonzero(weights > LEAST_WEIGHT)
        shares = weights[kept] / weights[kept].sum()
        return self._at(kept).with_columns(pl.Series(WEIGHT, shares))

    def density(self, released: Released) -> pl.DataFrame:
        """Return the fitted measure's shares at the released nodes: what is drawn."""
        values = coarse_weights(self.fitted(released), self._axes)
        return self.grid.cells.frame().with_columns(pl.Series(self.name, values))

    def sample(self, released: Released, count: int) -> pl.DataFrame:
        """Return so many records, at equal steps of mass along a curve through all places."""
        count = check_count("n", count)
        if count > MOST_SAMPLED:
            raise UsageError(f"n must be at most {MOST_SAMPLED}, got {count}; weigh the rows of table() instead.")
        weights = self.fitted(released).ravel()
        order = hilbert_order(self.grid.counts)
        sums = np.cumsum(weights[order])
        steps = (np.arange(count) + 0.5) / count * sums[-1]
        return self._at(order[np.minimum(np.searchsorted(sums, steps), len(order) - 1)])

    def mean(self, released: Released, function: Any, *, level: float, raw: bool) -> dict[str, float]:
        """Return the mean of a function over the measure; see :meth:`emdp.answers.Answer.measured`."""
        expression = lift(function)
        analysis = analyse(expression, self.space)
        if raw:
            return self._raw_mean(released, expression, level)
        weights = self.fitted(released).ravel()
        kept = np.flatnonzero(weights > LEAST_WEIGHT)
        values = evaluate(expression, self.space, self.space.encode(self._at(kept)))
        constant = largest_quotient(analysis.parts, self.space)
        towns, scattered = (own * self.grid.scale for own in self.grid.expected)
        mean = float(weights[kept] @ values) / float(weights[kept].sum())
        return {"mean": mean, "towns": constant * towns, "scattered": constant * scattered}

    def _raw_mean(self, released: Released, expression: Expression, level: float) -> dict[str, float]:
        frame = self.grid.cells.frame()
        for column in self.grid.cells.columns:
            span = self.space.parts[0].span_of(column) if len(self.space.parts) == 1 else None
            span = span or next((own for own in self.grid.spans if own is not None and own.column == column), None)
            if span is not None and not span.goes_round:
                # the last node may lie beyond the range, where the function is not known
                frame = frame.with_columns(pl.col(column).clip(span.low, span.high))
        values = evaluate(expression, self.space, self.space.encode(frame))
        found, width = float(_values(released) @ values), self.mechanism.linear_half_width(values, level)
        return {"mean": found, "low": found - width, "high": found + width}

    def _at(self, places: Any) -> pl.DataFrame:
        """Return the items at some places of the fine grid."""
        found, rest = [], np.asarray(places)
        for column, values, count in reversed(
            list(zip(self.grid.cells.columns, self.grid.values, self.grid.counts, strict=True))
        ):
            found.append(pl.Series(column, values).gather(pl.Series(rest % count)))
            rest = rest // count
        return pl.DataFrame(found[::-1])

    @cached_property
    def _axes(self) -> list[FitAxis]:
        forms = [axis.form for axis in self.mechanism.axes]
        units = [unit * self.mechanism.grid for unit in self.mechanism.axis_units]
        return [
            FitAxis(weights, form, 2.0 * unit**2)
            for weights, form, unit in zip(self.grid.weights(), forms, units, strict=True)
        ]

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}


def _values(released: Released) -> Floats:
    return np.array([float(value) for value in released[0]], dtype=np.float64)
