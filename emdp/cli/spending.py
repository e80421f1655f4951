"""Output of ``emdp ledger show``: budgets, spending by period and query, and how the budgets went down."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

if TYPE_CHECKING:
    from emdp.budgets.spending import Charge, Spending
    from emdp.ledger import Entry
    from emdp.privacy import Account, Guarantee

__all__ = [
    "BUDGET_COLUMNS",
    "NARROW_COLUMNS",
    "RESERVED_COLUMNS",
    "SPENDING_COLUMNS",
    "BudgetSpending",
    "as_json",
    "bars",
    "budget_rows",
    "cost",
    "narrow_rows",
    "print_head",
    "printable",
    "reserved_rows",
    "short",
    "spending_of",
    "spending_rows",
    "user_total",
]

BUDGET_COLUMNS = ("table", "kind", "budget", "spent", "remaining", "charges")
RESERVED_COLUMNS = ("table", "kind", "set aside for", "left")
SPENDING_COLUMNS = ("table", "period", "report", "query", "charges", "cost")
NARROW_COLUMNS = ("what", "charges", "cost")

LONGEST_VALUE = 20
"""Characters shown of a hash and other long values; `verify` and the file have all of them."""

NARROWEST_QUERY = 20
"""Characters of a query that are shown however narrow the terminal is."""

GAPS = 3 * (len(SPENDING_COLUMNS) - 1) + 2
"""Columns that a printed table takes between and beside its cells."""

HEADER = re.compile(r" WITH \w+_PRIVACY OPTIONS ?\([^()]*\)", re.IGNORECASE)
"""Header of a query, which is cut out: all have it, and its level stands in the cost."""

LONGEST_LABEL = 20
"""Characters of a period or a report's title that are shown."""

MOST_BARS = 24
"""Bars of a budget that are shown: the last ones."""

NARROWEST_BAR, WIDEST_BAR = 10, 60
"""Columns of a bar that stands for the whole budget."""

EIGHTHS = " ▏▎▍▌▋▊▉█"
"""Blocks that fill nought to eight eighths of a place."""


@dataclass(frozen=True)
class BudgetSpending:
    """Budget of a table with its charges."""

    table: str
    account: "Account"
    reserved: Mapping[str, "Guarantee"]  # What is left of it for each name that it was set aside for
    free: "Account"  # The account with what is set aside taken out: its `remaining` is what anybody may spend
    # queries, periods: Sums of the charges, by query in a period and by period.
    queries: "tuple[Spending, ...]"
    periods: "tuple[Spending, ...]"
    # What was left after each charge; after some of one period or day alone, where totals state no more.
    steps: tuple[tuple[str, float], ...]

    @property
    def promise(self) -> "Guarantee":
        """Limit of the budget."""
        return self.account.budget.guarantee


def spending_of(entries: Sequence["Entry"]) -> list[BudgetSpending]:
    """Return the budgets of a ledger's tables, in the order of their declaration."""
    # Loaded where it is needed: the command line's help needs none of it.
    from emdp.budgets.reservations import held_from, outstanding
    from emdp.budgets.shown import shown_of
    from emdp.budgets.spending import account_of, budgets_of, burn_down, by_period, by_query, charges_of
    from emdp.ledger.entries import READ, of_kinds, of_table

    found = []
    for table in dict.fromkeys(entry.table for entry in of_kinds(entries, *READ) if entry.table):
        own = of_table(entries, table)
        charges: Sequence[Charge] | None = None
        for budget in budgets_of(own):
            if (known := shown_of(own, budget)) is not None:
                account, shown = known
                sums = (shown.by_query(budget), shown.by_period(budget), shown.steps)
            else:
                charges = charges_of(own) if charges is None else charges
                paid = [charge for charge in charges if charge.budget == budget]
                account = account_of(budget, paid)
                sums = (by_query(paid), by_period(paid), burn_down(paid, budget))
            free = account.replay(held_from(own, budget, None))
            found.append(BudgetSpending(table, account, outstanding(own, budget), free, *sums))
    return found


def budget_rows(found: Sequence[BudgetSpending]) -> list[tuple[str, ...]]:
    """Return one row a budget, for ``BUDGET_COLUMNS``."""
    rows: list[tuple[str, ...]] = []
    for own in found:
        remaining = cost(own.free.remaining)
        if own.account.budget.mu_cap:
            remaining += f"; for Gaussian noise mu {own.account.gaussian_remaining:.6g}"
        shown = (cost(own.promise), cost(own.account.spent), remaining, str(own.account.count))
        rows.append((own.table, own.promise.kind_name, *shown))
    return rows


def reserved_rows(found: Sequence[BudgetSpending]) -> list[tuple[str, ...]]:
    """Return one row a reservation, for ``RESERVED_COLUMNS``."""
    return [
        (own.table, own.promise.kind_name, name, cost(left)) for own in found for name, left in own.reserved.items()
    ]


def spending_rows(found: Sequence[BudgetSpending], width: int) -> list[tuple[str, ...]]:
    """Return the rows of each period and their sum, for ``SPENDING_COLUMNS``, queries cut so that they fit a width.

    A charge that a budget per period counts beside one per user stands once.
    """
    rows: list[tuple[str, ...]] = []
    for own in _once(found):
        for total in own.periods:
            members = [spent for spent in own.queries if spent.period == total.period]
            rows += [_spending_row(own.table, spent, spent.report or "-", spent.query) for spent in members]
            rows.append(_spending_row(own.table, total, "in all", ""))
    others = (
        max(map(len, column)) for column in zip(*(row[:3] + row[4:] for row in [*rows, SPENDING_COLUMNS]), strict=True)
    )
    space = max(NARROWEST_QUERY, width - sum(others) - GAPS)
    if any(len(row[3]) > space for row in rows):
        rows = [(*row[:3], _cut(HEADER.sub("", row[3]), space), *row[4:]) for row in rows]
    return rows


