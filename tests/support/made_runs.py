"""Runs of reports made by hand: answers of every shape, a failed entry, a reused one, earlier periods."""

import json
import math
from dataclasses import replace
from pathlib import Path

import polars as pl

from emdp.answers import Receipt
from emdp.answers.stored import StoredAnswer
from emdp.privacy import Change, EmdDP
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape
from emdp.reports.definition import Entry, Report
from emdp.reports.meaning import meaning
from emdp.reports.outcome import BudgetState, EntryOutcome, ReportRun
from emdp.spaces import Geo

PERIOD = "2026-W47"
HEAD = "5f" * 32
CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")


def column(name: str, low: float, high: float, half_width: float) -> PlannedColumn:
    return PlannedColumn(name, f"x{name}", 1.0, low, high, half_width / 3, half_width / 3, half_width)


def answer(
    rows: list[tuple[object, ...]],
    names: tuple[str, ...],
    columns: tuple[PlannedColumn, ...],
    shape: Shape,
    *,
    period: str = PERIOD,
    notes: tuple[str, ...] = (),
    sequence: int = 12,
) -> StoredAnswer:
    """Return an answer; ``rows`` have the keys and then value, low and high for each column."""
    schema = [*names, *(f"{each.name}{end}" for each in columns for end in ("", "_low", "_high"))]
    return StoredAnswer(
        query="SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) 1 FROM visits",
        frame=pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None),
        shape=shape,
        columns=columns,
        guarantee=EmdDP(1.0),
        choice="one column, discrete Laplace noise",
        notes=notes,
        caveats=("rounding to the grid adds at most 1e-9 to epsilon",),
        assumptions=("the number of users is public", "each user's records are all in the table"),
        explanation="query        SELECT ...\nguarantee    alpha = 1.0\nnoise        scale 0.031, on a grid of 2^-20",
        is_private=True,
        period=period,
        data_version="declared: 2026-11-16",
        receipt=Receipt("city.ledger", sequence, "ab" * 32),
        time="2026-11-20T09:30:11.123456+00:00",
    )


def single(value: float | None = 7.2034, period: str = PERIOD) -> StoredAnswer:
    ends = (-math.inf, math.inf) if value is None else (value - 0.2931, value + 0.2931)
    columns = (column("km", 0, 50, 0.2931),)
    return answer([(value, *ends)], (), columns, Shape("rows", unit="km"), period=period)


def grouped(count: int = 12) -> StoredAnswer:
    names = ["café", "bar & grill", "<b>office</b>", "railway station (long distance and regional)", "park", "shop"]
    rows: list[tuple[object, ...]] = []
    for place in range(count):
        value = 12 - 0.9 * (place % 12)
        missing = place == 4
        name = names[place] if place < len(names) else f"place no {place}"
        ends = (-math.inf, math.inf) if missing else (value - 0.4 - 0.1 * place, value + 0.4 + 0.1 * place)
        share = max(0.2 - 0.02 * place, 0.004)
        rows.append((name, None if missing else value, *ends, share, share - 0.0123, share + 0.0123))
    columns = (column("km", 0, 50, 0.5), column("share", 0, 1, 0.0123))
    notes = ("a user without such a record counts as 0",)
    return answer(rows, ("category",), columns, Shape("rows", ("category",)), notes=notes)


def cells(side: int = 20, shift: float = 0.0) -> StoredAnswer:
    rows: list[tuple[object, ...]] = []
    for i in range(side):
        for j in range(side):
            place = ((i / side - 0.5) ** 2 + (j / side - 0.4 + shift) ** 2) * 40
            value = 0.02 * math.exp(-place) + 0.0003 * ((7 * i + 13 * j) % 11 - 5)
            rows.append((40.48 + 0.44 / side * i, -74.26 + 0.56 / side * j, value, value - 0.002, value + 0.002))
    shape = Shape("cells", (), ("lat", "lon"), (0.44 / side, 0.56 / side), is_map=True)
    return answer(rows, ("lat", "lon"), (column("share", 0, 1, 0.002),), shape)


def listed() -> StoredAnswer:
    rows: list[tuple[object, ...]] = [
        (f"{stars} stars", share, share - 0.03, share + 0.03)
        for stars, share in zip(range(1, 6), (0.05, 0.02, 0.2, 0.4, 0.33), strict=True)
    ]
    return answer(rows, ("stars",), (column("share", 0, 1, 0.03),), Shape("values", (), ("stars",)))


