"""``emdp consequences``: what a budget, a statement, a report or all that was spent may tell about one person."""

import json
import math
import os
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.files import read_toml
from emdp.cli.options import DEFAULT_CATALOG, CatalogOption, TableOption, check_table_option
from emdp.cli.output import check_folder
from emdp.cli.sql import PeriodOption, looking_ahead, read_query, table_of
from emdp.cli.tables import frame_text, table_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emdp.disclosure.consequences import Consequences
    from emdp.disclosure.page import Block
    from emdp.disclosure.stories import Story
    from emdp.privacy import Guarantee
    from emdp.spaces import Space

__all__ = ["beliefs_text", "run", "table_text"]


NARROWEST = 20
"""Columns that the name of a change has at least."""

WIDEST, BAR = 80, 30
"""Columns of the picture of beliefs, and of its scale from 0 to 100 %."""

FILES = ("index.html", "consequences.svg", "consequences.csv", "consequences.json")
"""Files of a page."""

SLACK = (
    "note: Each epsilon has {:g} beside the budget, which the ledger allows for what rounding adds: a declared change "
    "may stand here by that much above its own."
)
"""What stands below a table with declared changes."""

IN_ONE_PERIOD, ALONE = ": about one period, of the records that somebody has in it", ": of one budget alone"
"""Ends of titles of what is not all that somebody sees."""

NAMELESS = "x"
"""Column of a space of which only the diameter is known."""


@dataclass(frozen=True, eq=False)
class _Subject:
    """A space, its name, what its budget allows with which slack, protected changes, and files to keep."""

    name: str
    space: "Space"
    promises: "tuple[Guarantee, ...]"
    slack: float
    protected: "tuple[Story, ...]"
    kept: tuple[str, ...]


def run(
    catalog: CatalogOption = None,
    table: TableOption = None,
    period: PeriodOption = None,
    alpha: Annotated[float | None, typer.Option(help="Try this budget in place of the catalog's.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Likewise, of a user-level budget.")] = None,
    delta: Annotated[
        float, typer.Option(help="Probability that the promise may fail, with --alpha or --epsilon.")
    ] = 0.0,
    diameter: Annotated[
        float | None, typer.Option(help="Largest distance there is, where there is no catalog.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="Q", help="Only what this statement, or report (.toml), would tell.")
    ] = None,
    spent: Annotated[
        str | None, typer.Option(metavar="LEDGER", help="What all that was released so far may have told.")
    ] = None,
    reports: Annotated[
        int, typer.Option("--period-count", help="So many such releases, fixed in advance: 52 weekly reports.")
    ] = 1,
    group: Annotated[int, typer.Option(help="So many people who change together, such as a household of 4.")] = 1,
    records: Annotated[str, typer.Option(help="Numbers of a person's records for what happened once.")] = "5,20,100",
    prior: Annotated[str, typer.Option(help="Beliefs before.")] = "0.5,0.1,0.01",
    story: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="Stories of your own: [[story]] title, fraction or once, distance."),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Write a page with pictures, and tables.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
) -> None:
    """Say what somebody may learn about one person, in percent, before and after. Reads no record and spends nothing.

    An attacker is assumed who knows everything but one thing. Each row is a change of one person's records, such as one
    visit of 20; the columns say how sure she can become at most, from 50 %, 10 % and 1 % before, how many of 100 she
    catches with one false alarm in 100, and the largest gap between the two.

    \b
      emdp consequences -C emdp.toml
      emdp consequences --alpha 20 --delta 1e-8 -C emdp.toml
      emdp consequences --after places.toml --period-count 52 -C emdp.toml --out meaning
      emdp consequences --alpha 20 --diameter 68
      emdp consequences --spent city.ledger -C emdp.toml
    """
    subject = _subject(catalog, table, period, diameter)
    if out is not None:
        check_folder("--out", out, FILES, (*subject.kept, *(path for path in (spent, story, after) if path)))
    stories = _stories(subject, story, records)
    asked = {"--alpha": alpha, "--epsilon": epsilon, "--after": after, "--spent": spent}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} both say what is released; pass one of them.")
    if after is not None:
        promises = _of_statement(after, catalog or DEFAULT_CATALOG, table, period)
    elif spent is not None:
        promises = _of_ledger(spent, subject.name)
    elif alpha is not None or epsilon is not None:
        promises = (("The budget", _tried(alpha, epsilon, delta)),)
    else:
        promises = tuple(("The whole budget, whatever is asked", own) for own in subject.promises)
    if not promises:
        raise UsageError("there is no budget; pass --alpha or --epsilon, or a catalog whose table has one.")
    blocks = _blocks(subject, promises, stories, _numbers("--prior", prior), reports, group)
    _tell(subject, blocks, out, as_json=as_json)


