"""Expressions over a table's items as SQL: which rows to read, which public tables to join, what to compute.

Two layers. The inner one has one row an item and names of our own only: the user, each continuous part's columns
after its ``on_invalid`` rule, each finite part's label as text, each grid's cell as a number. The outer one computes
every expression once, on those columns. A finite part is joined to a public table of its labels that holds every leaf's
value, computed by the numpy reference; a row that finds no label takes the neutral item's values. So is a grid, to a
table of its cells. Where the space has the point elsewhere, a test says which records have an item.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions import Expression, walk
from emdp.expressions.nodes.base import Column
from emdp.expressions.nodes.categories import Case
from emdp.expressions.nodes.leaves import Leaf
from emdp.expressions.nodes.parts import part_of_columns
from emdp.spaces import Grid, Space, Words
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.components import component_value, instant_value
from emdp.tables.statements.formulas import choice_formula, label_formulas, label_values, leaf_formula, node_formula
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.tokens import tokens
from emdp.tables.statements.validity import clean_columns, first_facts, second_facts

__all__ = [
    "USER",
    "CompiledItems",
    "clean_names",
    "compile_items",
    "elsewhere_parts",
    "is_somewhere",
    "item_rows",
    "label_table",
    "label_text",
    "lookup_join",
    "name_in_items",
    "reads_users_apart",
]

USER = "user_key"
"""Name of the user column in the inner layer."""

MOST_INLINE = 4
"""Columns of a part up to which facts about its invalid rows are written out in every one of them."""

MOST_OPERATIONS = 20_000
"""Most operations of one expression in a statement: twice the nodes that an expression may have."""

MOST_SPELLED = 16
"""Labels of a part up to which an engine other than DuckDB compares them one by one."""

DIALECT = "duckdb"
"""The engine that reads one column of a file alone."""

TOKENS = "item_token"
"""Name of the column of words that a Words part makes of each message."""

TOKENS_KEY = ""
"""What stands for it among columns by their own names, which are not empty."""


@dataclass(frozen=True, eq=False)
class CompiledItems:
    """Expressions ready to be aggregated."""

    relation: Sql  # The inner layer: one row an item
    joins: tuple[exp.Join, ...]  # Left joins of the public tables in `lookups`
    # Each expression's value for an item, after the `on_invalid` rule; of a record elsewhere any value of the domain.
    values: tuple[Sql, ...]
    lookups: Mapping[str, pl.DataFrame]  # Public tables to register under these names
    test: Sql | None = None  # Test that a record has an item; None where every record has one

    def counted(self, value: Sql) -> Sql:
        """Return a value that is added up: 0 for the records that are elsewhere."""
        return value if self.test is None else sql.case([(self.test.copy(), value)], sql.integer(0))


@dataclass(frozen=True, eq=False)
class _SourceRows:
    """Source of the inner layer: its FROM clause, the names of the table's columns there, and the words if any."""

    relation: Sql
    columns: Mapping[str, Sql]
    tokens: Sql


def compile_items(table: TableFacts, expressions: Sequence[Expression], *, is_checked: bool = False) -> CompiledItems:
    """Return the SQL of some expressions over a table's items.

    With ``is_checked`` the rows have the columns of every part with their flags, and the labels of finite ones: all
    that the declared rules ask of a record, whatever the expressions are of.
    """
    space = table.space
    nodes = [node for expression in expressions for node in walk(expression)]
    by_part: dict[int, list[Leaf | Column]] = {}
    for leaf in dict.fromkeys(node for node in nodes if isinstance(node, Leaf | Column)):
        by_part.setdefault(_part_index(leaf, space), []).append(leaf)
    joins: list[exp.Join] = []
    lookups: dict[str, pl.DataFrame] = {}
    known: dict[Expression, Sql] = {}
    spelled: dict[str, Sql] = {}
    for index, own in by_part.items():
        part = space.parts[index]
        if part.labels is None and not isinstance(part, Grid):
            columns = {name: sql.column(name_in_items(index, name, part)) for name in part.columns}
            known.update((leaf, leaf_formula(leaf, space, columns)) for leaf in own)
            continue
        name = f"lookup_{index}"
        found, neutral = _lookup(part, own)
        if _is_spelled_out(table, index, is_checked=is_checked):
            names = [f"value_{index}_{position}" for position in range(len(own))]
            label = sql.column(name_in_items(index, part.columns[0], part))
            spelled.update(zip(names, label_formulas(label, found, neutral), strict=True))
            known.update(zip(own, map(sql.column, names), strict=True))
            continue
        lookups[name] = found
        joins.append(lookup_join(index))
        for position, leaf in enumerate(own):
            value = sql.column(f"value_{position}", name)
            known[leaf] = sql.call("COALESCE", value, sql.number(neutral[position]))
    absent = elsewhere_parts(space)
    every = range(len(space.parts)) if is_checked else absent
    for index in every:
        if index not in by_part and space.parts[index].labels is not None:
            lookups[f"lookup_{index}"] = label_table(space.parts[index])
            joins.append(lookup_join(index))
    formulas = tuple(_formula(expression, known) for expression in expressions)
    rows = item_rows(table, sorted({*by_part, *every}), flags=is_checked)
    if spelled:
        kept = {own.alias_or_name: sql.column(own.alias_or_name) for own in rows.expressions}
        rows = sql.select({**kept, **spelled}, rows.subquery("labels", copy=False))
    items = rows.subquery("items", copy=False)
    return CompiledItems(items, tuple(joins), formulas, lookups, is_somewhere(space) if absent else None)


