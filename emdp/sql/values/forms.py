"""SQL texts of the parts of a space and their points, for remedies that can be pasted."""

from collections.abc import Sequence

from emdp.spaces import Space
from emdp.sql.context import identifier, quoted

__all__ = [
    "call_form",
    "column_form",
    "distance_form",
    "dot_form",
    "example_point",
    "few_values_remedy",
    "grid_form",
    "similarity_form",
]

MOST_CELLS = 1_000
"""Most cells along the longest way of an example of ``GRID(1.0)``."""


def column_form(part: Space) -> str:
    """Return the columns of a part as a function names them in SQL.

    >>> from emdp.spaces import Cycle
    >>> column_form(Cycle("time(ts)", 24))
    '"time(ts)"'
    """
    return _made(part, ", ".join(map(identifier, part.columns)))


def example_point(part: Space) -> str:
    """Return a point of a part as it is written in SQL, its neutral item for instance."""
    if part.labels is not None:
        return quoted(part.labels[0])
    return _made(part, ", ".join(f"{value:.12g}" for value in part.neutral_item[0]))


def distance_form(part: Space) -> str:
    """Return a distance to a point of a part.

    >>> from emdp.spaces import Cycle
    >>> distance_form(Cycle("time(ts)", 24))
    'DISTANCE("time(ts)", 12)'
    """
    return f"DISTANCE({column_form(part)}, {example_point(part)})"


def dot_form(part: Space) -> str:
    """Return an inner product with a vector of a part that has vectors."""
    entries = ["1", *["0"] * (part.dimension - 1)]
    return f"DOT({column_form(part)}, VECTOR[{', '.join(entries)}])"


def similarity_form(part: Space) -> str:
    """Return the similarity to a label of a part that lists some."""
    label = "'word'" if part.labels is None else quoted(part.labels[0])
    return f"SIMILARITY({column_form(part)}, {label})"


def call_form(function: str, parts: Sequence[Space]) -> str | None:
    """Return a call of or around a function that the first fitting one of some parts has; None where none fits.

    Parameters
    ----------
    function : {"DISTANCE", "DOT", "SIMILARITY", "POINT", "VECTOR", "GRID"}
        What to call; for any other function there is none.

    >>> from emdp.spaces import Categories, Cycle
    >>> call_form("DISTANCE", [Cycle("time(ts)", 24)]), call_form("DOT", [Categories("kind", ["a", "b"])])
    ('DISTANCE("time(ts)", 12)', None)
    """
    forms = {
        "DISTANCE": [distance_form(part) for part in parts],
        "DOT": [dot_form(part) for part in parts if part.dimension],
        "SIMILARITY": [similarity_form(part) for part in parts if part.has_label_vectors],
        "POINT": [distance_form(part) for part in parts if part.point_kind == "place"],
        "VECTOR": [dot_form(part) for part in parts if part.dimension],
        "GRID": [f"FREQUENCY({grid_form(part)})" for part in parts if part.has_grid],
    }
    return next(iter(forms.get(function, ())), None)


def grid_form(part: Space) -> str:
    """Return a grid of a continuous part, with a pitch that suits its size.

    >>> from emdp.spaces import Cycle
    >>> grid_form(Cycle("time(ts)", 24)), grid_form(Cycle("angle", 0.5))
    ('GRID("time(ts)", 1.0)', 'GRID(angle, 0.008)')
    """
    reach = part.domain_diameter
    return f"GRID({column_form(part)}, {'1.0' if 2 <= reach <= MOST_CELLS else f'{reach / 30:.1g}'})"


def few_values_remedy(part: Space) -> str:
    """Return what to ask of a part that lists too many values for one row each."""
    instead = f", or ask for AVG({similarity_form(part)})" if part.has_label_vectors else ""
    return f"JOIN a public table that puts its values into fewer groups, and GROUP BY its column with SHARE(){instead}"


def _made(part: Space, text: str) -> str:
    """Return columns or numbers of a part as one point: a place, a vector, or a number as it is."""
    if part.point_kind == "place":
        return f"POINT({text})"
    return f"VECTOR[{text}]" if part.point_kind == "vector" else text
