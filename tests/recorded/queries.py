"""The shipped queries of ``queries/*.sql``, on the small generated tables of the fuzzer."""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import emdp
from emdp.resources import find

from ..support.sql_worlds import PUBLIC
from .asking import asked, shared_session
from .cases import Case
from .statements import table_of


def cases() -> Iterator[Case]:
    for path in sorted(find("queries").glob("*.sql")):
        yield Case(path.stem, partial(_asked, path))


@cache
def _session(world: str) -> emdp.Session:
    return shared_session(table_of(world, world), f"queries_{world}", public=PUBLIC)


def _asked(path: Path, folder: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    return asked(_session(path.stem.partition("_")[0]), text, is_explained=path.stem.endswith("_08"))
