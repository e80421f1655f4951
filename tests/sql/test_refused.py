"""Every statement of ``refused/`` is refused for the reason that its first lines name, with that part underlined."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import emdp.sql
from emdp.errors import SqlError

FILES = sorted((Path(__file__).parent / "refused").glob("*.sql"))


@dataclass(frozen=True)
class Refused:
    """One file: what is expected of it, and its SQL."""

    code: str
    underlined: str
    says: str
    sql: str


def read(path: Path) -> Refused:
    expected = {}
    lines = path.read_text(encoding="utf-8").split("\n")
    for key, line in zip(("code", "underlined", "says"), lines, strict=False):
        assert line.startswith(f"-- {key}: "), f"{path.name}: the line of {key} is missing"
        expected[key] = line.removeprefix(f"-- {key}: ")
    return Refused(**expected, sql="\n".join(lines[3:]).removesuffix("\n"))


@pytest.fixture
def public(request: pytest.FixtureRequest) -> Any:
    """The names of the translator's tests, where there are any."""
    try:
        return request.getfixturevalue("names")
    except pytest.FixtureLookupError:
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_refused_statement_names_and_underlines_its_reason(path: Path, public: Any) -> None:
    expected = read(path)
    translate = getattr(emdp.sql, "translate", None)
    with pytest.raises(SqlError) as caught:
        emdp.sql.parse(expected.sql) if translate is None or public is None else translate(expected.sql, public)
    error = caught.value
    assert (error.code, expected.sql[error.start : error.end]) == (expected.code, expected.underlined)
    message = str(error)
    assert expected.says in f"{error.problem}; {error.remedy}"
    assert "Traceback" not in message
    assert "sqlglot" not in message
    assert message.startswith(f"{error.problem}; {error.remedy}.\nline ")
    assert set(message.rsplit("| ", 1)[1]) <= {" ", "^"}


def test_there_are_many_refusals() -> None:
    assert len(FILES) >= 80
    assert len({read(path).code for path in FILES}) >= 60
