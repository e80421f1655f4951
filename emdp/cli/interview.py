"""Questions of ``emdp init`` on a terminal: what only the owner can say, each with what it means and what is suggested.

Names and types of columns are all that is looked at; no record is read.
"""

import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, Context
from typing import TYPE_CHECKING, TypeVar

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, UsageError
from emdp.cli.parts import box_in_words, kinds_part, numbers_part, places_part, time_part
from emdp.cli.stopping import break_off_reads

if TYPE_CHECKING:
    from emdp.disclosure.stories import Story
    from emdp.spaces import Space

__all__ = [
    "Told",
    "ask",
    "asked_nowhere",
    "asked_parts",
    "asked_user",
    "asked_users",
    "hidden",
    "hidden_by",
    "is_terminal",
    "percent_of",
    "show_meaning",
]

Value = TypeVar("Value")

WIDTH = 80
"""Columns of the text."""

ONCE = 1 / 20
"""Share of a person's records that the suggested story moves."""

SURE = 60.0
"""Percent that whoever thought something a coin toss may be sure of it afterwards, unless the owner says otherwise."""

RECORDS = (
    "Now the records: what is one, and how far are two apart? Alpha hides small distances best. Columns that you leave "
    "out are not asked about with alpha; WITH USER_PRIVACY may use them. Say only what is public, without a look at "
    "the records."
)
"""What the questions about the space begin with."""

FURTHER = 3
"""Columns of each kind that are asked about: a schema may have hundreds."""


@dataclass(frozen=True)
class Told:
    """What the owner has said of a table."""

    space: str = ""  # The space as TOML; empty where it was left open
    elsewhere: bool = True  # Whether users without records are nowhere
    alpha: float | None = None  # The budget; None where it was left open
    reason: str = ""


def ask(
    what: str,
    meaning: str,
    read: Callable[[str], Value],
    *,
    suggested: str = "",
    empty: str = "later",
    listed: Sequence[str] = (),
) -> Value | None:
    """Say what a question means, ask until the reply can be read, and return what it says; None where it is empty.

    Parameters
    ----------
    read : callable
        Reads a reply; raises ``EmdpError`` with what is wrong.
    suggested : str
        Reply that an empty line stands for.
    empty : str
        What an empty line means where nothing is suggested.
    listed : sequence of str
        Lines from which to choose, by number.
    """
    print("\n" + textwrap.fill(meaning, WIDTH))
    for number, line in enumerate(listed, 1):
        print(f"  {number}  {line}")
    while True:
        try:
            break_off_reads()
            reply = input(f"{what} [{suggested or empty}]: ").strip() or suggested
        except EOFError:
            print()
            return None
        if not reply:
            return None
        try:
            return read(reply)
        except EmdpError as error:
            print(textwrap.fill(str(error), WIDTH, initial_indent="  ", subsequent_indent="  "))


def is_terminal() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def asked_user(schema: Mapping[str, str], guess: str | None) -> str | None:
    """Ask which column says whose record a row is."""

    def read(reply: str) -> str:
        if reply not in schema:
            raise UsageError(f"{reply!r} is no column; name one of {', '.join(map(repr, schema))}.")
        return reply

    return ask(
        "column of the user",
        "Who is the person? One column must say whose record a row is, and each row is one person's. Hidden is what "
        f"one person did. Columns: {', '.join(schema)}.",
        read,
        suggested=guess or "",
    )


def asked_users() -> str | None:
    """Ask how many people there are, or where they are listed."""
    from emdp.tables.registry import named_table

    def read(reply: str) -> str:
        if reply.lstrip("+-").replace(".", "").isdecimal() and not re.fullmatch("[1-9][0-9]{0,17}", reply):
            raise UsageError(f"{reply!r} is no number of people; write it in digits, or the path of a list.")
        if not reply.isdecimal() and named_table(reply) is None and not os.path.exists(reply.partition("::")[0]):
            raise UsageError(f"{reply!r} is neither a number in digits nor a file that exists; write one of them.")
        return reply

    return ask(
        "number of people, or a file with a row a person",
        "How many people are there? The number is public, and must not be counted from the records: take it from a "
        "list of members, say. Somebody on the list without records counts too. The more people, the less noise.",
        read,
    )


