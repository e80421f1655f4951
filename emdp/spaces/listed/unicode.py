"""Words of every language: which characters they have, and which spellings are one word.

**Rule.** Unicode 14.0, the version of the oldest Python that is served. Characters become their NFKC_Casefold one by
one: compatible forms are the plain ones (full and half width, ligatures, presentation forms, circled and raised
numbers), letters are folded (the sharp s to ss, all sigmas to one), and what shows nothing goes (soft hyphens, joiners,
marks of direction, variation selectors), but for the zero width space, which parts words. Then a mark joins the letter
before it where one character stands for both. Then tokens are runs of letters, digits and marks that begin with no
mark; an apostrophe, middle dot, geresh or gershayim stays between two of them. In scripts without spaces between words
(Han, Hiragana, Thai, Lao, Khmer, Myanmar, Tai, Tangut, Nushu, Khitan) each letter with its marks is a token; Katakana
and Hangul are runs. On ASCII that is the rule ``"words"``.

**Not done.** Marks that do not stand next to their letter stay as they are, and so do single Hangul jamo: two spellings
of such a word are two tokens. Characters that Unicode 14.0 had not assigned part words, or are letters where only such
characters lie between them and letters on both sides.

**One answer everywhere.** Engines and Pythons have Unicode of their own versions, so none of their tables is
asked. :data:`CLASSES` says what each character is. Folds are computed by ``unicodedata``, of characters that
Unicode 14.0 had assigned alone: for those the standard promises that normal forms and folds never change (Unicode
Character Encoding Stability Policies, normalization and case folding). :data:`DIGEST` holds Python to it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, cached_property

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError

__all__ = ["VERSION", "Folds", "character_class", "folded", "folds", "pattern", "tokens"]

VERSION = "14.0.0"
"""Version of Unicode."""

CLASSES = (
    "O1cLaO7LqO6LqO1bLOaLO4LO5LnOLvOLcqO4LcOeL5O7LOLOhM34L5OL2U2L4OLU4O2LOL3ULULkUL2bOL3vOM5O2L4mUL12U2LO6L15O2U2O3UM"
    "19OMOM2OM2OMU8LrU4L4O2UbOgMbO5L17MlLaO4L2ML2rOLM7O2M6L2M2OM4LfO2LOeUOLMLuMrU2L2hMbLUeL17M9L2O4LU2MO2LmM4LM9LM3LM"
    "5U2OfULpM3U2OULbU5LoOL6UO2U6M8L16MoOMxL1iM3LMiLM7LaM2O2LaOLgM3UL8U2L2U2LmUL7ULU3L4U2MLM7U2M2U2M3LU8MU4L2UL3M2U2L"
    "cOaLOMU2M3UL6U4L2U2LmUL7UL2UL2UL2U2MUM5U4M2U2M3U3MU7L4ULU7LaM2L3MOUaM3UL9UL3ULmUL7UL2UL5U2MLM8UM3UM3U2LUfL2M2U2L"
    "aO2U7LM6UM3UL8U2L2U2LmUL7UL2UL5U2MLM7U2M2U2M3U7M3U4L2UL3M2U2LaOLO6UaMLUL6U3L3UL4U3L2ULUL2U3L2U3L3U3LcU4M5U3M3UM4"
    "U2LU6MUeLaObU5M5L8UL3ULnULgU2MLM7UM3UM4U7M2UL3U2LU2L2M2U2LaU7O9LM3OL8UL3ULnULaUL5U2MLM7UM3UM4U7M2U6L2UL2M2U2LaUL"
    "2UdM4L9UL3UL15M2LM7UM3UM4LOU4L3MO7L3M2U2LaOaL6UM3ULiU3LoUL9ULU2L7U3MU4M6UMUM8U6LaU2M2OUcS1cMS2M7U4OS7M8OLaO2U11S"
    "2USUS5USoUSUSaMS2M9SU2S5USUM6U2LaU2S4UwLOnM2O6LaObMOMOMO4M2L8UL10U4MkOM2L5MbUM10UO8MO6UOdU11S17MkSLaO6S6M4S4M3SM"
    "3S2M7S3M4SdMcSMLaM4O2L12ULU5LU2L17OL99UL4U2L7ULUL4U2L15UL4U2LxUL4U2L7ULUL4U2LfUL1lUL4U2L1vU2M3OtU3LgOaU6L2eU2L6U"
    "2OLh8O2LhOLqO2U3L23O3LbU7LiM4U9LjM3O2U9LiM2UcLdUL3UM2UcS1gMwO3SO4SMU2LaU6OaU6ObM3OMLaU6L2hU7L5M2LyMLU5L1yUaLvUMc"
    "U4McU4OU3O2LaSuU2S5UbS18U4SqU6LaOU3OyLnM5U2O2S1hMaUMtU2MLaU6LaU6O7SO6U2MeOMgU1dM5L1bMhL8U3LaOhM9ObUM3LuMdL1kMeU8"
    "O4L10MkU3O5LaU3L1dO2L9U7L17U2L3O8U8M3OMlL4ML6ML2M3LU5L5cM1sL7qU2L6U2L12U2L6U2L8ULULULULvU2L1hUL7OLO3L3UL7O3L4U2L"
    "6UO3LdO3U2L3UL7O2UO2tUObLU2ObLOfULdU3OxUfMdO4MO3McUfO2LO4LO2LaOLO3L5O6LOLOLOL4OLbO2L4O5L5O4LOhL15O3U4OifUpObUlO1"
    "ecU2OwUO2xL6dO6L4M3L2U5O7L12ULU5LU2L1kU7LOUeMLnU9L7UL7UL7UL7UL7UL7UL7UL7UMwO1bLO1aUyOqUO2hUcO5yUqOcU4O5S3OpS9M6O"
    "L5O2S3L2O3US2eU2M2O2S3OL2iOL4U5L17UL2mUOgLwO10UcLgOvUOdcS534O1sSg74LwdU3O1jU9L1aO2L7hO3LsUkL1bMO4MaOLvM2L28M2O6U"
    "8OnL9O2L2vO2L1sU5L2ULUL5UoLgML3ML4MLnM5O4MU3OaU6L1gO4U8M2L1eMiU8O2LaU6MiL6O3LOL2ML12M8O2LnMdUbOLtU3M4L1bMeOdULbU"
    "4O2S5MSaLaS5UL15MeU9L3ML8M2U2LaU2O4SnO3SM3S1eMSM3S2M2S5M2SMSUoS3O2LbM5O2L3M2UaL6U2L6U2L6U9L7UL7UL17OLeO2U4L37M8O"
    "M2U2LaU6L8mcUcLnU4L1dU4O1kwU4xsSa6U2S2yU12L7UcL5U5LMLaOLdUL5ULUL2UL2UL30OhUgLa3OiL1sU2L1iU7OUwLcO4MgOaU6MgOzUOjU"
    "O4U4L5UL3rU2OUOfLaO7LqO6LqObL2hU3L6U2L6U2L6U2L3U3O7UO7UaO5U2LcULqULjUL2ULfU2LeUyL3fU5O3U4O19U3O9L1hOqUOdU3OU1bO1"
    "9MU3mLtU3L1dUfMOrU4LwO4U9LuU5L12M5U5LuUOL10U4L8OL5U16L4eU2LaU6L10U4L10U4L14U8L1gUbOLbULfUL7UL2ULbULfUL7UL2U1vL8n"
    "U9LmUaL8UoL6UL16UL9U1xL6U2LUL18UL2U3LU2LnUO9LnO9LvU8O9U1cLjUL2U5O5LmO6U3OLqU5OU1sL1kU4O2L2OgU2O1aLM3UM2U5M4L4UL3"
    "ULtU2M3U4MO9U7O9U7LtO3LtO3UwL8OLsM2U4OcU9L1iU3O7LmU2O8LjU5O8LiU7O4UcO7U28L21U1jL1fUdL1fU7O6L10M4U8LaU86OvUL16UM2"
    "OU2L2U26LtOaLU8LmMbO9UmLiM4O4U12LlO7UkLnU9M3L1hMfO7U4OkLaML2M2LU9M4L19MbO7MUaOU2LpU7LaU6M3L10MeULaO4LM2LU8LzMO2L"
    "U9M3L1cMeL4O4M4OM2LbOLO3UOkUbLiULpMcO6MU1tL7ULUL4ULfULaOU6L1bMcU5LaU6M4UL8U2L2U2LmUL7UL2UL5UM2LM7U2M2U2M3U2LU6MU"
    "5L5M2U2M7U3M5U3vL1hMiL4O5LaO2UOML3UuL1cMkL2OLU8LaU4mL1bM7U2M9OnL4M2UyL1cMhO3LUbLaU6OdUjL17MdLOU6LaU1iLrU2MfU4LaO"
    "6L7U55L18MfOU2sL22O9UcL8U2LU2L8UL2ULoM6UM2U2M4LMLM2O3U9LaU1yL8U2L13M7U2M7LOLMUrLMaL14M7LM4O8MU8LMbL1aMgO3LO5UdL2"
    "1U7bL9UL11M8UM8LO5UaLaOjU3O2LuU2MmUMeU21L7UL2UL12M6U3MUM2UM7LMU8LaU6L6UL2ULwM5UM2UM5LU7LaU8mLjM4O2U53LUfO1eUdOLp"
    "mU2uL33UO5UbL5gU218L2pO2UdLtrUO9U347Lg7U6ntLftU7LvULaU4O2L27ULaU6LuU2M5OUaL1cM7O9L4O2UaLaUO7ULlU5LjUj4L1sOrU2tL2"
    "3U4MLM1jU7M4LdU1sS2OLMUbM2UeL4qgU8SyeU16L9U6w7L4UL7UL2ULSL7xSL3U19S3UhL4U8Sb0U1s4L2zU5LdU3L9U7LaU2OM2O5U3mkM1aU2"
    "MnU9O38U1oO6uUaO13U2O1oM5O3M6O8M8O2M7OuM4O1pUlO1uM3OU4aOkUcO2fU9OpU3rL2dUL1zUL2U2LU2L2U2L4ULcULUL7UL1tUL4U2L8UL7"
    "ULsUL4UL5ULU3L7UL9gU2LpOLpOLvOLpOLvOLpOLvOLpOLvOLpOL8U2L1eOe8M1jO4M1eO8MOeMO7UfM5UMfUuoLvU69M7UMhU2M7UM2UM5U5xL1"
    "9U3M7L7U2LaU4LOU8wLuMUhL18M4LaU5OUyoL7UL4UL2ULfUL5hU2O9M7U15L1wM7LU4LaU4O2UltO1wU24O1pU5eL4ULrUL2ULU2LULaUL4ULUL"
    "U6LU4LULULUL3UL2ULU2LULULULULUL2ULU2L4UL7UL4UL4ULULaULhU5L3UL5ULhU1gO2U7iO18U4O2sUcOfU2OfUOfUO11UaO4uU1kOtUdO18U"
    "4O9U7O2UeO6U4aOrcU5OgU3OdU3O38UcO2hU7OcU4OUfOcU4O1kU8OaU6O14U8OuU2O2U26O9gUcOeU2O5U3O5U3O7U9OtU3ObU5O6UaOaU6O8U8"
    "O7U9O43UO1jU11LaUsmSwyoUwS37dU7S66U2S4g2UeS5rlU2e7Sf2U15uS3t7UfcfqOUuO2oU3kM6o"
)
"""Class of every code point from 0: a capital letter and how often, in base 36, once if nothing stands there.

