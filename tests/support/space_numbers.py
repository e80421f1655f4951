"""Every number of the contract of a space on which a guarantee rests, against its metric, pair by pair.

``check_numbers(space)`` needs nothing but the space: it makes items with ``items_at``, the ends of the ranges and
the seams of what goes round among them, moves them far and near, along one column and along all, and compares. A number
that is stated as half of what the metric asks fails (tests/faults/planted/spaces.toml).

What it looks at: ``diameter`` and ``domain_diameter``, ``exact_shares``, ``neutral_item``, ``elsewhere`` and
``slots``, ``spans``, ``column_bounds``, ``distance_bounds``, ``inner_bounds``, ``label_bounds`` (constant before
truncation, range, rounding where there is a formula), ``arc_constant``, ``joint_rates``, ``grid_lines``,
``cell_pitches``, ``line``.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from emdp.base.errors import UsageError
from emdp.spaces import FunctionBounds, Product, Space, finite_items, from_json
from emdp.transport import d_em

__all__ = ["check_numbers"]

ITEMS = 90
"""Random items of a space; each is compared with all others and with six near ones."""

MOVES = (0.3, 1e-2, 1e-4)
"""Lengths of moves, as shares of the ranges."""

SLACK = 1e-9
"""Error that computed distances may have, in the unit of ``d_X``; the shortest moves are 1e-4."""

LAST = math.nextafter(1.0, 0.0)


def check_numbers(space: Space, seed: int = 0) -> None:
    """Raise ``AssertionError`` unless every number of the contract that the space states holds on many pairs."""
    rng = np.random.default_rng(seed)
    left, _ = _pairs(space, rng)
    items = np.vstack([left[:ITEMS], space.neutral_item])
    _check_distances(space, items)
    _check_shares(space, items)
    _check_elsewhere(space, items)
    for part in space.parts if space.elsewhere is None else ():
        _check_part(part, rng)


def _check_part(part: Space, rng: np.random.Generator) -> None:
    left, right = _pairs(part, rng)
    left, right = np.vstack([left, left[:ITEMS]]), np.vstack([right, np.repeat(part.neutral_item, ITEMS, axis=0)])
    natural = np.array([part.natural_distances(x[None], y[None])[0, 0] for x, y in zip(left, right, strict=True)])
    moved = natural / part.diameter  # before truncation
    for name, bounds, values_of in _functions(part, left, rng):
        before, after = values_of(left), values_of(right)
        both = np.concatenate([before, after])
        assert (both >= bounds.low - bounds.rounding).all(), f"{name}: below its range"
        assert (both <= bounds.high + bounds.rounding).all(), f"{name}: above its range"
        if math.isfinite(bounds.lipschitz):
            most = bounds.lipschitz * (moved + SLACK) + 2 * bounds.rounding
            assert (np.abs(before - after) <= most).all(), f"{name}: moves faster than its constant"
    _check_formula(part, left)
    if not _listed(part):
        _check_spans(part, left, right, moved)
        _check_grid(part, left, rng)


def _pairs(space: Space, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Items and others: at random, and moved by little along one or along all directions of the unit cube."""
    units = rng.random((ITEMS, space.width))
    kinds = rng.random(units.shape)
    units[kinds < 0.25] = 0.0
    units[kinds > 0.75] = LAST
    units[(kinds > 0.45) & (kinds < 0.5)] = 0.5
    corners = _corners(space.width)
    units[: len(corners)] = corners
    starts, ends = [units, units], [rng.permutation(units), units[::-1]]
    for move in MOVES:
        alone = np.zeros_like(units)
        alone[np.arange(ITEMS), rng.integers(space.width, size=ITEMS)] = move
        for step in (alone, move * rng.uniform(-1, 1, units.shape)):
            # Those that would leave the cube go back in, so that items at its faces are moved too.
            there = units + np.where((units + step > LAST) | (units + step < 0), -step, step)
            starts.append(units)
            ends.append(there)
    return space.items_at(np.vstack(starts)), space.items_at(np.vstack(ends))


def _corners(width: int) -> np.ndarray:
    codes = np.arange(2 ** min(width, 4))[:, None] >> np.arange(width)[None] & 1
    return codes * LAST


def _listed(space: Space) -> bool:
    return finite_items(space) is not None


def _check_distances(space: Space, items: np.ndarray) -> None:
    natural, d = space.natural_distances(items, items), space.distances(items, items)
    assert natural.max() <= space.domain_diameter, "domain_diameter is exceeded"
    assert space.is_truncated == (space.domain_diameter > space.diameter)
    assert d.max() <= 1
    if len(space.parts) == 1:
        np.testing.assert_allclose(d, np.minimum(natural / space.diameter, 1), rtol=0, atol=SLACK)
        own = {name: value for name, value in space.to_json().items() if name != "diameter"}
        assert "diameter" not in space.to_json() or from_json(own).diameter >= space.domain_diameter
    if space.structure == "line":
        places = space.line(items)
        np.testing.assert_allclose(np.abs(np.subtract.outer(places, places)), d, rtol=0, atol=SLACK)
    if space.structure == "discrete":
        assert set(np.unique(d)) <= {0.0, 1.0}


