"""The page of a report: one HTML file that needs no network, no script and nothing beside it."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from emdp.answers import StreamAnswer
from emdp.answers.stored import StoredAnswer
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError
from emdp.pictures import Picture, draw, draw_periods, draw_spending, fitting_kinds, renamed
from emdp.privacy import Guarantee
from emdp.reports.meaning import meaning_in_words
from emdp.reports.outcome import BudgetState, EntryOutcome, ReportRun
from emdp.reports.rows import Table, table_of
from emdp.reports.streams import StreamOutcome, stream_lines, stream_rows

if TYPE_CHECKING:
    import jinja2

__all__ = ["MOST_BYTES", "environment", "page"]

MOST_BYTES = 5_000_000
"""Largest page."""

ROW_LIMITS = (100, 40, 15, 5, 0)
"""Most rows of a table: the first is what a reader wants, the others are tried where the page would be too large."""

MOST_LINES = 6
"""Most lines over periods of an entry: one for each row and column."""

FEW_NAMES = 4
"""Columns that a caption names."""

CONTENTS_FROM = 6
"""Entries from which on the page has a table of contents."""

CAPTIONS: Mapping[str, str] = {
    "bar": "Values of {names}, with 95 % intervals",
    "line": "Values of {names} from row to row, with 95 % intervals",
    "map": "Map of {names}",
    "distribution": "Distribution of {names}, with 95 % intervals",
}
"""Text below a picture of each kind."""

FITTED = (
    ": the fitted measure at the released nodes; the intervals, and what is within its noise, are of the released ones"
)
"""What is said of a measure's picture besides."""


@dataclass(frozen=True)
class _Figure:
    """A picture with what stands below it; ``svg`` is empty where there is none, and the caption says why."""

    svg: str
    caption: str


@dataclass(frozen=True)
class _Shown:
    """Parts of an entry on the page."""

    outcome: EntryOutcome
    figures: tuple[_Figure, ...]
    table: Table | None
    files: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """What is said below the answer; what all answers of the table have in common stands below them all."""
        answer = self.outcome.answer
        return [] if answer is None else [*answer.remarks, *_own(answer)]


