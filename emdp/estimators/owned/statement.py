"""The plan of a statement over rows with owners, by what it asks for."""

from emdp.base.errors import UsageError
from emdp.estimators.contract import AnyPlan
from emdp.estimators.owned.totals import plan_owned
from emdp.questions.owned.question import OwnedSelect

__all__ = ["plan_statement"]


def plan_statement(query: OwnedSelect, *, users: int | None) -> AnyPlan:
    """Return the plan of a statement.

    Parameters
    ----------
    query : OwnedSelect
        Its names are looked up and its ranges known.
    users : int or None
        The public number of users; by removal None where there is none.

    Raises
    ------
    UsageError
        If an option, an item, a name or the noise does not fit.
    """
    is_listed = all(key.is_listed for key in query.keys)
    if query.measures_cap and not is_listed:
        raise UsageError(
            "max_records_per_user must be a number where groups have no public list, for an automatic or measured cap "
            "is of the records in listed groups; add max_records_per_user = 50, or list the groups."
        )
    # Loaded where it is needed.
    if query.measures_cap:
        from emdp.estimators.owned.automatic import plan_measured

        return plan_measured(query, users=users)
    if is_listed:
        return plan_owned(query, users=users)
    from emdp.estimators.owned.unlisted import plan_unlisted

    return plan_unlisted(query, users=users)
