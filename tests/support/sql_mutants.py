"""Mutated files of tests/sql and queries, and raw text."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from sql_grammar import HEADERS
from sql_worlds import WORLDS

ROOT = Path(__file__).resolve().parents[2]

PIECES = re.compile(r"\s+|--[^\n]*|/\*.*?\*/|'(?:''|[^'])*'|\"(?:\"\"|[^\"])*\"|\w+|.", re.DOTALL)

STRANGE = (
    "\x00", "\x1b[31m", "\u202e", "\u200b", "\ufeff", "\ud800", "’", "“", "`", "\u2028", "İ", "ſ", "K", "ﬁ", "𝒙",
    "e\u0301", "\r", "\t", "\x0b", "\x85", "\xa0", "(", ")", "[", "]", "{", "}", "{{", "{#", "#}", "{%", "';--", "'",
    '"', "''", '""', "$$", "$zq$", "E'\\''", "U&'\\0041'", "x'00'", "b'1'", "\\", "/*", "*/", "/*+ zq */",
    "/* /* zq */ */", "--", "-- zq\n", "#", "@", "@@", "::", ":=", "=>", "->", "->>", "|>", "||", "<=>", "!", "!!",
    "~", "^", "^@", "?", "$1", ":zq", "%", "&&", "<->", ";", ";;", ",", ",,", "..", ".", "*", "1e309", "1e-400",
    "0x1F", "1_000", "1.", ".5", ".", "9" * 400, "-9223372036854775808", "1e", "1e+", "1..2", "NaN", "Infinity",
    "1" + "0" * 320, "NULL", "TRUE", "DISTINCT", "ALL", "AS", "FROM", "WHERE", "GROUP BY", "HAVING 1", "QUALIFY",
    "OVER ()", "UNION", "ON", "FILTER (WHERE TRUE)", "IGNORE NULLS", "WITHIN GROUP (ORDER BY 1)", "COLLATE nocase",
    "TABLESAMPLE 10%", "USING", "LATERAL", "SELECT", "WITH", "WITH EMD_PRIVACY", "OPTIONS (alpha = 1)", "LIMIT 5",
    "OFFSET -1", "ORDER BY ALL", "ORDER BY 1 NULLS FIRST", "NOT", "NOT NOT", "IS NULL", "BETWEEN", "LIKE '%'",
    "ESCAPE '\\'", "SIMILAR TO", "GLOB", "CAST(", "::INT", "INTERVAL 1 DAY", "CASE", "END", "EXCLUDE", "REPLACE",
    "VALUES (1)", "EXPLAIN", "COPY", "ATTACH ':memory:' AS zq", "LOAD httpfs", "PRAGMA", "CREATE MACRO zq() AS 1",
    "'zq'", '"zq"', "read_csv('zq')", "random()", "(SELECT 1)", "price", "category", "user_id", "visits", "kinds",
    "plan", "zq", "POINT(", "VECTOR[", "GRID(",
)  # fmt: skip
"""What a mutation puts into a text: odd characters, quotes, numbers, words of SQL in the wrong place."""


def _nested(piece: str, count: int) -> str:
    return "(" * count + piece + ")" * count


REPEATED: tuple[Callable[[str, int], str], ...] = (
    _nested,
    lambda piece, count: "-" * 2 * count + piece if count < 3 else "-(" * count + piece + ")" * count,
    lambda piece, count: " + ".join([piece] * count),
    lambda piece, count: ", ".join([piece] * count),
    lambda piece, count: "NOT " * count + piece,
    lambda piece, count: "ABS(" * count + piece + ")" * count,
    lambda piece, count: "CASE WHEN category = 'cafe' THEN " * count + piece + " ELSE 1 END" * count,
    lambda piece, count: " AND ".join([piece] * count),
    lambda piece, count: piece + "[1]" * count,
    lambda piece, count: ".".join([piece] * count),
    lambda piece, count: "(SELECT * FROM " * count + piece + ")" * count,
    lambda piece, count: ", ".join(f"AVG({piece}) AS zq_{number}" for number in range(count)),
    lambda piece, count: piece * count,
)
"""One piece many times."""


@dataclass(frozen=True)
class Text:
    """A file of statements, in pieces, and the world that it is about."""

    world: str
    pieces: tuple[str, ...]


@cache
def corpus() -> tuple[Text, ...]:
    """Return all statements of tests/sql and queries, with the accepted ones twice."""
    found = []
    for path in [*sorted((ROOT / "tests/sql").glob("*/*.sql")), *sorted((ROOT / "queries").glob("*.sql"))]:
        lines = path.read_text(encoding="utf-8").split("\n")
        space = next((line.split(": ")[1] for line in lines if line.startswith("-- space: ")), None)
        name = space or next((known for known in WORLDS if path.stem.startswith(known)), "city")
        text = "\n".join(line for line in lines if not re.match(r"-- \w+: ", line))
        pieces = Text(name, tuple(PIECES.findall(text)))
        found += [pieces] if path.parent.name == "refused" else [pieces] * 4
    return tuple(found)


def _cased(piece: str, way: int) -> str:
    return [piece.upper(), piece.lower(), piece.title(), piece.swapcase(), piece.replace("s", "ſ").replace("k", "K")][
        way
    ]


WAYS = ("delete", "repeat", "swap", "move", "put", "turn", *["like"] * 4, "case", "many", "comment", "splice")
"""How a file is mutated; ``like`` puts a word for a word, a number for a number."""

KINDS_OF_PIECES = (r"[A-Za-z_]\w*", r"[\d.]+", r"'.*'", r"\".*\"", r"[^\w\s]")


@cache
def _alike(kind: str) -> tuple[str, ...]:
    """Return the pieces of a kind in all files, each once, and odd ones."""
    every = {piece: None for text in corpus() for piece in (*text.pieces, *STRANGE) if re.fullmatch(kind, piece)}
    return tuple(every)


def _mutated(rng: random.Random, pieces: list[str], way: str) -> None:
    place, other = (rng.randrange(len(pieces)) for _ in range(2))
    if way == "put":
        pieces.insert(place, rng.choice(STRANGE))
    elif way == "delete":
        del pieces[place : place + rng.randint(1, 3)]
    elif way == "repeat":
        pieces[place:place] = pieces[min(place, other) : max(place, other) + 1]
    elif way == "swap":
        pieces[place], pieces[other] = pieces[other], pieces[place]
    elif way == "move":
        pieces.insert(other, pieces.pop(place))
    elif way == "turn":
        pieces[place] = rng.choice((*STRANGE, *rng.choice(corpus()).pieces))
    elif way == "like":
        kind = next((kind for kind in KINDS_OF_PIECES if re.fullmatch(kind, pieces[place])), None)
        pieces[place] = pieces[place] if kind is None else rng.choice(_alike(kind))
    elif way == "case":
        pieces[place] = _cased(pieces[place], rng.randrange(5))
    elif way == "many":
        pieces[place] = rng.choice(REPEATED)(pieces[place][:40], rng.choice((2, 3, 10, 30, 120, 600)))
    elif way == "comment":
        pieces.insert(place, rng.choice(("/* zq */", " -- zq\n", "/*zq", "/* /* zq */", " ")))
    else:
        pieces[place:] = rng.choice(corpus()).pieces[other:]


@st.composite
def mutants(draw: Any) -> tuple[str, str]:
    """Return a world and a mutated file."""
    # Places must be spread evenly: hypothesis itself prefers the first, where nothing but the header stands.
    rng = draw(st.randoms(use_true_random=True))
    base = rng.choice(corpus())
    pieces = list(base.pieces)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        _mutated(rng, pieces, rng.choice(WAYS))
        pieces = pieces or [" "]
    return base.world, "".join(pieces)[:150_000]


@st.composite
def raw(draw: Any) -> tuple[str, str]:
    """Return a world and a text of any characters, or of words of SQL in any order."""
    name = draw(st.sampled_from(["city", "count"]))
    words = st.lists(st.sampled_from(STRANGE), max_size=30).map(" ".join)
    anything = st.text(st.characters(codec=None), max_size=80)
    text = draw(st.one_of(anything, words, st.binary(max_size=80).map(lambda some: some.decode("latin-1"))))
    head = draw(
        st.sampled_from(["", "", "SELECT ", f"SELECT {HEADERS[0]} ", f"SELECT {HEADERS[0]} AVG(price) FROM visits "])
    )
    return name, head + text
