"""Nodes of a private measure on all parts of a space, their pitch by a public rule, and the places of its fine grid.

Lengths are in the unit of ``d_X``: of a part with share ``w`` and diameter ``D`` a natural length ``t`` is ``w t/D``.
With ``V`` the product of the lengths of the ``j`` continuous axes and of the numbers of listed values, and
``e = alpha n`` the loss per unit of ``d_em``, the noise on edges ``h`` apart moves the measure by about
``V/(h^j e)``, smoothing by ``h``; so the best pitch is of the order of ``(V/e)^(1/(j+1))``, and so is the distance to
the truth (private-measures.md 1, "Rates"). The factors are measured at two public priors, towns of very different
sizes around a city and scattered places, by ``benchmarks/measures.py --priors``. With noise on every node they are
larger where there are more nodes, so they are looked up by the *length*: that power over the side ``V^(1/j)``.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.grids import MOST_CELLS, Cells
from emdp.expressions.cells.aggregation import Axis, HatAxis, LabelAxis
from emdp.expressions.cells.reference import hat_places
from emdp.expressions.nodes.base import Column
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.spaces.ranges import Span

__all__ = ["BY_CELLS", "BY_MOVES", "BY_TREE", "BY_USER_EDGES", "MeasureCells", "Rule", "chosen_parts", "measure_cells"]

PITCH_FACTOR = 1.7
"""Of the pitch over ``(V/e)^(1/(j+1))``."""

Points = tuple[tuple[float, float, float], ...]
"""Lengths, the longest first, each with the factors at towns and at scattered places."""


@dataclass(frozen=True)
class Rule:
    """Pitch and expected distance of one kind of noise, by number of continuous axes: powers of ``V`` over a loss.

    Parameters
    ----------
    powers, pitches : mapping of int to float
        Of ``V`` over the loss; of the pitch over that.
    expected : mapping of int to tuple of (float, float, float)
        Of the distance to the truth over that: for some lengths the factors at towns and at scattered places.
    """

    powers: Mapping[int, float]
    pitches: Mapping[int, float]
    expected: Mapping[int, Points]

    def power(self, axes: int) -> float:
        """Return the power for any number of axes."""
        return self.powers.get(axes, self.powers[max(self.powers)] * max(self.powers) / axes)

    def factors(self, axes: int, length: float) -> tuple[float, float]:
        """Return the factors of the expected distance at towns and at scattered places, between the known lengths.

        >>> BY_CELLS.factors(2, 1.0), BY_CELLS.factors(2, 1e-9)
        ((1.0, 1.2), (2.1, 2.1))
        """
        points = self.expected[min(axes, max(self.expected))]
        lengths, *known = (np.array(own) for own in zip(*reversed(points), strict=True))
        towns, scattered = (float(np.interp(math.log(length), np.log(lengths), own)) for own in known)
        return towns, scattered


BY_MOVES = Rule(
    {1: 1 / 2, 2: 1 / 3, 3: 1 / 4, 4: 1 / 5},
    dict.fromkeys((1, 2, 3), PITCH_FACTOR),
    {1: ((1.0, 0.55, 0.7),), 2: ((1.0, 0.55, 0.9),), 3: ((1.0, 0.75, 1.2),)},
)
"""Noise on edges under alpha; the loss is ``alpha n``."""

BY_CELLS = Rule(
    {1: 2 / 3, 2: 1 / 2, 3: 1 / 3},
    {1: 0.8, 2: 3.0, 3: 2.0},
    {
        1: ((0.046, 0.95, 1.0), (0.01, 1.45, 1.0), (0.0022, 2.75, 1.1)),
        2: ((0.045, 1.0, 1.2), (0.022, 1.05, 1.3), (0.011, 1.4, 1.5), (0.0058, 2.1, 2.1)),
        3: ((0.15, 0.9, 1.3), (0.07, 0.95, 1.3), (0.032, 1.05, 1.4)),
    },
)
"""Independent Laplace noise on every node at user level; the loss is ``epsilon n``. With one axis the errors of sums
add up along it: ``k`` nodes have ``sqrt(k)/(epsilon n)``."""

BY_USER_EDGES = Rule(
    {1: 2 / 3, 2: 1 / 2, 3: 1 / 3},
    {1: 0.3, 2: 1.0, 3: 0.75},
    {1: ((1.0, 0.45, 0.65),), 2: ((1.0, 0.56, 0.95),), 3: ((1.0, 0.72, 1.05),)},
)
"""Gaussian noise on edges at user level; the loss is ``n`` over the noise's scale at sensitivity 1."""

BY_TREE = Rule(
    {2: 1 / 2},
    {2: 3.0},
    {2: ((0.045, 1.1, 1.35), (0.022, 0.98, 1.45), (0.011, 0.87, 1.5), (0.0058, 1.0, 1.95))},
)
"""Laplace noise on the blocks of a tree at user level; the loss is ``epsilon n``. Its pitch is that of its levels."""

WITH_LISTS = (1.8, 1.0)
"""Of the expected distances of three axes, or more, that stand beside listed values: towns have several of these."""

OTHER = "other_"
"""Before the names of the columns of a pair's other record."""

