"""Stories: changes of one person's records that somebody may want to find out, with the largest ``d_em`` of each.

A story names a share of a person's records and how far they move. Its distance follows from public numbers alone
(:mod:`emdp.privacy.guarantees.protections`), and bounds the change in both directions.

*Once.* Of ``m`` records one lies elsewhere: a share of ``1/m`` moves. If instead there is one record more or fewer, the
larger bag has a share of ``1/m`` that comes from all others: no more either. With one record it is everything. Where
bags are filled up to slots, one record of at most as many is one slot, and stories of fewer records are not told.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from emdp.base.checks import check_count, shown
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy import Change, change_distance
from emdp.privacy.guarantees.protections import change_fraction
from emdp.spaces import Space

__all__ = ["EVERYTHING", "MOST_STORIES", "RECORDS", "Story", "default_stories", "protected", "read_stories"]

RECORDS = (5, 20, 100)
"""Numbers of a person's records for which what happened once is shown; with one record it is everything."""

EVERYTHING = "everything is different"
"""Title of the story in which all of a person's records move as far as can be."""

MOST_STORIES = 200
"""Most stories of a file: a page has to be read."""

KEYS = ("title", "fraction", "once", "distance", "part")


@dataclass(frozen=True)
class Story:
    """A change of one person's records.

    Parameters
    ----------
    title : str
        What happened, in a few words.
    fraction : float
        Share of the person's records that move, in (0, 1].
    distance : float or ELSEWHERE, optional
        How far they move, in the unit of the space (or part), or that they are gone; by default as far as can be.
    part : str or int, optional
        Part of a product space in which they move: a column of it, or its position.

    >>> from emdp.spaces import Interval
    >>> Story("one visit of 20", 1/20).d_em(Interval("x", 0, 40))
    0.05
    """

    title: str
    fraction: float
    distance: float | str | None = None
    part: str | int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.title, str) or not self.title.strip() or not self.title.isprintable():
            raise UsageError(
                f"title must be a line of text, got {shown(self.title)}; say what happened in a few words."
            )
        Change(self.fraction, 1.0 if self.distance is None else self.distance, 1.0, self.part)

    def d_em(self, space: Space) -> float:
        """Return the largest earth-mover distance of the change, rounded up."""
        whole = self.distance is None and self.part is None
        part = 0 if whole and len(space.parts) == 1 else self.part
        if whole and len(space.parts) > 1:
            # All parts at once: the distances of a product add up to 1.
            return Change(self.fraction, 1.0, 1.0).fraction
        distance = self.distance
        if isinstance(distance, str):
            part = None
        elif distance is None:
            distance = max(one.diameter for one in space.parts)
        return change_distance(Change(self.fraction, distance, 1.0, part), space=space)


def once(title: str, records: int, *, distance: float | None = None, part: str | int | None = None) -> Story:
    """Return the story of one record among several.

    >>> once("at the clinic once", 20).title, once("at the clinic once", 20).fraction
    ('at the clinic once, of 20 records', 0.05)
    """
    count = check_count("records", records)
    named = f"{title}, of {count} record{'s' if count > 1 else ''}"
    return Story(named, float(Fraction(1, count)), distance, part)


def protected(changes: Sequence[Change], space: Space) -> tuple[Story, ...]:
    """Return the stories of what an owner declared to protect in a space.

    >>> from emdp.spaces import Interval
    >>> protected([Change(0.5, 10.0, 0.2)], Interval("x", 0, 50))[0].title
    'declared: 50 % by 10'
    """
    return tuple(
        Story(
            f"declared: {_how_many(change)} {_moved(change.distance)}",
            change_fraction(change, space=space),
            change.distance,
            change.part,
        )
        for change in changes
    )


def _how_many(change: Change) -> str:
    if change.records is None:
        return f"{100 * change.fraction:.3g} %"
    return f"{change.records} record{'s' if change.records > 1 else ''}"


def _moved(distance: float | str) -> str:
    return "gone" if isinstance(distance, str) else f"by {distance:.4g}"


