"""Functions of items of the space, which are none of a row: what to write in their place, in SQL that can be pasted."""

from collections.abc import Sequence

from sqlglot import exp

from emdp.base.frames import find_component
from emdp.spaces import Space
from emdp.sql.context import Context, identifier, one_by_name, unwrapped

__all__ = ["check_items"]

OF_ITEMS = ("DISTANCE", "RAMP", "DOT", "SIMILARITY", "POINT")
EXAMPLES = "write ABS(x - 3) for a number, or HAVERSINE(lat, lon, 40.7, -74.0) for kilometres to a place"


def check_items(context: Context, node: exp.Expr) -> None:
    """Refuse a function of the space's items in an expression of a row.

    Raises
    ------
    SqlError
        If there is one. The remedy writes it with functions of a row, where these have it.
    """
    for call in node.find_all(exp.Anonymous):
        name = call.name.upper()
        if name in OF_ITEMS:
            written = _instead(context, call)
            unit = ", which is in kilometres" if written and "HAVERSINE" in written else ""
            raise context.refusal(
                call,
                f"{name} is a function of items of the space, and this is computed of rows, which have columns alone",
                remedy=EXAMPLES if written is None else f"write {written}{unit}",
                code="item-function",
            )


def _instead(context: Context, call: exp.Anonymous) -> str | None:
    """Return what a call is in functions of a row; None where it is not known, or not one of these."""
    name, given = call.name.upper(), [unwrapped(own) for own in call.expressions]
    if name == "RAMP" and len(given) == 3:
        inner = _instead(context, given[0]) if isinstance(given[0], exp.Anonymous) else None
        value = context.text(given[0]) if inner is None else inner
        zero, one = (_apart(context.text(own)) for own in given[1:])
        return f"CLAMP(({value} - {zero}) / ({one} - {zero}), 0, 1)"
    if name not in ("DISTANCE", "DOT") or not given:
        return None
    parts = context.names.space.parts
    named = [own for own in parts if _names(context, given[0]) == own.columns]
    points = given[1:] if named else given
    if not points:
        return None
    taken = named or [own for own in parts if own.point_kind == _kind(points[0])]
    if len(taken) != 1:
        return None
    if name == "DOT":
        return _product(context, taken[0], [context.text(own) for own in _entries(points[0])])
    found = [_distance(context, taken[0], [context.text(own) for own in _entries(point)]) for point in points]
    if any(own is None for own in found):
        return None
    texts = [own for own in found if own is not None]
    return texts[0] if len(texts) == 1 else f"LEAST({', '.join(texts)})"


def _kind(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous) and node.name.upper() == "POINT":
        return "place"
    if isinstance(node, exp.DataType):
        return "vector"
    return "label" if isinstance(node, exp.Literal) and node.is_string else "number"


def _entries(node: exp.Expr) -> Sequence[exp.Expr]:
    if isinstance(node, exp.DataType):
        return node.args.get("values") or [node]
    return node.expressions if _kind(node) == "place" else [node]


def _names(context: Context, node: exp.Expr) -> tuple[str, ...]:
    """Return the columns of the space that a point of columns names, or one column."""
    own = [one_by_name(entry.name, context.names.space.columns) for entry in map(unwrapped, _entries(node))
           if isinstance(entry, exp.Column)]  # fmt: skip
    return tuple(name for found in own for name in found)


def _product(context: Context, part: Space, vector: Sequence[str]) -> str | None:
    columns = [_column(context, name) for name in part.columns]
    if len(columns) != len(vector) or None in columns:
        return None
    return f"({' + '.join(f'{column} * {_apart(value)}' for column, value in zip(columns, vector, strict=True))})"


def _distance(context: Context, part: Space, point: Sequence[str]) -> str | None:
    columns = [_column(context, name) for name in part.columns]
    if len(columns) != len(point) or None in columns:
        return None
    if part.point_kind == "label":
        return f"CASE WHEN {columns[0]} = {point[0]} THEN 0 ELSE 1 END"
    if part.point_kind == "place":
        return f"HAVERSINE({', '.join([*map(str, columns), *point])})"
    apart = [f"{column} - {_apart(value)}" for column, value in zip(columns, point, strict=True)]
    if part.point_kind == "vector":
        return f"SQRT({' + '.join(f'POW({own}, 2)' for own in apart)})"
    if part.point_kind != "number" or not part.spans:
        return None
    there, span = f"ABS({apart[0]})", part.spans[0]
    return f"LEAST({there}, {span.high:g} - {there})" if span.goes_round else there


def _apart(text: str) -> str:
    """Return a text that may stand behind a minus."""
    return text if text.replace(".", "", 1).isalnum() else f"({text})"


def _column(context: Context, name: str) -> str | None:
    """Return a column of the space as one of a row, a component of a time by its function; None where there is none."""
    component = find_component(name, context.names.kinds)
    if component is None:
        return identifier(name)
    if not component.is_whole:
        return None
    zone = f" AT TIME ZONE '{component.zone}'" if component.zone else ""
    return f"{component.part.upper()}({identifier(component.column)}{zone})"
