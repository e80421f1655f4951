"""``emdp mean``: one private mean of a file or of a catalog's table."""

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emdp.base.checks import check_unit_interval
from emdp.base.digits import rounded_texts
from emdp.base.errors import DataRuleError, UsageError
from emdp.cli.options import (
    AsGivenOption,
    BoxOption,
    CatalogOption,
    GeoOption,
    HeaderOption,
    IntervalOption,
    NameOption,
    OnInvalidOption,
    TableOption,
    UnitOption,
    UserOption,
    UsersOption,
    VectorsOption,
    WordsOption,
    check_catalog_alone,
    check_table_option,
    named,
    numbers,
    read_table,
    space_of,
)
from emdp.cli.progress import PLANNING, waiting
from emdp.cli.sql import has_charges

if TYPE_CHECKING:
    from emdp.expressions import Expression
    from emdp.privacy import Guarantee
    from emdp.questions import Mean
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
    budget_delta: Annotated[float | None, typer.Option("--budget-delta", help="Total delta of the ledger.")] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="File or PostgreSQL address of the ledger, without -C.")
    ] = None,
    catalog: CatalogOption = None,
    table: TableOption = None,
    name: NameOption = None,
    user: UserOption = None,
    users: UsersOption = None,
    geo: GeoOption = None,
    box: BoxOption = None,
    unit: UnitOption = None,
    interval: IntervalOption = None,
    words: WordsOption = None,
    vectors: VectorsOption = None,
    on_invalid: OnInvalidOption = None,
    as_given: AsGivenOption = False,
    far_point: Annotated[
        bool, typer.Option("--far-point", help="The point of --distance-to is meant, though it is far from the box.")
    ] = False,
    header: HeaderOption = None,
) -> None:
    """Print the private mean over users of the mean over their records, and charge the ledger for it."""
    from emdp.questions import mean

    expression = _expression(distance_to, column, similarity, far_point=far_point)
    of_space: dict[str, Any] = {
        "geo": geo, "box": box, "unit": unit, "interval": interval, "words": words, "vectors": vectors,
        "on_invalid": on_invalid,
    }  # fmt: skip
    if catalog is not None:
        described = named(header=header, user=user, users=users, **of_space, name=name, as_given=as_given or None)
        check_catalog_alone(
            {**described, "SOURCE": source, **named(budget=budget, budget_delta=budget_delta, ledger=ledger)}
        )
        declared, promise, place = _from_catalog(catalog, table)
    else:
        check_table_option(table)
        space = space_of(**of_space, as_given=as_given)
        declared = read_table(
            source=source, catalog=None, table=None, user=user, users=users, space=space, name=name, header=header
        )
        promise, place = _from_options(budget, budget_delta, ledger)
    query = mean(expression, alpha=alpha, delta=delta, name="mean")
    if preview:
        _preview(declared, promise, place, query)
        return
    try:
        _answer(declared, promise, place, query)
    except DataRuleError as error:
        raise error if catalog is not None else _ruled(error, place) from None


def _preview(table: "Table", budget: "Guarantee | tuple[Guarantee, ...]", ledger: str, query: "Mean") -> None:
    from emdp.sessions.session import Session

    with tempfile.TemporaryDirectory() as folder:
        # Looking ahead must not make a ledger, nor declare anything in it.
        place = ledger if has_charges(ledger, table.account) else os.path.join(folder, "preview.ledger")
        with waiting(PLANNING), Session(table, budget=budget, ledger=place) as session:
            shown = session.preview(query).explain()
        print(shown)


def _answer(table: "Table", budget: "Guarantee | tuple[Guarantee, ...]", ledger: str, query: "Mean") -> None:
    from emdp.sessions.planning import plan_request
    from emdp.sessions.session import Session

    # What is refused must not so much as make a ledger.
    plan_request(query, table.names(), budget if isinstance(budget, tuple) else (budget,))
    with Session(table, budget=budget, ledger=ledger) as session:
        answer = session.answer(query)
        value, low, high = answer.frame.row(0)
        shown, left, right = rounded_texts(value, low, high, grouping="")
        print(f"{shown}  (95 % interval {left or low} to {right or high})")
        print(f"{query.expression}: spent {answer.spent}; remaining {session.remaining()}", file=sys.stderr)


def _ruled(error: DataRuleError, ledger: str) -> DataRuleError:
    """Return a broken rule with a remedy of this command: the ledger holds the table to the rule that was declared."""
    if 'on_invalid="error"' not in error.problem:
        return error
    remedy = (
        f"clean the rows, or pass --on-invalid clamp or neutral and a --ledger other than {ledger!r}, which holds the "
        'table to this rule, or -C CATALOG of a table with elsewhere = 1 and on_invalid = "elsewhere"'
    )
    return DataRuleError(f"{error.problem}; {remedy}.", breaches=error.breaches)


def _expression(
    distance_to: str | None, column: str | None, similarity: str | None, *, far_point: bool
) -> "Expression":
    from emdp import expressions

    given = [value for value in (distance_to, column, similarity) if value is not None]
    if len(given) != 1:
        raise UsageError("exactly one of --distance-to, --column and --similarity must be given; pass one.")
    if distance_to is not None:
        return expressions.distance_to(numbers("--distance-to", distance_to, 2), far_point=far_point)
    if column is not None:
        return expressions.col(column)
    return expressions.similarity(str(similarity))


def _from_catalog(catalog: str, table: str | None) -> tuple["Table", "Guarantee | tuple[Guarantee, ...]", str]:
    from emdp.catalog.catalog import load_catalog

    loaded = load_catalog(catalog)
    return loaded.table(table), loaded.budget(table), loaded.ledger_path


def _from_options(budget: float | None, delta: float | None, ledger: str | None) -> tuple["Guarantee", str]:
    from emdp.privacy import EmdDP

    if budget is None or ledger is None:
        missing = "--budget" if budget is None else "--ledger"
        raise UsageError(f"{missing} is missing; what all answers may spend, and where that is kept, must be said.")
    if not budget >= 0:
        raise UsageError(f"--budget must be at least 0, got {budget:g}; pass what all answers may spend.")
    return EmdDP(budget, check_unit_interval("--budget-delta", delta or 0.0, zero=True)), ledger
