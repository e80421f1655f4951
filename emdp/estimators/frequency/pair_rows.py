"""Answers of a released measure of pairs: two records of one user, and how far they are apart.

A user's pairs are all pairs of the user's records, each with itself as well. The released nodes are those of two
records one after the other. Both orders of a pair have the same share of the truth, so the fit is of the mean of the
two: half of the noise's variance for nothing. It is good for how far apart a person's places are. It is *not* for
naming pairs of places: their shares are small next to the noise of so many nodes, and as many of the largest are found
from independent records (private-measures.md 6).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import polars as pl

from emdp.base.checks import check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_cells import OTHER, chosen_parts
from emdp.estimators.frequency.measure_rows import WEIGHT, MeasureRows
from emdp.estimators.frequency.synthetic_users import dealt_users, octaves, types_of
from emdp.questions.columns import Released
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.transport.hilbert import hilbert_order

__all__ = ["PairRows"]

USER = "synthetic_user"
"""Column of the number of a synthetic user, who is nobody."""


@dataclass(frozen=True, eq=False)
class PairRows(MeasureRows):
    """Rows of a measure of pairs; parameters as of a measure."""

    most_steps = 200
    """A step of four axes costs as much as ten of two; 800 found the same within 1 %."""

    @property
    def shape(self) -> Shape:
        return Shape("rows", keys=self.grid.cells.columns)

    def drawn(self, released: Released) -> pl.DataFrame:
        return self.frame(released, 0.95)

    def mean(self, released: Released, function: Any, *, level: float, raw: bool) -> NoReturn:
        del released, function, level, raw
        raise UsageError("mean is of single records, and this measure is of pairs; ask apart(), or table().")

    def joined(self, released: Released, other: MeasureRows, others: Released) -> NoReturn:
        del released, other, others
        raise UsageError("measures of pairs are not joined; ask for measures of single records.")

    def apart(self, released: Released, within: Sequence[float]) -> dict[str, float]:
        """Return the mean distance of the two records, and the share of pairs within each of some distances."""
        limits = [check_finite("within", own) for own in within]
        table = self.table(released)
        (part,) = self._parts
        names = list(part.columns)
        both = pl.concat([table.select(names), table.select(pl.col(f"{OTHER}{name}").alias(name) for name in names)])
        places = both.unique(maintain_order=True).with_row_index("place")
        numbers = both.join(places, on=names, how="left", maintain_order="left").get_column("place").to_numpy()
        items = part.encode(places.select(names))
        lengths = part.natural_distances(items, items)[numbers[: table.height], numbers[table.height :]]
        weights = table.get_column(WEIGHT).to_numpy()
        shares = {f"within_{own:g}": float(weights @ (lengths <= own)) for own in limits}
        return {"mean": float(weights @ lengths), **shares}

    def synthetic_users(self, released: Released, count: int, sizes: object) -> pl.DataFrame:
        """Return the records of synthetic users of the types that the fit is a mixture of."""
        half = len(self.grid.counts) // 2
        order = hilbert_order(self.grid.counts[:half])
        pairs = self.fitted(released).reshape(len(order), len(order))[order][:, order]
        weights, laws = types_of((pairs + pairs.T) / (2.0 * pairs.sum()))
        owners, places = dealt_users(weights, laws, count, octaves(sizes) if isinstance(sizes, pl.DataFrame) else sizes)
        numbers = np.unravel_index(order[places], self.grid.counts[:half])
        columns = [
            pl.Series(name, values).gather(pl.Series(own))
            for name, values, own in zip(self.grid.cells.columns[:half], self.grid.values[:half], numbers, strict=True)
        ]
        return pl.DataFrame([pl.Series(USER, owners), *columns])

    def _fit(self, values: Floats) -> Floats:
        half = round(len(values) ** 0.5)
        square = values.reshape(half, half)
        return super()._fit(((square + square.T) / 2.0).ravel())

    @cached_property
    def _parts(self) -> tuple[Space, ...]:
        columns = self.grid.cells.columns
        return chosen_parts(self.space, columns[: len(columns) // 2])
