"""Words of every language: the SQL against Python, both against the standard library, on texts in twenty languages."""

import re
import unicodedata
from itertools import pairwise

import duckdb
import pytest
from languages import HARD, LANGUAGES, texts
from sqlglot import exp

from emdp.spaces import Words
from emdp.spaces.listed import unicode
from emdp.tables.statements.tokens import tokens, unguarded

TABLE = {"word": ["a", "b"], "v": [[0.0], [1.0]]}


def in_duckdb(tokenizer: str, given: list[str]) -> list[list[str]]:
    made = tokens(tokenizer, exp.column("t", quoted=True)).sql("duckdb", identify=True)
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT {made} FROM (SELECT unnest($1) AS t)", [given]).fetchall()
    return [row[0] for row in rows]


def standard(text: str) -> str:
    """NFKC_Casefold by this Python, of what Unicode 14.0 knows; zero width spaces part words, jamo stay as they are."""
    gone = {code: None for low, high in unicode.INVISIBLE for code in range(low, high + 1)}
    text = text.translate({**gone, **dict.fromkeys(map(ord, unicode.APOSTROPHES), "'")})
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text).translate(dict.fromkeys(map(ord, unicode.APOSTROPHES), "'"))


def check_engine(count: int) -> None:
    given = list(texts(count))
    own = [unicode.tokens(text) for text in given]
    assert in_duckdb("unicode", given) == own
    assert len({token for found in own for token in found}) > 500


@pytest.mark.slow
def test_duckdb_makes_the_tokens_of_python() -> None:
    check_engine(5_000)


@pytest.mark.full
def test_duckdb_makes_the_tokens_of_python_of_100_000_texts() -> None:
    check_engine(100_000)


@pytest.mark.slow
def test_every_character_alone_and_between_letters() -> None:
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    # Ideographs and syllables are many, and alike.
    few = [one for one in every if ord(one) < 0x3400 or 0xA000 <= ord(one) < 0xAC00 or 0xF900 <= ord(one) < 0x20000]
    few += every[0x3400:0xA000:101] + every[0xD000 : len(every) : 997]
    given = [f"{one} Aa{one}\u0308e\u0301 " for one in few]
    assert in_duckdb("unicode", given) == [unicode.tokens(text) for text in given]


@pytest.mark.slow
def test_folds_are_those_of_the_standard() -> None:
    """Another way: the whole text at once by unicodedata, where the stated exceptions do not touch it."""
    checked = 0
    for text in texts(20_000, seed=5):
        kinds = {unicodedata.category(one) for one in text}
        is_jamo = any(0x1100 <= ord(one) < 0x1200 for one in unicodedata.normalize("NFKD", text)) and any(
            "\u1100" <= one < "\u1200" or "\u3131" <= one < "\u3190" or "\uffa0" <= one < "\uffe0" for one in text
        )
        runs = unicodedata.normalize("NFD", text)
        has_runs = any(unicodedata.combining(a) and unicodedata.combining(b) for a, b in pairwise(runs))
        if {"Cn", "Co"} & kinds or is_jamo or has_runs:
            continue
        assert unicode.tokens(text) == re.findall(unicode.pattern(), standard(text)), ascii(text)
        checked += 1
    assert checked > 5_000


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("M\u00dcLLER Mu\u0308ller mu\u0308LLER", ["m\u00fcller"] * 3),
        ("Vi\u1ec7t Vie\u0323\u0302t Vie\u0302\u0323t Vi\u00ea\u0323t", ["vi\u1ec7t"] * 4),
        ("Stra\u00dfe STRA\u1e9eE STRASSE", ["strasse"] * 3),
        ("\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03bf\u03c2", ["\u03bf\u03b4\u03bf\u03c3"] * 2),
        ("\u6771\u4eac\u30bf\u30ef\u30fc", ["\u6771", "\u4eac", "\u30bf\u30ef\u30fc"]),
        ("\uff76\uff9e\uff34\uff4f\uff4b\uff59\uff4f", ["\u30actokyo"]),
        ("\u0e19\u0e49\u0e33", ["\u0e19\u0e49\u0e4d", "\u0e32"]),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("don\u2019t '' x\u00b2 \u2764\ufe0f 1\ufe0f\u20e3", ["don't", "x2", "1"]),
        ("\u01c4 \u01c5", ["d\u017e", "d\u017e"]),
        ("\u0130", ["i\u0307"]),
        ("\U0001f469\u200d\U0001f4bb \U00010400\ud800", ["\U00010428"]),
    ],
)
def test_known_tokens(text: str, made: list[str]) -> None:
    assert unicode.tokens(text) == made


def test_ascii_is_the_rule_of_words() -> None:
    own = Words("t", TABLE)
    given = ["I DON'T know!", "a''b 'c' d-e_f 3.14", "", "\x00A\tB", "rock'n'roll'"]
    assert [unicode.tokens(text) for text in given] == [own.tokenize(text) for text in given]
    assert in_duckdb("unicode", given) == in_duckdb("words", given)


def test_tokens_of_a_token_are_itself() -> None:
    for text in [*LANGUAGES.values(), *HARD]:
        for token in unicode.tokens(text):
            assert unicode.tokens(token) == [token]


def test_classes_are_those_of_unicode() -> None:
    """Letters, marks and digits of what was assigned are so in this Python's version too."""
    kinds = {"L": ("L", "Nl", "Nd"), "S": ("L", "Nl"), "M": ("Mn", "Mc")}
    for kind, low, high in unicode._runs():
        for code in range(low, high + 1) if kind in kinds else ():
            assert unicodedata.category(chr(code)).startswith(kinds[kind]), hex(code)


def test_steps_that_do_not_look_first_make_the_same() -> None:
    """As Spark takes them: every one-character step on every text."""
    given = list(texts(300, seed=9))
    made = tokens("unicode", exp.column("t", quoted=True))
    plain = made.transform(lambda node: unguarded(node) if isinstance(node, exp.Translate) else node)
    assert plain != made
    with duckdb.connect() as connection:
        written = plain.sql("duckdb", identify=True)
        rows = connection.execute(f"SELECT {written} FROM (SELECT unnest($1) AS t)", [given]).fetchall()
    assert [row[0] for row in rows] == [unicode.tokens(text) for text in given]
