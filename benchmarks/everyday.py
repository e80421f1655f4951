"""Errors of everyday questions on the real tables, as a table: ``python benchmarks/everyday.py [FOLDER] [--runs 10]``.

Each statement of queries/everyday is answered under the test switch, once a seed, and every number is compared with the
one before noise; of counts and sums that is the number under the cap.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import emdp
from emdp.resources import find

FOLDER = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=str(FOLDER), help="where the three tables are")
    parser.add_argument("--runs", type=int, default=10, help="seeds")
    given = parser.parse_args()
    print("| question | rows | a number | error seen | error said before |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        catalog = Path(place) / "catalog.toml"
        text = (find("queries") / "everyday" / "catalog.toml").read_text()
        catalog.write_text(text.replace("../../../shared/data", str(Path(given.folder).resolve())))
        for path in sorted((find("queries") / "everyday").glob("*.sql")):
            for line in rows_of(path, emdp.load_catalog(catalog), given.runs):
                print(line)
                sys.stdout.flush()


def rows_of(path: Path, catalog: emdp.Catalog, runs: int) -> list[str]:
    """Return lines of the table: one for each column of a statement's answer."""
    text, name = path.read_text(), path.stem.partition("_")[2]
    question = text.splitlines()[0].removeprefix("-- ")
    errors: dict[str, list[float]] = {}
    sizes: dict[str, float] = {}
    said: dict[str, float] = {}
    heights: list[int] = []
    for seed in range(runs):
        with emdp.testing.seeded(seed), tempfile.TemporaryDirectory() as place:
            table = catalog.table(name)
            ledger = Path(place) / "everyday.ledger"
            with emdp.Session(table, budget=catalog.budget(name), ledger=ledger) as session:
                said = {own.name: own.expected_error for own in session.preview(text).statements[0].columns}
                answer = session.sql(text)
        heights.append(answer.frame.height)
        keys = [own for own in answer.frame.columns if own in answer.exact_frame.columns and own not in said]
        for column in said:
            pairs = pairs_of(answer, keys, column)
            errors.setdefault(column, []).extend(abs(one - other) for one, other in pairs)
            sizes[column] = statistics.median(abs(other) for _, other in pairs) if pairs else 0.0
    return [
        f"| {question} `{column}` | {statistics.median(heights):g} | {sizes[column]:.5g} "
        f"| {statistics.fmean(own):.3g} | {said[column]:.3g} |"
        for column, own in errors.items()
        if own
    ]


def pairs_of(answer: emdp.Answer, keys: list[str], column: str) -> list[tuple[float, float]]:
    """Return released numbers with those before noise, of the rows that are shown."""
    shown = answer.frame.select(*keys, released=column)
    exact = answer.exact_frame.select(*keys, exact=column)
    both = shown.join(exact, on=keys, nulls_equal=True) if keys else shown.hstack(exact)
    return [(own["released"], own["exact"]) for own in both.to_dicts() if None not in (own["released"], own["exact"])]


if __name__ == "__main__":
    main()