def _is_spelled_out(table: TableFacts, index: int, *, is_checked: bool) -> bool:
    """Return whether the values of a part's labels are written into the statement, and no table is joined for them.

    Spark looks a text up in a joined table at the cost of the rest of a mean; DuckDB joins it for next to nothing.
    """
    labels = table.space.parts[index].labels
    if labels is None or is_checked or index in elsewhere_parts(table.space):
        return False
    return table.source.engine != DIALECT and len(labels) <= MOST_SPELLED


def elsewhere_parts(space: Space) -> tuple[int, ...]:
    """Return the parts of a space whose invalid values take the whole record elsewhere."""
    if space.elsewhere is None:
        return ()
    return tuple(index for index, part in enumerate(space.parts) if part.on_invalid == "elsewhere")


def is_somewhere(space: Space) -> Sql:
    """Return the test that a record has an item, on the items joined to the labels of finite parts.

    Parameters
    ----------
    space : Space
        One that has :func:`elsewhere_parts`.
    """
    tests: list[Sql] = []
    for index in elsewhere_parts(space):
        if space.parts[index].labels is None:
            tests.append(sql.column(f"valid_{index}"))
        else:
            tests.append(exp.Not(this=sql.is_null(sql.column("label", f"lookup_{index}"))))
    return exp.and_(*tests)


def item_rows(
    table: TableFacts, parts: Sequence[int], *, flags: bool = False, others: Mapping[str, str] | None = None
) -> exp.Select:
    """Return the inner layer: the user and the given parts' columns, one row an item.

    It is itself made of layers, so that what a rule asks of every row is computed once: the raw columns, whether they
    are valid, and the columns after the rule. With ``flags`` there is a column ``valid_<part>`` for each given
    continuous part: whether its item lay in the domain before the rule; without them for those that take a record
    elsewhere alone. ``others`` are columns of the table that are
    wanted as they are, each with its name here; not of a table of words.
    """
    source = _source_rows(table, others or {})
    columns = {USER: source.columns[table.user]}
    columns.update((alias, source.columns[name]) for name, alias in (others or {}).items())
    continuous: dict[int, dict[str, Sql]] = {}
    for index in parts:
        part = table.space.parts[index]
        if part.labels is not None:
            label = source.tokens if isinstance(part, Words) else sql.cast(source.columns[part.columns[0]], "TEXT")
            columns[name_in_items(index, part.columns[0], part)] = label
            continue
        names = {name: f"raw_{index}_{position}" for position, name in enumerate(part.columns)}
        columns.update((alias, _double(source.columns[name], table.type_of(name))) for name, alias in names.items())
        continuous[index] = {name: sql.column(alias) for name, alias in names.items()}
    rows = sql.select(columns, source.relation)
    return _cleaned_rows(rows, list(columns), table.space, continuous, flags) if continuous else rows


def reads_users_apart(table: TableFacts) -> bool:
    """Return whether the users' column alone is read at a fraction of a scan's cost, and grouped at one of a scan's
    that groups by user.
    """
    has_words = any(isinstance(part, Words) for part in table.space.parts)
    return table.source.engine == DIALECT and not table.source.is_text and not has_words


def clean_names(part: Space) -> tuple[str, ...]:
    """Return those of a part's columns that the inner layer has: all, but for a grid, whose cell is under the first.

    >>> from emdp.spaces import Geo
    >>> clean_names(Grid(Geo("lat", "lon", (40, -75, 41, -73)), (8, 8)))
    ('lat',)
    """
    return part.columns[: part.width]