def _subject(catalog: str | None, table: str | None, period: str | None, diameter: float | None) -> _Subject:
    from emdp.catalog.catalog import load_catalog
    from emdp.cli.sql import promises_of
    from emdp.disclosure.stories import protected
    from emdp.privacy import SLACK_LIMIT
    from emdp.spaces import Interval

    if diameter is not None:
        check_table_option(table)
        if catalog is not None:
            raise UsageError("--diameter stands in the catalog; leave it out, or leave -C out.")
        length = check_positive("--diameter", diameter)
        return _Subject("a table", Interval(NAMELESS, 0.0, length), (), 0.0, (), ())
    path = catalog or DEFAULT_CATALOG
    if catalog is None and not os.path.exists(path):
        raise UsageError("-C is missing: distances need a space; pass -C CATALOG, or --alpha with --diameter.")
    loaded = load_catalog(path)
    own = loaded.table(table, period=period)
    changes = protected(loaded.protections(table), own.space)
    return _Subject(own.name, own.space, promises_of(loaded, own.name), SLACK_LIMIT, changes, loaded.paths())


def _stories(subject: _Subject, path: str | None, records: str) -> "tuple[Story, ...]":
    from emdp.disclosure.stories import default_stories, read_stories

    if path is None:
        counts = [check_count("--records", number) for number in _numbers("--records", records)]
        return (*subject.protected, *default_stories(subject.space, counts))
    found = read_toml("--story", path, "a TOML file with [[story]] tables")
    return read_stories(found.get("story"))


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} {text!r} is no list of numbers; write them with commas between.") from None


def _tried(alpha: float | None, epsilon: float | None, delta: float) -> "Guarantee":
    from emdp.privacy import EmdDP, UserDP

    lost = check_unit_interval("--delta", delta, zero=True)
    if alpha is not None:
        return EmdDP(check_positive("--alpha", alpha), lost)
    return UserDP(check_positive("--epsilon", epsilon), lost)


def _of_statement(q: str, catalog: str, table: str | None, period: str | None) -> "tuple[tuple[str, Guarantee], ...]":
    """Return what a statement, or the entries of a report together, would release, by kind."""
    from emdp.privacy import compose
    from emdp.privacy.events.table import GuaranteeEvent

    if q.lower().endswith(".toml"):
        from emdp.reports.checking import check_definition

        checked, _ = check_definition(q, catalog=catalog, period=period)
        if checked.budget is not None:
            return ((f"The report {q}", checked.budget),)
        guarantees = [one.planned.plan.guarantee for one in checked.entries if not one.planned.is_awaited]
    else:
        text = read_query(q)
        loaded, name = table_of(q, text, catalog, table)
        with looking_ahead(loaded, name, period) as session:
            guarantees = [one.guarantee for one in session.preview(text).statements]
    kinds = dict.fromkeys(one.kind for one in guarantees)
    return tuple(
        ("This statement" if len(guarantees) == 1 else "These statements together",
         compose([GuaranteeEvent(one) for one in guarantees if one.kind == kind]).guarantee)
        for kind in kinds
    )  # fmt: skip


def _of_ledger(path: str, name: str) -> "tuple[tuple[str, Guarantee], ...]":
    from emdp.cli.spending import spending_of
    from emdp.ledger import read_ledger

    with read_ledger(path) as ledger:
        entries = ledger.entries()
    found = [own for own in spending_of(entries) if own.table.casefold() == name.casefold()]
    if not found:
        raise UsageError(f"--spent {path!r} has no budget of the table {name!r}; pass the ledger of this table.")
    return tuple(("All that was released so far", own.account.spent) for own in found)


