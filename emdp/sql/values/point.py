"""A public point as it stands in the text of a statement."""

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from emdp.base.errors import UsageError
from emdp.spaces import Cycle, Geo, Interval, Space, Vector
from emdp.spaces.listed.finite import FinitePart

__all__ = ["Point", "label_of"]


@dataclass(frozen=True)
class Point:
    """A public point of the text.

    Parameters
    ----------
    kind : {"place", "vector", "label", "number"}
        How it is written: ``POINT(..)``, ``VECTOR[..]``, a text or truth value, a number.
    value : object
        Two numbers, several, a label, one number.
    node : sqlglot.exp.Expr
        Where it stands.
    """

    kind: str
    value: Any
    node: exp.Expr

    def fits(self, part: Space) -> bool:
        """Say whether the part has points of this kind."""
        if self.kind == "place":
            return isinstance(part, Geo)
        if self.kind == "vector":
            return isinstance(part, Vector) and len(self.value) == len(part.columns)
        if isinstance(part, FinitePart):
            return label_of(part, self.value) is not None
        return self.kind == "number" and isinstance(part, Interval | Cycle)


def label_of(part: FinitePart, value: Any) -> Any:
    """Return the label of a part that a value of the text means, or None."""
    try:
        return part.labels[part.code_of(value)]
    except UsageError:
        return None