def quantiles() -> StoredAnswer:
    rows: list[tuple[object, ...]] = [
        (place / 20, 30 * (place / 20) ** 2, 30 * (max(place - 1, 0) / 20) ** 2, 30 * (min(place + 1, 20) / 20) ** 2)
        for place in range(1, 20)
    ]
    return answer(rows, ("q",), (column("km", 0, 50, 1.0),), Shape("quantiles", (), ("q",), unit="km"))


def outcome(
    title: str,
    made: StoredAnswer | None,
    *,
    picture: str = "auto",
    text: str = "",
    is_reused: bool = False,
    error: str = "",
    earlier: tuple[StoredAnswer, ...] = (),
    sequence: int = 12,
) -> EntryOutcome:
    query = (
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)\n"
        "  category, AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km\nFROM visits\nWHERE hour < 10\nGROUP BY category"
    )
    charge = {"sequence": sequence, "hash": "ab" * 32, "event": {"kind": "GuaranteeEvent"}}
    stored = {"sequence": sequence + 1, "hash": "cd" * 32, "content": "ef" * 32}
    return EntryOutcome(
        entry=Entry(title, query, picture, text),
        text=query,
        answer=made,
        is_reused=is_reused,
        error=error,
        earlier=earlier,
        charge=None if made is None else charge,
        stored=None if made is None else stored,
    )


def run_of(outcomes: list[EntryOutcome], **changes: object) -> ReportRun:
    """Return a run with these outcomes; ``changes`` are fields of it."""
    title = "Where people go"
    # A JSON text is a TOML text.
    definition = f"title = {json.dumps(title)}\ncatalog = 'emdp.toml'\n" + "".join(
        f"[[entry]]\ntitle = {json.dumps(own.entry.title)}\nquery = {json.dumps(own.entry.query)}\n" for own in outcomes
    )
    report = Report(
        path=Path("places.toml"),
        title=title,
        catalog=Path("emdp.toml"),
        entries=tuple(own.entry for own in outcomes),
        period=PERIOD,
        text="Check-ins in New York City, one page a week.\nOne record is one visit.",
    )
    answered = sum(own.answer is not None for own in outcomes)
    promise, spent = EmdDP(60.0, 1e-8), EmdDP(24.5)
    steps = tuple((f"2026-W{week}", 60.0 - 35.5 / 8 * (week - 39)) for week in range(40, 48))
    run = ReportRun(
        report=report,
        definition=definition,
        table="visits",
        period=PERIOD,
        data_version="declared: 2026-11-16",
        users=100_000,
        outcomes=tuple(outcomes),
        spent=(EmdDP(float(answered)),) if answered else (),
        budgets=(BudgetState(promise, spent, EmdDP(35.5, 1e-8), steps),),
        protections=(
            "A change of a thirtieth of your records by 5 km is hidden with epsilon 0.024 by this page, and with "
            "epsilon 0.2 by all that is ever answered.",
        )
        if answered
        else (),
        ledger_id="9d1c2f0e-5a7c-4b7e-9a77-0d3c1f7b2a10",
        head=(41, HEAD),
        versions={"emdp": "0.1.0", "duckdb": "2.0.0", "polars": "2.1.0", "python": "3.11.2"},
        made="2026-11-22T02:31:03+00:00",
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def full_run(**changes: object) -> ReportRun:
    """Return a run that has something of everything."""
    weeks = [single(value, f"2026-W{week}") for week, value in zip(range(43, 47), (6.5, None, 6.9, 7.4), strict=True)]
    return run_of(
        [
            outcome("Distance to midtown", single(), text="Half of it is the daily commute.", earlier=tuple(weeks)),
            outcome("Distance from week to week", single(), picture="line", earlier=tuple(weeks)),
            outcome("Kinds of places & how far they are", grouped(), text="Home does not count.", is_reused=True),
            outcome("Where people check in", cells(), text="Small dots are cells below their noise."),
            outcome("Stars", listed()),
            outcome("How far people go", quantiles()),
            outcome("Broken <script>alert(1)</script>", None, error="column 'kn' is not in 'visits'; name another."),
            outcome("No picture", grouped(150), picture="none"),
            outcome("A_very_long_name_without_any_space_that_must_be_broken_somewhere_or_is_too_wide", single(None)),
        ],
        **{"meaning": meaning([EmdDP(8.0)], [Change(1 / 30, 5.0, 0.2)], CITY), **changes},
    )
