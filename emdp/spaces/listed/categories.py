"""``Categories``: listed values, each at distance 1 from every other."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from emdp.base.classes import dataclass
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, check_on_invalid
from emdp.spaces.listed.finite import FinitePart, Label, check_labels
from emdp.spaces.part import check_columns

__all__ = ["Categories"]


@dataclass(frozen=True, init=False, repr=False)
class Categories(FinitePart):
    """Listed values with the 0/1 distance.

    Parameters
    ----------
    col : str
        The column.
    values : sequence of str, int or bool
        The public list, distinct and of one type; NULL and whatever is not listed is invalid.
    on_invalid : {"error", "neutral", "elsewhere"}
        What is done with an invalid value.
    neutral : value, optional
        The neutral item, a listed value; default the first.

    Raises
    ------
    UsageError
        If an argument is malformed.

    >>> space = Categories("kind", ["other", "cafe", "bar"], on_invalid="neutral")
    >>> space.pairwise({"kind": ["cafe", "zoo"]}, {"kind": ["cafe", None]}).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    kind: ClassVar[str] = "categories"
    structure: ClassVar[Literal["line", "discrete", "clusters", "general"]] = "discrete"
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: Label

    def __init__(
        self,
        col: str,
        values: Sequence[Label],
        *,
        on_invalid: OnInvalid = "error",
        neutral: Label | None = None,
    ) -> None:
        self._set(
            columns=check_columns("col", [col]),
            values=check_labels("values", values),
            diameter=1.0,
            domain_diameter=1.0,
            unit=None,
            on_invalid=check_on_invalid(on_invalid, allowed=("error", "neutral", "elsewhere")),
        )
        self._set(neutral=self.values[0 if neutral is None else self.code_of(neutral)])

    @property
    def neutral_code(self) -> int:
        return self.code_of(self.neutral)

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of 0 (same value) and 1."""
        return np.not_equal.outer(left[:, 0], right[:, 0]).astype(np.float64)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to a listed value: constant 1, range [0, 1]."""
        del point
        return FunctionBounds(1.0, 0.0, 1.0, 0.0)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "col": self.column,
            "values": list(self.values),
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
        }
