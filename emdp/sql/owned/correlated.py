"""What to write in place of a sub-query that sums up private rows of equal keys around it: its stage, as a text."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from emdp.sql.context import Context, one_by_name
from emdp.sql.owned.stages import bare
from emdp.sql.text.spans import is_same_text

__all__ = ["joined_instead"]

_STAGE, _VALUE, _KEYS, _CODE = "a", "v", "b", "key_0"

Pair = tuple[exp.Expr, exp.Column]


def joined_instead(query: exp.Expr, context: Context) -> str | None:
    """Return a remedy that can be pasted: the stage of all keys of a public table around, and the join with it.

    None where the sub-query is not one value whose rows are compared by ``=`` with columns of one such table.
    """
    query, written = bare(query), context.statement.tree.root().find_all(exp.Select)
    # Where the text has it: what is refused may be a copy, with nothing around it.
    query = next((own for own in written if is_same_text(own, query)), query)
    around, where = query.find_ancestor(exp.Select), query.args.get("where")
    if not isinstance(query, exp.Select) or around is None or where is None or query.args.get("group") is not None:
        return None
    names = _Around(around, query, context)
    pairs: list[Pair] = []
    kept: list[exp.Expr] = []
    for part in _conjuncts(where.this):
        pair = names.pair(part)
        if pair is None:
            kept.append(part)
        else:
            pairs.append(pair)
    tables = {outer.table for _, outer in pairs}
    if len(query.expressions) != 1 or len(tables) != 1 or any(map(names.reads_around, kept)):
        return None
    (alias,) = tables
    outside = [part for part in names.conditions(around) if names.is_of(part, alias)]
    code = names.code([outer for _, outer in pairs]) if len(pairs) > 1 else None
    if code is not None:
        # A list of each key would be one of all pairs of them: one key for both has those of the table's rows.
        listed = _listed(names.table(alias), pairs, code, outside).sql("duckdb")
        stage = _coded(query, pairs, kept).sql("duckdb")
        return (
            f"write WITH {_KEYS} AS ({listed}), {_STAGE} AS ({stage}) before, JOIN {_STAGE} "
            f"ON {_STAGE}.{_CODE} = {code.sql('duckdb')} behind FROM, and {_STAGE}.{_VALUE} in place of the sub-query"
        )
    kept += outside
    keys = " AND ".join(f"{_STAGE}.key_{place} = {outer.sql()}" for place, (_, outer) in enumerate(pairs, 1))
    stage = _stage(query, names.table(alias), pairs, kept).sql("duckdb")
    return (
        f"write WITH {_STAGE} AS ({stage}) before, JOIN {_STAGE} "
        f"ON {keys} behind FROM, and {_STAGE}.{_VALUE} in place of the sub-query"
    )


def _stage(query: exp.Select, table: exp.Table, pairs: Sequence[Pair], kept: Sequence[exp.Expr]) -> exp.Select:
    """Return the sub-query for every key of a table that it is joined with."""
    keys = [outer for _, outer in pairs]
    # No names of the table: they would be those of two tables around.
    named = [exp.alias_(key.copy(), f"key_{place}") for place, key in enumerate(keys, 1)]
    made = _started(query, named)
    same = [exp.EQ(this=inner.copy(), expression=outer.copy()) for inner, outer in pairs]
    made = made.join(table, on=exp.and_(*same))
    made = made.where(*(part.copy() for part in kept)) if kept else made
    return made.group_by(*(key.copy() for key in keys))


def _listed(table: exp.Table, pairs: Sequence[Pair], code: exp.Expr, kept: Sequence[exp.Expr]) -> exp.Select:
    """Return the keys of a public table, with one number for those of a row."""
    named = [exp.alias_(outer.copy(), f"key_{place}") for place, (_, outer) in enumerate(pairs, 1)]
    made = exp.select(*named, exp.alias_(code.copy(), _CODE)).distinct().from_(table)
    return made.where(*(part.copy() for part in kept)) if kept else made


def _coded(query: exp.Select, pairs: Sequence[Pair], kept: Sequence[exp.Expr]) -> exp.Select:
    """Return the sub-query for every number of keys."""
    made = _started(query, [exp.alias_(exp.column(_CODE, _KEYS), _CODE)])
    same = [
        exp.EQ(this=inner.copy(), expression=exp.column(f"key_{place}", _KEYS))
        for place, (inner, _) in enumerate(pairs, 1)
    ]
    made = made.join(exp.to_table(_KEYS), on=exp.and_(*same))
    made = made.where(*(part.copy() for part in kept)) if kept else made
    return made.group_by(exp.column(_CODE, _KEYS))


def _started(query: exp.Select, named: Sequence[exp.Expr]) -> exp.Select:
    """Return keys and the value of a sub-query, of its tables."""
    value = query.expressions[0]
    value = value.this if isinstance(value, exp.Alias) else value
    made = exp.select(*named, exp.alias_(value.copy(), _VALUE)).from_(query.args["from_"].this.copy())
    made.set("joins", [join.copy() for join in query.args.get("joins") or ()])
    return made


class _Around:
    """The public tables of the SELECT around a sub-query, and what the sub-query reads of them."""

    def __init__(self, around: exp.Select, query: exp.Select, context: Context) -> None:
        self.context, self.query = context, query
        self.columns = {alias: self._public(name) for alias, name in _sources(around) if self._public(name)}
        self.names = dict(_sources(around))
        self.inner = {alias.lower() for alias, _ in _sources(query)}
        private = context.names.private
        found = [(own, private[own].kinds) for _, name in _sources(query) for own in one_by_name(name, private)]
        self.own = {column.lower() for _, kinds in found for column in kinds}
        self.own |= {column for _, name in _sources(query) for column in self._public(name)}

    def _public(self, name: str) -> frozenset[str]:
        public = self.context.names.public
        return frozenset(column.lower() for own in one_by_name(name, public) for column in public[own].columns)

    def table(self, alias: str) -> exp.Table:
        """Return a table around as the text names it."""
        name = self.names[alias]
        return exp.to_table(name, alias=None if alias == name else alias)

    def code(self, keys: Sequence[exp.Column]) -> exp.Expr | None:
        """Return one whole number for several of a row of a public table; None where they are none, or too large."""
        public = self.context.names.public
        (name,) = one_by_name(self.names[keys[0].table], public)
        made: exp.Expr | None = None
        most = 1
        for key in keys:
            (column,) = one_by_name(key.name, public[name].columns)
            values = public[name].get_column(column)
            low, high = (values.min(), values.max()) if values.dtype.is_integer() else (None, None)
            if not isinstance(low, int) or not isinstance(high, int) or low < 0:
                return None
            factor = 10 ** len(str(high))
            most *= factor
            if made is None:
                made = key.copy()
                continue
            before = made if isinstance(made, exp.Column) else exp.paren(made, copy=False)
            raised = exp.Mul(this=before, expression=exp.Literal.number(factor))
            made = exp.Add(this=raised, expression=key.copy())
        return made if most < 2**62 else None

    def outer(self, node: exp.Expr) -> exp.Column | None:
        """Return a column of a public table around, named by that table; None where a node is none."""
        if not isinstance(node, exp.Column) or (not node.table and node.name.lower() in self.own):
            return None
        found = [
            alias
            for alias, columns in self.columns.items()
            if node.name.lower() in columns
            and node.table.lower() in ("", alias.lower())
            and alias.lower() not in self.inner
        ]
        return exp.column(node.name, found[0]) if len(found) == 1 else None

    def pair(self, condition: exp.Expr) -> Pair | None:
        """Return an expression of the sub-query and the column around that it is equal to."""
        if not isinstance(condition, exp.EQ):
            return None
        for left, right in ((condition.this, condition.expression), (condition.expression, condition.this)):
            outer = self.outer(right)
            if outer is not None and not self.reads_around(left):
                return left, outer
        return None

    def reads_around(self, node: exp.Expr) -> bool:
        """Say whether a node reads the rows around."""
        return any(self.outer(column) is not None for column in node.find_all(exp.Column))

    def conditions(self, around: exp.Select) -> Iterator[exp.Expr]:
        """Yield what the rows around fulfil, the condition with the sub-query left out."""
        where = around.args.get("where")
        for part in () if where is None else _conjuncts(where.this):
            if not any(node is self.query for node in part.walk()):
                yield part

    def is_of(self, condition: exp.Expr, alias: str) -> bool:
        """Say whether a condition is of one table around alone, and of public tables in its sub-queries."""
        below = list(condition.find_all(exp.Select))
        outers = [
            self.outer(node) for node in condition.find_all(exp.Column) if node.find_ancestor(exp.Select) not in below
        ]
        is_of_table = bool(outers) and all(outer is not None and outer.table == alias for outer in outers)
        return is_of_table and all(self._public(name) for one in below for _, name in _sources(one))


def _sources(query: exp.Select) -> list[tuple[str, str]]:
    """Return the tables that a SELECT names, each with what the text calls it."""
    found = (
        [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
        if query.args.get("from_")
        else []
    )
    return [(table.alias_or_name, table.name) for table in found if isinstance(table, exp.Table)]


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition
