"""What stands around private rows: which queries are answers, and SQL over answers and public tables.

A query *owns* rows where each of its rows belongs to one user. One that sums up rows of several users is an answer: a
stage that reads private rows, and has noise. What reads answers and public tables alone is free: it becomes one
SELECT in DuckDB's words, in which the stages' tables stand for the sub-queries that they are.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, SqlError, UsageError
from emdp.questions.owned.relations import owner_key
from emdp.questions.owned.stages import FreeSelect
from emdp.sql.context import one_by_name
from emdp.sql.owned.correlated import joined_instead
from emdp.sql.owned.functions import check_functions
from emdp.sql.owned.public_number import with_public_number
from emdp.sql.owned.scopes import Reads, Tables
from emdp.sql.owned.single import is_single_row, is_summed, is_value, own_nodes
from emdp.sql.owned.stages import Made, Stages, bare, number_of
from emdp.sql.owned.subqueries import group_key
from emdp.sql.text.dialect import marked_text

__all__ = ["Around"]


@dataclass(frozen=True, eq=False)
class Around:
    """Tells answers from private rows, and writes what is around them."""

    reads: Reads
    stages: Stages

    def is_free(self, query: exp.Expr, tables: Tables) -> bool:
        """Say whether a query reads no private rows itself: its tables are public ones and answers, or it asks for
        the public number of users alone."""
        query = bare(query)
        if self._public_number(query, tables) is not None:
            return True
        if isinstance(query, exp.SetOperation):
            return not any(self.owns(side, self.known(query, tables)) for side in (query.this, query.expression))
        known = self.known(query, tables)
        sources = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
        return not any(self._is_owned(source, known) for source in sources)

    def _public_number(self, query: exp.Expr, tables: Tables) -> exp.Select | None:
        return with_public_number(self.reads.context.names, self.reads.context.price, query, tables)

    def known(self, query: exp.Expr, tables: Tables) -> Tables:
        """Return the sub-queries that a query may name: those of its own WITH, too.

        Raises
        ------
        SqlError
            If two entries of one WITH have one name.
        """
        seen: set[str] = set()
        for cte in _named(query):
            name = cte.alias.lower()
            if name in seen:
                raise self.reads.context.refusal(
                    cte, f"two sub-queries are named {cte.alias}", remedy="give one another name", code="duplicate-name"
                )
            seen.add(name)
        return tables.with_of(query)

    def _is_owned(self, source: exp.Expr, known: Tables) -> bool:
        if isinstance(source, exp.Subquery):
            return self.owns(source.this, known)
        name = source.name.lower()
        if name in known:
            return self.owns(known[name], known.of(name))
        return bool(one_by_name(source.name, self.reads.context.names.private))

    def owns(self, query: exp.Expr, tables: Tables) -> bool:
        """Say whether rows of a query have owners."""
        query = bare(query)
        if number_of(query) in self.stages.made or self.is_free(query, tables):
            return False
        return isinstance(query, exp.SetOperation) or not self.mixes(query, tables)

    def mixes(self, query: exp.Expr, tables: Tables) -> bool:
        """Say whether a SELECT over rows with owners sums up rows of several users."""
        number = number_of(query)
        if number not in self.stages.mixing:
            self.stages.mixing[number] = self._mixes(query, tables)
        return self.stages.mixing[number]

    def _mixes(self, query: exp.Expr, tables: Tables) -> bool:
        if not isinstance(query, exp.Select):
            return False
        has_groups = query.args.get("group") is not None or query.args.get("having") is not None
        if not has_groups and not any(is_summed(node) for entry in query.expressions for node in own_nodes(entry)):
            return False
        scope = self.reads.apart().rows(query, tables)
        group = query.args.get("group")
        written = () if group is None else group.expressions
        keys = [group_key(scope, own, query.expressions) for own in written]
        return scope.relation.is_owned and all(owner_key(scope.relation, key) is None for key in keys)

    def answer(self, query: exp.Expr, label: str, tables: Tables) -> Made | None:
        """Return the stage that a query is; None where its rows have owners, or public tables alone are read."""
        query = bare(query)
        made = self.stages.made.get(number_of(query))
        if made is not None:
            return made
        if self.is_free(query, tables):
            copy = query.copy()
            released = self._write(copy, tables)
            return self._free(query, copy, label, released) if released else None
        if isinstance(query, exp.Select) and self.mixes(query, tables):
            return self.stages.private_stage(query, label, tables)
        return None

    def named(self, query: exp.Expr, tables: Tables) -> None:
        """Make stages of all answers that the WITH of a query names, read or not."""
        known = self.known(query, tables)
        for cte in _named(query):
            self.answer(cte.this, cte.alias, known.of(cte.alias.lower()))

    def named_columns(self, made: Made, given: exp.Expr | None) -> dict[str, str]:
        """Return what ``AS alias (name, ..)`` calls the columns of a stage: those of its select list, and their ends.

        Raises
        ------
        SqlError
            If it names more than there are, or one twice.
        """
        written = [] if given is None else given.args.get("columns") or []
        names = [name.name for name in written]
        if len(names) > len(made.main) or len({name.lower() for name in names}) < len(names):
            raise self.reads.context.refusal(
                written[-1],
                f"{made.stage.label} has other columns than are named",
                remedy="write AS in its select list",
                code="column-aliases",
            )
        found = dict(zip(made.main, names, strict=False))
        return {f"{own}{end}": f"{name}{end}" for own, name in found.items() for end in ("", "_low", "_high")}

    def value(self, query: exp.Expr, label: str, tables: Tables) -> Made:
        """Return the stage of a sub-query that stands for one value."""
        try:
            made = self.answer(query, label, tables) or self.free(query, label, tables)
        except SqlError as error:
            raise self._correlated(query, error, is_inner=True) from None
        if made is None or len(made.main) != 1:
            several = made is not None
            raise self.reads.context.refusal(
                query,
                "this sub-query stands for one value, and has several columns"
                if several
                else "this sub-query gives out private rows",
                remedy="select one column" if several else "add an aggregate to it, such as AVG(e)",
                code="scalar-subquery",
            )
        own = made.stage.question
        is_single = is_single_row(self.reads, query, tables)
        if not is_single and isinstance(own, FreeSelect) and not own.released:
            is_single = self._has_one_row(own.sql, own.public)
        if not is_single:
            raise self._several(query)
        return made

    def _has_one_row(self, text: str, public: Mapping[str, pl.DataFrame]) -> bool:
        """Say whether a SELECT over public tables alone runs, and has one row at most."""
        run = self.reads.context.names.compute_public
        try:
            return run is not None and len(run(text, public)[0]) <= 1
        except UsageError:
            return False

    def _several(self, query: exp.Expr) -> SqlError:
        return self.reads.context.refusal(
            query,
            "this sub-query stands for one value and may have several rows",
            remedy="add an aggregate to it, such as MAX(e), or LIMIT 1",
            code="scalar-rows",
        )

    def free(self, query: exp.Expr, label: str, tables: Tables) -> Made | None:
        """Return the stage of a query of public tables and answers, whether or not it reads an answer."""
        query = bare(query)
        if number_of(query) in self.stages.made:
            return self.stages.made[number_of(query)]
        if not self.is_free(query, tables):
            return None
        copy = query.copy()
        released = self._write(copy, tables)
        return self._free(query, copy, label, released)

    def _free(self, query: exp.Expr, copy: exp.Expr, label: str, released: set[str]) -> Made:
        context = self.reads.context
        check_functions(context, copy)
        unsure = [node for node in copy.find_all(exp.Select, exp.SetOperation) if number_of(node) in self.stages.unsure]
        if released and unsure:
            # Its rows would be counted after the charge.
            raise self._several(unsure[0])
        public = _public_of(self.reads, copy)
        tables = {name: own for name, own in self.stages.tables.items() if name in released}
        text = marked_text(copy)
        if context.names.compute_public is None:
            raise context.refusal(
                query, "nothing here computes with public tables", remedy="ask through a session", code="no-engine"
            )
        try:
            # On no rows: what fails here fails before anything is charged.
            _, kinds = context.names.compute_public(
                text, {**{name: own.clear() for name, own in public.items()}, **tables}
            )
        except UsageError as error:
            raise context.refusal(query, error.problem, remedy=error.remedy, code="around") from None
        question = FreeSelect(text, public, tables, context.price, context.text(query))
        return self.stages.free_stage(query, label, question, kinds)

    def _write(self, query: exp.Expr, tables: Tables, inside: frozenset[int] = frozenset()) -> set[str]:
        """Put tables of stages into the places of answers, in a copy of a free query; return their names.

        ``inside`` are the numbers of the sub-queries of WITH that the copy holds itself.
        """
        released: set[str] = set()
        number = self._public_number(query, tables)
        if number is not None:
            for name in ("expressions", "from_"):
                query.set(name, number.args.get(name))
            return released
        known = self.known(query, tables)
        inside |= {number_of(bare(cte.this)) for cte in _named(query)}
        with_ = query.args.get("with_")
        for cte in list(_named(query)):
            inner = known.of(cte.alias.lower())
            if self.owns(cte.this, inner):
                cte.pop()
            else:
                released |= self._write_inner(cte.this, cte.alias, inner, inside, is_table=True)
        if with_ is not None and not with_.expressions:
            query.set("with_", None)
        if isinstance(query, exp.SetOperation):
            for side in (query.this, query.expression):
                released |= self._write_inner(bare(side), "sub-query", known, inside)
            for part in (query.args.get("order"), query.args.get("limit"), query.args.get("offset")):
                below = None if part is None else part.find(exp.Select)
                if below is not None:
                    # What no rule here reads must not reach the engine: it holds no private table, but it is no guard.
                    raise self.reads.context.refusal(
                        below,
                        "a sub-query orders or cuts a union",
                        remedy="order by a column of the union",
                        code="union-order",
                    )
            return released
        return released | self._write_below(query, known, inside)

    def _write_below(self, query: exp.Expr, known: Tables, inside: frozenset[int]) -> set[str]:
        """Write the sub-queries of a SELECT and its tables, as :meth:`_write` does."""
        released: set[str] = set()
        for below in list(_inner(query)):
            around = below.parent
            is_table = isinstance(around, exp.Subquery) and isinstance(around.parent, exp.From | exp.Join)
            alias = around.alias if is_table and around is not None else ""
            is_unsure = is_value(below) and not is_single_row(self.reads, below, known)
            own = self._write_inner(below, alias or "sub-query", known, inside, is_table=is_table)
            if is_unsure and (own or not self._has_one_row(marked_text(below), _public_of(self.reads, below))):
                self.stages.unsure.add(number_of(below))
            released |= own
        for table in list(_tables(query)):
            released |= self._name(table, known, inside)
        return released

    def _write_inner(
        self, query: exp.Expr, label: str, tables: Tables, inside: frozenset[int], *, is_table: bool = False
    ) -> set[str]:
        if self.is_free(query, tables) and number_of(query) not in self.stages.made:
            return self._write(query, tables, inside)
        try:
            made = self.answer(query, label, tables)
        except SqlError as error:
            raise self._correlated(query, error, is_inner=query.find_ancestor(exp.Select) is not None) from None
        if made is None:
            raise self.reads.context.refusal(
                query,
                "records as they are have no guarantee",
                remedy="add an aggregate, such as COUNT(*), with GROUP BY for what is compared",
                code="raw-rows",
            )
        given = None if not is_table or query.parent is None else query.parent.args.get("alias")
        called = self.named_columns(made, given)
        if given is not None:
            given.set("columns", None)
        table = exp.to_table(made.stage.name, quoted=True)
        columns = [
            exp.alias_(exp.column(name, quoted=True), called.get(name, name), quoted=True)
            for name in (made.kinds if is_table else made.main)
        ]
        written = exp.Select(expressions=columns, from_=exp.From(this=table))
        written.meta.update(query.meta)
        query.replace(written)
        # It is a stage's table now, and nothing is left in it to write.
        return {made.stage.name}

    def _correlated(self, query: exp.Expr, error: SqlError, *, is_inner: bool) -> SqlError:
        """Return the refusal of a sub-query over private rows that compares them with the rows around it."""
        if error.code not in ("unknown-table", "unknown-column") or not is_inner:
            return error
        return self.reads.context.refusal(
            query,
            f"this sub-query is an answer of its own, and reads nothing of the rows around it ({error.problem})",
            remedy=joined_instead(query, self.reads.context)
            or "write WITH a AS (SELECT key, .. GROUP BY key) before, and JOIN a USING (key)",
            code="correlated-answer",
        )

    def _name(self, table: exp.Expr, known: Tables, inside: frozenset[int]) -> set[str]:
        """Give a table of a free query the name that it is run with; return it where it is a stage's."""
        name = table.name.lower()
        if name in known and number_of(bare(known[name])) in inside:
            return set()
        if name in known:
            own = known.of(name)
            made = self.answer(known[name], table.name, own) or self.free(known[name], table.name, own)
            if made is None:
                raise InternalError("a table that has owners was to be read freely; please report this.")
            self._rename(table, made.stage.name)
            return {made.stage.name}
        found = one_by_name(table.name, self.reads.context.names.public)
        if len(found) != 1:
            # The reader says what there is.
            self.reads.apart().source(table, known)
            raise InternalError("a private table was to be read freely; please report this.")
        self._rename(table, found[0])
        return set()

    @staticmethod
    def _rename(table: exp.Expr, name: str) -> None:
        """Give a table another name, under which its columns are called as before."""
        alias = table.args.get("alias")
        if alias is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        elif alias.args.get("this") is None:
            alias.set("this", exp.to_identifier(table.name, quoted=True))
        table.set("this", exp.to_identifier(name, quoted=True))


def _named(query: exp.Expr) -> Sequence[exp.CTE]:
    """Return the entries of a query's WITH."""
    with_ = query.args.get("with_")
    return [] if with_ is None else with_.expressions


def _inner(query: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the queries right below a query, those of its WITH left out."""
    with_ = query.args.get("with_")

    def is_closed(node: exp.Expr) -> bool:
        return node is with_ or (node is not query and isinstance(node, exp.Select | exp.SetOperation))

    for node in query.walk(bfs=False, prune=is_closed):
        if node is not query and node is not with_ and isinstance(node, exp.Select | exp.SetOperation):
            yield node


def _tables(query: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the tables that a query itself names."""
    sources = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
    return (source for source in sources if isinstance(source, exp.Table))


def _public_of(reads: Reads, query: exp.Expr) -> dict[str, pl.DataFrame]:
    """Return the public tables that a written query reads."""
    named = {table.name for table in query.find_all(exp.Table)}
    return {name: frame for name, frame in reads.context.names.public.items() if name in named}
