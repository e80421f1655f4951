"""Nodes of arguments of other kinds: casts that lose nothing are put in, as SQL does it."""

import datetime
import re
from collections.abc import Sequence

from emdp.base.errors import UsageError
from emdp.rows.functions import FUNCTIONS
from emdp.rows.nodes import Call, Case, Cast, InList, Literal, Node, is_null
from emdp.rows.record import Form, Given
from emdp.rows.types import Kind

__all__ = ["DAY", "TIME", "as_kind", "call", "case", "common_kind", "in_list"]

WIDER: dict[Kind, Kind] = {Kind.BIGINT: Kind.DOUBLE, Kind.DATE: Kind.TIMESTAMP}
"""Casts that SQL puts in by itself: of whole numbers to numbers, of dates to times."""

DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = re.compile(rf"{DAY.pattern}(?:[ T](?!24)[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,6}})?)?)?")
"""Texts that DuckDB and all Pythons read alike; DuckDB would drop an offset from UTC without a word, and Python 3.14
takes 24:00, which older ones refuse, for the next day."""


def call(name: str, *arguments: Node) -> Call:
    """Return a call with its arguments cast to what the first form that fits takes.

    Raises
    ------
    UsageError
        If no form fits.

    >>> from emdp.rows.nodes import Column
    >>> print(call("add", Column("t", "x", Kind.BIGINT), Literal(0.5, Kind.DOUBLE)))
    (CAST("t"."x" AS DOUBLE) + 0.5e0)
    """
    forms = FUNCTIONS[name].forms if name in FUNCTIONS else ()
    # A form that takes the arguments as they are comes first, then the first to which they can be widened.
    for exactly in (True, False):
        for form in forms:
            fitted = _fitted(form, arguments, exactly=exactly)
            if fitted is not None:
                return Call(name, fitted)
    kinds = ", ".join(argument.kind.value for argument in arguments)
    raise UsageError(f"arguments must fit a form of {name}, got ({kinds}); cast them.")


def case(branches: Sequence[tuple[Node, Node]], otherwise: Node | None = None) -> Case:
    """Return a CASE with its values cast to one kind.

    Raises
    ------
    UsageError
        If the values have no common kind.
    """
    values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
    kind = common_kind(values)
    last = Literal(None, kind) if otherwise is None else _must(otherwise, kind)
    return Case(tuple((_must(test, Kind.BOOLEAN), _must(value, kind)) for test, value in branches), last)


def in_list(argument: Node, values: Sequence[Node]) -> Node:
    """Return whether a node is one of some literals; with NULL among these, as ``= ANY`` has it, true or NULL.

    Raises
    ------
    UsageError
        If the values are no literals, or have no common kind with the argument.
    """
    kind = common_kind([argument, *values])
    fitted = [_must(value, kind) for value in values]
    literals = tuple(value for value in fitted if isinstance(value, Literal))
    if len(literals) < len(fitted):
        raise UsageError("values must be literals; write them out.")
    known = tuple(dict.fromkeys(value for value in literals if value.value is not None))
    if not known:
        return Literal(None, Kind.BOOLEAN)
    found = InList(_must(argument, kind), known)
    return found if len(known) == len(set(literals)) else Call("or", (found, Literal(None, Kind.BOOLEAN)))


def common_kind(nodes: Sequence[Node]) -> Kind:
    """Return the kind that all of some nodes can be cast to without loss.

    Raises
    ------
    UsageError
        If there is none.

    >>> common_kind([Literal(1, Kind.BIGINT), Literal(0.5, Kind.DOUBLE)])
    <Kind.DOUBLE: 'DOUBLE'>
    """
    candidates = [node.kind for node in nodes if not is_null(node)] or [Kind.TEXT]
    candidates += [WIDER[kind] for kind in candidates if kind in WIDER]
    # A text that is written out may stand for a date: kinds of other nodes come first.
    for kind in sorted(dict.fromkeys(candidates), key=lambda kind: kind is Kind.TEXT):
        if all(as_kind(node, kind) is not None for node in nodes):
            return kind
    kinds = " and ".join(dict.fromkeys(node.kind.value for node in nodes))
    raise UsageError(f"values must be of one kind, got {kinds}; cast them.")


def as_kind(node: Node, kind: Kind) -> Node | None:
    """Return a node as another kind if nothing is lost by it, None otherwise.

    >>> print(as_kind(Literal("2020-01-05", Kind.TEXT), Kind.DATE))
    DATE '2020-01-05'
    """
    if node.kind is kind:
        return node
    if isinstance(node, Literal):
        return _literal_as(node, kind)
    return Cast(node, kind) if WIDER.get(node.kind) is kind else None


def _fitted(form: Form, arguments: Sequence[Node], *, exactly: bool) -> tuple[Node, ...] | None:
    if len(arguments) != len(form.arguments):
        return None
    fitted: list[Node] = []
    for argument, wanted in zip(arguments, form.arguments, strict=True):
        kind = wanted.kind if isinstance(wanted, Given) else wanted
        if exactly and not isinstance(argument, Literal) and argument.kind is not kind:
            return None
        if exactly and isinstance(argument, Literal) and argument.kind is not kind and not _bends(argument, arguments):
            return None
        found = as_kind(argument, kind)
        if found is None or (isinstance(wanted, Given) and not isinstance(found, Literal)):
            return None
        fitted.append(found)
    return tuple(fitted)


def _bends(literal: Literal, arguments: Sequence[Node]) -> bool:
    """Say whether a literal takes the kind of the others: NULL always, a text beside what is none."""
    others = [argument for argument in arguments if not isinstance(argument, Literal)]
    return literal.value is None or (literal.kind is Kind.TEXT and bool(others))


def _must(node: Node, kind: Kind) -> Node:
    found = as_kind(node, kind)
    if found is None:
        raise UsageError(f"value must be {kind.value}, got {node.kind.value}; cast it.")
    return found


def _literal_as(node: Literal, kind: Kind) -> Literal | None:
    value = node.value
    if value is None:
        return Literal(None, kind)
    if kind is Kind.DOUBLE and isinstance(value, int) and not isinstance(value, bool):
        return Literal(float(value), kind) if int(float(value)) == value else None
    if kind is Kind.TIMESTAMP and type(value) is datetime.date:
        return Literal(datetime.datetime.combine(value, datetime.time()), kind)
    if kind.is_time and isinstance(value, str):
        return _time(value, kind)
    return None


def _time(text: str, kind: Kind) -> Literal | None:
    text = text.strip()
    if not (DAY if kind is Kind.DATE else TIME).fullmatch(text):
        return None
    read = datetime.date if kind is Kind.DATE else datetime.datetime
    try:
        return Literal(read.fromisoformat(text), kind)
    except ValueError:
        return None
