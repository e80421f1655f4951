"""The plan of a statement over rows with owners, by what it asks for."""

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
    if all(key.is_listed for key in query.keys):
        return plan_owned(query, users=users)
    # Loaded where it is needed.
    from emdp.estimators.owned.unlisted import plan_unlisted

    return plan_unlisted(query, users=users)
