"""``emdp calibrate``: from what must be protected to alpha, and from alpha to noise, users, samples and randomizers."""

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from emdp.base.checks import check_choice, check_count, check_positive, check_unit_interval
from emdp.base.errors import UsageError
from emdp.cli import calibration, mixing, progress
from emdp.cli.calibration import Items, Section
from emdp.cli.mixing import Messages
from emdp.cli.options import CatalogOption, TableOption, check_table_option, numbers
from emdp.cli.output import check_target, write_pictures
from emdp.cli.sql import PeriodOption
from emdp.cli.tables import frame_text, table_width

if TYPE_CHECKING:
    from emdp.pictures import Picture
    from emdp.privacy import Change
    from emdp.privacy.guarantees.protections import HasDiameter

__all__ = ["run"]

MODELS = ("shuffle", "local")
"""Models of an item-wise release, which mix the records of all users, or of one."""

NAMED_PART = re.compile(r"(.*),\s*([A-Za-z_]\w*)\s*")
"""A change that ends in the part of a product space which it happens in."""

POINTS = 12
"""Points of a curve."""

START = (
    "give --change (what must be protected), --alpha, --alpha0, --epsilon with --r or with --users, or --epsilon0; see "
    "emdp calibrate --help."
)


@dataclass(frozen=True)
class _Diameter:
    """A space of which only the diameter is known."""

    diameter: float


@dataclass(frozen=True)
class _Asked:
    """Checked options; None where they, and the catalog, say nothing."""

    changes: "tuple[Change, ...]"
    space: "HasDiameter | None"
    alpha: float | None
    alpha0: float | None
    epsilon: float | None
    r: float | None
    delta: float
    records: int | None
    users: int | None
    model: str
    w_min: float
    samples: int | None
    seconds: float
    lipschitz: float | None
    error: float | None
    choices: int | None
    epsilon0: float | None
    rounds: int
    drawn: tuple[int | None, float | None]

    def messages(self, level: float = 0.0, *, is_alpha: bool = False) -> Messages:
        """Return the messages of which one is a user's, or ``rounds``."""
        unit: Literal["alpha", "epsilon"] = "alpha" if is_alpha else "epsilon"
        return mixing.messages_of(self.users, self.delta, level, unit, self.choices, self.rounds, *self.drawn)

    def items(self, m: int) -> Items | None:
        """Return the items of an item-wise release with ``m`` records of a user; None if the users are not known."""
        if self.model == "shuffle" and self.users is None:
            return None
        if self.delta == 0:
            raise UsageError(
                "--delta is missing; without one only alpha = records times alpha0 is left, so pass one such as 1e-9, "
                "well below 1/users."
            )
        return Items(m, m if self.model == "local" else m * (self.users or 1), self.delta, self.w_min)


@dataclass(frozen=True)
class _Found:
    """Result to show: the alpha that it follows from (None where that is asked for), tables, items of a release."""

    alpha: float | None
    sections: tuple[Section, ...]
    items: Items | None


