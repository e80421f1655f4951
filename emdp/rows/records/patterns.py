"""LIKE and regular expressions with patterns that are written out.

A regular expression must mean the same to RE2 (DuckDB) and to Java (Spark), and Java must neither run long nor out of
its stack on any text: so groups are not repeated, only single characters and classes are, and what engines read
differently is rewritten: ``^`` and ``$`` to the ends of the text, ``.`` to any character but a newline, ``\\d``,
``\\w``, ``\\s`` to lists.
"""

from collections.abc import Sequence

from emdp.rows.record import Form, Given, RowFunction
from emdp.rows.records.logic import BOOLEANS
from emdp.rows.records.texts import duckdb_text, spark_text
from emdp.rows.types import Kind, Value

__all__ = ["RECORDS", "regular"]

LONGEST = 200
"""Of a pattern."""
MOST_REPEATS = 3
"""Repeated parts of a pattern: Java's time grows with the text's length to this power."""

CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
LITERAL = frozenset(" !\"#%&',-/:;<=>@_`~")
ESCAPED = frozenset(r"\.^$|?*+()[]{}-/") | LITERAL
OPEN = frozenset("|*+?{}()[]^$.\\")


def _like_problem(value: Value) -> str | None:
    is_good = isinstance(value, str) and len(value) <= LONGEST and "\x00" not in value and value.count("%") <= 4
    return None if is_good else f"must be written out, of {LONGEST} characters and four % at most"


def _like_spark(values: Sequence[Value]) -> str:
    parts = {"%": "(?s:.*)", "_": "(?s:.)"}
    pattern = "".join(parts.get(letter, _escaped(letter)) for letter in str(values[1]))
    whole = rf"\A{pattern}\z"
    return f"regexp_like(emdp_0, {spark_text(whole)})"


def _escaped(letter: str) -> str:
    return letter if letter.isalnum() and letter.isascii() else f"\\x{{{ord(letter):x}}}"


def regular(pattern: str) -> str | None:
    """Return a pattern as both engines read it alike, None where it uses more than they share.

    >>> regular("^a.d$"), regular("(ab)+"), regular("[[:alpha:]]")
    ('\\\\Aa[^\\\\n]d\\\\z', None, None)
    """
    made: list[str] = []
    place, depth, repeats, can_repeat, is_group = 0, 0, 0, False, False
    while place < len(pattern):
        letter = pattern[place]
        piece, size = _piece(pattern, place)
        if piece is None:
            return None
        if letter in "*+?{":
            # Only ? may follow a group, since it repeats nothing.
            if not can_repeat or (is_group and letter != "?"):
                return None
            repeats += letter != "?"
            can_repeat = False
        else:
            depth += (letter == "(") - (letter == ")")
            can_repeat, is_group = letter not in "(|^$", letter == ")"
        if depth < 0:
            return None
        made.append(piece)
        place += size
    return "".join(made) if depth == 0 and repeats <= MOST_REPEATS else None


def _piece(pattern: str, place: int) -> tuple[str | None, int]:
    """Return what one construct at a place is rewritten to, and how many characters it takes."""
    letter = pattern[place]
    if letter in "*+?|)":
        return letter, 1
    if letter == "(":
        return (None, 1) if pattern[place + 1 : place + 2] == "?" else ("(?:", 1)
    if letter in "^$.":
        return {"^": "\\A", "$": "\\z", ".": "[^\\n]"}[letter], 1
    if letter == "{":
        return _counted(pattern, place)
    if letter == "[":
        return _class(pattern, place)
    if letter == "\\":
        after = pattern[place + 1 : place + 2]
        if after in CLASSES and after:
            return f"[{CLASSES[after]}]", 2
        return (_escaped(after), 2) if after and after in ESCAPED else (None, 1)
    return (None, 1) if letter in "]}" or letter < " " else (_escaped(letter), 1)


def _counted(pattern: str, place: int) -> tuple[str | None, int]:
    end = pattern.find("}", place)
    counts = pattern[place + 1 : end].split(",") if end > 0 else []
    is_good = 1 <= len(counts) <= 2 and all(
        count.isascii() and count.isdigit() and int(count) <= 100 for count in counts
    )
    if not is_good or (len(counts) == 2 and int(counts[0]) > int(counts[1])):
        return None, 1
    return pattern[place : end + 1], end + 1 - place


def _class(pattern: str, place: int) -> tuple[str | None, int]:
    """Return a class such as ``[^a-z_]``: letters, digits, ranges of these, some signs, ``\\d``, ``\\w``, ``\\s``."""
    end = pattern.find("]", place)
    inside = pattern[place + 1 : end] if end > 0 else ""
    negation = "^" if inside.startswith("^") else ""
    rest, made = inside[len(negation) :], ""
    while rest:
        if rest[0] == "\\" and len(rest) > 1 and (rest[1] in CLASSES or rest[1] in ESCAPED):
            made += CLASSES.get(rest[1]) or _escaped(rest[1])
            rest = rest[2:]
        elif len(rest) > 2 and rest[1] == "-" and rest[0].isalnum() and rest[2].isalnum() and rest[0] <= rest[2]:
            made += f"{_escaped(rest[0])}-{_escaped(rest[2])}"
            rest = rest[3:]
        elif rest[0] in OPEN - {"."} or rest[0] < " ":
            return None, 1
        else:
            made += _escaped(rest[0])
            rest = rest[1:]
    return (f"[{negation}{made}]", end + 1 - place) if made else (None, 1)


def _regular_problem(value: Value) -> str | None:
    is_good = isinstance(value, str) and 0 < len(value) <= LONGEST and regular(value) is not None
    return (
        None if is_good else "must be made of characters, classes, ^ $ . | and groups, with * + ? {n} behind characters"
    )


def _regular(values: Sequence[Value]) -> str:
    return f"regexp_matches(emdp_0, {duckdb_text(regular(str(values[1])))})"


def _regular_spark(values: Sequence[Value]) -> str:
    return f"regexp_like(emdp_0, {spark_text(regular(str(values[1])))})"


_LIKE = Given(
    Kind.TEXT,
    "a pattern",
    _like_problem,
    "write it in quotes, with % for any text and _ for any character",
    ("a%", "%é_", "", "%", "%1.5$%", "a\\b", "a\\%"),
)
_PATTERN = Given(
    Kind.TEXT,
    "a pattern",
    _regular_problem,
    "write LIKE, or a pattern of these parts, and (a|b) in place of a repeated group",
    ("^a", "[0-9]+$", "(ab|é)?c", r"\d{1,3}\.\d", "[^a-z ]"),
)

RECORDS = (
    RowFunction(
        "like",
        (Form((Kind.TEXT, _LIKE), Kind.BOOLEAN, "{0} LIKE {1}", _like_spark, values=lambda values: BOOLEANS),),
    ),
    RowFunction(
        "regexp_matches",
        (Form((Kind.TEXT, _PATTERN), Kind.BOOLEAN, _regular, _regular_spark, values=lambda values: BOOLEANS),),
        names=("regexp_like", "regexp_contains"),
    ),
)