def _check_shares(space: Space, items: np.ndarray) -> None:
    shares = space.exact_shares
    assert sum(shares) == 1
    inner = space.items_space
    known = items[~space.is_elsewhere(items)]
    if isinstance(inner, Product):
        split = zip(inner.parts, shares, inner.split(known), strict=True)
        added = sum(float(share) * part.distances(own, own) for part, share, own in split)
        np.testing.assert_allclose(space.distances(known, known), added, rtol=0, atol=SLACK)
        for index, part in enumerate(inner.parts):
            moved = known.copy()
            moved[:, inner.slices[index]] = np.roll(known[:, inner.slices[index]], 1, axis=0)
            own = np.diag(part.distances(inner.split(known)[index], inner.split(moved)[index]))
            whole = np.diag(space.distances(known, moved))
            assert (own <= whole * float(1 / shares[index]) + SLACK * float(1 / shares[index])).all()
            _check_columns_of_product(inner, part, known)


def _check_columns_of_product(space: Product, part: Space, items: np.ndarray) -> None:
    d = space.distances(items, items)
    for column in part.columns:
        try:
            bounds = space.column_bounds(column)
        except UsageError:
            continue
        change = np.abs(np.subtract.outer(*(space.column_values(items, column),) * 2))
        if math.isfinite(bounds.lipschitz):
            assert (change <= bounds.lipschitz * (d + SLACK) + 2 * bounds.rounding).all(), column


def _check_elsewhere(space: Space, items: np.ndarray) -> None:
    if space.elsewhere is None:
        assert space.slots is None
        assert not space.is_elsewhere(items).any()
        return
    gone = space.is_elsewhere(items)
    d = space.distances(items, items)
    assert gone[-1]
    assert (d[~gone][:, gone] == space.elsewhere).all()
    assert d.max() <= max(space.elsewhere, 2 * space.elsewhere * (1 - gone.all()))
    if space.slots is not None and space.slots > 1:
        two = space.items_space.decode(items[~gone][:2])
        one = {name: values[:1] for name, values in two.items()}
        # The theorem on top of elsewhere.py: one record more is exactly this far.
        assert math.isclose(float(d_em(one, two, space)), space.elsewhere / space.slots, abs_tol=SLACK)


def _functions(
    part: Space, items: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[str, FunctionBounds, Callable[[np.ndarray], np.ndarray]]]:
    """Every function that the space offers: its name, what is known of it, its values."""
    for column in part.columns:
        try:
            yield f"column {column}", part.column_bounds(column), lambda own, c=column: part.column_values(own, c)
        except UsageError:
            continue
    for point in _points(part, items, rng):
        try:
            bounds = part.distance_bounds(point)
        except UsageError:
            break
        yield f"distance to {point}", bounds, lambda own, p=point: part.distance_values(own, p)
    for _ in range(4 if part.dimension else 0):
        v = rng.normal(size=part.dimension) * rng.integers(0, 2, size=part.dimension)
        yield f"inner product {v}", part.inner_bounds(v), lambda own, v=v: part.inner_values(own, v)
    for label in part.labels or ():
        yield f"label {label!r}", part.label_bounds(label), lambda own, at=label: part.label_values(own, at)


