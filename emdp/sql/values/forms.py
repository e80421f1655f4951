"""How the parts of a space and their points are written in SQL, for remedies that can be pasted."""

from collections.abc import Sequence

from emdp.spaces import Cycle, Embedding, Geo, Interval, Space, Vector
from emdp.spaces.listed.finite import FinitePart
from emdp.sql.context import identifier, quoted

__all__ = [
    "GRIDDED",
    "call_form",
    "column_form",
    "dimension_of",
    "distance_form",
    "dot_form",
    "example_point",
    "few_values_remedy",
    "grid_form",
    "similarity_form",
]

GRIDDED = (Interval, Cycle, Geo, Vector)
"""Kinds of parts that have cells of a pitch."""

MOST_CELLS = 1_000
"""Most cells along the longest way of an example of ``GRID(1.0)``."""


def column_form(part: Space) -> str:
    """Return the columns of a part as a function names them in SQL.

    >>> column_form(Cycle("time(ts)", 24))
    '"time(ts)"'
    """
    names = ", ".join(map(identifier, part.columns))
    if isinstance(part, Geo):
        return f"POINT({names})"
    return f"VECTOR[{names}]" if isinstance(part, Vector) else names


def example_point(part: Space) -> str:
    """Return a point of a part as it is written in SQL, its neutral item for instance."""
    if isinstance(part, FinitePart):
        return quoted(part.labels[0])
    numbers = ", ".join(f"{value:.12g}" for value in part.neutral_item[0])
    if isinstance(part, Geo):
        return f"POINT({numbers})"
    return f"VECTOR[{numbers}]" if isinstance(part, Vector) else numbers


def distance_form(part: Space) -> str:
    """Return a distance to a point of a part.

    >>> distance_form(Cycle("time(ts)", 24))
    'DISTANCE("time(ts)", 12)'
    """
    return f"DISTANCE({column_form(part)}, {example_point(part)})"


def dot_form(part: Space) -> str:
    """Return an inner product with a vector of a part that has vectors."""
    entries = ["1", *["0"] * (dimension_of(part) - 1)]
    return f"DOT({column_form(part)}, VECTOR[{', '.join(entries)}])"


def similarity_form(part: Space) -> str:
    """Return the similarity to a label of a part that lists some."""
    label = quoted(part.labels[0]) if isinstance(part, FinitePart) else "'word'"
    return f"SIMILARITY({column_form(part)}, {label})"


def call_form(function: str, parts: Sequence[Space]) -> str | None:
    """Return a call of or around a function that the first fitting one of some parts has; None where none fits.

    Parameters
    ----------
    function : {"DISTANCE", "DOT", "SIMILARITY", "POINT", "VECTOR", "GRID"}
        What to call; for any other function there is none.
    parts : sequence of Space
        The parts.

    >>> from emdp.spaces import Categories
    >>> call_form("DISTANCE", [Cycle("time(ts)", 24)]), call_form("DOT", [Categories("kind", ["a", "b"])])
    ('DISTANCE("time(ts)", 12)', None)
    """
    forms = {
        "DISTANCE": [distance_form(part) for part in parts],
        "DOT": [dot_form(part) for part in parts if dimension_of(part)],
        "SIMILARITY": [similarity_form(part) for part in parts if isinstance(part, Embedding)],
        "POINT": [distance_form(part) for part in parts if isinstance(part, Geo)],
        "VECTOR": [dot_form(part) for part in parts if dimension_of(part)],
        "GRID": [f"FREQUENCY({grid_form(part)})" for part in parts if isinstance(part, GRIDDED)],
    }
    return next(iter(forms.get(function, ())), None)


def grid_form(part: Space) -> str:
    """Return a grid of a continuous part, with a pitch that suits its size.

    >>> grid_form(Cycle("time(ts)", 24)), grid_form(Cycle("angle", 0.5))
    ('GRID("time(ts)", 1.0)', 'GRID(angle, 0.008)')
    """
    reach = part.domain_diameter
    return f"GRID({column_form(part)}, {'1.0' if 2 <= reach <= MOST_CELLS else f'{reach / 30:.1g}'})"


def few_values_remedy(part: Space) -> str:
    """Return what to ask of a part that lists too many values for one row each."""
    instead = f", or ask for AVG({similarity_form(part)})" if isinstance(part, Embedding) else ""
    return f"JOIN a public table that puts its values into fewer groups, and GROUP BY its column with SHARE(){instead}"


def dimension_of(part: Space) -> int:
    """Return how many numbers a vector of a part has, 0 where it has no vectors."""
    if isinstance(part, Embedding):
        return part.dimension
    return len(part.columns) if isinstance(part, Vector) else 0
