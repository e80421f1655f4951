"""Every statement of ``refused/`` is refused for the reason that its first lines name, with that part underlined."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from emdp.base.errors import SqlError
from emdp.questions.names import Names
from emdp.sql import translate

FILES = sorted((Path(__file__).parent / "refused").glob("*.sql"))


@dataclass(frozen=True)
class Refused:
    """One file: what is expected of it, and its SQL."""

    code: str
    underlined: str
    says: str
    space: str
    sql: str


def read(path: Path) -> Refused:
    expected = {}
    lines = path.read_text(encoding="utf-8").split("\n")
    for key in ("code", "underlined", "says"):
        assert lines[0].startswith(f"-- {key}: "), f"{path.name}: the line of {key} is missing"
        expected[key] = lines.pop(0).removeprefix(f"-- {key}: ")
    space = lines.pop(0).removeprefix("-- about: ") if lines[0].startswith("-- about: ") else "city"
    return Refused(**expected, space=space, sql="\n".join(lines).removesuffix("\n"))


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_refused_statement_names_and_underlines_its_reason(path: Path, spaces: dict[str, Names]) -> None:
    expected = read(path)
    with pytest.raises(SqlError) as caught:
        translate(expected.sql, spaces[expected.space])
    error = caught.value
    assert (error.code, expected.sql[error.start : error.end]) == (expected.code, expected.underlined)
    message = str(error)
    assert expected.says in f"{error.problem}; {error.remedy}"
    assert "Traceback" not in message
    assert "sqlglot" not in message
    assert message.startswith(f"{error.problem}; {error.remedy}.\nline ")
    assert set(message.rsplit("| ", 1)[1]) <= {" ", "^"}


# ------------------------------------------------ remedies that can be pasted


HEADER = "EMD_PRIVACY OPTIONS (alpha = 1.0)"
USER_HEADERS = {
    "COUNT(*)": "USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9)",
    "USER_MEAN": "USER_PRIVACY OPTIONS (epsilon = 1)",
}
"""Headers of aggregates that need a guarantee at the user level."""

SCALARS = "DISTANCE|DOT|SIMILARITY|RAMP|EXTRACT|LN|POWER"
AGGREGATES = "AVG|FREQUENCY|QUANTILE|MEDIAN|VARIANCE|STDDEV|COUNT|USER_MEAN"
CALL = re.compile(rf"\b(?:{SCALARS}|{AGGREGATES}|GRID)\(")
PLACEHOLDER = re.compile(r"\b(?:e|a|b|p|x|y|column|condition|user|value|word)\b|\.\.")


def calls_of(remedy: str) -> list[str]:
    """The outermost calls that a remedy writes out, without those that leave something to fill in."""
    found, place = [], 0
    while match := CALL.search(remedy, place):
        depth = 0
        for place in range(match.end() - 1, len(remedy)):
            depth += (remedy[place] == "(") - (remedy[place] == ")")
            if not depth:
                break
        found.append(remedy[match.start() : place + 1])
    return [call for call in found if not PLACEHOLDER.search(call)]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_remedy_writes_out_is_accepted(path: Path, spaces: dict[str, Names]) -> None:
    """Whoever pastes it must not be refused again; only a place among jokers is left to fill in."""
    expected = read(path)
    names = spaces[expected.space]
    with pytest.raises(SqlError) as caught:
        translate(expected.sql, names)
    for call in calls_of(caught.value.remedy):
        shown = f"FREQUENCY({call})" if call.startswith("GRID(") else call
        entry = shown if re.match(rf"(?:{AGGREGATES})\(", shown) else f"AVG({shown})"
        header = USER_HEADERS.get(call if call in USER_HEADERS else call.partition("(")[0], HEADER)
        assert translate(f"SELECT WITH {header} {entry} FROM visits", names), call


def test_remedies_are_tried() -> None:
    assert calls_of('as in GRID(POINT(lat, lon), 1.0) or GRID("time(ts)", 1.0), or AVG(e)') == [
        "GRID(POINT(lat, lon), 1.0)",
        'GRID("time(ts)", 1.0)',
    ]


def test_there_are_many_refusals() -> None:
    assert len(FILES) >= 80
    assert len({read(path).code for path in FILES}) >= 60
