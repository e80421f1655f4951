"""An audit of queries: plan, make neighbouring tables, draw, bound, and compare with whole sessions."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from emdp.audit.agreement import compared_sessions
from emdp.audit.changes import added_changes, all_given
from emdp.audit.claims import Claim, claims_at, default_distances, joint_claims
from emdp.audit.counts import CountedMessages
from emdp.audit.neighbours import SIZE, Move, Neighbours, best_move, fewer_records, made_users, neighbours
from emdp.audit.plans import AuditedPlan, audited
from emdp.audit.points import PublicRecords
from emdp.audit.releases import NoiseDraws, joint_scores
from emdp.audit.report import Agreement, AuditReport, AuditRow
from emdp.audit.tester import LEAST_TRIALS, Scores, find_losses
from emdp.base.checks import check_count, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.noise.rng import is_seeded
from emdp.privacy import DiscreteEmdDP, EmdDP, Guarantee
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.questions.resolution import Query
from emdp.sessions.planning import Planned, plan_request
from emdp.sessions.session import Session
from emdp.tables import Table

__all__ = ["DEFAULT_TRIALS", "END_TO_END", "audit"]

DEFAULT_TRIALS = 100_000
"""Draws of noise on each table."""

END_TO_END = 100
"""Answers of whole sessions with which draws in bulk are compared; 0 leaves that out."""

FEW_USERS: Mapping[str, int] = {"central": 1000, "shuffle": 1000, "local": 1}
"""Most users of made tables where every user's message is drawn, if the number is free: in the local model one user's
message has the guarantee by itself, and among others it would only be hidden better."""

ALIKE = 0.01
"""Relative difference of distances that are taken for one, where no records lie farther apart with a larger change."""

ALONE, COUNTED = "one user's own message, unmixed", "counts of all messages"
"""Added to the name of a mechanism in the rows of these: among many no fault could be counted in releases."""

LONGEST = 80
"""Characters of a query's text that a row shows."""

Progress = Callable[[int, int, str], None]
MOST_SLOTS = 1000
"""Most slots that an audit fills with records of one user."""

Request = str | Query


@dataclass(frozen=True, eq=False)
class _Asked:
    """Statements that are audited together, planned for tables of one kind."""

    planned: tuple[Planned, ...]
    requests: tuple[Request, ...]
    users: int | None
    label: str


@dataclass(frozen=True, eq=False)
class _Setting:
    """Settings of an audit."""

    table: Table
    public: Mapping[str, object]
    promises: tuple[Guarantee, ...]
    distances: tuple[float, ...] | None
    trials: int
    end_to_end: int
    size: int | None = None


@dataclass(frozen=True, eq=False)
class _Tried:
    """Claims at one distance, and the draws that they are held against."""

    label: str
    mechanism: str
    model: str
    tables: Neighbours
    claims: tuple[Claim, ...]
    scores: Scores | CountedMessages
    users: int


