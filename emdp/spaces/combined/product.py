"""``Product``: several spaces side by side, their distances added by weight."""

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, Mask, OnInvalid, Space
from emdp.spaces.part import Weighted
from emdp.spaces.rounding import difference_up, quotient_up

__all__ = ["LARGEST_WEIGHT_RATIO", "Product"]

LARGEST_WEIGHT_RATIO = 1e12
"""Largest ratio of two weights: beyond it the light part's distances vanish in the rounding of the others."""


@dataclass(frozen=True, init=False, repr=False)
class Product(Space):
    """Items of several parts, with ``d_X = sum_i (w_i/W) d_i`` and ``W = sum_i w_i``.

    Each ``d_i`` is cut at 1 before it is added, so ``d_X <= 1``; its ``diameter`` is 1 and it has no unit.

    Parameters
    ----------
    *parts : Space or Weighted
        The parts, of disjoint columns, none a ``Product``; ``part.weighted(w)`` gives one a weight, default
        1; the largest may be ``LARGEST_WEIGHT_RATIO`` times the smallest. Each part keeps its own
        ``on_invalid`` and neutral item: an invalid value replaces that part of the item alone.

    Attributes
    ----------
    weights : tuple of float
        Weight of each part.
    slices : tuple of slice
        Columns of each part in an encoded item.
    on_invalid : {"error", "clamp", "neutral", "elsewhere"}
        ``"error"`` if a part has it, else the rule of the first part.

    Raises
    ------
    UsageError
        If an argument is malformed.

    References
    ----------
    EMD 2, "Product spaces".

    >>> from emdp.spaces import Categories, Interval
    >>> space = Product(Interval("price", 0, 10).weighted(3), Categories("kind", ["a", "b"]))
    >>> space.pairwise({"price": [0], "kind": ["a"]}, {"price": [5, 5], "kind": ["a", "b"]}).tolist()
    [[0.375, 0.625]]
    """

    kind: ClassVar[str] = "product"
    members: tuple[Space, ...]
    weights: tuple[float, ...]
    columns: tuple[str, ...]
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid

    def __init__(self, *parts: Space | Weighted) -> None:
        weighted = _check_parts(parts)
        members = tuple(part.space for part in weighted)
        rules = [member.on_invalid for member in members]
        fields = {
            "members": members,
            "weights": tuple(part.weight for part in weighted),
            "columns": tuple(column for member in members for column in member.columns),
            "diameter": 1.0,
            "domain_diameter": 1.0,
            "unit": None,
            "on_invalid": "error" if "error" in rules else rules[0],
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Return the call that makes the space."""
        listed = (f"{part!r}.weighted({weight!r})" for part, weight in zip(self.members, self.weights, strict=True))
        return f"Product({', '.join(listed)})"

    @property
    def parts(self) -> tuple[Space, ...]:
        return self.members

    @cached_property
    def exact_shares(self) -> tuple[Fraction, ...]:
        weights = [Fraction(weight) for weight in self.weights]
        return tuple(weight / sum(weights) for weight in weights)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Columns of each part in an encoded item."""
        ends = np.cumsum([part.width for part in self.members]).tolist()
        return tuple(slice(end - part.width, end) for part, end in zip(self.members, ends, strict=True))

    @property
    def width(self) -> int:
        return sum(part.width for part in self.members)

    @property
    def neutral_item(self) -> Floats:
        return np.hstack([part.neutral_item for part in self.members])

    def split(self, items: Floats) -> tuple[Floats, ...]:
        """Return encoded items part by part.

        >>> from emdp.spaces import Interval
        >>> space = Product(Interval("x", 0, 1), Interval("y", 0, 1))
        >>> [part.tolist() for part in space.split(np.array([[0.0, 1.0]]))]
        [[[0.0]], [[1.0]]]
        """
        return tuple(items[:, place] for place in self.slices)

    def items_at(self, units: Floats) -> Floats:
        return np.hstack([part.items_at(own) for part, own in zip(self.members, self.split(units), strict=True)])

    def valid_mask(self, frame: object) -> Mask:
        masks = [part.valid_mask(frame) for part in self.members]
        return np.asarray(np.logical_and.reduce(masks), dtype=np.bool_)

    def encode(self, frame: object) -> Floats:
        """Return the encoded items of a frame, shape (rows, width), after each part's ``on_invalid`` rule."""
        return np.hstack([part.encode(frame) for part in self.members])

    def encode_point(self, point: Any) -> Floats:
        """Return a sequence of one point a part as an encoded point, shape (1, width)."""
        if not isinstance(point, list | tuple) or len(point) != len(self.members):
            raise UsageError(f"point must be one point for each of {len(self.members)} parts; pass a tuple of them.")
        pairs = zip(self.members, point, strict=True)
        return np.hstack([part.encode_point(own) for part, own in pairs])

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        named: dict[str, list[Any]] = {}
        for part, own in zip(self.members, self.split(items), strict=True):
            named |= part.decode(own)
        return named

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of ``d_X``, the only distance that a product has."""
        total = np.zeros((len(left), len(right)))
        pairs = zip(self.members, self.shares, self.split(left), self.split(right), strict=True)
        for part, share, own_left, own_right in pairs:
            total += share * part.distances(own_left, own_right)
        return np.minimum(total, 1.0, out=total)

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of a numeric column, per unit of the *product's* distance.

        That is the part's constant (at least the range, if the part is truncated) times ``W/w``, rounded
        outward. Expressions carry constants part by part instead, and take them from the part itself.
        """
        place = self._place(column)
        part, share = self.members[place], self.exact_shares[place]
        own = part.column_bounds(column)
        lipschitz = max(own.lipschitz, difference_up(own.high, own.low) if part.is_truncated else 0.0)
        return FunctionBounds(quotient_up(lipschitz, share), own.low, own.high, own.rounding)

    def column_values(self, items: Floats, column: str) -> Floats:
        place = self._place(column)
        return self.members[place].column_values(items[:, self.slices[place]], column)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Raise: a distance belongs to one part."""
        return self._refuse_function("distance_bounds")

    def distance_values(self, items: Floats, point: Floats) -> Floats:
        """Raise: a distance belongs to one part."""
        return self._refuse_function("distance_values")

    def inner_bounds(self, vector: Floats) -> FunctionBounds:
        """Raise: an inner product belongs to one part."""
        return self._refuse_function("inner_bounds")

    def inner_values(self, items: Floats, vector: Floats) -> Floats:
        """Raise: an inner product belongs to one part."""
        return self._refuse_function("inner_values")

    def label_bounds(self, label: Any) -> FunctionBounds:
        """Raise: a listed value belongs to one part."""
        return self._refuse_function("label_bounds")

    def label_values(self, items: Floats, label: Any) -> Floats:
        """Raise: a listed value belongs to one part."""
        return self._refuse_function("label_values")

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "parts": [part.to_json() for part in self.members],
            "weights": list(self.weights),
        }

    def _place(self, column: str) -> int:
        for place, part in enumerate(self.members):
            if column in part.columns:
                return place
        raise UsageError(f"the space has no column {column!r}, only {list(self.columns)!r}; name one of them.")

    def _refuse_function(self, name: str) -> NoReturn:
        raise UsageError(f"{name} is a function of one part of a Product, not of the whole; call it on parts[i].")


def _check_parts(parts: tuple[object, ...]) -> tuple[Weighted, ...]:
    """Return the parts with their weights, or raise if they do not make a product."""
    if not parts:
        raise UsageError("a Product needs at least one part; pass spaces.")
    weighted = []
    for part in parts:
        if not isinstance(part, Space | Weighted):
            raise UsageError(f"a part must be a Space, not {type(part).__name__}; pass spaces one by one.")
        entry = part if isinstance(part, Weighted) else Weighted(part, 1.0)
        if isinstance(entry.space, Product):
            raise UsageError("a part of a Product cannot be a Product; list all parts in one, with weights.")
        if entry.space.elsewhere is not None:
            raise UsageError("a part cannot have the point elsewhere, which is one of whole items; wrap the Product.")
        weighted.append(entry)
    weights = [entry.weight for entry in weighted]
    if max(weights) > LARGEST_WEIGHT_RATIO * min(weights):
        raise UsageError(
            f"weights must differ by a factor of at most {LARGEST_WEIGHT_RATIO}, got {min(weights)} and "
            f"{max(weights)}; leave out the part that hardly counts."
        )
    columns = [column for entry in weighted for column in entry.space.columns]
    for column in columns:
        if columns.count(column) > 1:
            raise UsageError(f"column {column!r} belongs to two parts; give each column to one part.")
    return tuple(weighted)
