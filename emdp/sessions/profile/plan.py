"""A first look that is checked and priced: its statements with their plans, and what is said of it beforehand."""

from collections.abc import Mapping, Sequence

import polars as pl

from emdp.answers import PreviewedStatement
from emdp.base.classes import dataclass
from emdp.base.errors import RefusedError, UsageError
from emdp.base.text import Text
from emdp.estimators.columns.sizes import ASSUMED_USERS
from emdp.privacy import Guarantee, UserDP
from emdp.questions.names import Names
from emdp.questions.owned.grids import GRID_BITS
from emdp.questions.owned.totals import UNIT_BITS
from emdp.sessions.planning import Planned, plan_request
from emdp.sessions.presentation import filled_columns, gone_columns, previewed
from emdp.sessions.profile.lines import cut, percent, wrapped
from emdp.sessions.profile.statements import Options, Part, parts_of
from emdp.sessions.records import TableRecords
from emdp.tables import Table

__all__ = ["ASSUMED_RECORDS", "ProfilePlan", "ProfilePreview", "plan_profile"]

ASSUMED_RECORDS = 50
"""Records of a user that a preview assumes on average, or the cap where that is less."""

USEFUL = 0.1
"""Share of the records by which ranks of quartiles may be off and still say something."""

USELESS = 0.25
"""Share of the records from which on a rank may be that of the next quartile."""

CONTENT: Mapping[str, str] = {
    "records": "records",
    "users": "users by records",
    "missing": "missing values",
    "quartiles": "quartiles",
    "values": "frequent values",
}
"""What a statement of each kind asks for, in words."""


@dataclass(frozen=True, eq=False)
class ProfilePlan:
    """A first look that is checked and priced.

    Parameters
    ----------
    names : Names
        What is public of the table.
    options : Options
        What was asked for.
    parts : tuple of (Part, Planned)
        The statements with their plans.
    unanswered : mapping of str to str
        For each column that no statement can answer why; public, since the schema alone decides.
    """

    names: Names
    options: Options
    parts: tuple[tuple[Part, Planned], ...]
    unanswered: Mapping[str, str]

    @property
    def guarantee(self) -> UserDP:
        """What all statements together promise: their epsilons and deltas add up to no more."""
        return UserDP(self.options.epsilon, self.options.delta, neighbours=self.options.neighbours)

    @property
    def planned(self) -> tuple[Planned, ...]:
        """The plans, to be charged as one batch."""
        return tuple(planned for _, planned in self.parts)

    @property
    def elsewhere(self) -> str:
        """What a reader must know where the space sends records elsewhere; empty where it sends none."""
        gone = ", ".join(gone_columns(self.names.space, self.names.columns))
        return gone and (
            f"All but a public number of users is of the records that are somewhere, and of users who have one: "
            f"records without a value of {gone} that the space takes are elsewhere, and left out. So no share of "
            "missing values is told of these columns, and of others it is among the records that are somewhere. "
            "SHARE(ELSEWHERE) is the share that is elsewhere, with the people who have no record."
        )

    @property
    def filled(self) -> str:
        """What a reader must know where the space gives missing values a value; empty where it gives none."""
        # Rows without a user count nowhere, whatever item the space makes of them.
        columns = filled_columns(self.names.space, self.names.columns)
        filled = ", ".join(column for column in columns if column != self.names.user)
        return filled and (
            f"Records without a value of {filled} count as the neutral item's there (on_invalid = 'neutral' or "
            "'clamp'), in quartiles and frequent values too, and may be any share; so no share of missing values is "
            "told of these columns."
        )

    @property
    def warning(self) -> str:
        """Columns whose quartiles would say nothing at this price, with a price at which they would; or nothing."""
        off = {part.column: self.ranks(part) for part, _ in self.parts if part.kind == "quartiles"}
        blind = [column for column, share in off.items() if share > USELESS]
        if not blind:
            return ""
        times = max(off[column] for column in blind) / USEFUL
        assumed = "" if self.names.users else f" of {ASSUMED_USERS} users"
        return (
            f"quartiles of {', '.join(blind)} will say little or nothing at this price: their ranks may be off by more "
            f"than {percent(USELESS)} of the records{assumed}; it takes {times:,.2g} times the epsilon, fewer columns "
            "by --columns, or more people"
        )

    def ranks(self, part: Part) -> float:
        """Return the most by which ranks of quartiles are off, as a share of the records that are assumed."""
        plan = next(planned.plan for own, planned in self.parts if own is part)
        members = [own for one in plan.mechanisms for own in getattr(one, "members", (one,))]
        # Several levels are one release, whose intervals bound each of them.
        choices = [own for one in members for own in getattr(one, "intervals", (one,))]
        errors = [one.rank_error(2**GRID_BITS + 1) for one in choices if hasattr(one, "rank_error")]
        records = (self.names.users or ASSUMED_USERS) * min(self.options.quartile_cap, ASSUMED_RECORDS)
        bound = float(records << UNIT_BITS)
        return float(max(errors, default=bound) / bound)