def name_in_items(index: int, column: str, part: Space) -> str:
    """Return the inner layer's name of a part's column, which no name of the table can clash with."""
    return f"part_{index}_{part.columns.index(column)}"


def lookup_join(index: int) -> exp.Join:
    """Return the left join of a finite part's public table, named ``lookup_<part>``, by its label or cell."""
    name = f"lookup_{index}"
    condition = exp.EQ(this=sql.column(f"part_{index}_0"), expression=sql.column("label", name))
    return exp.Join(this=exp.to_table(name), side="LEFT", on=condition)


def label_table(part: Space) -> pl.DataFrame:
    """Return the public table of the labels of a finite part."""
    return pl.DataFrame({"label": [label_text(label) for label in part.labels or ()]})


def label_text(label: Any) -> str:
    """Return a label as SQL's cast to text writes it.

    >>> label_text("Bar"), label_text(3), label_text(True)
    ('Bar', '3', 'true')
    """
    return str(label).lower() if isinstance(label, bool) else str(label)


def _cleaned_rows(
    rows: exp.Select, names: list[str], space: Space, continuous: Mapping[int, Mapping[str, Sql]], flags: bool
) -> exp.Select:
    kept = list(names)
    inline = {index: first_facts(space.parts[index], raw) for index, raw in continuous.items()}
    rows, known = _with_facts(rows, kept, _all_shared(space, continuous, inline))
    facts = {index: {**inline[index], **known[index]} for index in continuous}
    inline = {index: second_facts(space.parts[index], raw, facts[index]) for index, raw in continuous.items()}
    rows, known = _with_facts(rows, kept, _all_shared(space, continuous, inline))
    final = {name: sql.column(name) for name in names if not name.startswith("raw_")}
    for index, raw in continuous.items():
        part, own = space.parts[index], {**facts[index], **inline[index], **known[index]}
        cleaned = clean_columns(part, raw, own)
        final.update((name_in_items(index, name, part), value) for name, value in cleaned.items())
        if flags or part.on_invalid == "elsewhere":
            final[f"valid_{index}"] = sql.call("COALESCE", own["valid"], exp.false())
    return sql.select(final, rows.subquery("facts", copy=False))


def _all_shared(
    space: Space, columns: Mapping[int, Mapping[str, Sql]], facts: Mapping[int, Mapping[str, Sql]]
) -> dict[int, dict[str, Sql]]:
    return {index: _shared(space.parts[index], own, columns[index]) for index, own in facts.items()}


def _shared(part: Space, facts: Mapping[str, Sql], columns: Mapping[str, Sql]) -> dict[str, Sql]:
    """Return the facts to compute once a row: validity always, and all of them where many columns would repeat them.

    The others are needed for invalid rows alone, and where columns are few they are written out where needed; so is the
    validity of a grid's records, which the cell itself asks of few rows.
    """
    if len(columns) > MOST_INLINE:
        return dict(facts)
    return {name: fact for name, fact in facts.items() if name == "valid" and not isinstance(part, Grid)}


def _with_facts(
    rows: exp.Select, kept: list[str], facts: Mapping[int, Mapping[str, Sql]]
) -> tuple[exp.Select, dict[int, dict[str, Sql]]]:
    """Add facts as columns of a further layer; return it with the facts by reference, and note their names as kept."""
    new = {f"fact_{index}_{name}": value for index, own in facts.items() for name, value in own.items()}
    if new:
        columns = {**{name: sql.column(name) for name in kept}, **new}
        rows = sql.select(columns, rows.subquery("facts", copy=False))
        kept += new
    return rows, {index: {name: sql.column(f"fact_{index}_{name}") for name in own} for index, own in facts.items()}


