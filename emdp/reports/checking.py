"""A report checked as a whole before anything runs: every query planned, every level settled, every problem named.

Reads the catalog, schemas and public tables; neither the ledger nor a private value.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.base.checks import check_period
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, RefusedError, ReportError, SqlError, UsageError
from emdp.catalog.catalog import Catalog, load_catalog
from emdp.privacy import Guarantee, convert, paying
from emdp.privacy.rounding import as_decimal, float_up
from emdp.questions.names import Names
from emdp.reports.definition import Entry, Report, load_report
from emdp.reports.levels import covers, divide_rest, smallest_level
from emdp.reports.problems import Problem
from emdp.reports.readings import awaited_entry, is_reading, level_and_text, useless_keys
from emdp.reports.shown import shown_problems
from emdp.reports.streams import check_streams, stream_tables
from emdp.sessions.planning import Planned, plan_request
from emdp.sql import tables_named, with_level

__all__ = ["CheckedEntry", "CheckedReport", "check_definition", "check_report"]

REFUSALS = (RefusedError, UsageError)
"""Errors of a definition or its catalog; others, such as those of public data, are not of its making."""


@dataclass(frozen=True, eq=False)
class CheckedEntry:
    """An entry that can be asked."""

    entry: Entry
    text: str
    planned: Planned


@dataclass(frozen=True, eq=False)
class CheckedReport:
    """A report that can be run."""

    report: Report
    # table, account: The private table, and the name under which the ledger keeps its budget.
    table: str
    account: str
    entries: tuple[CheckedEntry, ...]
    # What they may spend in one period; their plans' guarantees, converted to its kind, sum up to at most this.
    budget: Guarantee | None
    # What the entries were planned with: all that they name, and the budgets that may pay.
    names: Names
    promises: tuple[Guarantee, ...]


def check_definition(
    path: str | os.PathLike[str], *, catalog: str | os.PathLike[str] | None = None, period: str | None = None
) -> tuple[CheckedReport, Catalog]:
    """Read a definition and check it as a whole, against the catalog that it names.

    Parameters
    ----------
    path, catalog, period
        As for :func:`emdp.reports.definition.load_report`.

    Returns
    -------
    (CheckedReport, Catalog)
    """
    try:
        report = load_report(path, catalog=catalog, period=period)
    except ReportError as error:
        problems = sorted([*error.problems, *_further(error.sound)], key=lambda problem: problem.line)
        raise ReportError(problems) from None
    loaded = load_catalog(report.catalog)
    return check_report(report, loaded), loaded


def _further(sound: object) -> tuple[Any, ...]:
    """Return what is wrong with the rest of a definition that has problems."""
    if not isinstance(sound, Report):
        return ()
    try:
        check_report(sound, load_catalog(sound.catalog))
    except ReportError as error:
        return error.problems
    except EmdpError:
        return ()  # the catalog's own problem shows when the definition is mended
    return ()


def check_report(report: Report, catalog: Catalog, *, period: str | None = None) -> CheckedReport:
    """Check a report against its catalog, and settle every entry's level.

    An entry keeps the level that its header states. One with a ``target_error`` gets the smallest level, rounded up to
    three digits, at which no column's expected error is above it. What these leave of the budget is split among the
    others by their weights.

    Parameters
    ----------
    report : Report
        From :func:`emdp.reports.definition.load_report`.
    period : str, optional
        Takes the place of the report's own.
    """
    if period is not None:
        report = replace(report, period=check_period(period))
    checker = _Checker(report, catalog)
    checked = checker.run()
    if checked is None or checker.problems:
        by_line: list[Problem] = sorted(checker.problems, key=lambda problem: problem.line)
        raise ReportError(by_line)
    return checked


@dataclass(eq=False)
class _Draft:
    """An entry on its way: its level as soon as it is known, and a text that has one in any case."""

    entry: Entry
    level: float | None
    is_stated: bool
    text: str
    planned: Planned | None = None
    reads: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the level depends on what the others leave."""
        return not self.reads and not self.is_stated and self.entry.target_error is None


@dataclass(frozen=True, eq=False)
class _World:
    """Table, names and paying budgets (the report's or the table's) that entries are checked against."""

    table: str
    names: Names
    budgets: tuple[Guarantee, ...]
    owner: str

    def payer(self, guarantee: Guarantee) -> Guarantee:
        """Return the budget that pays for a release; see :func:`emdp.privacy.paying`."""
        return paying(guarantee, self.budgets)


