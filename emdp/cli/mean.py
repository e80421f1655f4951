"""``emdp mean``: one private mean of a file or of a catalog's table."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.cli.options import (
    BoxOption,
    CatalogOption,
    GeoOption,
    IntervalOption,
    OnInvalidOption,
    TableOption,
    UnitOption,
    UserOption,
    UsersOption,
    VectorsOption,
    WordsOption,
    check_table_option,
    numbers,
    read_table,
    space_of,
)
from emdp.errors import UsageError

if TYPE_CHECKING:
    from emdp.expressions import Expression
    from emdp.session import Session
    from emdp.tables import Table

__all__ = ["run"]


def run(
    alpha: Annotated[float, typer.Option("--alpha", help="Spent by this answer, per unit of d_em.")],
    source: Annotated[str | None, typer.Argument(help="Parquet or CSV file, pattern, or FILE.duckdb::TABLE.")] = None,
    distance_to: Annotated[str | None, typer.Option("--distance-to", help="Mean distance to LAT,LON.")] = None,
    column: Annotated[str | None, typer.Option("--column", help="Mean of a numeric column.")] = None,
    similarity: Annotated[str | None, typer.Option("--similarity", help="Mean inner product with a word.")] = None,
    delta: Annotated[float, typer.Option("--delta", help="Above 0, Gaussian noise may be chosen.")] = 0.0,
    preview: Annotated[bool, typer.Option("--preview", help="Only say what it would cost; spends nothing.")] = False,
    budget: Annotated[float | None, typer.Option("--budget", help="Total alpha of the ledger, without -C.")] = None,
    budget_delta: Annotated[float, typer.Option("--budget-delta", help="Total delta of the ledger.")] = 0.0,
    ledger: Annotated[str | None, typer.Option("--ledger", help="File of the ledger, without -C.")] = None,
    catalog: CatalogOption = None,
    table: TableOption = None,
    user: UserOption = None,
    users: UsersOption = None,
    geo: GeoOption = None,
    box: BoxOption = None,
    unit: UnitOption = "km",
    interval: IntervalOption = None,
    words: WordsOption = None,
    vectors: VectorsOption = None,
    on_invalid: OnInvalidOption = "error",
) -> None:
    """Print the private mean over users of the mean over their records, and charge the ledger for it."""
    from emdp.expressions import mean

    expression = _expression(distance_to, column, similarity)
    if catalog is not None:
        session = _catalog_session(catalog, table, budget=budget, ledger=ledger, source=source)
    else:
        check_table_option(table)
        space = space_of(
            geo=geo, box=box, unit=unit, interval=interval, words=words, vectors=vectors, on_invalid=on_invalid
        )
        session = _file_session(
            read_table(source=source, catalog=None, table=None, user=user, users=users, space=space),
            budget,
            budget_delta,
            ledger,
        )
    query = mean(expression, alpha=alpha, delta=delta, name="mean")
    with session:
        if preview:
            print(session.preview(query).explain())
            return
        answer = session.answer(query)
        value, low, high = answer.frame.row(0)
        print(f"{value:.6g}  (95 % interval {low:.6g} to {high:.6g})")
        print(f"spent {answer.spent}; remaining {session.remaining()}", file=sys.stderr)


def _expression(distance_to: str | None, column: str | None, similarity: str | None) -> "Expression":
    from emdp import expressions

    given = [value for value in (distance_to, column, similarity) if value is not None]
    if len(given) != 1:
        raise UsageError("exactly one of --distance-to, --column and --similarity must be given; pass one.")
    if distance_to is not None:
        return expressions.distance_to(numbers("--distance-to", distance_to, 2))
    if column is not None:
        return expressions.col(column)
    return expressions.similarity(str(similarity))


def _catalog_session(
    catalog: str, table: str | None, *, budget: float | None, ledger: str | None, source: str | None
) -> "Session":
    from emdp.catalog import load_catalog

    for name, value in (("--budget", budget), ("--ledger", ledger), ("SOURCE", source)):
        if value is not None:
            raise UsageError(f"{name} stands in the catalog; leave it out, or describe the table without -C.")
    return load_catalog(catalog).session(table)


def _file_session(table: "Table", budget: float | None, delta: float, ledger: str | None) -> "Session":
    from emdp.privacy import EmdDP
    from emdp.session import Session

    if budget is None or ledger is None:
        missing = "--budget" if budget is None else "--ledger"
        raise UsageError(f"{missing} is missing; what all answers may spend, and where that is kept, must be said.")
    return Session(table, budget=EmdDP(budget, delta), ledger=ledger)
