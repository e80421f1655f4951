"""Tokens of a text as SQL: for the words of :class:`emdp.Words`, and for strings that nobody listed.

The folds of ``"unicode"`` (:mod:`emdp.spaces.listed.unicode`) would take an engine long on every text. So each step
looks first whether the text as given holds a character of its own, and does nothing otherwise. The order of the steps
does not count but for the last one, which puts letters and marks together: a fold is of one character, and what it
makes is folded no further.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from sqlglot import exp

from emdp.spaces import Words
from emdp.spaces.listed import unicode
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["folded", "lowered", "tokens", "unguarded"]

BLOCKS = (0x80, 0x370, 0x400, 0x530, 0x2000, 0xFB50, 0xFF00, 0x110000)
"""Code points between which characters are folded in one step: Latin, Greek, Cyrillic, other letters, signs and
ideographs, Arabic forms, full and half width."""

PART, LINE = "\t", "\n"
"""What stands between what is replaced and what replaces it, and after each such pair."""


def tokens(tokenizer: str, text: Sql) -> Sql:
    """Return the list of a text's tokens, by the rule of that name of :class:`emdp.Words`."""
    if tokenizer == "words":
        text = lowered(text)
    elif tokenizer == "unicode":
        text = folded(text)
    return exp.Anonymous(this="regexp_extract_all", expressions=[text, sql.text(Words.pattern_of(tokenizer))])


def lowered(text: Sql) -> Sql:
    """Return a text with small letters for ASCII capitals."""
    return exp.Translate(this=text, from_=sql.text(Words.CAPITALS), to=sql.text(Words.SMALL))


def folded(text: Sql) -> Sql:
    """Return a text as :func:`emdp.spaces.listed.unicode.folded` makes it."""
    folds = unicode.folds()
    made = lowered(text)
    for characters in _blocks(key for key in folds.single if not key.isascii()):
        made = _translated(made, text, {one: folds.single[one] for one in characters})
    # What becomes nothing is translated too: only what becomes several characters needs to be looked for.
    made = _translated(made, text, {one: new for one, new in folds.several.items() if not new})
    for characters in _blocks(one for one, new in folds.several.items() if new):
        made = _replaced(made, {one: folds.several[one] for one in characters}, _has(text, characters))
    made = _replaced(made, folds.pairs, _has(text, _marked(folds)))
    return sql.case([(_has_class(text, "\x80-\U0010ffff"), made)], lowered(text.copy()))


def unguarded(node: exp.Translate) -> exp.Translate:
    """Return a step of single characters that does not look first, for engines that keep its table from text to text.

    A text without any of the characters stays as it is in either form.
    """
    sides = node.args["from_"], node.args["to"]
    if not all(isinstance(side, exp.Case) and side.args["default"].name == "" for side in sides):
        return node
    one, other = (side.args["ifs"][0].args["true"] for side in sides)
    return exp.Translate(this=node.this, from_=one, to=other)


def _blocks(characters: Iterable[str]) -> Iterator[list[str]]:
    """Yield characters in groups, each of one block."""
    for _, group in groupby(sorted(characters), lambda one: sum(ord(one) >= first for first in BLOCKS)):
        yield list(group)


def _marked(folds: unicode.Folds) -> set[str]:
    """Return the characters that may bring a mark to be put together with what stands before it."""
    made = {**folds.single, **folds.several}
    return {*folds.marks, *(one for one, new in made.items() if not folds.marks.isdisjoint(new))}


def _has(text: Sql, characters: Iterable[str]) -> Sql:
    return _has_class(text, unicode.character_class(_ranges(sorted(map(ord, characters)))))


def _has_class(text: Sql, inside: str) -> Sql:
    return exp.Anonymous(this="regexp_matches", expressions=[text.copy(), sql.text(f"[{inside}]")])


def _ranges(codes: list[int]) -> Iterator[tuple[int, int]]:
    for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        run = [code for _, code in group]
        yield run[0], run[-1]


def _translated(value: Sql, text: Sql, new: Mapping[str, str]) -> Sql:
    """Return a value with single characters for others, where the text as given has any of these."""
    has = _has(text, new)
    sides = ("".join(new), "".join(new.values()))
    one, other = (sql.case([(has.copy(), sql.text(side))], sql.text("")) for side in sides)
    return exp.Translate(this=value, from_=one, to=other)


def _replaced(value: Sql, new: Mapping[str, str], has: Sql) -> Sql:
    """Return a value with strings for others, one after the other, under a condition."""
    listed = LINE.join(one + PART + other for one, other in new.items())
    pairs = exp.Anonymous(
        this="string_split", expressions=[sql.case([(has, sql.text(listed))], sql.text("a\ta")), sql.text(LINE)]
    )
    one, other = (
        exp.Anonymous(this="split_part", expressions=[sql.column("pair"), sql.text(PART), sql.integer(place)])
        for place in (1, 2)
    )
    body = exp.Anonymous(this="replace", expressions=[sql.column("made"), one, other])
    step = exp.Lambda(this=body, expressions=[exp.to_identifier("made"), exp.to_identifier("pair")])
    return exp.Anonymous(this="list_reduce", expressions=[pairs, step, value])
