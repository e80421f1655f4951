"""Every statement of ``accepted/`` is translated, with the constants and ranges that its first lines name."""

import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from emdp.expressions import Expression, analyse, final_lipschitz
from emdp.questions.names import Names
from emdp.questions.select import QuantileQuery, Select
from emdp.questions.user_mean import UserMean
from emdp.sql import Translated, translate

FILES = sorted((Path(__file__).parent / "accepted").glob("*.sql"))


@dataclass(frozen=True)
class Accepted:
    """One file: the space that it is about, what is expected of its columns, and its SQL."""

    space: str
    lipschitz: dict[str, float]
    ranges: dict[str, tuple[float, float]]
    sql: str


def read(path: Path) -> Accepted:
    lines = path.read_text(encoding="utf-8").split("\n")
    header: dict[str, str] = {}
    while lines[0].startswith("-- "):
        key, _, value = lines.pop(0).removeprefix("-- ").partition(": ")
        header[key] = value
    assert set(header) <= {"space", "lipschitz", "range"}, path.name
    lipschitz = dict(entry.rsplit("=", 1) for entry in header.get("lipschitz", "").split(", ") if entry)
    ranges = dict(entry.rsplit("=", 1) for entry in header.get("range", "").split(", ") if entry)
    return Accepted(
        header.get("space", "city"),
        {name: float(value) for name, value in lipschitz.items()},
        {name: tuple(map(float, value.split(".."))) for name, value in ranges.items()},
        "\n".join(lines),
    )


def expressions_of(translated: tuple[Translated, ...]) -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    for one in translated:
        if isinstance(one.query, Select):
            found |= {item.name: item.expression for item in one.query.items if item.expression is not None}
        elif isinstance(one.query, QuantileQuery):
            found[one.query.name] = one.query.expression
        elif isinstance(one.query, UserMean):
            found |= dict(zip(one.query.columns, one.query.expressions, strict=True))
    return found


@pytest.mark.quarter
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_accepted_statement_has_its_constants(path: Path, spaces: dict[str, Names]) -> None:
    expected = read(path)
    names = spaces[expected.space]
    translated = translate(expected.sql, names)
    found = expressions_of(translated)
    assert set(found) == set(expected.lipschitz)
    for name, expression in found.items():
        analysis = analyse(expression, names.space)
        constant = final_lipschitz(analysis, names.space)
        assert math.isclose(constant, expected.lipschitz[name], rel_tol=1e-6, abs_tol=1e-9), name
        if name in expected.ranges:
            assert (analysis.low, analysis.high) == pytest.approx(expected.ranges[name], rel=1e-6, abs=1e-6)
    for one in translated:
        assert one.query.text == one.statement.text
        assert one.statement.text in expected.sql


def test_there_are_many_accepted_statements() -> None:
    assert len(FILES) >= 60


def test_the_known_answers_are_among_them(spaces: dict[str, Names]) -> None:
    known = {path.stem: read(path) for path in FILES}
    diameter = spaces["plain"].space.diameter
    assert known["emd2_plain_box"].lipschitz["near"] == pytest.approx(diameter)
    assert known["emd2_plain_box"].ranges["near"] == (0, 1)
    assert known["emd2_product"].lipschitz["near"] == pytest.approx(2 * diameter)
    assert known["emd2_two_parts"].lipschitz["total"] == 2 * max(3, 2)
