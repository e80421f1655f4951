"""SQL text to resolved queries: every name looked up, every expression type-checked, nothing computed from records."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.questions.facts import Shares
from emdp.questions.families import ALONE
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.measures import Measure
from emdp.questions.names import Names
from emdp.questions.resolution import Resolved
from emdp.questions.select import FrequencyQuery, Item, Order, QuantileQuery, Select
from emdp.questions.user_mean import UserMean
from emdp.sql.clauses.aggregates import Aggregate, Entry, read_entry, refused_kind
from emdp.sql.clauses.conditions import Chosen, chosen, where_conditions
from emdp.sql.clauses.distributions import read_frequency, read_quantiles
from emdp.sql.clauses.frequency import frequency_query
from emdp.sql.clauses.grouping import Grouping, read_grouping
from emdp.sql.clauses.models import asked_model, check_share
from emdp.sql.clauses.ordering import read_limit, read_order
from emdp.sql.clauses.sources import scope_of
from emdp.sql.clauses.user_means import check_all_users, user_mean_query
from emdp.sql.context import Context
from emdp.sql.reader import parse
from emdp.sql.text.families import NEIGHBOURS, check_cap, check_families, option_refusal
from emdp.sql.text.statement import Statement
from emdp.sql.values.scalar import Scalars

__all__ = ["Translated", "translate", "translate_statement"]

TranslatedQuery = Resolved

ENDS = ("", "_low", "_high")
"""What the answer appends to an item's name: its value, and the ends of its interval."""


@dataclass(frozen=True, eq=False)
class Translated:
    """A statement and what it comes down to.

    Parameters
    ----------
    statement : Statement
        As it was parsed.
    query : TranslatedQuery
        Resolved and type-checked.
    """

    statement: Statement
    query: TranslatedQuery


def translate(text: str, names: Names) -> tuple[Translated, ...]:
    """Return the resolved queries of a text of statements, each type-checked.

    Parameters
    ----------
    text : str
        Statements, separated by semicolons.
    names : Names
        What they may name.

    Raises
    ------
    SqlError
        For the first part of the text that is no part of the language, has no finite Lipschitz constant, or would
        publish something private: underlined, with the reason and what to write instead.

    >>> from emdp.spaces import Interval
    >>> names = Names("sales", "user", Interval("price", 0, 50), {"user": "VARCHAR", "price": "DOUBLE"}, 100)
    >>> (one,) = translate("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price / 10) AS tens FROM sales", names)
    >>> one.query.items[0].name, one.query.items[0].expression
    ('tens', price / 10)
    """
    return tuple(_translated(statement, names) for statement in parse(text))


def _translated(statement: Statement, names: Names) -> Translated:
    """Return what a statement comes down to: mean values and totals of the space first, then rows with owners."""
    try:
        check_cap(statement)
        return translate_statement(statement, names)
    except SqlError as error:
        # Loaded where it is needed, like the engines' part of it.
        from emdp.sql.owned.routing import rows_instead

        found = rows_instead(statement, names, error)
        if found is None:
            raise
        return Translated(statement, found)


def translate_statement(statement: Statement, names: Names) -> Translated:
    """Return the resolved query of one parsed statement; see :func:`translate`."""
    if statement.refused is not None:
        raise statement.refused
    context, tree = Context(statement, names), statement.tree
    scope = scope_of(context, tree)
    scalars = Scalars(context, scope)
    where = tree.args.get("where")
    own = where_conditions(scalars, where.this) if where is not None else ()
    left = chosen(context, (*scope.filters, *own))
    entries = [read_entry(scalars, node) for node in tree.expressions]
    grouping = read_grouping(scalars, tree.args.get("group"), entries, left.users)
    aggregates = [entry.aggregate for entry in entries if entry.aggregate is not None]
    if not aggregates:
        raise context.refusal(
            None if not entries else entries[0].node,
            "the select list has no aggregate",
            remedy="add one, such as AVG(e) or SHARE()",
            code="no-aggregate",
        )
    check_families(statement, (aggregate.function for aggregate in aggregates))
    reader = _Reader(context, scalars, tree, entries, grouping, left)
    check_share(context, is_filtered=reader.is_filtered)
    for entry in entries:
        family = ALONE.get(entry.aggregate.function) if entry.aggregate is not None else None
        if entry.aggregate is not None and family is not None:
            reader.check_replacement(entry.aggregate.function)
            return Translated(statement, READERS[family.name](reader, entry, entry.aggregate))
    return Translated(statement, reader.select(aggregates))


