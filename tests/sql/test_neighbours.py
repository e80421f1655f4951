"""``OPTIONS (neighbours = ..)``: what a statement becomes, and what is refused with the option underlined."""

import pytest

from emdp.base.errors import SqlError
from emdp.privacy import UserDP
from emdp.questions.names import Names
from emdp.questions.select import Select
from emdp.sql import translate

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50{more}) "


@pytest.mark.parametrize(
    ("more", "neighbours"),
    [("", "replace"), (", neighbours = 'replace'", "replace"), (", neighbours = 'remove'", "remove")],
)
def test_a_statement_says_its_neighbours(more: str, neighbours: str, spaces: dict[str, Names]) -> None:
    (one,) = translate(HEADER.format(more=more) + "COUNT(*), SUM(price), AVG(price) FROM visits", spaces["line"])
    assert isinstance(one.query, Select)
    assert one.query.price.neighbours == neighbours
    assert one.query.price.promise() == UserDP(0.0, neighbours=neighbours)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "code", "underlined", "says"),
    [
        (
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'remove') MEDIAN(price) FROM visits",
            "removal", "neighbours = 'remove'", "divides by the number of users",
        ),
        (
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'remove') USER_MEAN(price) FROM visits",
            "removal", "neighbours = 'remove'", "leave neighbours out, or ask for COUNT",
        ),
        (
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'add') AVG(price) FROM visits",
            "option-value", "neighbours = 'add'", "must be one of replace, remove",
        ),
        (
            "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, neighbours = 'remove') AVG(price) FROM visits",
            "unknown-option", "neighbours", "it belongs to USER_PRIVACY",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_underlined(
    text: str, code: str, underlined: str, says: str, spaces: dict[str, Names]
) -> None:
    with pytest.raises(SqlError) as caught:
        translate(text, spaces["line"])
    assert caught.value.code == code
    assert text[caught.value.start : caught.value.end] == underlined
    assert says in str(caught.value)