def audit(
    source: Session | Table,
    query: Request | Sequence[Request],
    *,
    distances: Sequence[float] | None = None,
    trials: int = DEFAULT_TRIALS,
    confidence: float = 0.95,
    end_to_end: int = END_TO_END,
    public: Mapping[str, object] | None = None,
    promises: Sequence[Guarantee] = (),
    period_records: int | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Try to break what queries promise on a table's space, and return lower bounds of the loss beside the claims.

    No private record is read: the tables are made from the public space, columns and users (:mod:`emdp.audit.points`).
    For each distance two tables are chosen between which the statistic changes most, the engine computes it on both,
    the release is drawn ``trials`` times, and the event that tells the two apart best, chosen on half of the draws, is
    counted on the other half. Where messages are mixed all are counted too, by the law of one
    (:mod:`emdp.audit.counts`), and one user's own are audited. The bounds hold together with probability ``confidence``
    (Bonferroni over rows, and over the probabilities of each).

    Parameters
    ----------
    source : Session or Table
        Whose space, users and public tables the queries are about; nothing is charged to a session.
    query : str, query, or a sequence of these
        SQL (one statement or several), or what ``emdp.mean`` and its like make. Several are audited one by one and
        together.
    distances : sequence of float, optional
        Earth-mover distances in (0, 1]; by default those at which losses of 0.5, 1, 2 and 4 are claimed, as far as
        there are such, and for guarantees that do not depend on it 0.25 and 1. Between a distance and 0 the nearest
        possible one is taken, and its exact value is reported.
    trials : int
        Draws on each table, at least 100; what cannot be drawn in bulk runs as a whole, at least 100 times: a curator's
        descents ``trials/4`` times, ranges in the central model, vectors of users' means, and outputs that are points
        ``trials/20`` times.
    confidence : float
        In (0, 1).
    end_to_end : int
        Answers of whole sessions (checks, ledger, engine) whose law is compared with that of the draws; 0 for none.
    public : mapping, optional
        Public tables by name, where ``source`` is a table.
    promises : sequence of Guarantee
        What the budgets allow, where ``source`` is a table and a query chooses by it.
    period_records : int, optional
        Records that the changed user has in the period that is read, where the table declares none: 1 shows what a
        person of one record there can lose, however many other periods have (:mod:`emdp.privacy.account.periods`).
    progress : callable, optional
        Told how many of how many steps are done, and what comes next.

    Returns
    -------
    AuditReport

    Raises
    ------
    UsageError
        If an argument is malformed, or no record can be made or moved that near.
    EmdpError
        If a query is refused.

    >>> from emdp.expressions import col
    >>> from emdp.questions import mean
    >>> from emdp.spaces import Interval
    >>> from emdp.tables import read
    >>> table = read({"u": [1], "x": [0.5]}, user="u", space=Interval("x", 0, 1), users=50)
    >>> report = audit(table, mean(col("x"), alpha=2.0), distances=[1.0], trials=4000, end_to_end=0)
    >>> row, = report.rows
    >>> round(row.distance, 6), 1.0 < row.audited_epsilon <= row.claimed_epsilon < 2.0000001, report.is_sound
    (1.0, True, True)
    """
    setting = _setting(source, distances, trials, end_to_end, public, promises)
    if period_records is not None:
        setting = replace(setting, size=check_count("period_records", setting.table.records or period_records))
    check_unit_interval("confidence", confidence)
    requests = (query,) if isinstance(query, str) or not isinstance(query, Sequence) else tuple(query)
    asked = _asked(setting, requests)
    tell = progress or (lambda done, total, text: None)
    steps = len(asked) + 1
    tried: list[_Tried] = []
    agreements: list[Agreement] = []
    for done, one in enumerate(asked):
        tell(done, steps, one.label)
        found, compared = _tried(setting, one)
        tried += found
        agreements += compared
    tell(len(asked), steps, "bounds")
    failure = (1.0 - confidence) / max(sum(len(one.claims) for one in tried), 1)
    rows = tuple(row for one in tried for row in _rows(one, failure, confidence))
    return AuditReport(rows, confidence, tuple(agreements), f"Audit of {setting.table.name}")


def _setting(
    source: Session | Table,
    distances: Sequence[float] | None,
    trials: int,
    end_to_end: int,
    public: Mapping[str, object] | None,
    promises: Sequence[Guarantee],
) -> _Setting:
    if is_seeded():
        raise UsageError("an audit needs the noise of releases, not that of the test switch; call it outside.")
    if isinstance(source, Session):
        if public is not None or promises:
            raise UsageError("public and promises are those of the session; leave them out.")
        table, public, promises = source.table, source.names.public, source.promises
    elif isinstance(source, Table):
        table = source
    else:
        raise UsageError(f"source must be a Session or a Table, not {type(source).__name__}; pass one of them.")
    if check_count("trials", trials) < LEAST_TRIALS:
        raise UsageError(f"trials must be at least {LEAST_TRIALS}, got {trials}; pass more.")
    check_count("end_to_end", end_to_end, minimum=0)
    if distances is not None:
        distances = tuple(sorted({check_range("distances", one, 0.0, 1.0) for one in distances}))
        if not distances or distances[0] == 0:
            raise UsageError("distances must be above 0, and at least one; pass some, or leave them out.")
    return _Setting(table, dict(public or {}), tuple(promises), distances, trials, end_to_end)


def _asked(setting: _Setting, requests: Sequence[Request]) -> list[_Asked]:
    """Return every statement by itself, and all together where there are several."""
    names = setting.table.names(setting.public)
    found: list[_Asked] = []
    for request in requests:
        for planned in plan_request(request, names, setting.promises):
            own = planned.text if isinstance(request, str) else request
            found.append(_planned_for_few(setting, planned, own))
    if not found:
        raise UsageError("query holds no statement; pass at least one.")
    if len(found) > 1:
        # Together on tables with as many users as are declared, unless one of them is drawn user by user.
        every = tuple(request for one in found for request in one.requests)
        together = tuple(one for request in every for one in plan_request(request, names, setting.promises))
        found.append(_Asked(together, every, None, "all together"))
    return found


def _planned_for_few(setting: _Setting, planned: Planned, request: Request) -> _Asked:
    """Return a statement planned for tables of as many users as an audit can draw messages of."""
    label = " ".join(planned.text.split())[:LONGEST]
    table, model = setting.table, planned.plan.guarantee.model
    if not audited(planned.plan).is_drawn_by_user:
        return _Asked((planned,), (request,), None, label)
    few = min(table.n, FEW_USERS[model])
    if table.users.keys is not None or few == table.n:
        return _Asked((planned,), (request,), None, label)
    made = PublicRecords(table)
    records = made.kept(np.full((1, made.dimension), 0.5))[1]
    still = _with_texts(Move(records, records, 0, table.records or 1, 0.0), [audited(planned.plan)])
    smaller = neighbours(table, still, few).first
    try:
        (own,) = plan_request(request, smaller.names(setting.public), setting.promises)
    except UsageError:
        # Such as a method that needs more users than that.
        return _Asked((planned,), (request,), None, label)
    return _Asked((own,), (request,), few, label)


def _tried(setting: _Setting, asked: _Asked) -> tuple[list[_Tried], list[Agreement]]:
    draws = NoiseDraws(setting.trials)
    found: list[_Tried] = []
    compared: list[Agreement] = []
    seen: list[float] = []
    events = [one.plan.event for one in asked.planned]
    # The largest first: of tables that are about equally far apart those that were chosen more freely are kept.
    for distance in sorted(setting.distances or default_distances(events), reverse=True):
        radii = [event.guarantee.r for event in events if isinstance(event.guarantee, DiscreteEmdDP)]
        if radii and distance > min(radii):
            continue
        # What rounds a distance up must not lift it over the largest one that is protected.
        tables = _tables(setting, asked, distance * (1.0 - 1e-8) if radii else distance)
        if tables is None or any(abs(tables.distance - one) < ALIKE * one for one in seen):
            continue
        seen.append(tables.distance)
        parts = [audited(one.plan).scores(tables, draws, place) for place, one in enumerate(asked.planned)]
        claims = claims_at(events[0], tables.distance) if len(events) == 1 else joint_claims(events, tables.distance)
        scores = parts[0] if len(parts) == 1 else joint_scores(parts)
        name = " + ".join(dict.fromkeys(audited(one.plan).name for one in asked.planned))
        model = " + ".join(dict.fromkeys(one.plan.guarantee.model for one in asked.planned))
        if len(events) == 1 and not found:
            found += _beside(setting, asked, tables, name, claims)
        found.append(_Tried(asked.label, name, model, tables, claims, scores, made_users(tables.first)))
        if setting.end_to_end and not compared and len(events) == 1:
            one = asked.requests[0], asked.planned[0]
            compared.append(compared_sessions(asked.label, *one, tables, setting.public, setting.end_to_end))
    found.reverse()
    if not found:
        raise UsageError(
            "distances lie beyond what the guarantee protects, or no record can be moved that little; pass others, or "
            "leave them out."
        )
    return found, compared


def _beside(
    setting: _Setting, asked: _Asked, tables: Neighbours, name: str, claims: tuple[Claim, ...]
) -> Iterator[_Tried]:
    """Yield what else is seen of mixed messages at the largest distance: all counted, and what mixing starts from."""
    plan = audited(asked.planned[0].plan)
    if (counted := plan.counted(tables, setting.trials)) is not None:
        more = f"{name}; {COUNTED}", "shuffle", tables, claims, counted, made_users(tables.first)
        yield _Tried(asked.label, *more)
    if (alone := plan.alone(tables)) is not None:
        own = (Claim(alone.epsilon0 or math.inf, 0.0),)
        yield _Tried(asked.label, f"{name}; {ALONE}", "local", tables, own, alone.scores(setting.trials), 1)


def _tables(setting: _Setting, asked: _Asked, distance: float) -> Neighbours | None:
    table, records = setting.table, PublicRecords(setting.table)
    plans = [audited(one.plan) for one in asked.planned]
    users = table.most_users if asked.users is None else asked.users
    is_removal = any(is_by_removal(one.plan.guarantee) for one in asked.planned)
    change = (
        all_given([partial(plan.largest_total, table.space) for plan in plans])
        if is_removal
        else added_changes([plan.change(table.space, users) for plan in plans])
    )
    whole = not any(isinstance(one.plan.guarantee, EmdDP | DiscreteEmdDP) for one in asked.planned) and distance == 1.0
    caps = [plan.cap for plan in plans if plan.cap is not None]
    slots = min(table.space.slots or 0, MOST_SLOTS)
    size = setting.size or table.records or (max(caps) if caps else slots or None)
    move = best_move(records, change, distance, size=size, whole=whole)
    if not caps and table.records is None:
        given = all_given([partial(plan.largest_total, table.space) for plan in plans])
        most = min(size or slots, slots) if slots else size or SIZE
        fewer = fewer_records(records, lambda items: given(items) / users, distance, size=most)
        move = fewer if fewer is not None and (move is None or fewer.change > move.change) else move
    if move is None:
        # Nothing within the distance changes the statistic, but to have no records may; any move will do.
        any_move = best_move(
            records, lambda items: table.space.distances(items, items), distance, size=size, whole=whole
        )
        if any_move is None:
            return None
        move = replace(any_move, change=0.0)
    emptied = False
    if caps and whole and table.records is None:
        # To have records at all may tell more than what they say.
        items = table.space.encode(move.before), table.space.encode(move.after)
        alone = [math.fsum(float(plan.largest_total(table.space, one)[0]) for plan in plans) for one in items]
        emptied = is_removal or max(alone) > move.change
        if emptied and alone[1] > alone[0]:
            move = Move(move.after, move.before, move.moved, move.size, move.change)
    shared = any(plan.shares_strings for plan in plans)
    move = _with_texts(move, plans)
    counted = next((plan.changed_user for plan in plans if plan.changed_user is not None), None)
    return neighbours(
        table,
        move,
        asked.users,
        emptied=emptied,
        key=counted,
        shared=shared,
    )


def _with_texts(move: Move, plans: Sequence[AuditedPlan]) -> Move:
    """Return a move between records that have the columns of text that plans read, where the space does not."""
    for plan in plans:
        column = plan.column
        if column is not None and column.name not in move.before.columns:
            letters = (column.alphabet or "ab")[:2]
            before, after = (pl.lit(letter).alias(column.name) for letter in (letters[0], letters[-1]))
            move = replace(move, before=move.before.with_columns(before), after=move.after.with_columns(after))
    return move


def _rows(tried: _Tried, failure: float, confidence: float) -> list[AuditRow]:
    deltas, scores = [claim.delta for claim in tried.claims], tried.scores
    findings = find_losses(scores, deltas, failure) if isinstance(scores, Scores) else scores.losses(deltas, failure)
    return [
        AuditRow(
            query=tried.label,
            mechanism=tried.mechanism,
            model=tried.model,
            users=tried.users,
            distance=tried.tables.distance,
            claimed_epsilon=claim.epsilon,
            delta=claim.delta,
            audited_epsilon=finding.epsilon,
            test=finding.test,
            trials=tried.scores.trials,
            confidence=confidence,
        )
        for claim, finding in zip(tried.claims, findings, strict=True)
    ]
