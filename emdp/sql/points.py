"""``DISTANCE``, ``DOT`` and ``SIMILARITY``: which part of the space they speak of, and to what public point."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from emdp.errors import SqlError, UsageError
from emdp.expressions.leaves import DistanceTo, Dot, Similarity
from emdp.expressions.nodes import Expression
from emdp.spaces import Cycle, Embedding, Geo, Interval, Space, Vector
from emdp.spaces.finite import FinitePart
from emdp.sql.columns import ItemColumn
from emdp.sql.context import Context, identifier, listed, near, quoted, unwrapped
from emdp.sql.literals import read_literal
from emdp.sql.scope import Numbers

__all__ = ["chosen_part", "distance", "dot", "example_point", "named_part", "similarity", "vector_entries"]


class Constants(Numbers, Protocol):
    """What these functions ask of the translation of numeric expressions."""

    def constant(self, node: exp.Expr, what: str) -> float:
        """Return the value of a constant expression."""


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
            return _label_of(part, self.value) is not None
        return self.kind == "number" and isinstance(part, Interval | Cycle)


def distance(numbers: Constants, node: exp.Anonymous) -> Expression:
    """Return the distance to the nearest of some points: ``DISTANCE([column,] point, ...)``."""
    part = named_part(numbers, node.expressions[0])
    points = [_point(numbers, entry) for entry in node.expressions[0 if part is None else 1 :]]
    context = numbers.context
    if not points:
        raise context.refusal(
            node,
            f"{context.text(node)} names no point",
            remedy=f"write DISTANCE({context.text(node.expressions[0])}, {example_point(part) if part else 'point'})",
            code="point-needed",
        )
    if part is None:
        lists = [own for own in context.names.space.parts if isinstance(own, FinitePart)]
        if points[0].kind == "label" and len(lists) == 1:
            part = lists[0]
        else:
            part = chosen_part(context, node, points[0].fits, "takes such points", _distance_form)
    return DistanceTo(tuple(_placed(context, point, part) for point in points), _columns(context, part))


def dot(numbers: Constants, node: exp.Anonymous) -> Expression:
    """Return an inner product: ``DOT([column,] VECTOR[..])``."""
    context = numbers.context
    *named, last = node.expressions
    part = named_part(numbers, named[0]) if named else None
    if named and part is None:
        raise _no_column(context, named[0], "DOT(VECTOR[x, y], VECTOR[1, 2])")
    entries = vector_entries(last)
    if entries is None:
        raise context.refusal(
            last, "DOT takes a constant vector last", remedy="write DOT(VECTOR[1, 2])", code="vector-needed"
        )
    vector = tuple(numbers.constant(entry, "an entry of VECTOR") for entry in entries)
    part = part or chosen_part(context, node, lambda own: _dimension(own) == len(vector), "has such vectors", _dot_form)
    if _dimension(part) != len(vector):
        dimension = _dimension(part)
        has = f"has {dimension} numbers a vector" if dimension else "has no vectors"
        raise context.refusal(
            last,
            f"{part.columns[0]} {has}, this one has {len(vector)}",
            remedy="write one number for each" if dimension else "use DISTANCE, or a part with vectors",
            code="vector-length",
        )
    return Dot(vector, _columns(context, part))


def similarity(numbers: Constants, node: exp.Anonymous) -> Expression:
    """Return the inner product with a label's vector: ``SIMILARITY([column,] 'word')``."""
    context = numbers.context
    *named, last = node.expressions
    part = named_part(numbers, named[0]) if named else None
    if named and part is None:
        raise _no_column(context, named[0], "SIMILARITY(word, 'linux')")
    literal = read_literal(context, last)
    if literal is None or literal.kind not in ("text", "number"):
        raise context.refusal(
            last, "SIMILARITY takes a word, as a literal", remedy="write SIMILARITY('linux')", code="label-needed"
        )
    embeddings = [own for own in context.names.space.parts if isinstance(own, Embedding)]
    if part is None and len(embeddings) == 1:
        part = embeddings[0]
    part = part or chosen_part(
        context,
        node,
        lambda own: isinstance(own, Embedding) and _label_of(own, literal.value) is not None,
        "has vectors of words with this one among them",
        lambda own: f"SIMILARITY({identifier(own.columns[0])}, {context.text(last)})",
    )
    if not isinstance(part, Embedding):
        raise context.refusal(
            node,
            f"{part.columns[0]} has no vectors of words",
            remedy="use DISTANCE, or CASE over its values",
            code="no-part",
        )
    return Similarity(_listed_label(context, part, literal.value, last), _columns(context, part))


def vector_entries(node: exp.Expr) -> list[exp.Expr] | None:
    """Return the entries of ``VECTOR[a, b]``, or None for anything else."""
    inner = unwrapped(node)
    if isinstance(inner, exp.DataType) and inner.args.get("values"):
        own = inner.expressions
        is_vector = len(own) == 1 and isinstance(own[0], exp.DataType) and own[0].this == exp.DType.VECTOR
        return list(inner.args["values"]) if is_vector else None
    return None


def named_part(numbers: Numbers, node: exp.Expr) -> Space | None:
    """Return the part that a column, ``POINT(lat, lon)`` or ``VECTOR[x, y]`` of columns names; None for a point.

    Raises
    ------
    SqlError
        If the columns are not exactly those of one part, in its order, or mix with constants.
    """
    inner = unwrapped(node)
    entries = inner.expressions if _is_call(inner, "POINT") else vector_entries(inner)
    if entries is None:
        column = numbers.scope.column(inner)
        if column is None:
            return None
        return _item_part(numbers.context, inner, column)
    columns = [numbers.scope.column(entry) for entry in entries]
    if not any(column is not None for column in columns):
        return None
    parts = [
        _item_part(numbers.context, entry, column) for entry, column in zip(entries, columns, strict=True) if column
    ]
    names = tuple(column.name for column in columns if isinstance(column, ItemColumn))
    is_place = _is_call(inner, "POINT")
    if names == parts[0].columns and len(names) == len(entries) and isinstance(parts[0], Geo if is_place else Vector):
        return parts[0]
    raise numbers.context.refusal(
        node,
        f"{numbers.context.text(node)} is neither a point of numbers nor all columns of a part, in its order",
        remedy=f"write {_names(parts[0])}",
        code="point-columns",
    )


