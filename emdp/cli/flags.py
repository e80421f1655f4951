"""Options of ``emdp init`` that say what its questions ask: the space, where those without records are, and alpha."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from emdp.base.checks import check_positive
from emdp.base.errors import EmdpError, UsageError
from emdp.cli.interview import SURE, Told, asked_nowhere, asked_parts, hidden, hidden_by, percent_of
from emdp.cli.parts import box_in_words, joined, kinds_part, numbers_part, places_part, read_space, time_part

if TYPE_CHECKING:
    from emdp.disclosure.stories import Story
    from emdp.spaces import Space

__all__ = ["told_by"]


def told_by(
    schema: Mapping[str, str],
    place: tuple[str, str] | None,
    *,
    box: str | None,
    interval: Sequence[str],
    values: Sequence[str],
    zone: Sequence[str],
    nowhere: bool | None,
    alpha: float | None,
    hide: str | None,
    sure: str | None,
    asked: Mapping[str, Sequence[str]] | None = None,
) -> Told:
    """Return what options say of a table, and on a terminal what its owner replies where they say nothing.

    Parameters
    ----------
    schema : mapping of str to str
        Types by column.
    nowhere : bool, optional
        Whether users without records, and records with invalid values, are nowhere; they are where nothing is said.
    alpha, hide, sure : float or str, optional
        The budget, or what it must hide (a story's number or title) and how sure somebody may be afterwards.
    asked : mapping of str to sequence of str, optional
        Columns by what they may be, of which the owner is asked; None in a script.

    Raises
    ------
    UsageError
        If a column is none of the source's, a value cannot be read, or two options say the same.
    """
    if alpha is not None and hide is not None:
        raise UsageError("--alpha and --hide both say what all answers may tell; pass one of them.")
    if sure is not None and hide is None:
        raise UsageError("--sure is how sure somebody may be of what --hide names; pass both, or leave it out.")
    if nowhere is None:
        nowhere = asked is None or asked_nowhere()
    parts = [] if box is None else [_box(place, box, nowhere=nowhere)]
    for option, texts, part in (
        ("--interval", interval, numbers_part),
        ("--values", values, kinds_part),
        ("--zone", zone, time_part),
    ):
        parts += [_part(option, text, schema, part, nowhere=nowhere) for text in texts]
    level = None if alpha is None else check_positive("--alpha", alpha)
    if asked is not None:
        said = {text.partition(",")[0] for text in (*interval, *values, *zone)}
        left = {noun: [name for name in names if name not in said] for noun, names in asked.items()}
        # One clock is asked about.
        left |= {"time": []} if zone else {}
        parts += asked_parts(left, place if box is None else None, nowhere=nowhere)
    space = joined(parts)
    if level is None and hide is None and asked is not None and space:
        return Told(space, nowhere, *hidden(read_space(space)))
    if hide is None:
        return Told(space, nowhere, level, "of all answers together, as its owner said")
    if not space:
        raise UsageError("--hide needs a space; pass --box, --interval, --values or --zone as well.")
    found = read_space(space)
    return Told(space, nowhere, *hidden_by(found, _story(hide, found), SURE if sure is None else percent_of(sure)))


def _box(place: tuple[str, str] | None, box: str, *, nowhere: bool) -> str:
    if place is None:
        raise UsageError(
            "--box is of places, and no columns are named lat or latitude and lon, lng, long or longitude; leave it "
            "out, and write the space into the catalog."
        )
    part = _named("--box", lambda: places_part(*place, box, nowhere=nowhere))
    print(f"note: {box_in_words(part)}", file=sys.stderr)
    return part


def _part(option: str, text: str, schema: Mapping[str, str], part: Callable[..., str], *, nowhere: bool) -> str:
    column, _, rest = text.partition(",")
    if column not in schema:
        raise UsageError(
            f"{option} {text!r} must begin with a column of the source, {', '.join(map(repr, schema))}; write it first."
        )
    return _named(option, lambda: part(column, rest, nowhere=nowhere))


def _named(option: str, read: Callable[[], str]) -> str:
    try:
        return read()
    except EmdpError as error:
        raise UsageError(f"{option} cannot be taken: {error}") from None


def _story(hide: str, space: "Space") -> "Story":
    from emdp.disclosure.stories import default_stories

    stories = default_stories(space)
    for number, story in enumerate(stories, 1):
        if hide in (str(number), story.title):
            return story
    # With more parts a title ends with the columns of its part.
    begun = [story for story in stories if story.title.startswith(f"{hide} (")]
    if len(begun) == 1:
        return begun[0]
    listed = "; ".join(f"{number}: {story.title}" for number, story in enumerate(stories, 1))
    raise UsageError(f"--hide {hide!r} is none of {listed}; write a number or a title of these.")
