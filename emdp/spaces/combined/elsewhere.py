"""A space with one more point, *elsewhere*: where users without records are, and records that have no item.

``X+ = X`` and one point at the same distance ``rho`` of every item of ``X``.

**Lemma.** ``d(x, elsewhere) = rho``, ``d = d_X`` on ``X``, is a metric (a pseudometric where ``d_X`` is one) exactly if
``rho >= D/2``, ``D`` the largest distance in ``X``; it is at most 1 exactly if ``rho <= 1``. Since ``D <= 1`` every
``rho`` in [1/2, 1] is right for every space. *Proof.* A triangle with the point in the middle asks ``d_X(x, x') <= 2
rho``; one that ends in it, ``rho <= rho + d_X``. Distances of bags inside ``X`` stay as they are: a plan between them
has no mass at the point.

The point is one of the whole item. A point a part (``rho_i`` each) would be a metric too, but an expression over
several parts would have the constant ``max_i (W/w_i) max(L_i, h/rho_i)`` with ``h`` half of its whole range: 250 in
place of 100 at weights 1:9.

**Slots.** With ``slots = M`` a bag of ``m`` records that are somewhere is the distribution with ``1/max(m, M)`` at each
of them and what is left of 1, ``max(M - m, 0)/M``, elsewhere: the bag filled up to ``M`` with that point. Records that
are elsewhere are none: they take no slot that another record could have. Every bag is a distribution on ``X+`` by its
own records alone, so all that holds of ``d_em`` on ``X+`` holds of it.

**Theorem (one record).** Let bags ``B`` and ``B'`` differ in one record.

- Added or removed: ``d_em`` is exactly ``rho/M`` where both have at most ``M`` records. In all cases it is at most
  ``max(rho, D)/M``. *Proof.* Within ``M``, mass ``1/M`` goes to or from the point; it costs ``rho`` each, and nothing
  less is possible, since the mass of the point changes by ``1/M``. From ``m >= M`` to ``m + 1``: ``1/(m + 1)``
  goes to the new record from the others, farther than ``D`` never.
- Moved by ``q``: at most ``q/max(m, M) <= q/M``, by the plan that moves it alone.
- Gone elsewhere or come from there: the first case.

``k`` records one after another: at most ``k`` times that (triangle), and never more than ``max(rho, D)``, the largest
distance in ``X+``.
"""

from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from emdp.base.checks import check_count, check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.frames import to_polars
from emdp.spaces.base import Floats, Mask, OnInvalid, Space

__all__ = ["COLUMN", "LEAST", "MOST_SLOTS", "Elsewhere"]

LEAST = 0.5
"""Least distance from every item: half of the largest distance that two items can have."""

MOST_SLOTS = 2**31 - 1
"""Most slots: no engine holds more records of one user, and numbers of them are exact in doubles."""

COLUMN = "elsewhere"
"""Column of a frame of items that is true of rows that have no item."""