def narrow_rows(found: Sequence[BudgetSpending], width: int) -> list[tuple[str, ...]]:
    """Return the same rows for ``NARROW_COLUMNS``: queries stand above the table and period that they are of."""
    rows = spending_rows(found, sys.maxsize)
    others = (max(map(len, column)) for column in zip(*(row[4:] for row in [*rows, SPENDING_COLUMNS]), strict=True))
    space = max(NARROWEST_QUERY, width - sum(others) - 3 * len(NARROW_COLUMNS) + 1)
    return [
        (_cut(", ".join(part for part in (table, period, report) if part != "-"), space), *counts)
        if report == "in all"
        else (_cut("  " + (query if report == "-" else f"{report}: {query}"), space), *counts)
        for table, period, report, query, *counts in ((*row[:3], HEADER.sub("", row[3]), *row[4:]) for row in rows)
    ]


def bars(own: BudgetSpending, width: int, *, blocks: bool) -> Iterator[str]:
    """Yield the lines of a picture of what was left of a budget's level: a bar a period, the last on the bottom.

    Parameters
    ----------
    own : BudgetSpending
        The budget, charged at least once.
    width : int
        Columns of the terminal.
    blocks : bool
        Whether its encoding has block characters; plain ASCII otherwise.
    """
    last = [
        step for step, following in zip(own.steps, [*own.steps[1:], None], strict=True)
        if following is None or following[0] != step[0]
    ]  # fmt: skip
    shown = [(_cut(printable(label), LONGEST_LABEL), f"{level:.6g}", level) for label, level in last[-MOST_BARS:]]
    labels, numbers = max(len(label) for label, _, _ in shown), max(len(number) for _, number, _ in shown)
    cells = min(max(width - labels - numbers - 4, NARROWEST_BAR), WIDEST_BAR)
    held = ", with what is set aside" if own.reserved else ""
    yield f"{printable(own.table)}, {own.promise.level_name} left of {own.promise.level:.6g}{held}"
    if len(last) > len(shown):
        yield f"({len(last) - len(shown)} earlier)"
    for label, number, level in shown:
        filled = _bar(level / own.promise.level, cells, blocks=blocks)
        yield f"{label.ljust(labels)}  {filled.ljust(cells)}  {number.rjust(numbers)}"


def as_json(found: Sequence[BudgetSpending]) -> dict[str, Any]:
    """Return all of it as JSON values: guarantees as ``to_json`` writes them, null for what a charge does not say."""
    return {
        "budgets": [
            {
                "table": own.table,
                "kind": own.promise.kind_name,
                "budget": own.promise.to_json(),
                "spent": own.account.spent.to_json(),
                "reserved": {name: left.to_json() for name, left in own.reserved.items()},
                "remaining": own.free.remaining.to_json(),
                "gaussian_mu_remaining": own.account.gaussian_remaining,
                "charges": own.account.count,
                "periods": [{"period": total.period, **_sums_json(total)} for total in own.periods],
                "queries": [_query_json(spent) for spent in own.queries],
                "steps": [{"label": label, "remaining": level} for label, level in own.steps],
            }
            for own in found
        ],
        "spent_in_all": user_total(found),
    }


def user_total(found: Sequence[BudgetSpending]) -> str | None:
    """Return what all budgets have spent, as a guarantee at the user level; None if one says nothing there."""
    from emdp.privacy import total_as_user

    try:
        return str(total_as_user(own.account for own in _once(found)))
    except UsageError:
        return None


def _once(found: Sequence[BudgetSpending]) -> list[BudgetSpending]:
    """Return the budgets without those per period that count what one per user pays: no further loss or charge."""
    from emdp.budgets.spending import counts_in

    return [
        own
        for own in found
        if not any(
            own is not other and own.table == other.table and counts_in(own.account.budget, other.account.budget)
            for other in found
        )
    ]


def cost(guarantee: "Guarantee") -> str:
    """Return level and delta of a guarantee as text."""
    return f"{guarantee.level_name} {guarantee.level:.10g}, delta {guarantee.delta:.10g}"


def printable(text: str) -> str:
    """Return a text as it may be shown: no control character passes."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _spending_row(table: str, spent: "Spending", report: str, query: str) -> tuple[str, ...]:
    shown = f"{spent.level_name} {spent.level:.10g}, delta {spent.delta:.10g}"
    labels = (_cut(label, LONGEST_LABEL) for label in (spent.period or "-", report))
    return table, *labels, " ".join(query.split()), str(spent.charges), shown


def _query_json(spent: "Spending") -> dict[str, Any]:
    return {"period": spent.period, "report": spent.report, "query": spent.query, **_sums_json(spent)}


def _sums_json(spent: "Spending") -> dict[str, Any]:
    return {"charges": spent.charges, spent.level_name: spent.level, "delta": spent.delta}


def _cut(text: str, space: int) -> str:
    return text if len(text) <= space else text[: space - 3] + "..."


def _bar(share: float, cells: int, *, blocks: bool) -> str:
    """Return a bar that fills a share of some places, to an eighth of one; a share above 0 leaves a mark."""
    eighths = min(max(round(share * cells * 8), 1 if share > 0 else 0), cells * 8)
    if not blocks:
        return "#" * -(-eighths // 8)
    return EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def short(value: object) -> str:
    """Return the beginning of a hash or another long value.

    >>> short(12)
    '12'
    """
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def print_head(sequence: int, found: str) -> None:
    """Print how many entries a ledger has, and its head hash."""
    print(f"entries: {sequence}")
    print(f"head: {found}")