FINER = 4
"""Places of the fine grid a pitch, by default and where there is room."""

MOST_PLACES = 60_000
"""Most places of the fine grid where no resolution is asked for: some seconds of fitting."""

LARGEST_GRID = 1_000_000
"""Most places with a resolution: a minute of fitting, by ``benchmarks/measures_scale.py --session``."""


@dataclass(frozen=True, eq=False)
class MeasureCells:
    """Nodes of all parts, and the fine grid.

    Parameters
    ----------
    cells : Cells
        The nodes, part by part.
    spans : tuple of Span or None
        One an axis: the numbers that its column may hold; None for a listed column.
    counts : tuple of int
        Places of the fine grid along each axis.
    pitch : float
        In the natural unit of the first continuous part.
    unit : str
        That unit, with a space before it, or empty.
    scale : float
        That unit in the unit of ``d_X``.
    typical, length : float
        The rule's power of ``V`` over the loss, in the unit of ``d_X``, and over the side.
    rule : Rule
        What the pitch and the expected distance are by.
    pairs : bool
        Whether the axes are those of two records of one user, one after the other.
    """

    cells: Cells
    spans: tuple[Span | None, ...]
    counts: tuple[int, ...]
    pitch: float
    unit: str
    scale: float
    typical: float
    length: float
    rule: Rule = BY_MOVES
    pairs: bool = False

    @property
    def expected(self) -> tuple[float, float]:
        """Distance to the truth that is expected at towns and at scattered places, in the natural unit."""
        axes = sum(span is not None for span in self.spans)
        towns, scattered = self.rule.factors(axes, self.length)
        if axes > 2 and self.rule is BY_MOVES and axes < len(self.spans):
            towns, scattered = towns * WITH_LISTS[0], scattered * WITH_LISTS[1]
        return towns * self.typical / self.scale, scattered * self.typical / self.scale

    @property
    def expectation(self) -> str:
        """Expected distances of the fit to the truth, in words."""
        towns, scattered = self.expected
        return (
            f"expected {towns:.2g}{self.unit} from the truth in earth-mover distance, of scattered places "
            f"{scattered:.2g}{self.unit}"
        )

    @property
    def places(self) -> int:
        """Number of places of the fine grid."""
        return math.prod(self.counts)

    @cached_property
    def values(self) -> tuple[list[Any], ...]:
        """Values of the fine grid's places along each axis: middles of equal parts of its range, or listed values."""
        found: list[list[Any]] = []
        for axis, span, count in zip(self.cells.axes, self.spans, self.counts, strict=True):
            if isinstance(axis, LabelAxis):
                found.append([cell[0] for cell in axis.cells])
            elif span is not None:
                middles = span.low + (np.arange(count) + 0.5) * ((span.high - span.low) / count)
                found.append(middles.tolist())
        return tuple(found)

    def weights(self) -> list[Floats]:
        """Return for each axis what its places give to its nodes, shape (nodes, places)."""
        found = []
        for axis, values in zip(self.cells.axes, self.values, strict=True):
            if isinstance(axis, LabelAxis):
                found.append(np.eye(axis.size))
                continue
            below, share = hat_places(axis, np.array(values, dtype=np.float64))
            matrix, places = np.zeros((axis.size, len(values))), np.arange(len(values))
            matrix[below, places] = 1.0 - share
            matrix[(below + 1) % axis.size, places] += share
            found.append(matrix)
        return found


def measure_cells(
    space: Space,
    loss: float,
    *,
    pitch: float | None = None,
    resolution: float | None = None,
    columns: Sequence[str] = (),
    pairs: bool = False,
    rule: Rule = BY_MOVES,
) -> MeasureCells:
    """Return the nodes and places of a measure on a space.

    Parameters
    ----------
    space : Space
        Parts with grids, and parts of listed values.
    loss : float
        ``e``: alpha times the public number of users; see the rules for others.
    pitch, resolution, columns, pairs
        As in :class:`emdp.questions.measures.Measure`.
    rule : Rule
        By the kind of noise.

    Raises
    ------
    UsageError
        If a part has neither, no part has a grid, or there would be more than 200,000 nodes.

    >>> from emdp.spaces import Geo
    >>> city = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
    >>> found = measure_cells(city, 1300 * city.diameter)
    >>> round(found.pitch, 2), [axis.size for axis in found.cells.axes], found.counts
    (2.06, [25, 24], (95, 92))
    """
    kept = chosen_parts(space, columns)
    _check(kept)
    if pairs and len(kept) > 1:
        raise UsageError("pairs is of one part of the space; pass columns, those of the part.")
    shares = dict(zip(map(id, space.parts), space.exact_shares, strict=True))
    scales = [float(shares[id(part)]) / part.diameter for part in kept]
    first = next(place for place, part in enumerate(kept) if part.labels is None)
    lengths, values = _lengths(kept, scales)
    if pairs:
        # a move of one record's place moves both places of its pairs
        lengths, loss = lengths * 2, loss / 2.0
    count = len(lengths)
    volume = math.prod(lengths) * values
    typical = (volume / loss) ** rule.power(count)
    length = typical / volume ** (1.0 / count)
    widest = kept[first].domain_diameter
    factor = rule.pitches[min(count, max(rule.pitches))]
    wanted = factor * typical / scales[first] if pitch is None else pitch
    if pitch is not None and pitch > widest:
        raise UsageError(f"pitch must be at most {widest:.6g}, the largest distance in the space, got {pitch:.6g}.")
    own = min(wanted, widest)
    axes, spans = _axes(kept, [own * scales[first] / scale for scale in scales])
    names = tuple(name for part in kept for name in part.columns)
    if pairs:
        axes, spans, names = axes * 2, spans * 2, (*names, *(f"{OTHER}{name}" for name in names))
    nodes = math.prod(axis.size for axis in axes)
    if nodes > MOST_CELLS:
        raise UsageError(f"pitch {own:.4g} makes {nodes} nodes, more than {MOST_CELLS}; pass a larger pitch.")
    finer = FINER if resolution is None else math.ceil(max(1.0, min(own / resolution, LARGEST_GRID)))
    counts = _counts(axes, spans, finer, MOST_PLACES if resolution is None else LARGEST_GRID)
    text = f"a measure {'of pairs ' if pairs else ''}on {', '.join(names)}, pitch {own:.4g}"
    cells = Cells(axes, names, text, is_map=len(kept) == 1 and kept[0].is_map and not pairs)
    unit = "" if kept[first].unit is None else f" {kept[first].unit}"
    return MeasureCells(cells, spans, counts, own, unit, scales[first], typical, length, rule, pairs)