def plan_profile(table: Table, names: Names, options: Options, promises: Sequence[Guarantee] = ()) -> ProfilePlan:
    """Return a first look with its plans; a column whose statement is refused is named with the reason.

    Refusals rest on the schema, the engine and the price alone, never on a record.

    Parameters
    ----------
    table : Table
        The private table; statements are tried on no rows.
    names : Names
        What is public of it.
    """
    if options.neighbours == "replace" and names.users is None:
        raise UsageError(
            "neighbours must be 'remove' where no users are declared; pass it, or declare the table with users=."
        )
    parts, unanswered = parts_of(names, options)
    found = []
    with table.held():
        for part in parts:
            try:
                (planned,) = plan_request(part.text, names, promises)
                if part.column:
                    planned.plan.check(TableRecords(table))
            except (UsageError, RefusedError) as error:
                if not part.column:
                    raise UsageError(f"{error.problem}; {error.remedy or 'pass other values'}.") from None
                unanswered[part.column] = f"{error.problem}; {error.remedy}" if error.remedy else error.problem
            else:
                found.append((part, planned))
    return ProfilePlan(names, options, tuple(found), unanswered)


@dataclass(frozen=True, eq=False, repr=False)
class ProfilePreview:
    """What a first look would ask, cost and be off by; no private value was touched.

    Parameters
    ----------
    plan : ProfilePlan
        The first look.
    statements : tuple of PreviewedStatement
        Previews of its statements, in order.
    is_affordable : bool
        Whether the budget covers it.

    Attributes
    ----------
    frame : polars.DataFrame
        One row a statement: column, asks, epsilon, delta, expected_error (in words, with what is assumed).
    """

    plan: ProfilePlan
    statements: tuple[PreviewedStatement, ...]
    is_affordable: bool

    @classmethod
    def of(cls, plan: ProfilePlan, table: Table, *, is_affordable: bool) -> "ProfilePreview":
        """Return the preview of a first look."""
        return cls(plan, tuple(previewed(planned, table) for planned in plan.planned), is_affordable)

    @property
    def frame(self) -> pl.DataFrame:
        """The preview as a table; see the class."""
        rows = [
            (part.column or "(all)", CONTENT[part.kind], part.epsilon, part.delta, self._error(part, shown))
            for (part, _), shown in zip(self.plan.parts, self.statements, strict=True)
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    @property
    def sql(self) -> Text:
        """The statements, with ``;`` between them."""
        return Text(";\n\n".join(part.text for part, _ in self.plan.parts) + ";\n")

    def explain(self) -> Text:
        """Return the split of the price, expected errors, and what cannot be answered, in lines of 80 characters."""
        heads = f"{'column':<20}{'asks for':<26}{'epsilon':<13}delta"
        lines = [f"{self.plan.names.table}: a first look", *wrapped(f"would cost {self.plan.guarantee}", indent=2)]
        lines += ["", heads]
        for column, asks, epsilon, delta, error in self.frame.iter_rows():
            lines.append(f"{cut(column, 18):<20}{asks:<26}{epsilon:<13.6g}{delta:.6g}")
            lines += wrapped(error, indent=4)
        users = "" if self.plan.names.users else f"there are {ASSUMED_USERS} users, and "
        lines += [
            "",
            *wrapped(f"Errors are what is expected if {users}a user has {ASSUMED_RECORDS} records on average."),
        ]
        lines += wrapped(self.plan.elsewhere) + wrapped(self.plan.filled)
        lines += unanswered_lines(self.plan.unanswered)
        if not self.is_affordable:
            lines += ["", *wrapped("The budget does not cover it: ask for less epsilon or delta, or fewer columns.")]
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        return str(self.explain())

    @property
    def _which(self) -> str:
        return " that are somewhere" if self.plan.elsewhere else ""

    def _error(self, part: Part, shown: PreviewedStatement) -> str:
        errors = {column.name: column for column in shown.columns}
        if part.kind == "records":
            users = f"; users within {errors['users'].expected_error:,.3g}" if "users" in errors else ""
            return f"records{self._which} within {errors['records'].expected_error:,.3g}{users}"
        if part.kind == "missing":
            worst = max(column.expected_error for column in shown.columns)
            return f"within {percent(worst)} of the average user's records{self._which}"
        if part.kind == "users":
            return f"users within {errors['users'].expected_error:,.3g} for each power of 2"
        if part.kind == "values":
            people = errors["people"]
            return (
                f"people with a value, at least: within {people.expected_error:,.3g} of a number that is at most the "
                f"true one, since a user in more than {self.plan.options.max_groups_per_user} values does not count "
                f"fully in each; {people.note or 'all listed values'}"
            )
        share = self.plan.ranks(part)
        off = f"at most {percent(share)} off" if share < 1 else "anywhere"
        told = f"ranks {off}, among {self.plan.options.quartile_cap} records a user at most"
        if share > USEFUL:
            told += f"; for {percent(USEFUL)} it takes {share / USEFUL:,.2g} times the epsilon"
        return f"{told}; days within {errors['days'].expected_error:,.3g}" if "days" in errors else told


SCHEMA = {
    "column": pl.String,
    "asks": pl.String,
    "epsilon": pl.Float64,
    "delta": pl.Float64,
    "expected_error": pl.String,
}
"""Columns of a preview's frame."""


def unanswered_lines(unanswered: Mapping[str, str]) -> list[str]:
    """Return lines that name the columns without an answer."""
    if not unanswered:
        return []
    told = ["", "not answered"]
    for name, reason in unanswered.items():
        told += wrapped(f"{cut(name, 40)}: {reason}", indent=2)
    return told
