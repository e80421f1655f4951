"""``emdp demo``: the main job on generated tables, true values beside private ones."""

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.digits import rounded_texts
from emdp.base.errors import UsageError

if TYPE_CHECKING:
    from emdp.questions import Mean, VectorMean
    from emdp.sessions.session import Session
    from emdp.tables import Table

__all__ = ["run"]

USERS = 2000
CHECKINS = 200_000
MESSAGES = 12_000
MIDTOWN = (40.7484, -73.9857)
PROTECTED = (1 / 30, 5.0, 0.2)
"""Protected change: a thirtieth of a person's check-ins, moved by 5 km on average, with epsilon 0.2."""

WIDTHS = (26, 12, 12, 12, 10)


def run(
    keep: Annotated[str | None, typer.Option("--keep", help="Folder to keep the tables and ledgers in.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the generated tables (the noise has none).")] = 0,
) -> None:
    """Generate people, ask private questions about them, and compare with the truth, which is known here."""
    folder = tempfile.mkdtemp(prefix="emdp-demo-") if keep is None else keep
    try:
        os.makedirs(folder, exist_ok=True)
        is_used = bool(os.listdir(folder))
    except OSError:
        raise UsageError(f"--keep must be a folder that can be made, got {folder!r}; name another.") from None
    if is_used:
        raise UsageError(f"--keep names {folder!r}, which holds files already; name a new or empty folder.")
    try:
        _places(folder, seed)
        _words(folder, seed)
        if keep is not None:
            ledger = os.path.join(folder, "visits.ledger")
            print(f"\nTables and ledgers are in {folder}; try: emdp ledger show {ledger}")
        else:
            print("\nThe tables and ledgers are gone; `emdp demo --keep FOLDER` keeps them.")
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _places(folder: str, seed: int) -> None:
    from emdp.expressions import distance_to, ramp
    from emdp.privacy import Change, EmdDP, protect
    from emdp.questions import mean, vector_mean
    from emdp.resources import load_dataset_module
    from emdp.sessions.session import Session, read
    from emdp.spaces import Geo

    checkins = load_dataset_module("checkins")
    path = os.path.join(folder, "visits.parquet")
    checkins.write_checkins(path, users=USERS, records=CHECKINS, seed=seed)
    print(f"Generated (nobody is in it): {USERS:,} people, {CHECKINS:,} check-ins")
    place = Geo("lat", "lon", box=checkins.city_box(), unit="km", on_invalid="clamp")
    visits = read(path, user="user_id", space=place, users=USERS)
    alpha = protect(Change(*PROTECTED), space=place)
    print(
        f"Protected: a thirtieth of a person's check-ins, moved by {PROTECTED[1]:g} km, with epsilon {PROTECTED[2]:g}"
        f" -> alpha = {alpha:.2f} per unit of d_em (diameter {place.diameter:.1f} km)\n"
    )
    far = distance_to(MIDTOWN)
    with Session(visits, budget=EmdDP(alpha=alpha), ledger=os.path.join(folder, "visits.ledger")) as session:
        _header()
        _ask(session, visits, mean(far, alpha=alpha / 8, name="km to midtown"))
        _ask(session, visits, mean(ramp(far, 2, 1), alpha=alpha / 8, name="share within 1 to 2 km"))
        rings = [ramp(far, outer + 1, outer) for outer in (2, 5, 10)]
        names = ["share within 2 to 3 km", "share within 5 to 6 km", "share within 10 to 11 km"]
        _ask(session, visits, vector_mean(rings, alpha=alpha / 4, names=names))
        print(f"\nspent {session.spent()}\nleft  {session.remaining()}\n")


def _words(folder: str, seed: int) -> None:
    from emdp.expressions import similarity
    from emdp.privacy import EmdDP
    from emdp.questions import mean
    from emdp.resources import load_dataset_module
    from emdp.sessions.session import Session, read
    from emdp.spaces import Words

    messages = load_dataset_module("messages")
    path, vectors = os.path.join(folder, "messages.parquet"), os.path.join(folder, "words.parquet")
    messages.write_messages(path, vectors, users=USERS, records=MESSAGES, seed=seed)
    space = Words("text", vectors, on_invalid="neutral")
    word = space.labels[len(space.labels) // 100]
    print(f"Generated: {MESSAGES:,} messages of {USERS:,} people, {len(space.labels):,} word vectors")
    table = read(path, user="user_id", space=space, users=USERS)
    with Session(table, budget=EmdDP(alpha=20.0), ledger=os.path.join(folder, "messages.ledger")) as session:
        _header()
        _ask(session, table, mean(similarity(word), alpha=2.0, name=f"similarity to '{word}'"))
        print(f"\nspent {session.spent()}\nleft  {session.remaining()}")


def _header() -> None:
    print(_row("mean over people of", "private", "low 95 %", "high 95 %", "true"))


def _ask(session: "Session", table: "Table", query: "Mean | VectorMean") -> None:
    """Print the private answer, and the exact one, which only a generated table may show."""
    from emdp.questions import Mean
    from emdp.tables import mean_of_user_means

    answer = session.answer(query)
    expressions = [query.expression] if isinstance(query, Mean) else list(query.expressions)
    exact = [float(value) for value in mean_of_user_means(table, expressions).open()]
    for (name, value, low, high), truth in zip(answer.interval(0.95).iter_rows(), exact, strict=True):
        print(_row(name, *rounded_texts(value, low, high), f"{truth:.5g}"))


def _row(*texts: str) -> str:
    numbers = (text.rjust(width) for text, width in zip(texts[1:], WIDTHS[1:], strict=True))
    return " ".join([texts[0].ljust(WIDTHS[0]), *numbers])
