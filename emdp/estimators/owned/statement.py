"""The plan of a statement over rows with owners, by what it asks for.

Sums and people share one draw (:mod:`emdp.estimators.owned.totals`). A quantile, a number of different values, and
people under a condition of their own are releases of their own, each with the share ``1/k`` of epsilon of ``k``
columns. Delta is for sums alone, which have a use for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from emdp.base.errors import InternalError, UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.contract import AnyPlan
from emdp.estimators.owned.automatic import MeasuredPlan
from emdp.estimators.owned.computed import Compute, computed_notes, computed_rows
from emdp.estimators.owned.joined import JoinedPlan
from emdp.estimators.owned.parted import parted
from emdp.estimators.owned.plan import OwnedPlan
from emdp.estimators.owned.totals import answer_names, plan_owned
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.privacy.rounding import split
from emdp.questions.owned.affine import reduced
from emdp.questions.owned.question import TOTAL_KINDS, OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Filtered
from emdp.rows.nodes import columns

__all__ = ["plan_statement"]


def plan_statement(query: OwnedSelect, *, users: int | None, compute: Compute | None = None) -> AnyPlan:
    """Return the plan of a statement.

    Parameters
    ----------
    query : OwnedSelect
        Its names are looked up and its ranges known.
    users : int or None
        The public number of users; by removal None where there is none.
    compute : callable, optional
        Computes functions of an answer's columns: for statements that do so.
    """
    if query.ranged:
        from emdp.estimators.owned.ranged import plan_ranged

        return plan_ranged(query, users=users, plan=partial(plan_statement, users=users, compute=compute))
    if not query.items:
        if query.measures_groups:
            raise UsageError(
                "max_groups_per_user must be a number where groups alone are asked for; write max_groups_per_user = 30."
            )
        from emdp.estimators.owned.keys_plan import plan_keys

        return plan_keys(query)
    query = parted(reduced(query))
    pieces = list(_pieces(query.items))
    is_simple = len(pieces) == 1 and pieces[0][0].kind in TOTAL_KINDS and pieces[0][0].condition is None
    if query.is_plain:
        return _plain(query, users, pieces, is_simple=is_simple)
    if not is_simple and not _adds_constants(query):
        raise UsageError(
            "arithmetic, HAVING, DISTINCT and ORDER BY of expressions are of counts, sums, means and people without "
            "FILTER; ask for quantiles and numbers of different values in a statement of their own."
        )
    # What is computed or chosen of the noisy values comes after them, and costs nothing.
    plan = _plain(query.plain, users, pieces, is_simple=is_simple)
    if not isinstance(plan, OwnedPlan | MeasuredPlan | UnlistedPlan | JoinedPlan):
        raise InternalError("values were to be computed of releases of several kinds; please report this.")
    finisher = computed_rows(plan.finisher, query, compute)
    notes = (*plan.notes, *computed_notes(query))
    typical = plan.typical.columns if isinstance(plan, MeasuredPlan) else ()
    return replace(plan, finisher=finisher, columns=finisher.planned(plan.columns, typical), notes=notes)


def _adds_constants(query: OwnedSelect) -> bool:
    """Say whether what is computed is public numbers alone, beside an answer as it is."""
    is_whole = not (query.having or query.is_distinct or any(item.name in query.hidden for item in query.items))
    return is_whole and not any(columns(own.node) for own in query.computed)


def _plain(
    query: OwnedSelect, users: int | None, pieces: Sequence[tuple[OwnedItem, ...]], *, is_simple: bool
) -> AnyPlan:
    is_listed = all(key.is_listed for key in query.keys)
    if query.measures_cap and not (is_listed and is_simple):
        raise UsageError(
            "max_records_per_user must be a number where groups have no public list, and beside quantiles, different "
            "values and people under FILTER, for an automatic or measured cap is of the records in listed groups; "
            "write max_records_per_user = 50 in OPTIONS."
        )
    if query.measures_groups:
        return _with_groups(query, users, is_simple=is_simple)
    if not is_listed and not is_simple:
        raise UsageError(
            "keys without a public list have counts and sums alone, without FILTER of people; list the groups in "
            "WHERE, or leave these columns out."
        )
    # Loaded where it is needed.
    if query.measures_cap:
        from emdp.estimators.owned.automatic import plan_measured

        return plan_measured(query, users=users)
    if is_listed:
        return plan_owned(query, users=users, is_given=True) if is_simple else _joined(query, pieces, users)
    from emdp.estimators.owned.unlisted import plan_unlisted

    return plan_unlisted(query, users=users)


def _with_groups(query: OwnedSelect, users: int | None, *, is_simple: bool) -> AnyPlan:
    if query.measures_cap or not is_simple:
        raise UsageError(
            "max_groups_per_user must be a number beside an automatic or measured cap of records, quantiles, different "
            "values and people under FILTER; write max_groups_per_user = 5, or max_records_per_user = 50, in OPTIONS."
        )
    from emdp.estimators.owned.automatic_groups import plan_groups_cap

    return plan_groups_cap(query, users=users)


def _pieces(items: tuple[OwnedItem, ...]) -> Iterator[tuple[OwnedItem, ...]]:
    """Yield items that are released together: sums, and quantiles of one expression."""
    totals = tuple(item for item in items if item.kind in TOTAL_KINDS and item.condition is None)
    if totals:
        yield totals
    done: list[OwnedItem] = list(totals)
    for item in items:
        if item not in done:
            alike = [own for own in items if own == item or _is_other_level(own, item)]
            alike = list({own.level: own for own in alike}.values())
            done += alike
            yield tuple(alike)


def _is_other_level(one: OwnedItem, other: OwnedItem) -> bool:
    is_alike = one.kind == other.kind == "quantile" and (one.node, one.low, one.high) == (
        other.node,
        other.low,
        other.high,
    )
    return is_alike and one.level != other.level


def _joined(query: OwnedSelect, pieces: Sequence[tuple[OwnedItem, ...]], users: int | None) -> AnyPlan:
    from emdp.estimators.owned.joined import JoinedRows, joined_event

    needs_cap = any(item.kind not in ("users", "distinct") for item in query.items)
    if not needs_cap and query.cap is not None:
        raise UsageError("max_records_per_user has no use where no record is counted; leave it out.")
    if query.distinct_cap is not None and all(item.kind != "distinct" for item in query.items):
        raise UsageError("max_distinct_per_user is for COUNT(DISTINCT column); leave it out.")
    if query.groups_cap is not None and not query.group_rows and all(item.kind != "users" for item in query.items):
        raise UsageError("max_groups_per_user is for counts of people by groups; leave it out.")
    keys = tuple(key.name for key in query.keys)
    names = answer_names(query, keys)
    shares = split(query.price.level, tuple(float(len(items)) for items in pieces))
    members = tuple(_planned(query, items, share, users) for items, share in zip(pieces, shares, strict=True))
    rows = JoinedRows(tuple(member.finisher for member in members), keys, names)
    planned = {column.name: column for member in members for column in member.columns}
    notes = tuple(dict.fromkeys(note for member in members for note in member.notes))
    return JoinedPlan(
        members=members,
        event=joined_event([member.event for member in members], query.price.promise()),
        columns=tuple(replace(planned[item.name], share=1.0 / len(query.items)) for item in query.items),
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        notes=notes,
    )


def _planned(query: OwnedSelect, items: tuple[OwnedItem, ...], share: float, users: int | None) -> AnyPlan:
    """Return the plan of one piece, unordered."""
    kinds = {item.kind for item in items}
    is_total = kinds <= set(TOTAL_KINDS)
    own = replace(
        query,
        items=items,
        price=replace(query.price, level=share, delta=query.price.delta if is_total else 0.0),
        cap=query.cap if kinds - {"users", "distinct"} else None,
        groups_cap=query.groups_cap if "users" in kinds or (is_total and query.group_rows) else None,
        group_rows=query.group_rows if is_total and kinds != {"users"} else None,
        columns=(),
        order=(),
        limit=None,
        offset=0,
    )
    if kinds == {"quantile"}:
        from emdp.estimators.owned.quantiles import plan_quantile

        return plan_quantile(own, users=users)
    if kinds == {"distinct"}:
        from emdp.estimators.owned.distinct import plan_distinct

        return plan_distinct(own)
    condition = items[0].condition
    if condition is None:
        return plan_owned(own, users=users, is_given=True)
    return plan_owned(replace(own, relation=Filtered(own.relation, condition)), users=users)