``L`` letters and digits (L*, Nl, Nd), ``S`` letters of scripts without spaces, ``M`` marks (Mn, Mc), ``O`` others,
``U`` unassigned and private; all after the last run are unassigned.
"""

DIGEST = "2102d691ed7a41a651e1e17afef4d21b4fcf4ad6acf7493c366dc55fe2dd1850"
"""SHA-256 of all folds."""

JOINERS = "'\u00b7\u05f3\u05f4"
"""What stays between two letters of one word."""

APOSTROPHES = "\u2019\u02bc\uff07"
"""Characters that are written for the apostrophe, which they become."""

INVISIBLE = ((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180B, 0x180F), (0x200C, 0x200F), (0x202A, 0x202E),
             (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF))  # fmt: skip
"""Code points that show nothing and are left out: default-ignorable ones that stand in text."""

JAMO = range(0x1100, 0x1200)
"""Conjoining Hangul letters."""


@dataclass(frozen=True)
class Folds:
    """Table of folded characters."""

    single: Mapping[str, str]  # Characters that become one
    several: Mapping[str, str]  # Characters that become several, or nothing
    pairs: Mapping[str, str]  # A letter and a mark, and the character that they become; in the order in which they do

    @cached_property
    def marks(self) -> frozenset[str]:
        """The marks of all pairs."""
        return frozenset(pair[1] for pair in self.pairs)


@cache
def folds() -> Folds:
    """Return all folds.

    Raises
    ------
    InternalError
        If this Python's tables break the promise of the standard.

    >>> made = folds()
    >>> made.single["\u00dc"], made.several["\u00df"], made.pairs["u\u0308"]
    ('\u00fc', 'ss', '\u00fc')
    """
    made = _made_folds()
    # Escaped: what a character looks like in a text of Python's is of its own version.
    told = ascii([sorted(made.single.items()), sorted(made.several.items()), list(made.pairs.items())])
    if hashlib.sha256(told.encode()).hexdigest() != DIGEST:
        raise InternalError("Python folds characters of Unicode 14.0 otherwise than is known; please report it.")
    return made


def folded(text: str) -> str:
    """Return a text as its words are compared.

    >>> folded("Mu\u0308ller, STRA\u1e9eE")
    'm\u00fcller, strasse'
    """
    made = folds()
    text = text.translate(_translation())
    if not made.marks.isdisjoint(text):
        for pair, character in made.pairs.items():
            text = text.replace(pair, character)
    return text


def tokens(text: str) -> list[str]:
    """Return the words of a text, in order.

    >>> tokens("Herr M\u00dcLLER's caf\u00e9 \u6771\u4eac 24")
    ['herr', "m\u00fcller's", 'caf\u00e9', '\u6771', '\u4eac', '24']
    """
    return re.findall(pattern(), folded(text))


@cache
def pattern() -> str:
    """Return the regular expression of a token of a folded text, for RE2, Java and Python."""
    letter, mark, single = (character_class(_joined(kind)) for kind in "LMS")
    word = f"[{letter}][{letter}{mark}]*"
    return f"{word}(?:[{JOINERS}]{word})*|[{single}][{mark}]*"


def character_class(ranges: Iterator[tuple[int, int]]) -> str:
    """Return what stands between the brackets of a class, from ranges of code points without ASCII signs.

    >>> character_class(iter([(97, 122), (228, 228)]))
    'a-z\u00e4'
    """
    return "".join(chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in ranges)


@cache
def _translation() -> dict[int, str]:
    made = folds()
    return str.maketrans({**made.single, **made.several})


def _runs() -> Iterator[tuple[str, int, int]]:
    """Yield the runs of code points of one class: the class, the first and the last one."""
    first = 0
    for kind, count in re.findall("([A-Z])([0-9a-z]*)", CLASSES):
        after = first + (int(count, 36) if count else 1)
        yield kind, first, after - 1
        first = after


def _joined(kind: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a class, those together that only unassigned code points part."""
    low = high = -1
    for own, first, last in _runs():
        if own == kind:
            low, high = (first if low < 0 else low), last
        elif own != "U" and low >= 0:
            yield low, high
            low = -1
    if low >= 0:
        yield low, high