def asked_nowhere() -> bool:
    """Ask whether those without records are nowhere; they are where there is no reply."""
    said = ask(
        "are people without records nowhere (y or n)",
        "Some people may have no records, and some records no place, or one outside of what you say below. If they "
        "are nowhere, they are in no mean and no map, and a SHARE(ELSEWHERE) says how many they are. If not, people "
        "without records count in the middle of everything, and such a record at an edge or in the middle.",
        _truth,
        suggested="y",
    )
    return said is not False


def _truth(reply: str) -> bool:
    if reply.lower() not in {"y", "yes", "n", "no"}:
        raise UsageError(f"{reply!r} is neither y nor n; write one of them.")
    return reply.lower().startswith("y")


def show_meaning(catalog: str) -> None:
    """Print what the budget of a new catalog may tell about one person, and a preview of a first question."""
    from emdp.catalog.catalog import load_catalog
    from emdp.cli.consequences import beliefs_text, table_text
    from emdp.cli.sql import preview
    from emdp.disclosure.consequences import consequences_of
    from emdp.disclosure.page import table_of

    loaded = load_catalog(catalog)
    (name,) = loaded.tables
    table, promise = loaded.table(name), loaded.budgets(name)[0]
    print(f"\nWhat all answers together may tell about one person ({promise}):")
    found = consequences_of(table.space, promise)
    print(beliefs_text(found))
    print(table_text(*table_of(found), WIDTH))
    query = _first_question(name, table.space, promise.level / 10)
    print(f"\nA first question, at a tenth of the budget:\n{query}\n")
    preview(query, catalog=catalog)
    print(f'\nAsk it: emdp query "..." -C {catalog}. What it all means: emdp consequences -C {catalog}')


def _first_question(table: str, space: "Space", alpha: float) -> str:
    """Return a statement that any space of these questions answers."""
    head = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {alpha:.3g})"
    part = space.items_space.parts[0]
    if part.is_map:
        south, west, north, east = part.box  # type: ignore[attr-defined]
        middle = f"POINT({(south + north) / 2:.4f}, {(west + east) / 2:.4f})"
        return f"{head} AVG(DISTANCE({middle})) AS distance FROM {_name(table)}"
    column = _name(part.columns[0])
    if part.labels is not None:
        return f"{head} {column}, SHARE() AS share FROM {_name(table)} GROUP BY {column}"
    if part.kind == "cycle":
        return f"{head} AVG(DISTANCE({column}, 12)) AS from_noon FROM {_name(table)}"
    return f"{head} AVG({column}) AS mean FROM {_name(table)}"


def _name(name: str) -> str:
    return name if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def asked_parts(columns: Mapping[str, Sequence[str]], place: tuple[str, str] | None, *, nowhere: bool) -> list[str]:
    """Ask what distance means, column by column, and return the parts of a space as TOML.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        Columns by what they may be: ``"number"``, ``"text"``, ``"time"``.
    nowhere : bool
        Whether a record with an invalid value is nowhere, with all its parts.
    """
    print("\n" + textwrap.fill(RECORDS, WIDTH))
    parts = [] if place is None else [_place(*place, nowhere=nowhere)]
    parts += [_number(name, nowhere=nowhere) for name in columns.get("number", ())[:FURTHER]]
    parts += [_text(name, nowhere=nowhere) for name in columns.get("text", ())[:FURTHER]]
    parts += [_time(name, nowhere=nowhere) for name in columns.get("time", ())[:1]]
    return [part for part in parts if part]