@dataclass(frozen=True)
class _ShownStream:
    """Parts of a stream on the page."""

    outcome: StreamOutcome
    figures: tuple[_Figure, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """What is said below the figures, as of an entry."""
        return [] if self.outcome.answer is None else _own(self.outcome.answer)


def page(
    run: ReportRun,
    files: Sequence[Sequence[str]],
    *,
    streams: Sequence[Sequence[str]] = (),
    most_bytes: int = MOST_BYTES,
) -> str:
    """Return the page of a run as HTML.

    Parameters
    ----------
    files : sequence of sequence of str
        For each entry the names of its tables, beside the page.
    streams : sequence of sequence of str
        The same for each stream; none where nothing lies beside the page.
    most_bytes : int
        Largest size in UTF-8. A page that would be larger shows fewer rows, then fewer pictures: first those of the
        entries with the largest ones.

    Returns
    -------
    str
        All that an analyst wrote is escaped; markup comes from the template and from :mod:`emdp.pictures` alone.
    """
    figures = [_figures(outcome, f"e{place}") for place, outcome in enumerate(run.outcomes, 1)]
    budgets = [_burn_down(state, f"b{place}") for place, state in enumerate(run.budgets, 1)]
    given = [*streams, *[()] * (len(run.streams) - len(streams))]
    shown = [_stream(own, place, given[place - 1]) for place, own in enumerate(run.streams, 1)]
    for most in ROW_LIMITS:
        text = _rendered(run, files, shown, figures, budgets, most)
        if _size(text) <= most_bytes:
            return text
    # Only now, for a picture says more than the rows of a table that is a file of its own.
    while _size(text) > most_bytes and any(figure.svg for own in figures for figure in own):
        sizes = [(sum(len(figure.svg) for figure in own), place) for place, own in enumerate(figures)]
        _, largest = max(sizes)
        figures[largest] = (_Figure("", f"The picture is left out: the page would be above {most_bytes:,} bytes."),)
        text = _rendered(run, files, shown, figures, budgets, ROW_LIMITS[-1])
    return text


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _rendered(
    run: ReportRun,
    files: Sequence[Sequence[str]],
    streams: Sequence[_ShownStream],
    figures: Sequence[tuple[_Figure, ...]],
    budgets: Sequence[_Figure | None],
    most: int,
) -> str:
    entries = [
        _Shown(outcome, drawn, None if outcome.answer is None else table_of(outcome.answer, most), tuple(names))
        for outcome, drawn, names in zip(run.outcomes, figures, files, strict=True)
    ]
    answers: list[StoredAnswer | StreamAnswer] = [one.answer for one in run.outcomes if one.answer is not None]
    answers += [one.answer for one in run.streams if one.answer is not None]
    return (
        environment()
        .get_template("page.html")
        .render(
            run=run,
            entries=entries,
            budgets=list(zip(run.budgets, budgets, strict=True)),
            meaning=_meaning(run),
            answered=sum(outcome.answer is not None and not outcome.reads for outcome in run.outcomes),
            reused=sum(outcome.is_reused and not outcome.reads for outcome in run.outcomes),
            streams=streams,
            has_contents=len(entries) >= CONTENTS_FROM,
            assumptions=tuple(dict.fromkeys(text for answer in answers for text in _of_table(answer))),
            is_alpha=any(state.promise.level_name == "alpha" for state in run.budgets),
        )
    )


def _own(answer: StoredAnswer | StreamAnswer) -> list[str]:
    """Return the notes that are not the same for all answers of a table."""
    return [note for note in answer.notes if note not in answer.of_table]


def _of_table(answer: StoredAnswer | StreamAnswer) -> list[str]:
    """Return what is assumed, and whom a neutral item stands for: the same for all answers of a table."""
    assumed = answer.assumptions if isinstance(answer, StoredAnswer) else ()
    return [*assumed, *answer.of_table]


def _meaning(run: ReportRun) -> _Figure | None:
    if run.meaning is None:
        return None
    return _figure(run.meaning.picture, meaning_in_words(run.meaning, run.spent, run.period), "meaning")


def _stream(outcome: StreamOutcome, place: int, files: Sequence[str]) -> _ShownStream:
    figures = tuple(
        _figure(picture, caption, f"s{place}-{number}")
        for number, (picture, caption) in enumerate(stream_lines(outcome), 1)
    )
    heads, rows = stream_rows(outcome)
    return _ShownStream(outcome, figures, heads, tuple(rows), tuple(files))


def environment() -> "jinja2.Environment":
    """Return what writes pages: it escapes all texts, and fails where one is missing."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("emdp.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        drawn=_drawn, moment=_moment, up=_up, down=_down, level=_level, share=_share, reach=_reach
    )
    return environment


def _printable(value: object) -> object:
    """Return a text without control characters and marks that change the direction of what stands around them."""
    if not isinstance(value, str) or value.isprintable() or hasattr(value, "__html__"):
        return value
    return "".join(sign if _is_plain(sign) else "\N{REPLACEMENT CHARACTER}" for sign in value)


def _is_plain(sign: str) -> bool:
    return sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) == "Zs"


def _drawn(svg: str) -> Any:
    """Return a picture of ours as markup: its texts are escaped where it is composed (:mod:`emdp.pictures.svg`)."""
    from markupsafe import Markup

    return Markup(svg)


def _moment(text: str) -> str:
    """Return a moment for readers: to the minute, in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment if moment.tzinfo is None else moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _up(number: float) -> str:
    return _digits(number, ROUND_CEILING)


def _down(number: float) -> str:
    return _digits(number, ROUND_FLOOR)


def _digits(number: float, rounding: str) -> str:
    return f"{float(Context(prec=4, rounding=rounding).plus(Decimal(repr(number)))):,.10g}"


def _level(guarantee: Guarantee, *, is_left: bool = False) -> str:
    """Return level and delta in words; what is left rounded down, what was spent rounded up."""
    written = _down if is_left else _up
    delta = f" and delta {written(guarantee.delta)}" if guarantee.delta else ""
    return f"{guarantee.level_name} {written(guarantee.level)}{delta}"


def _reach(promise: Guarantee) -> str:
    """Return what a budget is for, in words."""
    own = {"period": " of one period", "history": f" of {getattr(promise, 'periods', None)} periods together"}
    return f"for all that is ever answered{own.get(getattr(promise, 'unit', 'user'), '')}"


def _share(state: BudgetState) -> str:
    """Return which part of a budget's level is spent, in per cent; empty where there is no whole."""
    whole = state.promise.level
    # Rounded up, like all that is spent, but not by the dust of a division.
    return f"{math.ceil(round(1000 * state.spent.level / whole, 6)) / 10:g}\N{NO-BREAK SPACE}%" if whole > 0 else ""


def _burn_down(state: BudgetState, name: str) -> _Figure | None:
    if not state.steps or not state.promise.level > 0:
        return None
    picture = draw_spending(state.steps, state.promise.level)
    if picture is None:
        return None
    return _figure(picture, f"What is left of the table's {state.promise.level_name}", name)


def _figures(outcome: EntryOutcome, name: str) -> tuple[_Figure, ...]:
    answer, kind = outcome.answer, outcome.entry.picture
    if answer is None or kind == "none":
        return ()
    try:
        lines = _lines(outcome, answer, name)
        if kind == "line" and lines:
            return lines
        # A line from one name to the next would mean nothing.
        is_named = any(answer.frame.schema[key] == pl.String for key in answer.shape.keys)
        kind = "bar" if kind == "line" and is_named else kind
        drawn = answer.drawn
        picture = draw(drawn, answer.columns, answer.shape, kind=kind)
    except EmdpError as error:
        return (_Figure("", f"There is no picture: {error}"),)
    if picture is None:
        return lines
    chosen = fitting_kinds(answer.shape)[1] if kind == "auto" else kind
    names = [column.name for column in answer.columns]
    more = f" and {len(names) - FEW_NAMES} more" if len(names) > FEW_NAMES else ""
    caption = CAPTIONS[chosen].format(names=", ".join(names[:FEW_NAMES]) + more)
    # of several parts without a map, and of pairs, the released shares themselves are drawn
    caption += "" if drawn.equals(answer.frame) else FITTED
    return (_figure(picture, caption, name), *lines)


def _lines(outcome: EntryOutcome, answer: StoredAnswer, name: str) -> tuple[_Figure, ...]:
    """Return lines over the periods for an answer of few numbers; nothing where there is one period."""
    known = {earlier.period or "": earlier for earlier in outcome.earlier} | {answer.period or "": answer}
    count = answer.frame.height * len(answer.columns)
    if len(known) < 2 or not 1 <= count <= MOST_LINES:
        return ()
    figures: list[_Figure] = []
    for row in range(answer.frame.height):
        keys = {key: answer.frame[key][row] for key in (*answer.shape.keys, *answer.shape.coordinates)}
        told = "".join(f", {key} {value}" for key, value in keys.items())
        for column in answer.columns:
            series = [(period, *_found(known[period].frame, keys, column.name)) for period in sorted(known)]
            picture = draw_periods(series, f"{column.name}{told}")
            if picture is not None:
                caption = f"Values of {column.name}{told} from period to period, with 95 % intervals"
                figures.append(_figure(picture, caption, f"{name}-{len(figures) + 1}"))
    return tuple(figures)


def _found(frame: pl.DataFrame, keys: Mapping[str, Any], name: str) -> tuple[float | None, float | None, float | None]:
    """Return the value and interval of the row with these keys; none where a period has no such row."""
    for key, value in keys.items():
        frame = frame.filter(pl.col(key).eq_missing(pl.lit(value, dtype=frame.schema[key])))
    if frame.height != 1:
        return None, None, None
    value, low, high = frame.select(name, f"{name}_low", f"{name}_high").row(0)
    return value, low, high


def _figure(picture: Picture, caption: str, name: str) -> _Figure:
    # Equal pictures have equal ids, and a page must not have an id twice.
    return _Figure(renamed(picture, f"p-{name}").svg, caption)
