"""Sums of affine functions of one argument as weighted sums of two: ``SUM(a e + b) = a SUM(e) + b COUNT(e)``.

Theorem. Where ``e`` is clamped to [low, high] and ``a e + b`` to what that range becomes, both sides are one number,
also of records weighed by a cap: each record's clamped value is ``a`` times the other's plus ``b``, and a record has no
value of the one where it has none of the other. So many such sums need the noise of two (user-level-sql.md 2.3): of
``SUM(w), SUM(w + 1), .., SUM(w + 89)`` each would have a ninetieth of epsilon.

A sum of its own has less noise than one that is made of two, so that three or more of one argument are reduced. Whole
numbers so large that ``a e + b`` has no 64 bits count here with the end of the range in place of not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from emdp.questions.owned.question import ANSWER, Computed, OwnedItem, OwnedSelect
from emdp.rows.building import call
from emdp.rows.nodes import Call, Column, Literal, Node, columns, replaced
from emdp.rows.types import Kind

__all__ = ["affine", "free_name", "reduced", "with_computed"]

LEAST = 3
"""Sums of one argument that are worth two numbers in their places."""

Affine = tuple[Node, Fraction, Fraction]
"""``e``, ``a``, ``b`` of ``a e + b``."""


def affine(node: Node) -> Affine:
    """Return a number of a row as an affine function of another one: ``e`` with ``a != 0``, or itself.

    >>> w = Column("t", "w", Kind.BIGINT)
    >>> affine(call("add", w, Literal(3, Kind.BIGINT)))[1:], affine(w)[1:]
    ((Fraction(1, 1), Fraction(3, 1)), (Fraction(1, 1), Fraction(0, 1)))
    """
    if not isinstance(node, Call) or not node.kind.is_number:
        return node, Fraction(1), Fraction(0)
    if node.function == "negate":
        inner, factor, offset = affine(node.arguments[0])
        return inner, -factor, -offset
    if node.function not in ("add", "subtract", "multiply") or len(node.arguments) != 2:
        return node, Fraction(1), Fraction(0)
    left, right = node.arguments
    constant = _constant(right)
    own, is_right = (left, True) if constant is not None else (right, False)
    constant = _constant(left) if constant is None else constant
    if constant is None or not own.kind.is_number:
        return node, Fraction(1), Fraction(0)
    inner, factor, offset = affine(own)
    if node.function == "multiply":
        return (inner, constant * factor, constant * offset) if constant else (node, Fraction(1), Fraction(0))
    if node.function == "add":
        return inner, factor, offset + constant
    return (inner, factor, offset - constant) if is_right else (inner, -factor, constant - offset)


def reduced(query: OwnedSelect) -> OwnedSelect:
    """Return a statement with sums of affine functions of one argument made of its sum and its count.

    Those whose ranges were chosen stay: each is clamped to its own, as its answer says.
    """
    summed = [item for item in query.items if item.kind == "sum" and not item.is_ranged]
    parts = {item.name: affine(item.node) for item in summed if item.node is not None}
    by_base: dict[Node, list[OwnedItem]] = {}
    for item in query.items:
        if item.name in parts:
            by_base.setdefault(parts[item.name][0], []).append(item)
    chosen = {base: items for base, items in by_base.items() if len(items) >= LEAST and base.kind.is_number}
    if not chosen:
        return query
    made = list(query.items)
    nodes: dict[str, Node] = {}
    taken = set(chain((key.name for key in query.keys), (item.name for item in query.items),
                      (own.name for own in query.computed)))  # fmt: skip
    hidden = set(query.hidden)
    for base, items in chosen.items():
        low, high = _range(items, parts)
        total, count = (free_name(word, taken) for word in ("sum", "count"))
        hidden |= {total, count}
        made = [item for item in made if item not in items]
        made += [OwnedItem("sum", total, base, low, high, items[0].text), OwnedItem("count", count, base)]
        for item in items:
            _, factor, offset = parts[item.name]
            nodes[item.name] = _weighed(total, count, factor, offset)
    return with_computed(query, made, nodes, hidden)


def with_computed(
    query: OwnedSelect, items: Sequence[OwnedItem], nodes: Mapping[str, Node], hidden: set[str]
) -> OwnedSelect:
    """Return a statement with items that are computed of others."""
    texts = {item.name: item.text for item in query.items}
    mapping: dict[Node, Node] = {Column(ANSWER, name, Kind.DOUBLE): node for name, node in nodes.items()}
    computed = [replace(own, node=replaced(own.node, mapping)) for own in query.computed]
    read = {one.name for own in query.computed for one in columns(own.node)}
    shown = {*query.columns, *(key.column.removesuffix("_low").removesuffix("_high") for key in query.order)}
    shown |= set(nodes) - set(query.hidden) if not query.columns else set()
    computed += [Computed(name, node, texts[name]) for name, node in nodes.items() if name in shown or name not in read]
    names = query.columns or (*(key.name for key in query.keys), *(item.name for item in query.items))
    return replace(query, items=tuple(items), computed=tuple(computed), hidden=frozenset(hidden), columns=tuple(names))


def _range(items: Sequence[OwnedItem], parts: Mapping[str, Affine]) -> tuple[float, float]:
    """Return the range of the argument: what all of the items' ranges leave it."""
    ends = []
    for item in items:
        _, factor, offset = parts[item.name]
        ends.append(sorted((Fraction(end) - offset) / factor for end in (item.low, item.high)))
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def _weighed(total: str, count: str, factor: Fraction, offset: Fraction) -> Node:
    node: Node = Column(ANSWER, total, Kind.DOUBLE)
    node = node if factor == 1 else call("multiply", Literal(float(factor), Kind.DOUBLE), node)
    if not offset:
        return node
    counted = Column(ANSWER, count, Kind.DOUBLE)
    return call("add", node, call("multiply", Literal(float(offset), Kind.DOUBLE), counted))


def free_name(word: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    number = 1
    while f"{word} {number}" in taken:
        number += 1
    taken.add(f"{word} {number}")
    return f"{word} {number}"


def _constant(node: Node) -> Fraction | None:
    is_number = isinstance(node, Literal) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return Fraction(node.value) if is_number else None  # type: ignore[union-attr,arg-type]