def _source_rows(table: TableFacts, others: Iterable[str]) -> _SourceRows:
    names = tuple(dict.fromkeys((*table.source_columns, *others)))
    messages = [part for part in table.space.parts if isinstance(part, Words)]
    if not messages:
        plain = {name: sql.column(name) for name in names}
        return _SourceRows(*_with_components(table, exp.to_table(table.view), plain), exp.Null())
    if len(messages) > 1:
        raise UsageError("space has two Words parts; words of two columns do not pair up, so keep one.")
    (part,) = messages
    message = sql.cast(sql.column(part.column), "TEXT")
    none = exp.Array(expressions=[exp.Null()])
    # A missing message is one invalid item; a message without words is no item at all.
    words = sql.case([(sql.is_null(sql.column(part.column)), none)], tokens(part.tokenizer, message))
    own = {name: f"column_{number}" for number, name in enumerate(names)}
    kept = [exp.alias_(sql.column(name), alias, quoted=True) for name, alias in own.items()]
    rows = exp.select(*kept, exp.alias_(exp.Explode(this=words), TOKENS, quoted=True)).from_("source_rows")
    columns = {name: sql.column(alias) for name, alias in own.items()}
    columns[TOKENS_KEY] = sql.column(TOKENS)
    relation, columns = _with_components(table, rows.subquery("words", copy=False), columns)
    return _SourceRows(relation, columns, columns.pop(TOKENS_KEY))


def _with_components(table: TableFacts, relation: Sql, columns: Mapping[str, Sql]) -> tuple[Sql, dict[str, Sql]]:
    """Return rows, and what the table's columns and components are called there.

    Instants that a zone is applied to are named at each of its transitions: they are columns of a layer of their own.
    """
    found = table.components
    times = dict.fromkeys(component.column for component in found.values())
    instants = {name: instant_value(columns[name].copy(), table.schema[name]) for name in times}
    zoned = dict.fromkeys(component.column for component in found.values() if component.zone)
    if zoned:
        aliases = {name: f"instant_{place}" for place, name in enumerate(zoned)}
        kept = {name: f"own_{place}" for place, name in enumerate(columns)}
        named = {kept[name]: value for name, value in columns.items()}
        named |= {alias: instants[name] for name, alias in aliases.items()}
        relation = sql.select(named, relation).subquery("instants", copy=False)
        columns = {name: sql.column(alias) for name, alias in kept.items()}
        instants = {name: sql.column(aliases[name]) if name in zoned else instants[name] for name in times}
    made = {name: component_value(component, instants[component.column].copy()) for name, component in found.items()}
    return relation, {**columns, **made}


def _double(column: Sql, kind: str) -> Sql:
    return column if kind.upper() == "DOUBLE" else sql.cast(column, "DOUBLE", safe=True)


def _part_index(leaf: Leaf | Column, space: Space) -> int:
    return part_of_columns(space, (leaf.name,)) if isinstance(leaf, Column) else leaf.locate(space).index


def _lookup(part: Space, leaves: Sequence[Expression]) -> tuple[pl.DataFrame, list[float]]:
    neutral = part.neutral_item
    data: dict[str, Any]
    if isinstance(part, Grid):
        items = part.all_items
        data = {"label": items[:, 0]}
    else:
        labels = part.labels or ()
        items = np.arange(len(labels), dtype=np.float64)[:, None]
        data = {"label": [label_text(label) for label in labels]}
    neutral_values = []
    for position, leaf in enumerate(leaves):
        data[f"value_{position}"] = label_values(leaf, part, items)
        neutral_values.append(float(label_values(leaf, part, neutral)[0]))
    return pl.DataFrame(data), neutral_values


def _formula(expression: Expression, known: Mapping[Expression, Sql]) -> Sql:
    done: dict[int, Sql] = {}
    _check_length(expression)
    for node in walk(expression):
        operands = [done[id(operand)].copy() for operand in node.operands]
        if isinstance(node, Case):
            done[id(node)] = choice_formula(known[node], operands)
        elif node in known:
            done[id(node)] = known[node].copy()
        else:
            done[id(node)] = node_formula(node, operands)
    return done[id(expression)]


def _check_length(expression: Expression) -> None:
    """Raise unless the statement stays short: a formula that writes an operand twice doubles it at every nesting."""
    sizes: dict[int, int] = {}
    for node in walk(expression):
        places = [sql.column(str(place)) for place in range(len(node.operands))]
        written: Counter[str] = Counter()
        if isinstance(node, Case):
            written.update(place.name for place in places)
        elif places and not isinstance(node, Leaf):
            written.update(found.name for found in node_formula(node, places).find_all(exp.Column))
        sizes[id(node)] = 1
        for place, operand in enumerate(node.operands):
            sizes[id(node)] += written[str(place)] * sizes[id(operand)]
        if sizes[id(node)] > MOST_OPERATIONS:
            raise UsageError(
                f"the expression takes more than {MOST_OPERATIONS} operations of SQL, since it nests functions whose "
                "formula repeats what they are of; nest them less deeply, or ask for parts of it apart."
            )