def default_stories(space: Space, records: Sequence[int] = RECORDS) -> tuple[Story, ...]:
    """Return stories that a space suggests, the smallest changes first, everything last.

    Parameters
    ----------
    space : Space
        Of the table.
    records : sequence of int
        Numbers of a person's records for which what happened once is shown.

    >>> from emdp.spaces import Interval
    >>> [story.title for story in default_stories(Interval("x", 0, 40), [20])]
    ['a tenth, a tenth of the range', 'one record, of 20 records', 'everything is different']
    """
    if space.slots is not None:
        records = sorted({max(count, space.slots) for count in records})
    stories: list[Story] = []
    parts = space.parts
    for position, part in enumerate(parts):
        own = position if len(parts) > 1 else None
        where = f" ({', '.join(part.columns)})" if len(parts) > 1 else ""
        stories += [_placed(story, own, where) for story in _of_part(part, records)]
    stories.sort(key=lambda story: story.d_em(space))
    return (*stories, Story(EVERYTHING, 1.0))


def read_stories(tables: object) -> tuple[Story, ...]:
    """Return the stories of a file's ``[[story]]`` tables: title, fraction or once, distance, part.

    Raises
    ------
    UsageError
        If a table is none, has an unknown key, lacks one, or a value is out of its range.

    >>> read_stories([{"title": "clinic", "once": 20, "distance": 5}])
    (Story(title='clinic, of 20 records', fraction=0.05, distance=5, part=None),)
    """
    if not isinstance(tables, Sequence) or isinstance(tables, str) or not tables:
        raise UsageError("story must be a list of tables; write [[story]] with a title and a fraction, or once.")
    if len(tables) > MOST_STORIES:
        raise UsageError(f"story has {len(tables)} tables; write at most {MOST_STORIES}.")
    return tuple(_read(number, table) for number, table in enumerate(tables, 1))


def _read(number: int, table: object) -> Story:
    if not isinstance(table, Mapping):
        raise UsageError(f"story {number} is no table; write [[story]] with its keys below.")
    unknown = sorted(set(map(str, table)) - set(KEYS))
    if unknown:
        raise UsageError(f"story {number} has the key {unknown[0]!r}, which is none of {', '.join(KEYS)}; remove it.")
    found: Mapping[str, Any] = table
    if "title" not in found or ("fraction" in found) == ("once" in found):
        raise UsageError(
            f"story {number} needs a title, and either fraction (a share of the records) or once (the number of "
            "records of which one changes); write these."
        )
    try:
        if "once" in found:
            return once(found["title"], found["once"], distance=found.get("distance"), part=found.get("part"))
        return Story(found["title"], found["fraction"], found.get("distance"), found.get("part"))
    except UsageError as error:
        raise UsageError(f"story {number} cannot be read: {error}") from None


def _of_part(part: Space, records: Sequence[int]) -> list[Story]:
    if part.is_map:
        return _of_places(part, records)
    if part.labels is not None or not part.spans:
        name = "one word" if part.kind in {"words", "embedding"} else "one record"
        return [*(once(name, count) for count in records), Story("a tenth of all records", 0.1)]
    return [
        *(once("one record", count) for count in records),
        Story("a tenth, a tenth of the range", 0.1, part.diameter / 10),
    ]


def _of_places(part: Space, records: Sequence[int]) -> list[Story]:
    unit = part.unit or ""
    km = {"mi": 0.621371192237334, "m": 1000.0}.get(unit, 1.0)
    homes = [
        Story(f"home {length * km:.3g} {unit} away (60 %)", 0.6, length * km)
        for length in (1.0, 5.0, 20.0)
        if length * km < part.diameter
    ]
    day, job = min(5.0 * km, part.diameter), min(8.0 * km, part.diameter)
    return [
        *(once("clinic once", count) for count in records),
        Story(f"a day of 30, {day:.3g} {unit} off", float(Fraction(1, 30)), day),
        *homes,
        Story(f"job {job:.3g} {unit} away (35 %)", 0.35, job),
    ]


def _placed(story: Story, part: int | None, where: str) -> Story:
    if part is None:
        return story
    return Story(story.title + where, story.fraction, story.distance, part)
