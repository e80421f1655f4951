"""A public point as it stands in the text of a statement."""

from typing import Any

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces import Space
from emdp.spaces.listed.finite import FinitePart

__all__ = ["Point", "label_of"]


@dataclass(frozen=True)
class Point:
    """A public point of the text."""

    # "place", "vector", "label", "number": how it is written: `POINT(..)`, `VECTOR[..]`, a text or truth value, a
    # number.
    kind: str
    value: Any  # Two numbers, several, a label, one number
    node: exp.Expr

    def fits(self, part: Space) -> bool:
        """Say whether the part has points of this kind."""
        if self.kind == "vector":
            return part.point_kind == "vector" and len(self.value) == len(part.columns)
        if self.kind != "place" and isinstance(part, FinitePart):
            return label_of(part, self.value) is not None
        return self.kind in ("place", "number") and self.kind == part.point_kind


def label_of(part: FinitePart, value: Any) -> Any:
    """Return the label of a part that a value of the text means, or None."""
    try:
        return part.labels[part.code_of(value)]
    except UsageError:
        return None