def chosen_parts(space: Space, columns: Sequence[str]) -> tuple[Space, ...]:
    """Return the parts of a space that have some columns, in the space's order; all where none are named.

    Raises
    ------
    UsageError
        If a column is of no part, or a part has further ones.

    >>> from emdp.spaces import Cycle, Interval, Product
    >>> space = Product(Interval("x", 0, 1), Cycle("hour", 24))
    >>> [part.columns for part in chosen_parts(space, ["hour"])]
    [('hour',)]
    """
    wanted = set(columns)
    kept = tuple(part for part in space.parts if not wanted or wanted & set(part.columns))
    known = {name for part in kept for name in part.columns}
    if wanted and wanted != known:
        odd = sorted(wanted ^ known)[0]
        raise UsageError(
            f"columns must be all columns of some parts of the space, and {odd!r} is not among them or is missing; "
            f"choose of {', '.join(space.columns)}."
        )
    return kept


def _check(parts: Sequence[Space]) -> None:
    for part in parts:
        refusal = part.grid_refusal() if part.labels is None else None
        if refusal is not None:
            raise UsageError(f"a measure has nodes along every part of the space, and {refusal}; ask for means.")
    if all(part.labels is not None for part in parts):
        raise UsageError("a measure needs a part that has a grid, and all parts list values; ask for frequencies.")


def _lengths(parts: Sequence[Space], scales: Sequence[float]) -> tuple[list[float], int]:
    """Return the lengths of the continuous axes in the unit of ``d_X``, and the number of listed values."""
    lengths: list[float] = []
    values = 1
    for part, scale in zip(parts, scales, strict=True):
        if part.labels is not None:
            values *= len(part.labels)
            continue
        lines = part.grid_lines(part.domain_diameter / 64)
        pitches = part.cell_pitches(tuple(line.step for line in lines))
        for line, pitch in zip(lines, pitches, strict=True):
            span = _span(part, line.column)
            lengths.append((span.high - span.low) / line.step * pitch * scale)
    return lengths, values


def _axes(parts: Sequence[Space], pitches: Sequence[float]) -> tuple[tuple[Axis, ...], tuple[Span | None, ...]]:
    axes: list[Axis] = []
    spans: list[Span | None] = []
    for part, pitch in zip(parts, pitches, strict=True):
        if part.labels is not None:
            axes.append(LabelAxis.alone(part.columns[0], part.labels))
            spans.append(None)
            continue
        for line in part.grid_lines(min(pitch, part.domain_diameter)):
            axes.append(HatAxis(Column(line.column), line.start, line.step, line.size, is_periodic=line.goes_round))
            spans.append(_span(part, line.column))
    return tuple(axes), tuple(spans)


def _counts(axes: Sequence[Axis], spans: Sequence[Span | None], finer: int, most: int) -> tuple[int, ...]:
    """Return how many places each axis has: so many a pitch, or fewer where there would be too many in all."""

    def counts(finer: int) -> tuple[int, ...]:
        return tuple(
            axis.size
            if span is None or isinstance(axis, LabelAxis)
            else max(1, math.ceil(finer * (span.high - span.low) / axis.step - 1e-9))
            for axis, span in zip(axes, spans, strict=True)
        )

    least, above = 1, finer + 1
    while above - least > 1:
        middle = (least + above) // 2
        least, above = (middle, above) if math.prod(counts(middle)) <= most else (least, middle)
    return counts(least)


def _span(part: Space, column: str) -> Span:
    span = part.span_of(column)
    if span is None:
        raise UsageError(f"column {column!r} of {part.noun} has no range; ask for means.")
    return span
