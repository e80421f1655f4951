"""Names of tables: what is seen is what is compared."""

import pytest

from emdp.base.checks import check_table_name, table_key
from emdp.base.errors import UsageError


@pytest.mark.parametrize("name", ["visits", "Visits 2026", "größe", "café", "旅行", "a-b.c", "поездки"])
def test_plain_names_stay_as_they_are(name: str) -> None:
    assert check_table_name(name) == name
    assert table_key(name) == table_key(name.upper()) == table_key(name.lower())


@pytest.mark.parametrize(
    "name",
    [
        "", " visits", "visits ", "vi\tsits", "visits\n", "visits\0", "visits\u200b", "\ufeffvisits", "vi\u00adsits",
        "visits\u2060", "visits\ufe0f", "visits\u3164", "visits\U000e0001", "\u202evisits", "cafe\u0301",
        "visits\u00a0", "\ud800", "\u212b",
    ],
)  # fmt: skip
def test_names_that_another_may_look_like_are_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(UsageError, match="name the table in plain letters") as caught:
        check_table_name(name)
    assert str(caught.value).isascii()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("visits", "VISITS"),
        ("straße", "STRASSE"),
        ("visits", "ｖｉｓｉｔｓ"),
        ("visits", "vi\u200bsits"),
        ("ﬁle", "FILE"),
    ],
)
def test_names_that_are_one_to_sql_or_to_the_eye_have_one_key(one: str, other: str) -> None:
    assert table_key(one) == table_key(other)


def test_other_names_have_other_keys() -> None:
    names = ["visits", "visit", "visits2", "vísits", "vi sits", "визиты"]
    assert len({table_key(name) for name in names}) == len(names)
