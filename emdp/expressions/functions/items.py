"""Leaves of expressions: columns, distances, similarities and categories of one item."""

from collections.abc import Mapping, Sequence
from typing import Any

from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Column, Expression, lift
from emdp.expressions.nodes.categories import Case, CategoryIs
from emdp.expressions.nodes.leaves import DistanceTo, Dot, Similarity
from emdp.expressions.nodes.parts import ColumnNames, check_columns

__all__ = ["case", "category_is", "col", "distance_to", "dot", "similarity"]


def col(name: str) -> Expression:
    """Return the value of a numeric column of the item space.

    >>> 2 * col("price") + 1
    2 * price + 1
    """
    return Column(name)


def distance_to(point: Any, *more: Any, column: ColumnNames = None, far_point: bool = False) -> Expression:
    """Return the distance, in the space's natural unit, to a public point or to the nearest of several.

    Parameters
    ----------
    point, *more : pair, number, sequence or label
        Points as the space takes them: (lat, lon) degrees, a number, a vector, a listed value. They may lie
        outside the domain.
    column : str or sequence of str, optional
        A column of the part that is meant, where several parts of a product take such points.
    far_point : bool
        Whether a place is meant that lies farther from the box than the box is wide: it is refused otherwise, since
        mostly its latitude and longitude are swapped.

    >>> distance_to((40.7484, -73.9857), (40.7, -74.0))
    distance_to((40.7484, -73.9857), (40.7, -74))
    """
    return DistanceTo((point, *more), check_columns(column), far_point)


def dot(vector: Sequence[float], *, column: ColumnNames = None) -> Expression:
    """Return the inner product of the item's vector with a constant one of the same dimension.

    >>> dot([1, 0.5], column="x")
    dot((1, 0.5), column='x')
    """
    return Dot(vector, check_columns(column))  # type: ignore[arg-type]  # checked and frozen by the node


def similarity(label: Any, *, column: ColumnNames = None) -> Expression:
    """Return the inner product of the item's vector with the vector of a listed label, such as a word.

    >>> similarity("linux")
    similarity('linux')
    """
    return Similarity(label, check_columns(column))


def category_is(value: Any, *more: Any, column: ColumnNames = None) -> Expression:
    """Return 1 where a categorical part has the value (or one of several), else 0.

    >>> category_is("cafe", "bar") * 0.5
    category_is('cafe', 'bar') * 0.5
    """
    return CategoryIs((value, *more), check_columns(column))


def case(branches: Mapping[Any, Any], *, otherwise: Any, column: ColumnNames = None) -> Expression:
    """Return one expression for each listed value of a categorical part: SQL's ``CASE`` over categories.

    Its constants are better than those of a sum of indicators, since only one branch holds at a time.

    Parameters
    ----------
    branches : mapping
        From a value, or a tuple of values, to an expression or a number.
    otherwise : Expression or number
        What holds for every other value.
    column : str or sequence of str, optional
        The part's column, where several parts list the values.

    >>> case({"cafe": 1, ("bar", "pub"): col("price")}, otherwise=0)
    case({'cafe': 1, ('bar', 'pub'): price}, otherwise=0)
    """
    if not isinstance(branches, Mapping):
        raise UsageError(f"branches must be a mapping of values to expressions, not {type(branches).__name__}.")
    groups = tuple(value if isinstance(value, tuple) else (value,) for value in branches)
    return Case(groups, tuple(map(lift, branches.values())), lift(otherwise), check_columns(column))