class _Checker:
    """Goes through a report and notes all that is wrong."""

    def __init__(self, report: Report, catalog: Catalog) -> None:
        self.report = report
        self.catalog = catalog
        self.problems: list[Problem] = []

    def wrong(self, line: int, text: str) -> None:
        self.problems.append(self.report.problem(line, f"{' '.join(text.split()).rstrip('.')}."))

    def refused(self, entry: Entry, error: EmdpError) -> None:
        """Note a statement's refusal, with the line of the definition where it begins."""
        if not isinstance(error, SqlError):
            self.wrong(entry.line_of("file" if entry.file else "query"), str(error))
            return
        number = error.sql.count("\n", 0, error.start)
        if entry.query_lines:
            self.wrong(entry.query_lines[min(number, len(entry.query_lines) - 1)], error.sentence)
        else:
            where = f"line {number + 1} of {entry.file}: " if entry.file else ""
            self.wrong(entry.line_of("file" if entry.file else "query"), f"{where}{error.sentence}")

    def run(self) -> CheckedReport | None:
        drafts = [draft for entry in self.report.entries if (draft := self.draft(entry)) is not None]
        world = self.world(drafts)
        if world is None:
            return None
        for draft in drafts:
            self.settle(draft, world)
        self.share(drafts, world)
        for draft in drafts:
            if draft.is_open:
                self.plan(draft, world)
        for draft in drafts:
            if draft.reads:
                self.read(draft, world, drafts)
            if draft.planned is not None:
                self.check_shown(draft.entry, draft.planned)
        self.check_sum(drafts, world)
        self.problems += check_streams(self.report, world.names, self.catalog.budgets(world.table))  # for all periods
        entries = tuple(CheckedEntry(own.entry, own.text, own.planned) for own in drafts if own.planned is not None)
        account, budget = self.catalog.account(world.table), self.report.budget
        return CheckedReport(self.report, world.table, account, entries, budget, world.names, world.budgets)

    def draft(self, entry: Entry) -> _Draft | None:
        """Read an entry's header; note whether its level can be settled."""
        try:
            level, text = level_and_text(entry.query)
            tables_named(text)
        except REFUSALS as error:
            self.refused(entry, error)
            return None
        if is_reading(entry.query):
            for key, problem in useless_keys(entry):
                self.wrong(entry.line_of(key), problem)
            return _Draft(entry, None, is_stated=False, text=text, reads=True)
        if level is not None:
            for key in ("weight", "target_error"):
                if getattr(entry, key) is not None:
                    problem = f"{key} has no use, for the header of the query states the level; leave one of them out"
                    self.wrong(entry.line_of(key), problem)
        elif self.report.budget is None and entry.target_error is None:
            self.wrong(
                entry.line_of("query"),
                "the query states no level and the report has no budget to share; write alpha (epsilon) into the "
                "query's OPTIONS, or add target_error = ... or the report's budget = { alpha = ... }",
            )
        return _Draft(entry, level, level is not None, text)

    def world(self, drafts: Sequence[_Draft]) -> _World | None:
        """Return what the catalog declares, or note why it is of no use."""
        table = self.table(drafts)
        if table is None:
            return None
        try:
            names = self.catalog.names(table, period=self.report.period)
            whole = _World(table, names, self.catalog.budgets(table), f"table {table}")
        except REFUSALS as error:
            self.wrong(self.report.line_of("catalog"), str(error))
            return None
        own = self.report.budget
        if own is None:
            return whole
        try:
            payer = whole.payer(own)
        except UsageError:
            named = " or ".join(budget.level_name for budget in whole.budgets)
            problem = f"the report's budget is in {own.level_name}, and that of table {table} in {named}"
            self.wrong(self.report.line_of("budget"), f"{problem}; state the report's budget in the table's kind")
        else:
            if not covers(payer, as_decimal(own.level), as_decimal(own.delta)):
                problem = f"the report's budget, {own}, is more than that of table {table}, {payer}; lower it"
                self.wrong(self.report.line_of("budget"), problem)
        return replace(whole, budgets=(own,), owner="the report")

    def table(self, drafts: Sequence[_Draft]) -> str | None:
        tables = self.catalog.tables
        if self.report.table is not None:
            if self.report.table in self.catalog.roots:
                return self.catalog.roots[self.report.table]
            problem = f"table {self.report.table!r} is not in {self.catalog.path}, which has {', '.join(tables)}"
            self.wrong(self.report.line_of("table"), f"{problem}; name one of them")
            return None
        named, unread = stream_tables(self.report)
        named |= {name.lower() for draft in drafts for name in tables_named(draft.text)}
        own = list(dict.fromkeys(root for name, root in self.catalog.roots.items() if name.lower() in named))
        if len(own) == 1 or (not own and len(tables) == 1):
            return own[0] if own else next(iter(tables))
        if own:
            problem = f"the queries name {len(own)} private tables, {', '.join(own)}; write a report for each of them"
            self.wrong(self.report.line_of("catalog"), problem)
        elif unread:
            self.problems += unread
        elif drafts or self.report.streams:
            problem = f"no query names a table of {self.catalog.path}, which has {', '.join(tables)}; name one"
            self.wrong(self.report.line_of("catalog"), f"{problem} after FROM")
        return None

    def settle(self, draft: _Draft, world: _World) -> None:
        """Find the level of an entry that does not wait for the others'."""
        target = None if draft.reads else draft.entry.target_error
        if draft.is_stated:
            self.plan(draft, world)
        elif target is not None and self.plan(draft, world) and draft.planned is not None:
            budget = world.payer(draft.planned.plan.guarantee)
            draft.planned = None
            draft.level = smallest_level(lambda level: self.error_at(draft, level, world), target, budget.level)
            if draft.level is None:
                least = self.error_at(draft, budget.level, world)
                said = f"is {least:.3g} even with" if math.isfinite(least) else "is not finite with"
                self.wrong(
                    draft.entry.line_of("target_error"),
                    f"target_error = {target:g} is out of reach, for the largest expected error {said} all of the "
                    f"{budget.level_name} = {budget.level:g} of {world.owner}; raise one of them",
                )
                return
            draft.text = with_level(draft.entry.query, draft.level)
            self.plan(draft, world)

    def error_at(self, draft: _Draft, level: float, world: _World) -> float:
        """Return the largest expected error of a statement's columns at a level."""
        try:
            (planned,) = plan_request(with_level(draft.entry.query, level), world.names, world.budgets)
        except REFUSALS:
            return math.inf
        errors = [column.expected_error for column in planned.plan.columns]
        return max((math.inf if math.isnan(error) else error for error in errors), default=0.0)

    def share(self, drafts: Sequence[_Draft], world: _World) -> None:
        """Split what is left of the report's budget among the entries that say nothing, or only a weight."""
        own = self.report.budget
        others = [draft for draft in drafts if draft.is_open]
        if own is None or not others:
            return
        taken = [_price(draft, own)[0] for draft in drafts if draft.level is not None]
        weights = [1.0 if draft.entry.weight is None else draft.entry.weight for draft in others]
        levels = divide_rest(own.level, [float_up(price) for price in taken], weights)
        if levels is None:
            self.wrong(
                self.report.line_of("budget"),
                f"the report's budget has {own.level_name} = {own.level:g}, of which the entries with a level or a "
                f"target_error take {float(sum(taken)):g} and leave nothing for the other {len(others)}; raise it",
            )
            return
        for draft, level in zip(others, levels, strict=True):
            draft.level = level
            draft.text = with_level(draft.entry.query, level)

    def plan(self, draft: _Draft, world: _World) -> bool:
        """Plan a statement as it stands; say whether that went well, and note why not."""
        try:
            (planned,) = plan_request(draft.text, world.names, world.budgets)
        except REFUSALS as error:
            self.refused(draft.entry, error)
            return False
        try:
            world.payer(planned.plan.guarantee)
        except UsageError:
            asked, names = planned.plan.guarantee, " or ".join(own.level_name for own in world.budgets)
            problem = f"the query's guarantee, {asked.kind_name}, cannot be charged to the {names} of {world.owner}"
            remedy = f"give it a report whose budget is in {asked.level_name}, or leave out the report's budget"
            remedy = "write a header and a budget of one kind" if self.report.budget is None else remedy
            self.wrong(draft.entry.line_of("query"), f"{problem}; {remedy}")
            draft.level = None
            return False
        draft.planned = planned
        return True

    def read(self, draft: _Draft, world: _World, drafts: Sequence[_Draft]) -> None:
        """Check a statement over measures on no rows."""
        plans, place = [own.planned for own in drafts], drafts.index(draft)
        try:
            draft.planned = awaited_entry(draft.text, world.names, plans[:place], plans[place:])
        except REFUSALS as error:
            self.refused(draft.entry, error)

    def check_shown(self, entry: Entry, planned: Planned) -> None:
        for key, problem in shown_problems(entry, planned.plan):
            self.wrong(entry.line_of(key), problem)

    def check_sum(self, drafts: Sequence[_Draft], world: _World) -> None:
        for budget in world.budgets:
            prices = [
                _price(draft, budget)
                for draft in drafts
                if draft.level is not None
                and (draft.planned is None or world.payer(draft.planned.plan.guarantee) is budget)
            ]
            level = sum((price[0] for price in prices), Fraction(0))
            delta = sum((price[1] for price in prices), Fraction(0))
            if not covers(budget, level, delta):
                self.wrong(
                    self.report.line_of("budget"),
                    f"the entries cost {budget.level_name} = {float_up(level)} and delta = {float_up(delta)} together, "
                    f"more than {world.owner} has, {budget.level_name} = {budget.level} and delta = {budget.delta}; "
                    "raise it, or ask for less",
                )


def _price(draft: _Draft, budget: Guarantee) -> tuple[Fraction, Fraction]:
    """Return what an entry costs, as decimals; its stated level where it could not be planned."""
    if draft.planned is None:
        return as_decimal(draft.level or 0.0), as_decimal(0.0)
    price = convert(draft.planned.plan.guarantee, budget.kind)
    return as_decimal(price.level), as_decimal(price.delta)
