"""``emdp distance``: the exact earth-mover distance of two users, for the table's owner."""

from typing import Annotated, Any

import typer

from emdp.cli.options import (
    AsGivenOption,
    BoxOption,
    CatalogOption,
    GeoOption,
    HeaderOption,
    IntervalOption,
    OnInvalidOption,
    SourceOption,
    TableOption,
    UnitOption,
    UserOption,
    UsersOption,
    VectorsOption,
    WordsOption,
    check_catalog_alone,
    named,
    read_table,
    space_of,
)

__all__ = ["run"]


def run(
    first: Annotated[str, typer.Argument(help="Key of a user.")],
    second: Annotated[str, typer.Argument(help="Key of another user.")],
    source: SourceOption = None,
    catalog: CatalogOption = None,
    table: TableOption = None,
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
    header: HeaderOption = None,
) -> None:
    """Print d_em of two users' records. This is not private: it is for the owner of the table."""
    from emdp.transport import d_em

    of_space: dict[str, Any] = {
        "geo": geo, "box": box, "unit": unit, "interval": interval, "words": words, "vectors": vectors,
        "on_invalid": on_invalid,
    }  # fmt: skip
    if catalog is not None:
        check_catalog_alone(
            named(header=header, source=source, user=user, users=users, **of_space, as_given=as_given or None)
        )
    space = space_of(**of_space, as_given=as_given)
    # Two users are looked up, so their number plays no part; the catalog or the option may still give it.
    opened = read_table(
        source=source, catalog=catalog, table=table, user=user, users=users or "2", space=space, header=header
    )
    distance = d_em(opened.bag(first), opened.bag(second), opened.space)
    natural = "" if opened.space.unit is None else f" ({distance * opened.space.diameter:.6g} {opened.space.unit})"
    print(f"d_em = {distance:.9g}{natural}")
    print("Exact and not private: for the owner of the table.", flush=True)
