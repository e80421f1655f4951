"""Relations as statements: whatever a condition or key says, rows of one user alone meet."""

import itertools

import polars as pl
import pytest

import emdp
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Derived, Grouped, Joined, Marked, Private, Relation, United, Windowed
from emdp.questions.owned.summaries import Summary, Window
from emdp.rows.building import call
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.engines.duckdb.execution import DIALECT, opened, run
from emdp.tables.statements.owned_rows import OWNER, RowsMaker

X, Y = Column("t", "x", Kind.BIGINT), Column("s", "x", Kind.BIGINT)
T, S = Private("t", "u"), Private("s", "u")
ORDER = ((X, False, False),)

# None of these names the user: what keeps users apart is made by the compiler.
RELATIONS: dict[str, Relation] = {
    "grouped": Grouped(T, "g", (("x", X),), (("n", Summary("rows")), ("all", Summary("sum", X)))),
    "windowed": Windowed(
        T, "w", (("r", Window("row_number", order=((X, False, False),))), ("n", Window(Summary("rows"))))
    ),
    # Of user 1 the record 2 finds no larger one, but among those of user 2.
    "marked": Marked(T, "m", S, call("less", X, Y)),
    "joined": Joined(T, S, None),
    "left": Joined(T, S, None, is_left=True),
    "united": United(T, S, "v", (("x", X),), (("x", Y),)),
    "distinct": Grouped(Derived(T, "d", (("x", X),)), "g", (("x", Column("d", "x", Kind.BIGINT)),)),
}
BAGS = [bag for size in range(3) for bag in itertools.combinations_with_replacement((1, 2, 3), size)]


def rows_of_one(relation: Relation, bag: tuple[int, ...]) -> list[str]:
    """Return the rows of user 1, who has records 1 and 2, beside a user with some records."""
    rows = [("1", 1), ("1", 2), *(("2", value) for value in bag)]
    frame = pl.DataFrame(rows, schema={"u": pl.String, "x": pl.Int64}, orient="row")
    table = emdp.read(frame, user="u", space=emdp.Interval("x", 0, 10), users=2, name="t")
    names = {one.alias for one in relations(relation) if isinstance(one, Private)}
    maker = RowsMaker(table, {}, {name: (Column(name, "x", Kind.BIGINT),) for name in names})
    made = maker.rows(relation)
    assert made.owner is not None
    named = {f"c{place}": made.column(column) for place, column in enumerate(sorted(made.known, key=str))}
    text = made.select({OWNER: made.owner.copy(), **named}).sql(DIALECT, identify=True)
    with opened(table.source, maker.lookups, None) as connection:
        found = run(connection, text)
    return sorted(str(row) for row in found if row[0] == "1")


@pytest.mark.quarter
@pytest.mark.parametrize("name", RELATIONS)
def test_rows_of_one_user_alone_meet(name: str) -> None:
    found = {tuple(rows_of_one(RELATIONS[name], bag)) for bag in BAGS}
    assert len(found) == 1
    assert found != {()}
