"""``DISTANCE``, ``DOT`` and ``SIMILARITY``: which part of the space they speak of, and to what public point."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sqlglot import exp

from emdp.base.errors import SqlError, UsageError
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.leaves import DistanceTo, Dot, Similarity
from emdp.spaces import Space
from emdp.spaces.listed.finite import FinitePart
from emdp.spaces.ranges import Span
from emdp.sql.context import Context, identifier, listed, near, quoted, unwrapped
from emdp.sql.names.columns import ItemColumn
from emdp.sql.names.scope import Numbers
from emdp.sql.text.families import FAR_POINT
from emdp.sql.values.forms import (
    call_form,
    column_form,
    distance_form,
    dot_form,
    example_point,
    similarity_form,
)
from emdp.sql.values.literals import read_literal
from emdp.sql.values.point import Point, label_of

__all__ = ["chosen_part", "distance", "dot", "named_part", "similarity", "vector_entries"]


COMPOSED = ("place", "vector")
"""Kinds of points that several numbers make."""


class Constants(Numbers, Protocol):
    """Protocol: translation of numeric expressions, as points need it."""

    def constant(self, node: exp.Expr, what: str) -> float:
        """Return the value of a constant expression."""


def distance(numbers: Constants, node: exp.Anonymous) -> Expression:
    """Return the distance to the nearest of some points: ``DISTANCE([column,] point, ...)``."""
    part = named_part(numbers, node.expressions[0])
    context = numbers.context
    points = []
    for entry in node.expressions[0 if part is None else 1 :]:
        if part is not None and isinstance(numbers.scope.column(entry), ItemColumn):
            raise context.refusal(
                entry,
                "DISTANCE takes the columns of one part first, and only points after them",
                remedy=f"write {distance_form(part)}",
                code="point-columns",
            )
        points.append(_point(numbers, entry))
    if not points:
        raise context.refusal(
            node,
            f"{context.text(node)} names no point",
            remedy=f"write DISTANCE({context.text(node.expressions[0])}, {example_point(part) if part else 'point'})",
            code="point-needed",
        )
    if part is None or part.point_kind in COMPOSED:
        _check_named(context, node, points, part)
    if part is None:
        lists = [own for own in context.names.space.parts if isinstance(own, FinitePart)]
        if points[0].kind == "label" and len(lists) == 1:
            part = lists[0]
        else:
            part = chosen_part(context, node, points[0].fits, "takes such points", distance_form)
    is_meant = context.statement.is_true(FAR_POINT)
    placed = tuple(_placed(context, point, part, is_meant=is_meant) for point in points)
    return DistanceTo(placed, _columns(context, part), is_meant)


def dot(numbers: Constants, node: exp.Anonymous) -> Expression:
    """Return an inner product: ``DOT([column,] VECTOR[..])``."""
    context = numbers.context
    *named, last = node.expressions
    part = named_part(numbers, named[0]) if named else None
    if named and part is None:
        raise _no_column(context, named[0], dot_form, lambda own: own.dimension > 0)
    entries = vector_entries(last)
    if entries is None:
        raise context.refusal(
            last, "DOT takes a constant vector last", remedy=_instead(context, "DOT", part), code="vector-needed"
        )
    vector = tuple(numbers.constant(entry, "an entry of VECTOR") for entry in entries)
    part = part or chosen_part(
        context,
        node,
        lambda own: own.dimension == len(vector),
        "has such vectors",
        lambda own: f"DOT({column_form(own)}, {context.text(last)})",
    )
    if part.dimension != len(vector):
        dimension = part.dimension
        has = f"has {dimension} numbers a vector" if dimension else "has no vectors"
        raise context.refusal(
            last,
            f"{part.columns[0]} {has}, this one has {len(vector)}",
            remedy=_instead(context, "DOT", part if dimension else None),
            code="vector-length",
        )
    return Dot(vector, _columns(context, part))


def similarity(numbers: Constants, node: exp.Anonymous) -> Expression:
    """Return the inner product with a label's vector: ``SIMILARITY([column,] 'word')``."""
    context = numbers.context
    *named, last = node.expressions
    embeddings = [own for own in context.names.space.parts if own.has_label_vectors]
    part = named_part(numbers, named[0]) if named else None
    if named and part is None:
        raise _no_column(context, named[0], similarity_form, lambda own: own.has_label_vectors)
    literal = read_literal(context, last)
    if literal is None or literal.kind not in ("text", "number"):
        raise context.refusal(
            last,
            "SIMILARITY takes a word, as a literal",
            remedy=_instead(context, "SIMILARITY", part),
            code="label-needed",
        )
    if part is None and len(embeddings) == 1:
        part = embeddings[0]
    part = part or chosen_part(
        context,
        node,
        lambda own: isinstance(own, FinitePart) and own.has_label_vectors and label_of(own, literal.value) is not None,
        "has vectors of words with this one among them",
        lambda own: f"SIMILARITY({identifier(own.columns[0])}, {context.text(last)})",
    )
    if not (isinstance(part, FinitePart) and part.has_label_vectors):
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
    kind = "place" if is_place else "vector"
    if names == parts[0].columns and len(names) == len(entries) and parts[0].point_kind == kind:
        return parts[0]
    raise numbers.context.refusal(
        node,
        f"{numbers.context.text(node)} is neither a point of numbers nor all columns of a part, in its order",
        remedy=f"write {column_form(parts[0])}",
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
        columns = listed(identifier(part.columns[0]) for part in fitting)
        raise context.refusal(
            node,
            f"{columns} belong to parts of the space that this fits alike",
            remedy=f"name the column first, as in {' or '.join(map(form, fitting))}",
            code="several-parts",
        )
    parts = listed(f"{_kind(part)} ({listed(map(identifier, part.columns))})" for part in context.names.space.parts)
    raise context.refusal(
        node,
        f"no part of the space {what}",
        remedy=f"use what the space has, {parts}",
        code="no-part",
    )


def _is_call(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == name


def _item_part(context: Context, node: exp.Expr, column: object) -> Space:
    if isinstance(column, ItemColumn):
        return column.part
    raise _no_column(context, node, distance_form, lambda part: True)


def _no_column(
    context: Context, node: exp.Expr, form: Callable[[Space], str], fits: Callable[[Space], bool]
) -> SqlError:
    """Return the refusal of what names no part, with the form of a part that would, a component of it if there is."""
    text, space = context.text(node), context.names.space
    fitting = sorted(filter(fits, space.parts), key=lambda part: f"({text})" not in part.columns[0])
    return context.refusal(
        node,
        f"{text} is no column of the item space",
        remedy=f"name a column of it ({listed(map(identifier, space.columns))})"
        + (f", as in {form(fitting[0])}" if fitting else ""),
        code="part-column",
    )


def _check_named(context: Context, node: exp.Anonymous, points: Sequence[Point], part: Space | None) -> None:
    """Refuse bare numbers that name no column in a space of several parts, or that should make a place or a vector.

    Two numbers are a place to a reader, and two hours to a cycle: only the column says which.
    """
    parts = context.names.space.parts if part is None else (part,)
    is_meant = len(parts) == 1 and parts[0].point_kind not in COMPOSED
    if is_meant or any(point.kind != "number" for point in points):
        return
    text = ", ".join(context.text(point.node) for point in points)
    forms = [form for own in parts if (form := _reading(context, own, points, text))]
    fitting = [form for form, fits in forms if fits] or [form for form, _ in forms]
    raise context.refusal(
        node,
        f"{text} {'does' if len(points) == 1 else 'do'} not say which column of the space is meant"
        if len(parts) > 1
        else f"{text} is no point of {listed(map(identifier, parts[0].columns))}",
        remedy=f"write {' or '.join(fitting)}" if fitting else f"write {distance_form(parts[0])}",
        code="point-without-column" if len(parts) > 1 else "point-kind",
    )


def _reading(context: Context, part: Space, points: Sequence[Point], text: str) -> tuple[str, bool] | None:
    """Return how numbers are written as points of a part, and whether they are such points; None for other labels."""
    if isinstance(part, FinitePart):
        fits = all(label_of(part, point.value) is not None for point in points)
        return (f"DISTANCE({column_form(part)}, {text})", True) if fits else None
    if part.point_kind not in COMPOSED:
        fits = all(_is_in(part, point) for point in points)
        return f"DISTANCE({column_form(part)}, {text if fits else example_point(part)})", fits
    kind, made = ("place", f"POINT({text})") if part.point_kind == "place" else ("vector", f"VECTOR[{text}]")
    fits = _is_in(part, Point(kind, tuple(point.value for point in points), points[0].node))
    others = [own for own in context.names.space.parts if own is not part and own.point_kind == part.point_kind]
    column = f"{column_form(part)}, " if others else ""
    return f"DISTANCE({column}{made if fits else example_point(part)}) for a {kind}", fits


def _is_in(part: Space, point: Point) -> bool:
    """Say whether a part has a point: an interval those of its range, a cycle those before it closes."""
    if not point.fits(part):
        return False
    if part.point_kind == "number":
        return part.spans[0].holds(point.value)
    try:
        return part.misplaced(part.encode_point(point.value)) is None
    except UsageError:
        return False


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


def _placed(context: Context, point: Point, part: Space, *, is_meant: bool) -> Any:
    """Return a point as the part takes it, or refuse one that the part does not have."""
    if isinstance(part, FinitePart):
        return _listed_label(context, part, point.value, point.node)
    if not point.fits(part):
        raise context.refusal(
            point.node,
            f"{context.text(point.node)} is no point of {listed(map(identifier, part.columns))}",
            remedy=f"write one such as {example_point(part)}",
            code="point-kind",
        )
    if part.point_kind == "number" and not _is_in(part, point):
        raise _outside(context, point, part.spans[0])
    try:
        found = part.misplaced(part.encode_point(point.value))
    except UsageError as error:
        is_turned = part.turned(point.value) is not None
        remedy = error.remedy if is_turned else f"write one such as {example_point(part)}"
        raise context.refusal(point.node, error.problem, remedy=remedy, code="point-value") from None
    if found is None or is_meant:
        return point.value
    problem, other = found
    nearer = "write a nearer one"
    if other:
        nearer = "write POINT({:g}, {:g}), since the latitude comes first, or correct the box, if it does not there"
        nearer = nearer.format(*other)
    remedy = f"{nearer}, or add {FAR_POINT} = TRUE to OPTIONS if it is meant"
    raise context.refusal(point.node, f"{context.text(point.node)} {problem}", remedy=remedy, code="point-far")


def _outside(context: Context, point: Point, span: Span) -> SqlError:
    end = f"{span.high:.12g}{')' if span.goes_round else ']'}"
    return context.refusal(
        point.node,
        f"{context.text(point.node)} is outside [{span.low:.12g}, {end}, the values of {identifier(span.column)}",
        remedy=f"write a number in there, such as {span.moved_in(point.value):.12g}",
        code="point-outside",
    )


def _listed_label(context: Context, part: FinitePart, value: Any, node: exp.Expr) -> Any:
    label = label_of(part, value)
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


def _columns(context: Context, part: Space) -> tuple[str, ...] | None:
    return None if len(context.names.space.parts) == 1 else part.columns


def _kind(part: Space) -> str:
    return type(part).__name__


def _instead(context: Context, function: str, part: Space | None) -> str:
    form = call_form(function, (part,) if part else context.names.space.parts)
    return f"write {form}" if form else f"use DISTANCE, since no part of the space is for {function}"