def run(
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            metavar="FRACTION,DISTANCE,EPSILON",
            help="Protect a change of this fraction of a person's records by this average distance with this epsilon. "
            "May be repeated; in a product space a column after another comma says which part.",
        ),
    ] = None,
    diameter: Annotated[
        float | None, typer.Option(help="Largest distance there is, in the unit of --change; or pass -C.")
    ] = None,
    catalog: CatalogOption = None,
    table: TableOption = None,
    period: PeriodOption = None,
    alpha: Annotated[float | None, typer.Option(help="Loss per unit of d_em, where it is known already.")] = None,
    delta: Annotated[float, typer.Option(help="Probability that the promise may fail; 0 leaves Laplace noise.")] = 0.0,
    users: Annotated[int | None, typer.Option("--users", "--n", help="Public number of users.")] = None,
    lipschitz: Annotated[
        float | None, typer.Option(help="Of the averaged expression, per unit of d_em; default: the diameter.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="Ask for the users that a mean needs to be this close, with 95 %.")
    ] = None,
    records: Annotated[
        int | None, typer.Option("--records", "--m", help="Ask for an item-wise release: records of every user.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="shuffle: all users' records are mixed; local: each user's own.")
    ] = "shuffle",
    alpha0: Annotated[
        float | None, typer.Option(help="Strength of a randomizer: ask for the alpha of its item-wise release.")
    ] = None,
    w_min: Annotated[float, typer.Option(help="Smallest positive distance of two items; 1 for categories.")] = 0.0,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="With --r: a promise for near bags only, any sizes. With --users: one message of each, mixed."
        ),
    ] = None,
    r: Annotated[float | None, typer.Option("--r", help="Largest d_em that --epsilon is for, in (0, 1].")] = None,
    samples: Annotated[int | None, typer.Option(help="Records sampled for each user; default: as time allows.")] = None,
    seconds: Annotated[float, typer.Option(help="Time for sampling, where --samples is left out.")] = 10.0,
    items: Annotated[int | None, typer.Option(help="Public number of items of which shares are asked.")] = None,
    epsilon0: Annotated[
        float | None, typer.Option(help="Strength of a user's message: ask for epsilon once all are mixed.")
    ] = None,
    messages: Annotated[int, typer.Option(help="Messages of a user, each mixed by itself.")] = 1,
    sampled: Annotated[
        int | None, typer.Option(help="With --users: how many of them send each message, drawn anew and in secret.")
    ] = None,
    participation: Annotated[
        float | None, typer.Option(help="With --users: with what probability a user sends each message, in secret.")
    ] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE.svg", help="Draw the curve behind the last table.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Find parameters before asking anything. Reads no record and spends nothing.

    Alpha says how much an answer may tell of a person, for a change of all of a person's records by the largest
    distance there is; smaller changes are hidden better, in proportion. Say what must be hidden, and read off the rest:

    \b
      emdp calibrate --change 1/30,5,0.2 --change 1,0.15,0.2 --diameter 68
      emdp calibrate --change 1/30,5,0.2 --diameter 68 --users 100000 --error 0.1
      emdp calibrate --alpha 25 --delta 1e-12 --records 1000 --users 100000
      emdp calibrate --alpha0 2 --delta 1e-12 --records 1000 --users 100000
      emdp calibrate --epsilon 1 --r 0.05 --delta 1e-9 --users 100000
      emdp calibrate --epsilon 1 --delta 1e-9 --users 100000 --items 1000
      emdp calibrate --epsilon 1 --delta 1e-9 --users 100000 --messages 100 --sampled 5000

    The first line: moving one day of a month by 5 km, or everything by 150 m, within a city of 68 km, shall tell at
    most epsilon = 0.2. The second adds how good a mean distance gets, and how many users an error of 0.1 km needs.
    The third and fourth go from alpha to the strength alpha0 of a randomizer on every record, and back. The fifth is
    for users with unequal numbers of records, which are sampled first. The sixth is for one message of each user: how
    strong it may be once somebody mixes them, and what a curator, mixed messages and unmixed ones are worth. The last
    is for rounds of users who are drawn anew for each, in secret (--participation: who join by themselves).
    """
    known, space, declared = _from_catalog(catalog, table, period, diameter)
    goals = {alpha0, epsilon, epsilon0}
    asked = _Asked(
        changes=tuple(map(_change, change)) if change else declared if goals == {None} else (),
        space=space,
        alpha=None if alpha is None else check_positive("--alpha", alpha),
        alpha0=None if alpha0 is None else check_positive("--alpha0", alpha0),
        epsilon=None if epsilon is None else check_positive("--epsilon", epsilon),
        r=r,
        delta=check_unit_interval("--delta", delta, zero=True),
        records=(known[0] if delta > 0 else None) if records is None else check_count("--records", records),
        users=known[1] if users is None else check_count("--users", users),
        model=check_choice("--model", model, MODELS),
        w_min=check_unit_interval("--w-min", w_min, zero=True, one=True),
        samples=samples,
        seconds=check_positive("--seconds", seconds),
        lipschitz=None if lipschitz is None else check_positive("--lipschitz", lipschitz),
        error=None if error is None else check_positive("--error", error),
        choices=None if items is None else check_count("--items", items, minimum=2),
        epsilon0=None if epsilon0 is None else check_positive("--epsilon0", epsilon0),
        rounds=check_count("--messages", messages),
        drawn=(sampled, participation),
    )
    _check_plot(plot, catalog)
    with progress.waiting("calculating"):
        found = _found(asked)
        picture = None if plot is None else _curve(asked, found)
    _print(found, as_json=as_json)
    if picture is not None and plot is not None:
        write_pictures([picture], plot)


def _from_catalog(
    catalog: str | None, table: str | None, period: str | None, diameter: float | None
) -> "tuple[tuple[int | None, int | None], HasDiameter | None, tuple[Change, ...]]":
    """Return records and users, the space, and the protections that a catalog declares; or what the options say."""
    from emdp.catalog.catalog import load_catalog

    if catalog is None:
        check_table_option(table)
        if period is not None:
            raise UsageError("--period is part of a table of a catalog; pass -C CATALOG, or leave it out.")
        return (None, None), None if diameter is None else _Diameter(check_positive("--diameter", diameter)), ()
    if diameter is not None:
        raise UsageError("--diameter stands in the catalog; leave it out, or leave -C out.")
    loaded = load_catalog(catalog)
    opened = loaded.table(table, period=period)
    return (opened.records, opened.n), opened.space, loaded.protections(table)


def _change(text: str) -> "Change":
    from emdp.privacy import Change

    named = NAMED_PART.fullmatch(text)
    fraction, distance, epsilon = numbers("--change", text if named is None else named[1], 3)
    try:
        return Change(fraction, distance, epsilon, None if named is None else named[2])
    except UsageError as error:
        raise UsageError(f"--change {text!r} cannot be read: {error}") from None


def _check_part(change: "Change", space: "HasDiameter | None") -> None:
    """Refuse a change of a product space that does not say in which part, in the words of the command line."""
    parts = getattr(space, "parts", (space,))
    columns = [column for part in parts for column in getattr(part, "columns", ())]
    if len(parts) < 2 or change.part in columns or isinstance(change.part, int) or isinstance(change.distance, str):
        return
    wrong = "lacks the part of the space" if change.part is None else f"has {change.part!r} for the part of the space"
    distance = change.distance if isinstance(change.distance, str) else f"{change.distance:.6g}"
    much = change.fraction if change.records is None else change.records
    text = f"{much:.6g},{distance},{change.epsilon:.6g}"
    raise UsageError(
        f"--change {wrong} in which records move; end it in one of the columns {', '.join(columns)}, as in --change "
        f"{text},{columns[0]}."
    )


def _check_plot(plot: str | None, catalog: str | None) -> None:
    if plot is None:
        return
    if not plot.lower().endswith(".svg"):
        raise UsageError(f"--plot {plot!r} is no SVG file; pass a name that ends in .svg.")
    check_target(("plot", plot), 1, () if catalog is None else (catalog,))


def _check_goal(asked: _Asked) -> None:
    """Check that the options have one goal, and what that goal needs."""
    if asked.epsilon is None and asked.r is not None:
        raise UsageError("--epsilon is missing; --epsilon and --r are one promise, so pass both or none.")
    if asked.epsilon is not None and asked.r is None and asked.users is None:
        raise UsageError(
            "--r is missing; --epsilon and --r are one promise, or pass --users and --delta for a message of each user."
        )
    from_changes = "--change" if asked.changes and asked.alpha is None else None
    given: dict[str, object] = {"--alpha": asked.alpha, "--alpha0": asked.alpha0, "--epsilon": asked.epsilon}
    given = {**given, "--epsilon0": asked.epsilon0, "--change": from_changes}
    goals = [name for name, value in given.items() if value is not None]
    if not goals:
        raise UsageError(f"there is nothing to calibrate; {START}")
    if len(goals) > 1:
        raise UsageError(f"{goals[0]} and {goals[1]} both lead to an alpha; pass one of them.")
    if asked.changes and asked.space is None:
        raise UsageError("--diameter is missing; a distance needs the largest one that there is, or pass -C CATALOG.")
    for change in asked.changes if asked.space is not None else ():
        _check_part(change, asked.space)
    if asked.samples is not None and asked.r is None:
        raise UsageError("--samples belongs to --epsilon and --r; pass these too, or leave it out.")
    if asked.drawn != (None, None) and asked.epsilon0 is None and (asked.epsilon is None or asked.r is not None):
        raise UsageError("--sampled and --participation belong to --epsilon or --epsilon0; pass one of these too.")
    if asked.error is not None and asked.lipschitz is None and asked.space is None:
        raise UsageError("--lipschitz is missing; an error needs to know what is averaged, or pass --diameter or -C.")


def _found(asked: _Asked) -> _Found:
    _check_goal(asked)
    if asked.alpha0 is not None:
        needed = _needed_items(asked)
        return _Found(None, (calibration.alpha_section(asked.alpha0, needed),), needed)
    if asked.epsilon is not None and asked.r is not None:
        return _reduced(asked, asked.epsilon, asked.r)
    if asked.epsilon0 is not None:
        return _Found(None, (mixing.messages_section(asked.epsilon0, asked.messages()),), None)
    if asked.epsilon is not None:
        return _Found(None, mixing.sections_of(asked.messages(asked.epsilon)), None)
    sections: list[Section] = []
    level = asked.alpha
    items = None if asked.records is None else _needed_items(asked)
    if asked.changes and asked.space is not None:
        level, section = calibration.protection_section(asked.changes, asked.space, asked.alpha)
        sections.append(section)
    if level is None:
        raise UsageError(f"there is no alpha to go on from; {START}")
    lipschitz = _lipschitz(asked)
    if lipschitz is not None and asked.users is not None:
        sections.append(calibration.mean_section(level, asked.delta, lipschitz, asked.users))
    if lipschitz is not None and asked.error is not None:
        sections.append(calibration.users_section(level, asked.delta, lipschitz, asked.error))
    if items is not None:
        sections.append(calibration.strength_section(level, items))
    if asked.choices is not None:
        sections += mixing.sections_of(asked.messages(level, is_alpha=True))
    if not sections:
        raise UsageError(
            "--alpha alone says no more; add --lipschitz and --users or --error, or --records, --users and --delta."
        )
    return _Found(level, tuple(sections), items)


def _reduced(asked: _Asked, epsilon: float, r: float) -> _Found:
    """Return what a promise for near bags leads to, for users with any numbers of records."""
    from emdp.privacy.reduction import BoundedReduction

    if asked.delta == 0:
        raise UsageError("--delta is missing; samples may lie farther apart than the bags, so pass one such as 1e-9.")
    if asked.samples is None and asked.users is None:
        raise UsageError("--users is missing; how many records can be sampled depends on it, or pass --samples.")
    chosen = BoundedReduction(samples=asked.samples, r=r)
    s = chosen.resolved(asked.users or 1, asked.delta, seconds=asked.seconds).samples or 1
    reduction, section = calibration.reduction_section(epsilon, chosen.r, s, asked.delta)
    shuffled = asked.items(s)
    if shuffled is None:
        return _Found(reduction.alpha, (section,), None)
    items = replace(shuffled, delta=reduction.delta_mechanism)
    return _Found(reduction.alpha, (section, calibration.strength_section(reduction.alpha, items)), items)


def _lipschitz(asked: _Asked) -> float | None:
    """Return the constant of what is averaged: by default that of a distance, or a column, in the space's unit."""
    if asked.lipschitz is not None or asked.space is None:
        return asked.lipschitz
    # In a product space nobody knows which part is meant.
    return None if len(getattr(asked.space, "parts", (None,))) > 1 else asked.space.diameter