def hidden(space: "Space") -> tuple[float | None, str]:
    """Ask what must be hidden, and return alpha for it with its reason."""
    from emdp.disclosure.stories import default_stories

    stories = default_stories(space)

    def chosen(reply: str) -> int:
        if not reply.isdecimal() or not 1 <= int(reply) <= len(stories):
            raise UsageError(f"{reply!r} is none of 1 to {len(stories)}; write the number of a line.")
        return int(reply) - 1

    number = ask(
        "what must be hidden",
        "What must all answers together hide of one person? Smaller changes are hidden better, larger ones less.",
        chosen,
        suggested=str(_suggested(stories)),
        listed=[story.title for story in stories],
    )
    if number is None:
        return None, ""
    sure = ask(
        "at most so many percent sure",
        "Somebody thinks it a coin toss (50 %) whether it happened. How sure may she be after all answers, at most?",
        percent_of,
        suggested=f"{SURE:g}",
    )
    if sure is None:
        return None, ""
    return hidden_by(space, stories[number], sure)


def hidden_by(space: "Space", story: "Story", sure: float) -> tuple[float, str]:
    """Return the largest alpha, of three digits, that leaves a coin toss about a story at most so many percent sure.

    >>> from emdp.disclosure.stories import Story
    >>> from emdp.spaces import Interval
    >>> hidden_by(Interval("x", 0, 40), Story("one visit of 20", 1 / 20), 60.0)
    (8.1, 'one visit of 20: from 50 % to at most 60 %')
    """
    from emdp.privacy import epsilon_of
    from emdp.privacy.rounding import as_decimal, float_down

    most = float_down(as_decimal(epsilon_of(posterior=sure / 100)) / as_decimal(story.d_em(space)))
    alpha = float(Context(prec=3, rounding=ROUND_DOWN).create_decimal(repr(most)))
    return alpha, f"{story.title}: from 50 % to at most {sure:g} %"


def _suggested(stories: "Sequence[Story]") -> int:
    """Return the number of what happened once among 20 records, or of the story in the middle."""
    numbers = [number for number, story in enumerate(stories, 1) if story.fraction == ONCE]
    return numbers[0] if numbers else (len(stories) + 1) // 2


def percent_of(reply: str) -> float:
    try:
        sure = float(reply.removesuffix("%"))
    except ValueError:
        sure = 0.0
    if not 50 < sure < 100:
        raise UsageError(f"{reply!r} is no percentage between 50 and 100; write one such as 60.")
    return sure


def _place(lat: str, lon: str, *, nowhere: bool) -> str | None:
    def read(reply: str) -> str:
        part = places_part(lat, lon, reply, nowhere=nowhere)
        print(f"  {box_in_words(part)}")
        return part

    return ask(
        f"box of {lat}, {lon}: south, west, north, east",
        "Places: a box in degrees that everybody may know, such as that of the city. Places outside "
        f"{'are nowhere' if nowhere else 'count at its edge'}. "
        "The smaller the box, the better the same alpha hides a way of some kilometres.",
        read,
        empty="leave out",
    )


def _number(name: str, *, nowhere: bool) -> str | None:
    return ask(
        f"range of {name}: low, high",
        f"Numbers in {name}: the least and greatest value that count, from public knowledge. What lies outside "
        f"{'is nowhere' if nowhere else 'counts at the end'}; the wider the range, the more noise.",
        lambda reply: numbers_part(name, reply, nowhere=nowhere),
        empty="leave out",
    )


def _text(name: str, *, nowhere: bool) -> str | None:
    return ask(
        f"values of {name}, with commas between",
        f"Does {name} say of which kind a record is, as Bar or Office? Then write the public list of kinds; leave out "
        "what is free text, a time or a number. "
        + ("Others are nowhere." if nowhere else "Others count as the first one, so let that be one like Other."),
        lambda reply: kinds_part(name, reply, nowhere=nowhere),
        empty="leave out",
    )


def _time(name: str, *, nowhere: bool) -> str | None:
    return ask(
        f"zone of the clock of {name}, such as Europe/Berlin",
        f"Times in {name}: the hour of the day, by the clock of one zone.",
        lambda reply: time_part(name, reply, nowhere=nowhere),
        empty="leave out",
    )
