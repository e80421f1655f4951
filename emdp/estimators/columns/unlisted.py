"""Notes about records whose value is on no list, where they are counted as another one."""

from collections.abc import Sequence

from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.reference import label_cells
from emdp.questions.select import GroupColumn
from emdp.spaces import Space

__all__ = ["unlisted_notes"]


def unlisted_notes(groups: Sequence[GroupColumn], space: Space) -> tuple[str, ...]:
    """Return for each group on listed values which of them stands for all others, where invalid ones are neutral.

    >>> from emdp.spaces import Categories
    >>> kinds = GroupColumn("kind", ("a", "b"), LabelAxis("kind", (("a",), ("b",))))
    >>> unlisted_notes([kinds], Categories("kind", ["a", "b"], on_invalid="neutral"))
    ("records whose kind is missing or not listed count as 'a', the neutral value of the space",)
    """
    notes = []
    for axis in dict.fromkeys(group.axis for group in groups if isinstance(group.axis, LabelAxis)):
        part = space.parts[label_cells(axis, space)[0]]
        if part.on_invalid == "neutral":
            (column,) = part.columns
            neutral = part.decode(part.neutral_item)[column][0]
            neutral = neutral.item() if hasattr(neutral, "item") else neutral
            notes.append(
                f"records whose {column} is missing or not listed count as {neutral!r}, the neutral value of the space"
            )
    return tuple(notes)