def chosen_part(
    context: Context, node: exp.Expr, fits: Callable[[Space], bool], what: str, form: Callable[[Space], str]
) -> Space:
    """Return the only part of the space that fits what a function asks, or refuse."""
    fitting = [part for part in context.names.space.parts if fits(part)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise context.refusal(
            node,
            f"{listed(part.columns[0] for part in fitting)} belong to parts of the space that this fits alike",
            remedy=f"name the column first, as in {' or '.join(map(form, fitting))}",
            code="several-parts",
        )
    parts = listed(f"{_kind(part)} ({listed(part.columns)})" for part in context.names.space.parts)
    raise context.refusal(
        node,
        f"no part of the space {what}",
        remedy=f"use what the space has, {parts}",
        code="no-part",
    )


def example_point(part: Space) -> str:
    """Return a point of a part as it is written in SQL, its neutral item for instance."""
    if isinstance(part, FinitePart):
        return quoted(part.labels[0])
    numbers = ", ".join(f"{value:.6g}" for value in part.neutral_item[0])
    if isinstance(part, Geo):
        return f"POINT({numbers})"
    return f"VECTOR[{numbers}]" if isinstance(part, Vector) else numbers


def _is_call(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == name


def _item_part(context: Context, node: exp.Expr, column: object) -> Space:
    if isinstance(column, ItemColumn):
        return column.part
    raise _no_column(context, node, "DISTANCE(POINT(lat, lon), POINT(40.7, -74.0))")


def _no_column(context: Context, node: exp.Expr, form: str) -> SqlError:
    return context.refusal(
        node,
        f"{context.text(node)} is no column of the item space",
        remedy=f"name a column of it ({listed(map(identifier, context.names.space.columns))}), as in {form}",
        code="part-column",
    )


def _point(numbers: Constants, node: exp.Expr) -> Point:
    inner, context = unwrapped(node), numbers.context
    if _is_call(inner, "POINT"):
        if len(inner.expressions) != 2:
            raise context.refusal(
                node,
                f"POINT takes a latitude and a longitude, not {len(inner.expressions)} numbers",
                remedy="write POINT(40.7, -74.0)",
                code="argument-count",
            )
        lat, lon = (numbers.constant(entry, "a coordinate of POINT") for entry in inner.expressions)
        return Point("place", (lat, lon), node)
    entries = vector_entries(inner)
    if entries is not None:
        return Point("vector", tuple(numbers.constant(entry, "an entry of VECTOR") for entry in entries), node)
    literal = read_literal(context, inner)
    if literal is not None and literal.kind in ("text", "truth value"):
        return Point("label", literal.value, node)
    if literal is not None and isinstance(literal.value, int):
        return Point("number", literal.value, node)
    return Point("number", numbers.constant(node, "a point of DISTANCE"), node)


def _placed(context: Context, point: Point, part: Space) -> Any:
    """Return a point as the part takes it, or refuse one that the part does not have."""
    if isinstance(part, FinitePart):
        return _listed_label(context, part, point.value, point.node)
    if not point.fits(part):
        raise context.refusal(
            point.node,
            f"{context.text(point.node)} is no point of {listed(part.columns)}",
            remedy=f"write one such as {example_point(part)}",
            code="point-kind",
        )
    try:
        part.encode_point(point.value)
    except UsageError as error:
        swapped = isinstance(part, Geo) and abs(point.value[1]) <= 90 < abs(point.value[0]) <= 180
        raise context.refusal(
            point.node,
            str(error).split(";")[0].rstrip("."),
            remedy="the latitude comes first; swap the two" if swapped else f"write one such as {example_point(part)}",
            code="point-value",
        ) from None
    return point.value


def _listed_label(context: Context, part: FinitePart, value: Any, node: exp.Expr) -> Any:
    label = _label_of(part, value)
    if label is not None:
        return label
    alike = near(str(value), part.labels)
    raise context.refusal(
        node,
        f"{context.text(node)} is none of the {len(part.labels)} values of {part.columns[0]}",
        remedy=f"write {' or '.join(map(quoted, alike))}"
        if alike
        else f"the values are {listed(map(quoted, part.labels))}",
        code="unlisted-value",
    )


def _label_of(part: FinitePart, value: Any) -> Any:
    try:
        return part.labels[part.code_of(value)]
    except UsageError:
        return None


def _columns(context: Context, part: Space) -> tuple[str, ...] | None:
    return None if len(context.names.space.parts) == 1 else part.columns


def _dimension(part: Space) -> int:
    if isinstance(part, Embedding):
        return part.dimension
    return len(part.columns) if isinstance(part, Vector) else 0


def _kind(part: Space) -> str:
    return type(part).__name__


def _names(part: Space) -> str:
    names = ", ".join(map(identifier, part.columns))
    if isinstance(part, Geo):
        return f"POINT({names})"
    return f"VECTOR[{names}]" if isinstance(part, Vector) else names


def _distance_form(part: Space) -> str:
    return f"DISTANCE({_names(part)}, {example_point(part)})"


def _dot_form(part: Space) -> str:
    return f"DOT({_names(part)}, VECTOR[...])"