def _needed_items(asked: _Asked) -> Items:
    if asked.records is None:
        raise UsageError("--records is missing; an item-wise release depends on how many records a user has.")
    if (items := asked.items(asked.records)) is None:
        raise UsageError("--users is missing; it says how many records are mixed, or pass --model local.")
    return items


def _curve(asked: _Asked, found: _Found) -> "Picture":
    """Return alpha over alpha0 where a randomizer is asked for, else the error of a mean over its users."""
    from emdp.pictures.curve import draw_curves

    if found.items is not None:
        return _randomizer_curve(found, found.items, asked.alpha0)
    lipschitz = _lipschitz(asked)
    if lipschitz is None or found.alpha is None or asked.epsilon is not None:
        raise UsageError("--plot has no curve to draw; add --lipschitz or --diameter, or --records with --users.")
    middle = asked.users
    if middle is None:
        wanted = asked.error or lipschitz / 100
        rows = calibration.users_section(found.alpha, asked.delta, lipschitz, wanted).rows
        middle = min((row["users"] for row in rows if row["users"] and row["model"] == "central"), default=POINTS)
    # From a quarter of the users to twice as many.
    counts = sorted({max(1, round(middle * place / POINTS)) for place in range(POINTS // 4, 2 * POINTS + 1)})
    points = [(float(count), calibration.central_error(found.alpha, asked.delta, lipschitz, count)) for count in counts]
    title = f"Noise of a mean at alpha = {found.alpha:.6g}"
    return draw_curves([("best noise", points)], across="users", upwards="half-width of the 95 % interval", title=title)


def _randomizer_curve(found: _Found, items: Items, alpha0: float | None) -> "Picture":
    from emdp.pictures.curve import draw_curves
    from emdp.privacy.shuffle.items import shuffle_alpha0

    if alpha0 is None:
        alpha0 = shuffle_alpha0(found.alpha or 1.0, items.m, items.total, items.delta, items.w_min)
    title = f"{items.m} records of a user among {items.total} shuffled, delta = {items.delta:.6g}"
    curves = calibration.randomizer_curves(alpha0, items)
    return draw_curves(curves, across="alpha0 of the randomizer", upwards="alpha of the release", title=title)


def _print(found: _Found, *, as_json: bool) -> None:
    import polars as pl

    if as_json:
        tables = {section.name: list(section.rows) for section in found.sections}
        print(json.dumps(tables if found.alpha is None else {"alpha": found.alpha, **tables}, indent=2))
        return
    frames = ((own.title, pl.DataFrame(own.rows)) for own in found.sections)
    print("\n\n".join(f"{title}\n{frame_text(rows, width=table_width())}" for title, rows in frames))