def _blocks(
    subject: _Subject,
    promises: "tuple[tuple[str, Guarantee], ...]",
    stories: "tuple[Story, ...]",
    priors: list[float],
    reports: int,
    group: int,
) -> "list[Block]":
    from emdp.disclosure.consequences import consequences_of
    from emdp.disclosure.page import Block
    from emdp.privacy import EmdDP
    from emdp.privacy.guarantees.kinds import is_by_source
    from emdp.privacy.guarantees.units import of_one_period

    together = [promise for _, promise in promises if not is_by_source(promise)]
    # What other budgets tell of a period adds to what one by periods does; alone that one bounds no whole.
    others = tuple(promise for promise in together if not isinstance(promise, EmdDP))
    is_whole = len(together) == len(promises) or len(others) < len(together)
    is_alone = len(together) > 1 or not is_whole
    # Of one by periods the records are told that somebody has in one of them.
    told = [
        (f"{title}{IN_ONE_PERIOD}", of_one_period(promise), others, False)
        if is_by_source(promise)
        else (f"{title}{ALONE if is_alone else ''}", promise, (), is_alone)
        for title, promise in promises
    ]
    if len(together) > 1 and is_whole:
        # Whoever sees the answers sees those of all budgets.
        told.insert(0, (promises[0][0], together[0], tuple(together[1:]), False))
    blocks = []
    for title, promise, beside, is_one_of_several in told:
        found = consequences_of(
            subject.space, promise, stories=stories, priors=priors, slack=subject.slack, reports=reports, group=group,
            beside=beside,
        )  # fmt: skip
        if is_one_of_several:
            found = replace(found, warnings=())
        text = f"Guarantee: {found.promise}."
        times = f", {reports} times" if reports > 1 else f", {group} people together" if group > 1 else ""
        if reports > 1:
            text += (
                " Beliefs are by the sum, which holds however the questions are chosen; detection and gap are of "
                "releases that are fixed in advance."
            )
        blocks.append(Block(title + times, text, found))
    return blocks


def beliefs_text(found: "Consequences") -> str:
    """Return the picture of beliefs for a terminal: a circle before, a bar to the largest belief afterwards.

    >>> from emdp.disclosure.consequences import consequences_of
    >>> from emdp.disclosure.stories import Story
    >>> from emdp.privacy import EmdDP
    >>> from emdp.spaces import Interval
    >>> stories = [Story("one visit of 20", 1 / 20), Story("everything", 1.0)]
    >>> print(beliefs_text(consequences_of(Interval("x", 0, 40), EmdDP(20.0), stories=stories)))
    how sure afterwards, at most             0 %          50 %           100 %
    one visit of 20                          |              o=======        | 73.2 %
    everything                               |              o===============| 100 %
    """
    from emdp.disclosure.words import percent

    title = max(WIDEST - BAR - 10, NARROWEST)
    lines = [f"{'how sure afterwards, at most':{title}} 0 %{'50 %':>{BAR // 2 - 1}}{'100 %':>{BAR // 2 + 1}}"]
    for row in found.rows:
        start = round(BAR * found.priors[0])
        # Rounded up, as the number beside it.
        end = max(start, min(BAR, math.ceil(BAR * row.beliefs[0])))
        bar = f"{' ' * (start - 1)}o{'=' * (end - start)}"
        first, *further = textwrap.wrap(row.story.title, title, subsequent_indent="  ")
        lines += [f"{first:{title}} |{bar:{BAR}}| {percent(row.beliefs[0])}", *further]
    return "\n".join(lines)


def table_text(heads: "Sequence[str]", rows: "Sequence[Sequence[str]]", width: int) -> str:
    """Return a table whose first cells go on below themselves where a row is wider than a terminal."""
    import polars as pl

    others = [max(len(row[place]) for row in (heads, *rows)) + 2 for place in range(1, len(heads))]
    space = max(width - sum(others), NARROWEST)
    folded = []
    for row in rows:
        first, *further = textwrap.wrap(row[0], space, subsequent_indent="  ") or [""]
        folded.append([first, *row[1:]])
        folded += [[line, *("" for _ in others)] for line in further]
    return frame_text(pl.DataFrame(folded, schema=list(heads), orient="row"))


def _tell(subject: _Subject, blocks: "list[Block]", out: str | None, *, as_json: bool) -> None:
    from emdp.disclosure.asked import write
    from emdp.disclosure.page import gaussian_table
    from emdp.disclosure.page import table_of as texts_of
    from emdp.disclosure.words import head

    if as_json:
        tables = [{"title": block.title, "rows": block.found.frame.to_dicts()} for block in blocks]
        print(json.dumps(tables, indent=2))
    else:
        width = table_width()
        print(textwrap.fill(head(blocks[0].found.guarantee), width))
        for block in blocks:
            print("\n" + textwrap.fill(f"{block.title} ({block.found.promise})", width))
            for heads, rows in filter(None, (texts_of(block.found), gaussian_table(block.found))):
                print(table_text(heads, rows, width))
        for text in dict.fromkeys(text for block in blocks for text in block.found.warnings):
            print(textwrap.fill(f"note: {text}", width, subsequent_indent="      "))
        if subject.slack and subject.protected:
            print(textwrap.fill(SLACK.format(subject.slack), width, subsequent_indent="      "))
    if out is not None:
        written = write(out, f"What {subject.name} may tell about one person", subject.space, blocks)
        print(f"wrote {', '.join(map(str, written))}")
