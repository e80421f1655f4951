"""The interface of an item space: a public domain with a ground metric ``d_X`` in [0, 1] (EMD 1).

A space turns rows of a frame into *encoded items*, a float64 array with one row an item and ``width`` columns, and
everything below works on those. Encodings: numbers for ``Interval``, ``Cycle`` and ``Vector``, degrees (lat, lon)
for ``Geo``, the position in ``labels`` for finite spaces, and the parts side by side for ``Product``.

Everything that differs between spaces is asked of the space here. What a space does not offer has a default that
refuses it (``UsageError``) or says that there is none; nothing is guessed. The SQL of the few kinds that are no box of
ranges with a stated formula stands in ``emdp/tables/statements/kinds.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.formulas import Arithmetic
from emdp.spaces.ranges import GridLine, PointKind, Span

__all__ = ["ON_INVALID", "Floats", "FunctionBounds", "Mask", "OnInvalid", "Space", "noun_of"]

Mask = npt.NDArray[np.bool_]
V = TypeVar("V")
OnInvalid = Literal["error", "clamp", "neutral", "elsewhere"]
ON_INVALID: tuple[OnInvalid, ...] = ("error", "clamp", "neutral", "elsewhere")


@dataclass(frozen=True)
class FunctionBounds:
    """Public facts about a function on one space.

    Parameters
    ----------
    lipschitz : float
        Constant per unit of the space's ``d_X`` *before* truncation at 1: the constant per natural unit times
        ``diameter`` (EMD 2, "Truncated ground metrics": the maximum with the range is taken once, at the end).
    low, high : float
        Bounds of the function on the domain, the neutral item included.
    rounding : float
        Bound on |computed in floating point - exact| anywhere in the domain, in the function's unit.
    """

    lipschitz: float
    low: float
    high: float
    rounding: float


def noun_of(kind: str) -> str:
    """Return a kind of space in words.

    >>> noun_of("interval"), noun_of("geo")
    ('an interval space', 'a geo space')
    """
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} space"


class Space(ABC):
    """A public item space; see the module's text for what "encoded" means.

    Attributes
    ----------
    kind : str
        Name used in JSON and in catalogs, such as ``"geo"``.
    columns : tuple of str
        Columns of the table that hold an item.
    unit : str or None
        Natural unit of distances, such as ``"km"``.
    diameter : float
        Natural distance that counts as 1; distances beyond it count as 1 too.
    domain_diameter : float
        Upper bound of the natural distances inside the domain, the neutral item included.
    on_invalid : {"error", "clamp", "neutral", "elsewhere"}
        What is done with a value outside the domain; ``"elsewhere"`` takes the whole record out of it
        (:class:`emdp.spaces.Elsewhere`).
    """

    kind: ClassVar[str]
    has_grid: ClassVar[bool] = False
    # Whether spaces of this kind have cells of a pitch; ``grid_refusal`` says why one of them has none after all.
    is_map: ClassVar[bool] = False
    # Whether its two columns are a latitude and a longitude.
    columns: tuple[str, ...]
    unit: str | None
    diameter: float
    domain_diameter: float
    on_invalid: OnInvalid

    @property
    def noun(self) -> str:
        """The space in words, such as "an interval space"."""
        return noun_of(self.kind)

    @property
    def width(self) -> int:
        """Number of float64 columns of an encoded item."""
        return len(self.columns)

    @property
    def parts(self) -> tuple["Space", ...]:
        """The parts whose distances are added: the space itself, except for ``Product``."""
        return (self,)

    @property
    def exact_shares(self) -> tuple[Fraction, ...]:
        """Weight of each part divided by the sum of weights (EMD 2, "Product spaces"): what constants divide by."""
        return (Fraction(1),)

    @property
    def shares(self) -> tuple[float, ...]:
        """The ``exact_shares``, each rounded to the nearest double: what distances are computed with."""
        return tuple(map(float, self.exact_shares))

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The listed values of a finite space, in encoding order; None for a continuum."""
        return None

    @property
    def structure(self) -> Literal["line", "discrete", "clusters", "general"]:
        """Exact transport that applies: points of a line, 0/1 distance, two-level clusters, or none."""
        return "general"

    @property
    def spans(self) -> tuple[Span, ...]:
        """The range of each column, in their order; empty for listed values and for what states none."""
        return ()

    @property
    def is_box(self) -> bool:
        """Whether the domain is every point of the ``spans``: numpy and engines then take validity from them."""
        return False

    @property
    def point_kind(self) -> PointKind:
        """Form of a point in SQL (:data:`emdp.spaces.ranges.PointKind`)."""
        return ""

    @property
    def dimension(self) -> int:
        """Numbers of the vectors whose inner product the space has; 0 where it has none."""
        return 0

    @property
    def has_label_vectors(self) -> bool:
        """Whether each listed value has a vector, so that there is a similarity to it."""
        return False

    @property
    def tried_points(self) -> tuple[Any, ...]:
        """Public points to which an audit measures distances; where there are none it takes the columns' values."""
        return ()

    @property
    def elsewhere(self) -> float | None:
        """Distance of the point elsewhere from every item; None where the space has none."""
        return None

    @property
    def slots(self) -> int | None:
        """Records up to which every bag is filled with the point elsewhere; None where bags are as they are."""
        return None

    @property
    def items_space(self) -> "Space":
        """The space without the point elsewhere."""
        return self

    def is_elsewhere(self, items: Floats) -> Mask:
        """Say of each encoded item whether it is the point elsewhere."""
        return np.zeros(len(items), dtype=np.bool_)

    @property
    def is_truncated(self) -> bool:
        """Whether some distance of the domain exceeds ``diameter``, so that ``min(., 1)`` can bind."""
        return self.domain_diameter > self.diameter

    @property
    @abstractmethod
    def neutral_item(self) -> Floats:
        """The encoded neutral item, of shape (1, width)."""

    @abstractmethod
    def valid_mask(self, frame: object) -> Mask:
        """Say of each row of a frame whether its item lies in the domain."""

    @abstractmethod
    def encode(self, frame: object) -> Floats:
        """Return the encoded items of a frame, shape (rows, width), after the ``on_invalid`` rule.

        Raises
        ------
        InvalidItemError
            If the rule is ``"error"`` and a row is invalid; the message gives the number of rows, no value.
        """

    @abstractmethod
    def encode_point(self, point: Any) -> Floats:
        """Return a public point that an analyst wrote (a number, a pair, a vector, a label), shape (1, width).

        Raises
        ------
        UsageError
            If it is no point of this kind of space. It may lie outside the box of a continuum.
        """

    @abstractmethod
    def decode(self, items: Floats) -> dict[str, list[Any]]:
        """Return encoded items as natural values under the space's column names."""

    @abstractmethod
    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of untruncated distances in natural units between encoded items."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready description from which :func:`emdp.spaces.from_json` rebuilds an equal space."""

    def items_at(self, units: Floats) -> Floats:
        """Return the encoded items at points of the unit cube, whose even points give items spread over the domain.

        Parameters
        ----------
        units : numpy.ndarray
            Shape (n, width), in [0, 1). Of listed values the range is cut into equal pieces.

        Returns
        -------
        numpy.ndarray
            Shape (n, width).
        """
        raise UsageError(f"{self.noun} does not say how its items are spread; use one that does.")

    def distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of ``d_X`` in [0, 1] between encoded items."""
        distances: Floats = self.natural_distances(left, right) / self.diameter
        return np.minimum(distances, 1.0, out=distances)

    def pairwise(self, P: object, Q: object) -> Floats:
        """Return the matrix of ``d_X`` between the items of two frames.

        Parameters
        ----------
        P, Q : frame
            Frames with the space's columns, of ``n`` and ``m`` rows.

        Returns
        -------
        numpy.ndarray
            Shape (n, m), values in [0, 1].
        """
        return self.distances(self.encode(P), self.encode(Q))

    def span_of(self, column: str) -> Span | None:
        """Return the range of a column; None where the space states none."""
        return next((span for span in self.spans if span.column == column), None)

    def brought_inside(self, items: Floats) -> Floats:
        """Return points of the ``spans`` moved into a domain that is smaller; a box leaves them as they are."""
        return items

    def distance_formula(self, arithmetic: Arithmetic[V], left: Sequence[V], right: Sequence[V]) -> V:
        """Return the natural distance of two items as a formula, given the columns of each.

        One formula serves numpy and the engines. Its rounding error is part of ``distance_bounds``.
        """
        raise UsageError(
            f"{self.noun} states no formula of its distance, so no engine computes it; use another function."
        )

    def arc_constant(self, column: str) -> float:
        """Return the constant of a column as a map to a circle of its period, per unit of ``d_X`` before truncation.

        For columns that go round alone: a record whose item moves by ``t`` moves by at most this times ``t`` along
        the circle.
        """
        raise UsageError(f"column {column!r} of {self.noun} is not periodic; name a Cycle's.")

    def joint_rates(self, alone: Mapping[str, float], steps: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return rates ``r_a`` with ``sum (du_a/r_a)^2 <= t^2`` for the places on grid lines along columns.

        Parameters
        ----------
        alone : mapping of str to float
            Rate of each column's place by itself, in steps per unit of ``d_X`` before truncation.
        steps : mapping of str to float
            Step of each column's line.

        Returns
        -------
        tuple of float or None
            One rate a column; None where nothing better is known than each alone.
        """
        return None

    def grid_refusal(self) -> str | None:
        """Return why the space has no cells of a pitch and what to ask for instead; None where it has them."""
        named = " or ".join(map(repr, self.columns))
        return f"{self.noun} ({named}) has no grid; ask for ramps of distances instead"

    def grid_lines(self, step: float) -> tuple[GridLine, ...]:
        """Return the lines of a grid of a pitch in natural units, one a column; where ``grid_refusal`` is None.

        Two items whose columns differ by at most one step each must be at most ``step sqrt(columns)`` apart, and by a
        fraction ``f_a`` of a step each at most ``step`` times the 2-norm of the ``f_a`` (EMD 6: what smoothing moves).
        """
        raise UsageError(f"{self.grid_refusal()}.")

    def cell_pitches(self, steps: tuple[float, ...]) -> tuple[float, ...]:
        """Return the natural distance of neighbouring nodes along each line of a grid, at most; as columns count it."""
        return steps

    def grid_notes(self, lines: Sequence[GridLine], step: float) -> tuple[str, ...]:
        """Return what else an answer says of cells of a pitch."""
        return ()

    def line(self, items: Floats) -> Floats:
        """Return positions whose absolute differences are ``d_X``; only where ``structure`` is ``"line"``."""
        raise UsageError(f"{self.noun} is no line; use distances.")

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of the function "value of a numeric column"."""
        raise UsageError(f"column {column!r} of {self.noun} has no numeric value; use another function.")

    def column_values(self, items: Floats, column: str) -> Floats:
        """Return the value of a numeric column for each encoded item."""
        raise UsageError(f"column {column!r} of {self.noun} has no numeric value; use another function.")

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the natural, untruncated distance to an encoded point."""
        raise UsageError(f"{self.noun} has no distance to a point; use another function.")

    def distance_values(self, items: Floats, point: Floats) -> Floats:
        """Return the natural, untruncated distance of each encoded item to an encoded point, shape (n,)."""
        return self.natural_distances(items, point)[:, 0]

    def misplaced(self, point: Floats) -> tuple[str, tuple[float, float] | None] | None:
        """Return what is strange about a public point of an analyst, and the point that was meant if one is likely."""
        return None

    def turned(self, point: Any) -> tuple[float, float] | None:
        """Return a point's two numbers in the other order, if only that can be meant."""
        return None

    def inner_bounds(self, vector: Floats) -> FunctionBounds:
        """Return what is known of the inner product with a vector of shape (dimension,)."""
        raise UsageError(f"{self.noun} has no inner product; use a Vector or an Embedding.")

    def inner_values(self, items: Floats, vector: Floats) -> Floats:
        """Return the inner product of each encoded item's vector with ``vector``, shape (n,)."""
        raise UsageError(f"{self.noun} has no inner product; use a Vector or an Embedding.")

    def label_bounds(self, label: Any) -> FunctionBounds:
        """Return what is known of the indicator of one listed value: finite spaces only."""
        raise UsageError(f"{self.noun} has no listed values; use a ramp of a distance instead.")

    def label_values(self, items: Floats, label: Any) -> Floats:
        """Return 1.0 where an encoded item is the listed value, else 0.0, shape (n,)."""
        raise UsageError(f"{self.noun} has no listed values; use a ramp of a distance instead.")


def check_on_invalid(value: object, *, allowed: Sequence[OnInvalid] = ON_INVALID) -> OnInvalid:
    """Return a checked ``on_invalid`` rule; ``allowed`` leaves out "clamp" where clamping means nothing."""
    check_choice("on_invalid", value, ON_INVALID)
    for rule in allowed:
        if rule == value:
            return rule
    raise UsageError(
        f"on_invalid={value!r} means nothing for this space; choose one of {', '.join(map(repr, allowed))}."
    )
