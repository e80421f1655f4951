"""``emdp generate``: writes a synthetic table of check-ins, messages with word vectors, or ratings, of any size."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from emdp.base.errors import UsageError, resource_error
from emdp.cli.output import check_place
from emdp.cli.progress import PATIENCE, progress_bar
from emdp.resources import load_dataset_module

__all__ = ["app"]

app = typer.Typer(help="Write a synthetic table (nothing in it is private), of any size.", no_args_is_help=True)

Users = Annotated[int, typer.Option(help="Size of the public list of users; one in 50 has no record.")]
Records = Annotated[int, typer.Option(help="Rows of the table.")]
Out = Annotated[Path, typer.Option(help="A .parquet or .csv file; with no suffix, a folder of Parquet files.")]
Seed = Annotated[int, typer.Option(help="The same seed and sizes give the same rows.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands under the names to be written.")]


@app.command()
def checkins(
    users: Users,
    records: Records,
    out: Out,
    seed: Seed = 0,
    venues: Annotated[
        int | None,
        typer.Option(help="Take coordinates from so many venues (few distinct points); default: free coordinates."),
    ] = None,
    equal: Annotated[
        bool,
        typer.Option("--equal", help="Give every user records/users records; default: long-tailed counts."),
    ] = False,
    force: Force = False,
) -> None:
    """Write check-ins in a city: homes, work, outings, long-tailed counts, 0.2 % dirty rows."""
    _refuse_existing(force, out=out)
    module = load_dataset_module("checkins")

    def write(progress: Callable[[int], None]) -> Any:
        return module.write_checkins(
            out, users=users, records=records, seed=seed, venues=venues, equal=equal, progress=progress
        )

    _run(write, records, [out])


@app.command()
def messages(
    users: Users,
    records: Records,
    out: Out,
    vectors: Annotated[
        Path | None,
        typer.Option(help="The word vectors, a .parquet file; default: words.parquet beside the messages."),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Write chat messages and their word vectors: topics, floods, unknown words, 0.4 % dirty rows."""
    words = out.parent / "words.parquet" if vectors is None else vectors
    check_place("out", out)
    check_place("vectors", words)
    if words.resolve() == out.resolve():
        raise UsageError(f"vectors must be another file than out, got {str(words)!r} for both; rename one.")
    load_dataset_module("writing").check_out("vectors", words, folder=False, csv=False)
    _refuse_existing(force, out=out, vectors=words)
    module = load_dataset_module("messages")

    def write(progress: Callable[[int], None]) -> Any:
        return module.write_messages(out, words, users=users, records=records, seed=seed, progress=progress)

    _run(write, records, [out, words])


@app.command()
def ratings(
    users: Users,
    records: Annotated[int, typer.Option("--records", "--ratings", help="Rows of the table, a rating each.")],
    out: Out,
    seed: Seed = 0,
    items: Annotated[int | None, typer.Option(help="How many items are rated; default: 5000.")] = None,
    force: Force = False,
) -> None:
    """Write ratings of items: tastes for genres, popular items, generous people, 0.2 % dirty rows."""
    _refuse_existing(force, out=out)
    module = load_dataset_module("ratings")
    chosen = {} if items is None else {"items": items}

    def write(progress: Callable[[int], None]) -> Any:
        return module.write_ratings(out, users=users, records=records, seed=seed, progress=progress, **chosen)

    _run(write, records, [out])


def _refuse_existing(force: bool, **paths: Path) -> None:
    for name, path in paths.items():
        check_place(name, path)
        is_taken = any(path.iterdir()) if path.is_dir() else path.exists()
        if is_taken and not force:
            raise UsageError(f"{name} names {str(path)!r}, which exists; choose another name or add --force.")


def _run(write: Callable[[Callable[[int], None]], Any], records: int, paths: list[Path]) -> None:
    start = time.monotonic()
    try:
        with progress_bar(PATIENCE) as show:
            written = write(lambda done: show(done, records, "rows"))
    except OSError as error:
        raise resource_error(error) or UsageError(f"out cannot be written: {error}; choose another place.") from error
    names = " and ".join(map(str, paths))
    size = f"{written.rows:,} rows, {written.users:,} listed users, {written.bytes:,} bytes"
    print(f"wrote {names}: {size}, {time.monotonic() - start:.1f} s")
