"""SQL statements that are answered: the files of ``tests/sql/accepted``, and random ones that were written down once.

Tables are those of the fuzzer, whose rows are made of whole numbers and products alone.
"""

import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import emdp

from ..support.sql_worlds import PUBLIC, USERS, WORLDS
from .asking import asked, shared_session
from .cases import Case

ACCEPTED = Path(__file__).parents[1] / "sql" / "accepted"
RANDOM = Path(__file__).parent / "random_statements.jsonl"
"""A line a statement: its name, the world that it is about, its text. They came from ``sql_grammar.Writer``."""

EVERY = 12
"""How many statements there are for one whose derivation is kept in full."""

OTHER_NAMES = {"fq": "foursquare"}


def cases() -> Iterator[Case]:
    for name, world, text in [*_accepted(), *_random()]:
        # By the name: another file changes none of the others.
        yield Case(name, partial(_answered, world, text, crc32(name.encode()) % EVERY == 0))


@cache
def table_of(world: str, name: str) -> emdp.Table:
    """Return a world's table under a name."""
    own = WORLDS[world]
    users = USERS if own.users == "listed" else own.users
    return emdp.read(own.rows(1), user="user_id", space=own.space, users=users, name=name)


@cache
def session_of(world: str) -> emdp.Session:
    """Return the session that all statements on a world share."""
    name = "visits" if WORLDS[world].users == "listed" else WORLDS[world].table
    return shared_session(table_of(world, name), f"statements_{world}", public=PUBLIC)


def split_header(text: str) -> tuple[dict[str, str], str]:
    """Return what the first lines of a file of tests/sql say, and the statement below them.

    >>> split_header("-- space: line\\nSELECT 1")
    ({'space': 'line'}, 'SELECT 1')
    """
    lines, found = text.split("\n"), {}
    while lines[0].startswith("-- "):
        key, _, value = lines.pop(0).removeprefix("-- ").partition(": ")
        found[key] = value
    return found, "\n".join(lines)


def _accepted() -> Iterator[tuple[str, str, str]]:
    for path in sorted(ACCEPTED.glob("*.sql")):
        header, text = split_header(path.read_text(encoding="utf-8"))
        space = header.get("space", "city")
        yield path.stem, OTHER_NAMES.get(space, space), text


def _random() -> Iterator[tuple[str, str, str]]:
    for line in RANDOM.read_text(encoding="utf-8").splitlines():
        name, world, text = json.loads(line)
        yield name, world, text


def _answered(world: str, text: str, is_explained: bool, folder: Path) -> dict[str, Any]:
    return asked(session_of(world), text, is_explained=is_explained)
