"""What a session does for a first look at its table."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from emdp.base.errors import BudgetExceededError
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.sessions.asking import Asking

# Loaded where a first look is taken: others need none of it.
if TYPE_CHECKING:
    from emdp.sessions.profile import Profile, ProfilePlan, ProfilePreview
    from emdp.sessions.profile.statements import Options

__all__ = ["Profiling"]


class Profiling(Asking):
    """First looks of a session."""

    def profile(
        self,
        *,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours = "replace",
        columns: Iterable[str] | None = None,
        max_records_per_user: int = 100,
        max_groups_per_user: int = 3,
        top: int = 10,
    ) -> "Profile":
        """Take a first look at every column, at one price: what an analyst asks first of any table.

        Of each column the share of missing values; of numbers and times the quartiles, of times also how many days
        they cover; of truth values the share that is true; of texts the most frequent values, by people. Besides the
        number of records, and users by how many records they have. Types come from the schema alone. All of it is of
        the records that are somewhere; where a column sends records elsewhere, its share of missing values is not told.

        All statements are fixed by the schema, checked, and charged as one batch before anything is computed
        (:meth:`sql_batch`). A tenth of epsilon is for the number of records, one for users by records, two for missing
        values; columns with a statement of their own divide the rest equally, and columns of texts divide delta.

        Parameters
        ----------
        epsilon, delta : float
            Price of all of it. Without a delta, texts that the space does not list are not answered.
        neighbours : {"replace", "remove"}
            Which tables must look alike, as in ``OPTIONS (neighbours = ..)``.
        columns : iterable of str, optional
            Columns to look at; by default all but the user's. Parts that have nothing to ask leave their epsilon to
            the others: with an empty list all of it is for the records and users by records, half each.
        max_records_per_user : int
            As in SQL: a user with more counts as so many, in the number of records; in quartiles as 10 at most.
        max_groups_per_user : int
            Values of a column in which a user counts at most.
        top : int
            Values of a column that are shown at most.

        Returns
        -------
        Profile
            Its ``unanswered`` columns say why there is no answer.

        Raises
        ------
        UsageError
            If an option is out of its range; nothing is charged then.
        BudgetExceededError
            If the budget does not cover it; nothing is charged then.
        DataRuleError
            If the records break a declared rule; nothing is charged then.

        Guarantee
        ---------
        ``(epsilon, delta)`` at user level: the statements' own add up to no more (EMD 7, parameters fixed in advance).
        """
        from emdp.sessions.profile import Profile
        from emdp.sessions.profile.statements import Options

        plan = self.profile_plan(
            Options(epsilon, delta, neighbours, columns, max_records_per_user, max_groups_per_user, top)
        )
        return Profile(plan, self._run(plan.planned))

    def profile_preview(
        self,
        *,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours = "replace",
        columns: Iterable[str] | None = None,
        max_records_per_user: int = 100,
        max_groups_per_user: int = 3,
        top: int = 10,
    ) -> "ProfilePreview":
        """Say what :meth:`profile` would ask, cost and be off by; touches no private value, spends nothing.

        Returns
        -------
        ProfilePreview
            One row a statement, with its share of the price; ``sql`` has the statements.
        """
        from emdp.sessions.profile.statements import Options

        return self.profile_preview_of(
            self.profile_plan(
                Options(epsilon, delta, neighbours, columns, max_records_per_user, max_groups_per_user, top)
            )
        )

    def profile_preview_of(self, plan: "ProfilePlan") -> "ProfilePreview":
        """Return the preview of a first look that is planned; see :meth:`profile_preview`."""
        from emdp.sessions.profile import ProfilePreview

        try:
            self.check_affordable(plan.planned)
        except BudgetExceededError:
            return ProfilePreview.of(plan, self._table, is_affordable=False)
        return ProfilePreview.of(plan, self._table, is_affordable=True)

    def profile_plan(self, options: "Options") -> "ProfilePlan":
        """Return a first look that is checked and priced, for what keeps answers; see :meth:`profile`."""
        from emdp.sessions.profile.plan import plan_profile

        return plan_profile(self._table, self._names, options, self.promises)