def _assigned() -> Iterator[str]:
    for kind, first, last in _runs():
        if kind != "U":
            yield from map(chr, range(first, last + 1))


def _made_folds() -> Folds:
    words = {character for kind in "LMS" for low, high in _joined(kind) for character in map(chr, range(low, high + 1))}
    single: dict[str, str] = dict.fromkeys(APOSTROPHES, "'")
    several = {chr(code): "" for low, high in INVISIBLE for code in range(low, high + 1)}
    pairs: list[tuple[int, str, str]] = []
    for character in _assigned():
        if character in single or character in several or ord(character) in JAMO:
            continue
        new = _fold(character)
        if new == character:
            pairs += _pairs(character) if character in words else ()
        elif not words.isdisjoint(new) or new in JOINERS:
            (single if len(new) == 1 else several)[character] = new
    return Folds(single, several, {pair: character for _, pair, character in sorted(pairs)})


def _fold(character: str) -> str:
    """Return NFKC_Casefold of a character that shows something."""
    # Twice is enough for all: the digest holds what comes out.
    for _ in range(2):
        character = unicodedata.normalize("NFKC", character).casefold()
    return unicodedata.normalize("NFKC", character).translate(dict.fromkeys(map(ord, APOSTROPHES), "'"))


def _pairs(character: str) -> Iterator[tuple[int, str, str]]:
    """Yield the ways of putting a character together from another one and a mark, with its number of parts."""
    parts = unicodedata.normalize("NFD", character)
    for place in range(1, 0 if 0xAC00 <= ord(character) < 0xD7A4 else len(parts)):
        rest = unicodedata.normalize("NFC", parts[:place] + parts[place + 1 :])
        if len(rest) == 1 and unicodedata.normalize("NFC", rest + parts[place]) == character:
            yield len(parts), rest + parts[place], character
