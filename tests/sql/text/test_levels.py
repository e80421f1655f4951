"""A header's level, read and put in: nothing else of the text changes, and the number reads back exactly."""

import random
from pathlib import Path

import pytest

from emdp.base.errors import SqlError, UsageError
from emdp.privacy.rounding import as_decimal
from emdp.sql import parse, stated_level, with_level

EMD = "SELECT WITH EMD_PRIVACY AVG(x) FROM t"

ACCEPTED = sorted((Path(__file__).parents[1] / "accepted").glob("*.sql"))
QUERIES = sorted((Path(__file__).parents[3] / "queries").glob("*.sql"))


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) FROM t", 2.0),
        ("select with emd_privacy options (delta = 1e-9, ALPHA = .5) avg(x) from t;", 0.5),
        ("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1e-3, max_records_per_user = 3) COUNT(*) FROM t", 1e-3),
        ("SELECT WITH EMD_PRIVACY /* OPTIONS (alpha = 2) */ AVG(x) FROM t", None),
        ("SELECT WITH EMD_PRIVACY OPTIONS (delta = 1e-9 /* , alpha = 2 */) AVG('alpha = 3') FROM t", None),
        ("SELECT WITH USER_PRIVACY OPTIONS () COUNT(*) FROM t", None),
        ("WITH q AS (SELECT x FROM t) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 7) AVG(x) FROM q", 7.0),
    ],
)
def test_the_stated_level(text, level):
    assert stated_level(text) == level


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (EMD, "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) AVG(x) FROM t"),
        (
            "SELECT WITH EMD_PRIVACY OPTIONS () AVG(x) FROM t",
            "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) AVG(x) FROM t",
        ),
        (
            "SELECT WITH user_privacy OPTIONS(max_records_per_user = 2) COUNT(*) FROM t",
            "SELECT WITH user_privacy OPTIONS(epsilon = 0.1, max_records_per_user = 2) COUNT(*) FROM t",
        ),
        (
            "SELECT WITH -- OPTIONS (\n EMD_PRIVACY/* ( */AVG(x) FROM t -- end",
            "SELECT WITH -- OPTIONS (\n EMD_PRIVACY OPTIONS (alpha = 0.1)/* ( */AVG(x) FROM t -- end",
        ),
        (
            "/* 😀 */ SELECT WITH EMD_PRIVACY -- é\n OPTIONS\n ( -- alpha\n delta = 1e-9) AVG(x) FROM t;",
            "/* 😀 */ SELECT WITH EMD_PRIVACY -- é\n OPTIONS\n (alpha = 0.1,  -- alpha\n delta = 1e-9) AVG(x) FROM t;",
        ),
        (
            'SELECT WITH EMD_PRIVACY "options" FROM t',
            'SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) "options" FROM t',
        ),
        ("SELECT WITH EMD_PRIVACY", "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1)"),
        (
            "WITH q AS (SELECT x FROM t) SELECT WITH EMD_PRIVACY AVG(x) FROM q",
            "WITH q AS (SELECT x FROM t) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) AVG(x) FROM q",
        ),
        ("SELECT WITH EMD_PRIVACY AVG(x)\r\nFROM t", "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) AVG(x)\r\nFROM t"),
    ],
)
def test_a_level_put_in(text, wanted):
    assert with_level(text, 0.1) == wanted
    assert stated_level(wanted) == 0.1


def test_the_number_reads_back_exactly_and_no_digit_is_added():
    """5,000 levels of all sizes: the same float, the same decimal."""
    rng = random.Random(3)
    levels = [1 / 3, 0.1, 1e-5, 1e16, 1e22, 123456789.123, 5e-324 * 2**60, 2, 1e-300, 1e300]
    levels += [rng.uniform(1, 10) * 10.0 ** rng.randint(-20, 20) for _ in range(5000)]
    for level in levels:
        if level < 1e-300:
            continue
        found = stated_level(with_level(EMD, level))
        assert found == level
        assert as_decimal(found) == as_decimal(float(level))


@pytest.mark.quarter
@pytest.mark.parametrize("path", [*ACCEPTED, *QUERIES], ids=lambda path: path.stem)
def test_statements_with_their_level_taken_out_and_put_in_are_what_they_were(path):
    """Every shipped and accepted statement: what comes after the header is untouched, and so are its lines."""
    for statement in parse(path.read_text()):
        name = "alpha" if statement.privacy == "EMD_PRIVACY" else "epsilon"
        option = statement.options[name]
        text, shift = statement.text, statement.start
        start, end = option.start - shift, option.end - shift
        while text[end] in " \n\t":
            end += 1
        end += text[end] == ","
        bare = text[:start] + text[end:].lstrip(" ") if text[end - 1] == "," else _without(text, start, end)
        assert stated_level(bare) is None
        put = with_level(bare, 1.25)
        (again,) = parse(put)
        assert again.options[name].value == 1.25
        assert {key: own.value for key, own in again.options.items() if key != name} == {
            key: own.value for key, own in statement.options.items() if key != name
        }
        assert again.tree == statement.tree
        assert put.count("\n") == bare.count("\n")
        assert put[again.header[1] :] == text[statement.header[1] - shift :]


def _without(text, start, end):
    """The last option of its list, and the comma before it, if there is one."""
    before = text[:start].rstrip()
    return before.removesuffix(",") + text[end:]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) FROM t", "level-stated"),
        ("SELECT WITH USER_PRIVACY OPTIONS (delta = 0, epsilon = 2) COUNT(*) FROM t", "level-stated"),
        (f"{EMD}; {EMD}", "several"),
        (" ; -- nothing\n", "empty"),
        ("SELECT AVG(x) FROM t", "no-header"),
        ("SELECT WITH OTHER_PRIVACY AVG(x) FROM t", "unknown-privacy"),
        ("SELECT WITH EMD_PRIVACY OPTIONS (epsilon = 1) AVG(x) FROM t", "unknown-option"),
        ("SELECT WITH EMD_PRIVACY (alpha = 1) AVG(x) FROM t", "options"),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0) AVG(x) FROM t", "option-value"),
        ("DELETE FROM t", "delete"),
    ],
)
def test_what_has_no_place_for_a_level(text, code):
    with pytest.raises(SqlError) as caught:
        with_level(text, 1.0)
    assert caught.value.code == code
    if code != "level-stated":
        with pytest.raises(SqlError):
            stated_level(text)


def test_the_second_of_two_statements_is_underlined():
    with pytest.raises(SqlError) as caught:
        stated_level(f"{EMD};\n{EMD}")
    assert caught.value.start == len(EMD) + 2


@pytest.mark.parametrize("level", [0, -1.0, float("inf"), float("nan"), "1", True])
def test_a_level_is_a_finite_number_above_0(level):
    with pytest.raises(UsageError, match="level"):
        with_level(EMD, level)