def _points(part: Space, items: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Encoded points of the domain, its corners among them, and outside of it where it states ranges."""
    chosen = [items[[place]] for place in [*range(4), *rng.integers(len(items), size=4)]]
    if _listed(part) or not part.spans:
        return chosen
    outside = items[:4].copy()
    for place, span in enumerate(part.spans):
        if not span.goes_round:
            outside[:, place] += (span.high - span.low) * rng.choice([-0.7, 0.3, 5.0], size=4)
    if part.is_map:
        outside = np.clip(outside, [-90.0, -180.0], [90.0, 360.0])
    return [*chosen, *(point[None] for point in outside)]


def _check_spans(part: Space, left: np.ndarray, right: np.ndarray, moved: np.ndarray) -> None:
    """Check the ranges of columns, the constants of those that go round, and the joint rates of any two or more."""
    gaps: dict[str, np.ndarray] = {}
    for place, span in enumerate(part.spans):
        before, after = left[:, place], right[:, place]
        assert all(span.holds(value) for value in [*before.tolist(), *after.tolist()])
        gaps[span.column] = np.abs(before - after)
        if span.goes_round:
            arcs = np.minimum(gaps[span.column], span.high - gaps[span.column])
            constant = part.arc_constant(span.column)
            assert (arcs <= constant * (moved + SLACK)).all(), f"{span.column}: arc_constant is exceeded"
    steady = [span.column for span in part.spans if not span.goes_round and _constant_of(part, span.column) is not None]
    for size in range(2, len(steady) + 1):
        for chosen in combinations(steady, size):
            for factor in (0.37, 1.0):
                steps = {span.column: (span.high - span.low) / 8 for span in part.spans if span.column in chosen}
                steps[chosen[0]] *= factor
                alone = {column: float(_constant_of(part, column) or 0) / steps[column] for column in chosen}
                rates = part.joint_rates(alone, steps)
                if rates is not None:
                    places = [gaps[column] / steps[column] / rate for column, rate in zip(chosen, rates, strict=True)]
                    assert (np.sqrt(np.square(places).sum(axis=0)) <= moved + SLACK).all(), "joint_rates are exceeded"


def _constant_of(part: Space, column: str) -> float | None:
    try:
        constant = part.column_bounds(column).lipschitz
    except UsageError:
        return None
    return constant if math.isfinite(constant) else None


def _check_grid(part: Space, items: np.ndarray, rng: np.random.Generator) -> None:
    """Check that steps of the lines of a grid are as short as smoothing takes them to be."""
    if part.grid_refusal() is not None:
        return
    for step in (part.domain_diameter / 3, part.domain_diameter / 40):
        lines = part.grid_lines(step)
        pitches = part.cell_pitches(tuple(line.step for line in lines))
        for place, (line, span) in enumerate(zip(lines, part.spans, strict=True)):
            assert (line.column, line.start, line.goes_round) == (span.column, span.low, span.goes_round)
            last = line.start + (line.size if line.goes_round else line.size - 1) * line.step
            assert last >= span.high - SLACK * max(1.0, abs(span.high))
            moves = np.zeros(len(lines))
            moves[place] = 1.0
            natural = _stepped(part, lines, items, moves)
            assert (natural <= pitches[place] * (1 + SLACK)).all(), f"{line.column}: cell_pitches are exceeded"
        for _ in range(20):
            share = rng.random(len(lines)) ** rng.integers(0, 3)
            natural = _stepped(part, lines, items, share)
            most = step * float(np.linalg.norm(share)) * (1 + SLACK) + part.diameter * SLACK
            assert (natural <= most).all(), "items a step of grid_lines apart are farther than the pitch"


def _stepped(part: Space, lines: Sequence[Any], items: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Natural distances of items from where shares of a step lead, up to the last node, which may lie outside."""
    starts, ends = items[:ITEMS].copy(), items[:ITEMS].copy()
    for place, (line, share) in enumerate(zip(lines, shares, strict=True)):
        ends[:, place] += share * line.step
        last = line.start + (line.size - 1) * line.step
        if line.goes_round:
            ends[:, place] %= line.size * line.step
        else:
            over = ends[:, place] > last
            starts[over, place], ends[over, place] = last - share * line.step, last
    found = [part.distance_values(x[None], y[None])[0] for x, y in zip(starts, ends, strict=True)]
    return np.array(found)


class _Exact:
    """The operations of a formula on exact numbers; a root has 60 digits."""

    def number(self, value: float) -> Fraction:
        return Fraction(value)

    def subtract(self, left: Fraction, right: Fraction) -> Fraction:
        return left - right

    def multiply(self, left: Fraction, right: Fraction) -> Fraction:
        return left * right

    def absolute(self, value: Fraction) -> Fraction:
        return abs(value)

    def root(self, value: Fraction) -> Fraction:
        context = Context(prec=60, Emin=-(10**6), Emax=10**6)
        return Fraction(context.sqrt(context.divide(Decimal(value.numerator), Decimal(value.denominator))))

    def least(self, values: Any) -> Fraction:
        return min(values)

    def greatest(self, values: Any) -> Fraction:
        return max(values)

    def total(self, values: Any) -> Fraction:
        return sum(values, Fraction(0))


def _check_formula(part: Space, items: np.ndarray) -> None:
    """Check the rounding of a distance, and its exact range, where the space states a formula."""
    if type(part).distance_formula is Space.distance_formula or _listed(part):
        return
    for point in (items[:1], items[40:41]):
        bounds = part.distance_bounds(point)
        values = part.distance_values(items[:40], point)
        at = tuple(map(Fraction, point[0].tolist()))
        for item, value in zip(items[:40].tolist(), values.tolist(), strict=True):
            exact = part.distance_formula(_Exact(), tuple(map(Fraction, item)), at)
            assert abs(Fraction(value) - exact) <= Fraction(bounds.rounding), "rounding is exceeded"
            assert Fraction(bounds.low) <= exact <= Fraction(bounds.high), "the exact distance leaves its range"
