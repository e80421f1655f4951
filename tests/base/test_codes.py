"""Numbers of errors: each sentence of the code has one, and a number is never given twice or taken back."""

import re
from collections import Counter

import pytest

from emdp.base import codes, errors
from emdp.base.errors import BudgetExceededError, EmdpError, LedgerError, SqlError, UsageError
from tests.base.error_sites import classes, read_table, renewed, sites

KEPT = {
    "E0001": ("EmdpError", "", ""),
    "E0002": ("UsageError", "", ""),
    "E0010": ("LedgerError", "", ""),
    "E0412": ("UsageError", "", "expression must be an emdp expression, not {}; use emdp.col."),
    "E0524": ("LedgerError", "", "ledger {} is on a server that does not flush commits; set fsync = on there."),
    "E1207": None,
    "E1497": ("SqlError", "hash", None),
    "E1718": ("SqlError", "window", None),
}
"""Lines all along the table: a number that was taken back or given anew would move those behind it."""

UNLISTED = 0.05
"""Share of the sentences that may wait for their number: those of changes that come together."""


def test_numbers_run_without_a_gap_and_are_never_given_twice() -> None:
    lines = read_table()
    assert [line[0] for line in lines] == [f"E{place:04d}" for place in range(1, len(lines) + 1)]
    assert len(lines) >= 1725
    assert all(len(line) == 4 for line in lines)
    assert {line[1] for line in lines} <= set(classes())
    names = Counter(line[2] for line in lines if line[2])
    assert max(names.values()) == 1
    assert max(Counter((line[1], line[3]) for line in lines if not line[2]).values()) == 1


@pytest.mark.parametrize("number", KEPT)
def test_numbers_stay(number: str) -> None:
    found = codes.find_code(number)
    kept = KEPT[number]
    assert found is not None
    if kept is not None:
        assert (found.kind, found.name) == kept[:2]
        assert kept[2] is None or found.sentence == kept[2]


@pytest.mark.slow
def test_each_sentence_of_the_code_has_a_number() -> None:
    table = read_table()
    known = {(line[1], line[3]) for line in table} | {line[2] for line in table if line[2]}
    found = sites()
    missing = [site for site in found if (site[1] or (site[0], site[2])) not in known]
    assert len(missing) <= UNLISTED * len(found), ("run python -m tests.base.error_sites", missing[:10])


def test_each_class_has_a_number_of_its_own() -> None:
    for name in classes():
        kind = getattr(errors, name)
        general = codes.code_of(tuple(own.__name__ for own in kind.__mro__), "", "said by nobody")
        assert (general.kind, general.sentence) == (name, "")


def test_a_reworded_sentence_keeps_its_number_and_others_get_new_ones() -> None:
    table = [["E0001", "UsageError", "", "alpha must be above 0, got {}; pass a positive number."]]
    lines = renewed(table, [("UsageError", "", "alpha must be above 0, not {}; pass a positive number.")])
    assert lines[0] == ["E0001", "UsageError", "", "alpha must be above 0, not {}; pass a positive number."]
    lines = renewed(lines, [("UsageError", "", "the box has no area; pass another box.")])
    assert lines[0][3].startswith("alpha")
    assert lines[-1][3].startswith("the box")
    assert renewed(lines, [("UsageError", "", "the box has no area; pass another box.")]) == lines


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UsageError("records must be an int, not 2.5; pass an int."), "{} must be an int, not {}; pass an int"),
        (UsageError("nothing of this is a sentence of emdp"), ""),
        (LedgerError("x"), ""),
        (BudgetExceededError("x"), ""),
    ],
)
def test_an_error_has_the_number_of_its_sentence(error: EmdpError, sentence: str) -> None:
    found = codes.find_code(error.number)
    assert found is not None
    assert re.fullmatch(r"E\d{4}", error.number)
    assert found.sentence.removesuffix(".") == sentence or sentence.startswith("{}")


def test_a_refused_statement_has_the_number_of_its_name() -> None:
    error = SqlError("no", remedy="yes", code="window", sql="SELECT 1", start=0, end=6)
    found = codes.find_code(error.number)
    assert found is not None
    assert found.name == "window"
    unknown = SqlError("no", remedy="yes", code="of-no-line", sql="SELECT 1", start=0, end=6)
    assert codes.find_code(unknown.number) == codes.Code(unknown.number, "SqlError", "", "")


def test_a_subclass_of_somebody_else_has_the_number_of_its_parent() -> None:
    class ToyError(UsageError):
        """Somebody's own."""

    assert ToyError("of no line").number == UsageError("of no line").number


@pytest.mark.parametrize(
    ("sentence", "message", "fits"),
    [
        ("a {} b {} c", "a 1 b 2 c", True),
        ("a {} b {} c", "a b c", False),
        ("a {}", "a ", True),
        ("a b", "a b c", False),
        ("{} is aa", "aa is aa", True),
        ("x{}x", "x", False),
    ],
)
def test_sentences_are_told_by_their_pieces(sentence: str, message: str, fits: bool) -> None:
    assert codes._fits(sentence, message) is fits
