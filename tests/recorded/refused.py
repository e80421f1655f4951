"""SQL that is refused, one file of ``tests/sql/refused`` for each kind of refusal, with the whole message."""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import emdp

from ..support.sql_worlds import PUBLIC
from .asking import shared_session
from .cases import Case
from .statements import OTHER_NAMES, split_header, table_of

REFUSED = Path(__file__).parents[1] / "sql" / "refused"


def cases() -> Iterator[Case]:
    seen = set()
    for path in sorted(REFUSED.glob("*.sql")):
        header, text = split_header(path.read_text(encoding="utf-8"))
        if header["code"] not in seen:
            seen.add(header["code"])
            space = header.get("about", "city")
            yield Case(path.stem, partial(_asked, OTHER_NAMES.get(space, space), text.removesuffix("\n")))


def _asked(world: str, text: str, folder: Path) -> dict[str, Any]:
    return {"answered": refused_session(world).preview(text).frame}


@cache
def refused_session(world: str) -> emdp.Session:
    """Return the session that refuses statements on a world."""
    return shared_session(table_of(world, "visits"), f"refused_{world}", public=PUBLIC)
