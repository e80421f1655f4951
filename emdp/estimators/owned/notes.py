"""Caps of a statement over rows with owners: what they need, and what a reader must know of them, in words."""

from emdp.base.errors import UsageError
from emdp.estimators.columns.true_totals import AMOUNT_TOTALS, GIVEN_AMOUNTS, MEASURED_TOTALS, TRUE_TOTALS
from emdp.questions.owned.question import OwnedSelect

__all__ = ["QUOTIENTS", "check_caps", "owned_notes", "weight_note"]

QUOTIENTS = ("avg", "variance", "stddev")
TOTALS = ("rows", "count", "sum")
"""Kinds of items that are made of quotients."""


def check_caps(query: OwnedSelect, *, needs_cap: bool) -> None:
    """Raise ``UsageError`` if what bounds the records of a user is missing, said twice or of no use."""
    if needs_cap and query.cap is None and query.group_rows is None:
        raise UsageError(
            "cap must be given, since nothing bounds how many records a user has; add max_records_per_user = 50."
        )
    if not needs_cap and query.cap is not None:
        raise UsageError("max_records_per_user has no use where people alone are counted; leave it out.")
    if query.group_rows is None:
        return
    if not needs_cap or not query.keys:
        raise UsageError(
            "max_records_per_group has no use where no records are counted by groups; leave it out, or add GROUP BY."
        )
    if query.cap is not None or query.measures_cap:
        raise UsageError(
            "max_records_per_group and max_records_per_user are two caps of one statement; leave one of them out."
        )
    if query.groups_cap is None:
        raise UsageError(
            "max_groups_per_user must be given beside max_records_per_group, since nothing else bounds in how many "
            "groups a user counts; add max_groups_per_user = 5."
        )


def owned_notes(query: OwnedSelect, cap: str, *, is_measured: bool, norm: int) -> tuple[str, ...]:
    """Return what a reader must know of a statement, with its cap in words: whether it is known, and what it does."""
    cap = cap if query.group_rows is None else f"{query.group_rows} in a group"
    notes = []
    if query.price.is_by_removal:
        notes.append(
            "hidden is whether a user has records at all; the number of users is private, and nothing is divided by it"
        )
    is_per_user = query.relation.is_per_user
    if is_per_user and any(item.kind != "users" for item in query.items):
        notes.append("each user has one row at most, so that no cap is needed, and intervals are for the true values")
        if any(item.kind == "avg" for item in query.items):
            notes.append(
                "a mean or share is of the people who have a row here: somebody without records that conditions leave "
                "is in neither part of it"
            )
    elif any(item.kind != "users" for item in query.items):
        notes.append(f"records are those that conditions leave in listed groups; {weight_note(query, cap, norm)}")
    if not is_per_user and any(item.kind in ("rows", "count", "sum") for item in query.items):
        by_rows, by_amounts = (MEASURED_TOTALS, AMOUNT_TOTALS) if is_measured else (TRUE_TOTALS, GIVEN_AMOUNTS)
        notes.append((by_amounts if query.amounts else by_rows).format(cap=cap))
    if any(item.kind in QUOTIENTS for item in query.items):
        notes.append(
            f"means, variances and deviations weigh records of at most {cap} a user, over values that are there; "
            "where their count is within its noise there is no value (NULL) and an unbounded interval"
        )
        if any(item.weight is not None for item in query.items):
            notes.append(
                "SUM(v * e) / SUM(v) is one mean by weights: of both sums a record of weight v has its part of the cap"
            )
        if query.measures_cap and query.cap is None and any(item.kind in TOTALS for item in query.items):
            notes.append(
                "means here are over records, since COUNT or SUM count them: in a statement of means alone without "
                "max_records_per_user every user weighs the same"
            )
    if query.groups_cap is not None and any(item.kind == "users" for item in query.items):
        notes.append(
            f"a user in more than {query.groups_cap} groups counts in each as {query.groups_cap} divided by their "
            "number, so that an interval has no upper end"
        )
    elif query.keys and any(item.kind == "users" for item in query.items):
        notes.append(
            "a user counts in every group that holds a record of theirs; max_groups_per_user makes noise smaller"
        )
    return tuple(notes)


def weight_note(query: OwnedSelect, cap: str, norm: int) -> str:
    """Return in words with what weight a user's records count."""
    if query.amounts and query.group_rows is None:
        by = "" if norm == 1 else " (the root of the sum of squares of this by group and sum, as Gaussian noise has it)"
        return (
            f"of a user whose records add more than {cap}, in records of the largest amounts{by}, each counts as {cap} "
            "divided by what they add, none is left out"
        )
    if query.group_rows is not None:
        if query.amounts:
            return (
                f"of a user whose records in a group add more than {query.group_rows}, in records of the largest "
                f"amounts, each counts there as {query.group_rows} divided by what they add, and of one in more than "
                f"{query.groups_cap} groups as {query.groups_cap} divided by these besides; none is left out"
            )
        return (
            f"of a user above {query.group_rows} in a group each counts as {query.group_rows} divided by their number "
            f"there, and of one in more than {query.groups_cap} groups as {query.groups_cap} divided by these besides"
        )
    if norm == 1:
        return f"of a user above {cap} each counts as {cap} divided by their number, none is left out"
    return (
        f"of a user each counts as {cap} divided by the root of the sum of squares of their numbers by group, where "
        f"that is above {cap}: as Gaussian noise has it, which leaves more of a user with many groups than "
        f"{cap} divided by their number; none is left out"
    )