@dataclass(frozen=True, init=False, repr=False)
class Elsewhere(Space):
    """An item space with one more point, at the same distance from every item.

    ``emdp.read(..., elsewhere=1)`` makes it of the table's space. Users without records are there, and records with a
    part that has ``on_invalid="elsewhere"`` and an invalid value, with all their parts. In frames of items a row is
    there if its part says so, or if a column ``elsewhere`` is true. An encoded item of it is NaN in every column.

    Parameters
    ----------
    inner : Space
        The space of the items.
    distance : float
        ``rho``, in [0.5, 1]: distance of the point from every item, in the unit of ``d_X``.
    slots : int, optional
        Records up to which every bag is filled with the point, at least 1, so that one record added or removed is a
        known share of a bag. By default bags are as they are.

    Raises
    ------
    UsageError
        If ``inner`` is no space or has the point already, or the distance or the slots are out of their range.

    References
    ----------
    The lemma and the theorem on top of ``emdp/spaces/combined/elsewhere.py``.

    >>> from emdp.spaces import Interval
    >>> space = Elsewhere(Interval("x", 0, 10, on_invalid="elsewhere"))
    >>> space.pairwise({"x": [0, None]}, {"x": [5, 99]}).tolist()
    [[0.5, 1.0], [1.0, 0.0]]
    >>> from emdp.transport import d_em
    >>> float(d_em({"x": [2]}, {"x": [2, 7]}, Elsewhere(Interval("x", 0, 10), slots=4)))
    0.25
    """

    kind: ClassVar[str] = "elsewhere"
    inner: Space
    distance: float
    slots: int | None = None

    def __init__(self, inner: Space, distance: float = 1.0, slots: int | None = None) -> None:
        if not isinstance(inner, Space):
            raise UsageError(
                f"inner must be an emdp.Space, not {type(inner).__name__}; pass one such as emdp.Interval."
            )
        if inner.elsewhere is not None:
            raise UsageError("space has the point elsewhere already; declare it once.")
        rho = check_finite("elsewhere", distance)
        if not LEAST <= rho <= 1:
            raise UsageError(
                f"elsewhere must be a distance from {LEAST} to 1, got {rho}: nearer than half of the largest distance "
                "it is no metric, and farther than 1 no unit; pass 1."
            )
        object.__setattr__(self, "inner", inner)
        if slots is not None and check_count("slots", slots) > MOST_SLOTS:
            raise UsageError(f"slots must be at most {MOST_SLOTS}, got {slots}; pass as many records as a user has.")
        object.__setattr__(self, "distance", rho)
        object.__setattr__(self, "slots", slots)

    def __repr__(self) -> str:
        """Return the call that makes the space."""
        more = "" if self.slots is None else f", {self.slots}"
        return f"Elsewhere({self.inner!r}, {self.distance!r}{more})"

    @property
    def elsewhere(self) -> float:
        return self.distance

    @property
    def noun(self) -> str:
        return self.inner.noun

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]  # what others have as a field
        """The columns of the space of the items."""
        return self.inner.columns

    @property
    def unit(self) -> str | None:  # type: ignore[override]
        """The unit of the space of the items."""
        return self.inner.unit

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """The diameter of the space of the items, so that words in its unit stay as they are."""
        return self.inner.diameter

    @property
    def domain_diameter(self) -> float:  # type: ignore[override]
        """The domain's diameter, or the natural distance of the point where that is larger."""
        return max(self.inner.domain_diameter, self.distance * self.inner.diameter)

    @property
    def on_invalid(self) -> OnInvalid:  # type: ignore[override]
        """The rule of the space of the items."""
        return self.inner.on_invalid

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights of a product's parts."""
        return getattr(self.inner, "weights", (1.0,))

    @property
    def width(self) -> int:
        return self.inner.width

    @property
    def parts(self) -> tuple[Space, ...]:
        return self.inner.parts

    @property
    def exact_shares(self) -> tuple[Fraction, ...]:
        """The shares of the parts: on the items distances are as they were."""
        return self.inner.exact_shares

    @property
    def structure(self) -> Literal["line", "discrete", "clusters", "general"]:
        """``"discrete"`` where all distances are 0 or 1, else ``"general"``."""
        return "discrete" if self.inner.structure == "discrete" and self.distance == 1 else "general"

    @property
    def neutral_item(self) -> Floats:
        """The point itself: what a user without records has."""
        return np.full((1, self.width), np.nan)

    @property
    def items_space(self) -> Space:
        return self.inner

    def is_elsewhere(self, items: Floats) -> Mask:
        return np.asarray(np.isnan(items).any(axis=1), dtype=np.bool_)

    def valid_mask(self, frame: object) -> Mask:
        """Say of each row whether it has an item or is elsewhere by rule; see :meth:`encode`."""
        table, absent = self._absent(frame)
        valid = np.ones(table.height, dtype=np.bool_)
        valid[~absent] = self.inner.valid_mask(table.filter(pl.Series(~absent)))
        return valid

    def encode(self, frame: object) -> Floats:
        """Return the encoded items of a frame, shape (rows, width), NaN in all columns of those that are elsewhere.

        A row is elsewhere if a part with ``on_invalid="elsewhere"`` is invalid, or a column ``elsewhere``, which is
        none of the space's own, is true. The other rules apply to the rest.
        """
        table, absent = self._absent(frame)
        items = np.full((table.height, self.width), np.nan)
        items[~absent] = self.inner.encode(table.filter(pl.Series(~absent)))
        return items

    def encode_point(self, point: Any) -> Floats:
        """Return a point of the space of the items."""
        return self.inner.encode_point(point)

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        """Return encoded items as natural values, None for the point, and a column ``elsewhere`` that is true there."""
        absent = self.is_elsewhere(items)
        known = self.inner.decode(items[~absent])
        named: dict[str, list[Any]] = {}
        for column in self.columns:
            values = iter(known[column])
            named[column] = [None if gone else next(values) for gone in absent.tolist()]
        return named if COLUMN in self.columns else {**named, COLUMN: absent.tolist()}

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of untruncated distances in natural units, to the point ``rho`` times the diameter."""
        return self._with_point(left, right, self.inner.natural_distances, self.distance * self.diameter)

    def distances(self, left: Floats, right: Floats) -> Floats:
        return self._with_point(left, right, self.inner.distances, self.distance)

    def items_at(self, units: Floats) -> Floats:
        """Return items of the space of the items: the point is none of them."""
        return self.inner.items_at(units)

    def to_json(self) -> dict[str, Any]:
        own = {"kind": self.kind, "inner": self.inner.to_json(), "distance": self.distance}
        return own if self.slots is None else {**own, "slots": self.slots}

    def _absent(self, frame: object) -> tuple[pl.DataFrame, Mask]:
        table = to_polars("the frame", frame)
        absent = np.zeros(table.height, dtype=np.bool_)
        if COLUMN in table.columns and COLUMN not in self.columns:
            absent |= _marks(table.get_column(COLUMN))
        for part in self.parts:
            if part.on_invalid == "elsewhere":
                absent |= ~part.valid_mask(table)
        return table, absent

    def _with_point(self, left: Floats, right: Floats, within: Any, rho: float) -> Floats:
        gone, lost = self.is_elsewhere(left), self.is_elsewhere(right)
        if not (gone.any() or lost.any()):
            return np.asarray(within(left, right), dtype=np.float64)
        found = np.full((len(left), len(right)), rho)
        found[np.ix_(gone, lost)] = 0.0
        found[np.ix_(~gone, ~lost)] = within(left[~gone], right[~lost])
        return found


def _marks(series: pl.Series) -> Mask:
    if series.dtype != pl.Boolean or series.null_count():
        raise UsageError(f"column {COLUMN!r} must hold true or false, and no NULL; correct it, or leave it out.")
    return np.asarray(series.to_numpy(), dtype=np.bool_)