def _columns_of(name: str) -> Iterator[tuple[str, str]]:
    """Yield the columns that an aggregate has in the answer, each with what it is of the aggregate."""
    for end, what in zip(ENDS, ("is the name of", "is the lower end of", "is the upper end of"), strict=True):
        yield f"{name}{end}", what


@dataclass(frozen=True, eq=False)
class _Reader:
    """The last step: names and order of the answer's columns, and the query."""

    context: Context
    scalars: Scalars
    tree: exp.Select
    entries: Sequence[Entry]
    grouping: Grouping
    left: Chosen

    @property
    def cap(self) -> int | None:
        option = self.context.statement.options.get("max_records_per_user")
        return None if option is None else int(option.value)

    @property
    def is_filtered(self) -> bool:
        return self.left.factor is not None or bool(self.grouping.groups)

    def check_replacement(self, function: str) -> None:
        """Refuse removal for an aggregate that rests on the public number of users."""
        option = self.context.statement.options.get(NEIGHBOURS)
        if option is not None and option.value == "remove":
            problem = f"{function} divides by the number of users, which is private under neighbours = 'remove'"
            remedy = "leave neighbours out, or ask for COUNT, SUM or AVG with max_records_per_user"
            raise option_refusal(self.context.statement, option, problem, remedy, "removal")

    def select(self, aggregates: Sequence[Aggregate]) -> Select:
        for aggregate in aggregates:
            refusal = refused_kind(self.context, aggregate, has_cap=self.cap is not None, is_filtered=self.is_filtered)
            if refusal is not None:
                raise refusal
        if self.cap is not None and all(aggregate.kind == "users" for aggregate in aggregates):
            raise self._unused_cap("no record is counted")
        asked = asked_model(self.context, aggregates, self.grouping, self.tree)
        names = self._names()
        items = tuple(
            Item(entry.aggregate.kind, name, entry.aggregate.expression, entry.aggregate.weight, self._text(entry))
            for entry, name in zip(self.entries, names, strict=True)
            if entry.aggregate is not None and entry.aggregate.kind is not None
        )
        columns = [*self.grouping.columns, *(f"{item.name}{end}" for item in items for end in ENDS)]
        return Select(
            items=items,
            price=self.context.price,
            noise=self.context.vector_noise,
            groups=self.grouping.groups,
            people=self.grouping.people,
            where=self.left.factor,
            cap=self.cap,
            columns=self._columns(names),
            order=self._order(names, columns),
            limit=read_limit(self.context, self.tree.args.get("limit")),
            offset=read_limit(self.context, self.tree.args.get("offset")) or 0,
            text=self.context.statement.text,
            expected_share=self.context.expected_share,
            model=asked.model,
            messages=asked.messages,
        )

    def user_mean(self, entry: Entry, aggregate: Aggregate) -> UserMean:
        self._check_one(entry, aggregate)
        clauses = self.tree.args
        query = user_mean_query(
            self.scalars,
            aggregate.node,
            alias=entry.alias,
            limit=read_limit(self.context, clauses.get("limit")),
            offset=read_limit(self.context, clauses.get("offset")) or 0,
            written=self._text(entry),
        )
        people = self.grouping.people
        grouped = self.grouping.node or (clauses.get("group") if people is not None and people.columns else None)
        check_all_users(
            self.context,
            aggregate.node,
            chosen=self.grouping.node or self.left.node,
            users=None if people is None else grouped or clauses.get("where") or aggregate.node,
            is_grouped=grouped is not None,
        )
        if self.cap is not None:
            raise self._unused_cap("USER_MEAN weighs every user equally")
        columns = [f"{name}{end}" for name in query.columns for end in ENDS]
        # There is one row, so that every order is the natural one: names alone are checked.
        self._order([query.columns[0]], columns)
        return query

    def shares(self, entry: Entry, aggregate: Aggregate) -> Shares:
        from emdp.sql.clauses.shares import FACT, check_unchosen, shares_query

        self._check_alone(entry, aggregate)
        check_unchosen(self.context, aggregate, self.grouping, self.left, self.tree)
        name = entry.alias or "share"
        order = self._order([name], [FACT, *(f"{name}{end}" for end in ENDS)])
        return shares_query(self.scalars, aggregate.node, name, order, self._limits(), self._text(entry))

    def frequency(self, entry: Entry, aggregate: Aggregate) -> FrequencyQuery | ItemFrequencies:
        self._check_alone(entry, aggregate)
        name, names, ends = self._alone_names(entry, aggregate)
        limit, offset = self._limits()
        histogram = read_frequency(self.scalars, aggregate.node)
        columns = [*self.grouping.columns, *histogram.columns, *ends]
        cells = {column: f"FREQUENCY says in {column} what a row counts" for column in histogram.columns}
        self._check_distinct([(name, entry)], cells)
        return frequency_query(
            self.context,
            aggregate.node,
            histogram,
            noise=self.context.cell_noise,
            people=self.grouping.people,
            name=name,
            order=self._order(names, columns),
            limit=limit,
            offset=offset,
            written=self._text(entry),
        )

    def measure(self, entry: Entry, aggregate: Aggregate) -> Measure:
        from emdp.sql.clauses.measures import measure_query

        self._check_alone(entry, aggregate)
        name = entry.alias or "share"
        order = self._order([name], [*self.context.names.space.columns, *(f"{name}{end}" for end in ENDS)])
        chosen = (self.grouping, self.left, self.tree)
        return measure_query(self.scalars, aggregate, chosen, name, order, self._limits(), self._text(entry))

    def quantiles(self, entry: Entry, aggregate: Aggregate) -> QuantileQuery:
        self._check_alone(entry, aggregate)
        name, names, ends = self._alone_names(entry, aggregate)
        limit, offset = self._limits()
        quantiles = read_quantiles(self.scalars, aggregate.node)
        columns = [*self.grouping.columns, "q", *ends]
        self._check_distinct([(name, entry)], {"q": f"{aggregate.function} gives the level of each row as q"})
        return QuantileQuery(
            expression=quantiles.expression,
            levels=quantiles.levels,
            price=self.context.price,
            noise=self.context.vector_noise,
            people=self.grouping.people,
            where=self.left.factor,
            name=name,
            order=self._order(names, columns),
            limit=limit,
            offset=offset,
            text=self.context.statement.text,
            written=self._text(entry),
            expected_share=self.context.expected_share,
        )

    def _alone_names(self, entry: Entry, aggregate: Aggregate) -> tuple[str, list[str], list[str]]:
        """Return the column of an aggregate, those of the select list, and its own with the ends of its interval."""
        name = entry.alias or aggregate.function.lower()
        keys = self.grouping.names
        names = [name if other is entry else keys[place] for place, other in enumerate(self.entries)]
        return name, names, [f"{name}{end}" for end in ENDS]

    def _limits(self) -> tuple[int | None, int]:
        limit, offset = (read_limit(self.context, self.tree.args.get(clause)) for clause in ("limit", "offset"))
        return limit, offset or 0

    def _check_one(self, entry: Entry, aggregate: Aggregate) -> None:
        function, context = aggregate.function, self.context
        others = [other for other in self.entries if other.aggregate is not None and other is not entry]
        if others:
            but = "" if function == "USER_MEAN" else " but for groups of users"
            raise context.refusal(
                others[0].node,
                f"{function} {ALONE[function].alone}, and stands alone in a select list{but}",
                remedy="write two statements, separated by a semicolon",
                code="alone",
            )

    def _check_alone(self, entry: Entry, aggregate: Aggregate) -> None:
        self._check_one(entry, aggregate)
        function, context = aggregate.function, self.context
        if self.grouping.groups:
            raise context.refusal(
                self.grouping.node,
                f"{function} has no groups of records",
                remedy="group by a public user column, or choose records by WHERE in one statement for each value"
                if function != "FREQUENCY"
                else "ask for SHARE() with GROUP BY, or group by a public user column",
                code="distribution-groups",
            )
        if function == "FREQUENCY" and self.left.factor is not None:
            raise context.refusal(
                self.left.node,
                "FREQUENCY counts all records of a user",
                remedy="ask for SHARE() with this WHERE and GROUP BY, or leave the condition on records out",
                code="frequency-where",
            )
        if self.cap is not None:
            raise self._unused_cap(f"{function} weighs every user equally")

    def _text(self, entry: Entry) -> str:
        return self.context.statement.text_of(entry.body)

    def _unused_cap(self, why: str) -> SqlError:
        return self.context.refusal(
            None,
            f"max_records_per_user has no use here, for {why}",
            remedy="leave max_records_per_user out",
            code="cap-unused",
        )

    def _names(self) -> list[str]:
        """Return the name of each entry of the select list: its alias, or a default that nothing else has."""
        aliases = [entry.alias for entry in self.entries]
        taken = {name.lower() for name in (*aliases, *self.grouping.columns) if name}
        names: list[str] = []
        for place, entry in enumerate(self.entries):
            name = self.grouping.names.get(place) or entry.alias
            if not name and entry.aggregate is not None:
                base = entry.aggregate.function.lower()
                name = next(
                    candidate
                    for number in range(1, len(self.entries) + len(taken) + 2)
                    if (candidate := base if number == 1 else f"{base}_{number}") not in taken
                )
                taken.add(name)
            names.append(name)
        named = zip(self.entries, names, strict=True)
        self._check_distinct([(name, entry) for entry, name in named if entry.aggregate is not None], {})
        return names

    def _check_distinct(self, items: Sequence[tuple[str, Entry]], cells: Mapping[str, str]) -> None:
        """Refuse an item whose column, or an end of whose interval, another column of the answer is named.

        Parameters
        ----------
        cells : mapping of str to str
            Further columns of the answer, each with why it is there.
        """
        seen = {name.lower(): f"the answer is grouped by {name}" for name in self.grouping.columns}
        seen |= {name.lower(): why for name, why in cells.items()}
        for name, entry in items:
            for column, what in _columns_of(name):
                if why := seen.get(column.lower()):
                    raise self.context.refusal(
                        entry.node,
                        f"the answer would have two columns {column}: {why}, and {column} {what} this one too",
                        remedy="give this one another alias",
                        code="duplicate-name",
                    )
            for column, what in _columns_of(name):
                seen[column.lower()] = f"{column} {what} `{self.context.text(entry.node)}`"

    def _columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the select list's order of columns where it names one to group by; groups it leaves out come first."""
        if not self.grouping.names:
            return ()
        return (*(name for name in self.grouping.columns if name not in names), *names)

    def _order(self, names: Sequence[str], columns: Sequence[str]) -> tuple[Order, ...]:
        return read_order(self.scalars, self.tree.args.get("order"), self.entries, names, columns)


READERS: Mapping[str, Callable[[_Reader, Entry, Aggregate], TranslatedQuery]] = {
    "cells": _Reader.frequency,
    "measures": _Reader.measure,
    "quantiles": _Reader.quantiles,
    "shares": _Reader.shares,
    "user_mean": _Reader.user_mean,
}
"""How the aggregates of each family that stand alone are read."""
