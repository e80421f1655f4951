"""Answers of a released measure: rows of nodes, the fitted measure as a table, samples, means of functions."""

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.edge_noise import axis_form
from emdp.estimators.frequency.measure_cells import MOST_PLACES, MeasureCells, chosen_parts
from emdp.estimators.frequency.measure_maps import SmallMaps
from emdp.expressions.analysis.checker import analyse, largest_quotient
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.nodes.base import Expression, lift
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.questions.columns import Released
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.spaces.combined.elsewhere import COLUMN
from emdp.transport.fit import STEPS, FitAxis, coarse_weights, fit_measure
from emdp.transport.hilbert import hilbert_order

__all__ = ["WEIGHT", "MeasureRows", "sampled_count", "with_further"]

WEIGHT = "weight"
"""Column of the fitted measure."""

LEAST_WEIGHT = 1e-12
"""Places with less are left out of tables: what projections leave of nothing."""

MOST_SAMPLED = 10_000_000

NO_DISTANCE = (
    "a mean among records that are somewhere is a quotient by their share, and no distance bounds its error; for an "
    "interval ask session.mean"
)
"""Why no distance to the truth stands beside a mean where records may be elsewhere."""


@dataclass(frozen=True, eq=False)
class MeasureRows:
    """Rows of a measure: one a node, with its released share and the ends of its interval.

    Parameters
    ----------
    name : str
        Column of the shares.
    grid : MeasureCells
        Nodes and places.
    mechanism : AdditiveMechanism
        The noise: on edges, or independent Laplace on every node.
    space : Space
        The item space.
    """

    name: str
    grid: MeasureCells
    mechanism: AdditiveMechanism
    space: Space

    most_steps = STEPS
    """Steps of the fit where places are few."""

    @property
    def steps(self) -> int:
        """Steps of the fit: of many places a quarter, which comes within 7 % of all of them."""
        return self.most_steps if self.grid.places <= MOST_PLACES else min(self.most_steps, STEPS // 4)

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        away = (COLUMN,) if self.has_away else ()
        return (*self.grid.cells.columns, *away, self.name, f"{self.name}_low", f"{self.name}_high")

    @property
    def items(self) -> tuple[str, ...]:
        """Columns of the items that it is of."""
        return self.grid.cells.columns

    @property
    def expectation(self) -> str:
        """Expected distances of the fit to the truth, in words."""
        return self.grid.expectation

    @property
    def has_away(self) -> bool:
        """Whether a last node is the point elsewhere, with no place; a column ``elsewhere`` says so."""
        return self.space.elsewhere is not None

    @property
    def shape(self) -> Shape:
        """Cells of one part, cells of maps by parts of another axis, or rows."""
        if len(self._parts) == 1:
            return self.grid.cells.shape(())
        if self._maps is not None:
            return self._maps.shape
        return Shape("rows", keys=self.grid.cells.columns)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        values, widths = _values(released), np.array(self.mechanism.half_widths(level, together=together))
        ends = [pl.Series(f"{self.name}_low", values - widths), pl.Series(f"{self.name}_high", values + widths)]
        return self._nodes().with_columns(pl.Series(self.name, values), *ends)

    def drawn(self, released: Released) -> pl.DataFrame:
        """Return the nodes as they are drawn: fitted shares of one part or in maps, with released intervals.

        Nodes of several parts without a map are drawn as they were released.
        """
        if self._maps is not None and isinstance(self.mechanism, EdgeMechanism):
            fit = self.density(released).get_column(self.name).to_numpy()
            return self._maps.frame(self.name, self.mechanism, fit, _values(released))
        frame = self.frame(released, 0.95)
        return frame if len(self._parts) > 1 else frame.with_columns(self.density(released).get_column(self.name))

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the nodes with their exact shares.

        Raises
        ------
        UsageError
            If the answer was stored, without them.
        """
        if not statistics:
            raise UsageError("exact values are not stored with a measure; release it under another name.")
        return self._nodes().with_columns(pl.Series(self.name, _values(statistics)))

    def fitted(self, released: Released) -> Floats:
        """Return the measure on the fine grid, computed once a release; what it lacks of mass 1 is elsewhere."""
        if self._kept.get("released") != released:
            self._kept["released"], self._kept["fit"] = released, self._fit(_values(released))
        found: Floats = self._kept["fit"]
        return found

    def _fit(self, values: Floats) -> Floats:
        nodes, away = values[: self.grid.cells.size], values[self.grid.cells.size :]
        if isinstance(self.mechanism, EdgeMechanism):
            return fit_measure(nodes, self._axes, away=self._away, steps=self.steps)
        return fit_measure(nodes, self._axes, variance=1.0, away_value=float(away[0]) if len(away) else None)

    def table(self, released: Released) -> pl.DataFrame:
        """Return the fitted measure: one row a place that has any of it, with its ``weight``; weights add up to 1."""
        weights = self.fitted(released).ravel()
        kept = np.flatnonzero(weights > LEAST_WEIGHT)
        away = self._share_away(weights)
        shares = weights[kept] * ((1.0 - away) / weights[kept].sum())
        found = self._with_away(self._at(kept), int(away > LEAST_WEIGHT))
        return found.with_columns(pl.Series(WEIGHT, np.append(shares, [away] * (found.height - len(kept)))))

    def density(self, released: Released) -> pl.DataFrame:
        """Return the fitted measure's shares at the released nodes: what is drawn."""
        fit = self.fitted(released)
        values = np.append(coarse_weights(fit, self._axes), [self._share_away(fit)] * self.has_away)
        return self._nodes().with_columns(pl.Series(self.name, values))

    def sample(self, released: Released, count: int) -> pl.DataFrame:
        """Return so many records, at equal steps of mass along a curve through all places."""
        count = sampled_count(count)
        weights = self.fitted(released).ravel()
        order = hilbert_order(self.grid.counts)
        sums, away = np.cumsum(weights[order]), self._share_away(weights)
        steps = (np.arange(count) + 0.5) / count
        steps = steps[steps < 1.0 - away] * (sums[-1] / (1.0 - away)) if away < 1.0 else steps[:0]
        found = self._at(order[np.minimum(np.searchsorted(sums, steps), len(order) - 1)])
        return self._with_away(found, count - len(steps))

    def mean(self, released: Released, function: Any, *, level: float, raw: bool) -> dict[str, float | str | None]:
        """Return the mean of a function over the measure; see :meth:`emdp.answers.Answer.measured`."""
        expression = lift(function)
        analysis = analyse(expression, self.space)
        if any(own > 0 for own, part in zip(analysis.parts, self.space.parts, strict=True) if part not in self._parts):
            raise UsageError(f"the measure is of {', '.join(self.grid.cells.columns)} alone; pass a function of these.")
        if raw and not isinstance(self.mechanism, EdgeMechanism):
            raise UsageError("raw has intervals under noise on edges alone; leave it out, or ask session.mean.")
        if raw and self.has_away:
            raise UsageError("raw has no interval where records may be elsewhere; leave it out, or ask session.mean.")
        if raw:
            return self._raw_mean(released, expression, level)
        weights = self.fitted(released).ravel()
        kept = np.flatnonzero(weights > LEAST_WEIGHT)
        values = evaluate(expression, self.space, self.space.encode(self.filled(self._at(kept))))
        constant = largest_quotient(analysis.parts, self.space)
        towns, scattered = (own * self.grid.scale for own in self.grid.expected)
        mean = float(weights[kept] @ values) / float(weights[kept].sum()) if len(kept) else None
        if self.has_away:
            return {"mean": mean, "towns": None, "scattered": None, "reason": NO_DISTANCE}
        return {"mean": mean, "towns": constant * towns, "scattered": constant * scattered}

    def _raw_mean(self, released: Released, expression: Expression, level: float) -> dict[str, float | str | None]:
        frame = self.grid.cells.frame()
        for column in self.grid.cells.columns:
            span = self._parts[0].span_of(column) if len(self._parts) == 1 else None
            span = span or next((own for own in self.grid.spans if own is not None and own.column == column), None)
            if span is not None and not span.goes_round:
                # the last node may lie beyond the range, where the function is not known
                frame = frame.with_columns(pl.col(column).clip(span.low, span.high))
        values = evaluate(expression, self.space, self.space.encode(self.filled(frame)))
        mechanism: Any = self.mechanism
        found, width = float(_values(released) @ values), mechanism.linear_half_width(values, level)
        return {"mean": found, "low": found - width, "high": found + width}

    @cached_property
    def _parts(self) -> tuple[Space, ...]:
        """The parts that the measure is of."""
        return chosen_parts(self.space, self.grid.cells.columns)

    @cached_property
    def _maps(self) -> SmallMaps | None:
        """Small maps of places beside another part; none under other noise, whose sums have no interval here."""
        return SmallMaps.of(self.grid.cells, self._parts) if isinstance(self.mechanism, EdgeMechanism) else None

    def filled(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return items with the neutral item's values in the columns of parts that the measure is not of."""
        # part by part: the neutral item of the whole may be elsewhere, and have no values
        neutral = {name: own[0] for part in self.space.parts for name, own in part.decode(part.neutral_item).items()}
        missing = [name for name in self.space.columns if name not in frame.columns]
        return frame.with_columns([pl.lit(neutral[name]).alias(name) for name in missing])

    def joined(self, released: Released, other: "MeasureRows", others: Released) -> pl.DataFrame:
        """Return the places of this measure with the further columns of another one."""
        if not isinstance(other, MeasureRows):
            raise UsageError("other is several measures that are joined already; pass one without a structure.")
        return with_further(self.table(released), other, others)

    def _nodes(self) -> pl.DataFrame:
        return self._with_away(self.grid.cells.frame(), 1)

    def _with_away(self, frame: pl.DataFrame, count: int) -> pl.DataFrame:
        """Return items with so many that are elsewhere behind them, where there is such a point."""
        if not self.has_away:
            return frame
        gone = pl.DataFrame({COLUMN: [True] * count}, schema={COLUMN: pl.Boolean})
        return pl.concat([frame.with_columns(pl.lit(False).alias(COLUMN)), gone], how="diagonal")

    def _share_away(self, fit: Floats) -> float:
        return min(max(1.0 - float(fit.sum()), 0.0), 1.0) if self.has_away else 0.0

    @property
    def _away(self) -> float:
        """Variance of the noise on an edge to the point elsewhere."""
        return self._variances[-1] if self.has_away else 0.0

    @property
    def _variances(self) -> list[float]:
        """Variance of the noise on an edge of each axis, and on one to the point elsewhere."""
        mechanism = self.mechanism
        if not isinstance(mechanism, EdgeMechanism):
            return [1.0] * len(self.grid.cells.axes)
        factor = 1.0 if mechanism.norm == 2 else 2.0
        return [factor * (unit * mechanism.grid) ** 2 for unit in mechanism.axis_units]

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
        return [
            FitAxis(weights, axis_form(axis), variance)
            for weights, axis, variance in zip(
                self.grid.weights(), self.grid.cells.axes, self._variances, strict=not self.has_away
            )
        ]

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}


def with_further(table: pl.DataFrame, other: MeasureRows, others: Released) -> pl.DataFrame:
    """Return the places of a measure's table with the further columns of another measure."""
    # Loaded where it is needed.
    from emdp.estimators.frequency.joined_measures import joined

    if COLUMN not in table.columns:
        return joined(table, WEIGHT, other.grid, other.fitted(others))
    # Who is elsewhere is so in both: the rest is joined, and keeps its share.
    places, away = table.filter(~pl.col(COLUMN)).drop(COLUMN), table.filter(pl.col(COLUMN))
    found = joined(places, WEIGHT, other.grid, other.fitted(others))
    somewhere = 1.0 - float(np.sum(away.get_column(WEIGHT).to_numpy()))
    found = found.with_columns(pl.lit(False).alias(COLUMN), pl.col(WEIGHT) * somewhere)
    columns = [*(name for name in found.columns if name not in (COLUMN, WEIGHT)), COLUMN, WEIGHT]
    return pl.concat([found.select(columns), away.select(COLUMN, WEIGHT)], how="diagonal")


def sampled_count(count: int) -> int:
    """Return a number of records that are sampled, if it is one.

    Raises
    ------
    UsageError
        If it is no count, or more than :data:`MOST_SAMPLED`.

    >>> sampled_count(1000)
    1000
    """
    count = check_count("n", count)
    if count > MOST_SAMPLED:
        raise UsageError(f"n must be at most {MOST_SAMPLED}, got {count}; weigh the rows of table() instead.")
    return count


def _values(released: Released) -> Floats:
    return np.array([float(value) for value in released[0]], dtype=np.float64)
