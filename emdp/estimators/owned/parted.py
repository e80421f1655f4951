"""A share of a sum, ``SUM(f) / SUM(e)``: the whole is ``SUM(f) + SUM(g)``, of the values of a part and of the rest.

Theorem. Let ``e`` have one sign, ``f`` be ``CASE WHEN p THEN e ELSE 0 END`` (or NULL in place of 0) and ``g`` be ``CASE
WHEN p THEN 0 ELSE e END``, all three clamped to the range of ``e`` with 0. Then ``SUM(e) = SUM(f) + SUM(g)`` for any
weights of rows, and each row adds to one of the two at most what it adds to ``e``, and nothing to the other. Proof. Of
a row for which ``p`` is true ``f`` is ``e`` and ``g`` is 0, of any other ``f`` is 0 or NULL and ``g`` is ``e``; where
``e`` is NULL or NaN none adds anything, and a clamp to a range with 0 leaves 0 alone.

So under a cap of amounts (:mod:`emdp.estimators.owned.amounts`) a row of the part costs once what it costs twice where
``SUM(f)`` and ``SUM(e)`` are drawn, and at one given cap of records both have half of the noise. A share ``r = SUM(f) /
SUM(e)`` has to first order the noise ``(1 - r) n_f - r n_g`` over ``SUM(e)``, where it had ``n_f - r n_e``: with
Laplace noise ``sqrt(((1 - r)^2 + r^2)/(1 + r^2))`` of it under the same amounts. The whole sum alone has ``sqrt(2)``
times the noise of one draw, so that statements which show it, or read it without the part, are left as they are; so are
those whose cap is not one of amounts. Values below a range above 0 count as they are in place of as its end.
"""

from collections.abc import Iterator
from dataclasses import replace

from emdp.estimators.owned.amounts import MOST_AMOUNTS, has_sums
from emdp.questions.owned.affine import free_name, with_computed
from emdp.questions.owned.question import ANSWER, OwnedItem, OwnedSelect
from emdp.questions.owned.zeros import is_nothing
from emdp.rows.building import call
from emdp.rows.nodes import Case, Column, Literal, Node, columns
from emdp.rows.types import Kind

__all__ = ["parted"]


def parted(query: OwnedSelect) -> OwnedSelect:
    """Return a statement in which the whole of a share is made of the part and of the rest."""
    if not _is_fitting(query):
        return query
    made, hidden = list(query.items), set(query.hidden)
    taken = {key.name for key in query.keys} | {own.name for own in query.items} | {own.name for own in query.computed}
    nodes: dict[str, Node] = {}
    for whole, part, rest in _pairs(query.items):
        if not _is_of_shares(query, whole.name, part.name):
            continue
        name = free_name("rest", taken)
        hidden.add(name)
        made[made.index(whole)] = replace(part, name=name, node=rest, text=f"{whole.text} - {part.text}")
        sums = (Column(ANSWER, own, Kind.DOUBLE) for own in (part.name, name))
        nodes[whole.name] = call("add", *sums)
    return with_computed(query, made, nodes, hidden) if nodes else query


def _is_fitting(query: OwnedSelect) -> bool:
    """Say whether all items are sums of rows in listed groups under a cap of amounts, and less noise is drawn."""
    is_sums = has_sums(query) and {item.kind for item in query.items} == {"sum"}
    is_capped = query.cap is not None or query.measures_cap
    is_small = query.cap is None or query.cap <= MOST_AMOUNTS
    is_by_cell = query.group_rows is not None or query.measures_groups
    # One number that others replace may move by both ends, in each of the two.
    is_less = query.price.is_by_removal or bool(query.keys)
    is_listed = all(key.is_listed for key in query.keys)
    return is_sums and is_capped and is_small and is_less and is_listed and not is_by_cell


def _is_of_shares(query: OwnedSelect, whole: str, part: str) -> bool:
    """Say whether a sum is read beside that of a part alone, and shown nowhere."""
    read = [{column.name for column in columns(own.node)} for own in query.computed]
    is_hidden = whole in query.hidden and all(key.column != whole for key in query.order)
    return is_hidden and all(part in names for names in read if whole in names)


def _pairs(items: tuple[OwnedItem, ...]) -> Iterator[tuple[OwnedItem, OwnedItem, Node]]:
    """Yield sums with the only part of them that is asked for, and the number of a row that makes up the rest."""
    for whole in items:
        if whole.node is None or whole.low < 0.0 < whole.high:
            continue
        ends = (min(whole.low, 0.0), max(whole.high, 0.0))
        found = [
            (own, rest)
            for own in items
            if (own.low, own.high) == ends and (rest := _rest(own.node, whole.node)) is not None
        ]
        if len(found) == 1:
            yield whole, *found[0]


def _rest(part: Node | None, whole: Node) -> Node | None:
    """Return what a part leaves of a number of a row; None where it is no part of it."""
    if not isinstance(part, Case) or part.kind is not whole.kind:
        return None
    values = (*(value for _, value in part.branches), part.otherwise)
    if not all(value == whole or is_nothing(value) for value in values) or whole not in values:
        return None
    nothing = Literal(0.0, Kind.DOUBLE) if whole.kind is Kind.DOUBLE else Literal(0, whole.kind)
    *rest, otherwise = (nothing if value == whole else whole for value in values)
    return Case(tuple((test, value) for (test, _), value in zip(part.branches, rest, strict=True)), otherwise)
