"""Refining an answer: more accuracy later, for the difference of the levels.

What is released is the answer with stronger noise of which the earlier one could have been made, drawn given the
earlier noise (:mod:`emdp.noise.laplace_refining`). So the two together are an answer and a weaker tier of it
(:mod:`emdp.mechanisms.central.tiers`), and cost the stronger level, not the sum.

**Price.** The ledger has the first level; a refinement is charged the difference. However levels are chosen by what was
seen, and whatever is asked in between: let ``P, Q`` be the laws of all answers on two neighbours, and ``P''`` that with
the refined answers as under ``P`` and all others as under ``Q``. The density of all answers of one chain is that of its
last, times a kernel that does not depend on the data, so ``P''`` is at most ``exp(A d + slack)`` times ``Q``, ``A`` the
sum of the last levels on the path. ``P`` and ``P''`` differ in the other releases alone, and the induction of
:mod:`emdp.privacy.account.filter` runs with ``t exp(-A d - slack)`` in the place of ``t``: a step of a chain has one
law under both, and at the end ``A`` and the other levels are together within what the plain sums admit. It is the plain
sums that this rests on: an answer that was priced in a batch, or Gaussian noise, is refused. (Gaussian noise needs no
refinement: ask again, and weigh the two answers by their precisions; ``mu^2`` add up, and nothing is lost.)

**The secret.** The rounded statistic and the noise of an answer lie in ``LEDGER.state``
(:mod:`emdp.ledger.state`), under the hash of the charge that paid: only for sessions that are opened with
``refinable=True``. They are as secret as the data. Where they are lost the answer stays good and cannot be refined any
more: a better one is a new question, at its whole price.

**Order.** The charge names the chain, and is on the disk before anything is drawn; what is drawn is kept before it is
shown. A process that is killed between the two leaves a charge under which nothing is kept. The chain has ended then:
nothing is ever drawn from its earlier noise a second time, since two such draws together would tell more than was
paid. One that is killed later leaves what was kept, which is shown again for nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emdp.answers import Answer, Receipt
from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.accounts import Accounts, Tags
from emdp.estimators.plan import Plan
from emdp.estimators.refining import answer_of, drawn_again, is_refinable, numbers_of, plan_at, slack_at
from emdp.ledger import Entry
from emdp.ledger.state import StreamState
from emdp.noise.rng import is_seeded
from emdp.privacy import GuaranteeEvent, event_from_json
from emdp.privacy.events.noise import LaplaceEvent
from emdp.privacy.rounding import as_decimal, float_up
from emdp.questions.columns import Released
from emdp.questions.price import Price
from emdp.questions.tiers import LARGEST_RATIO, LEAST_STEP, check_levels
from emdp.sessions.planning import Planned
from emdp.sessions.presentation import public_part
from emdp.tables import Table

__all__ = ["KeptNoise", "asked_to_refine", "refined"]

REFINES = "refines"
"""Key of a charge that refines an answer: the hash of the charge that first paid, and the new level."""


class KeptNoise:
    """The noise of refinable answers, beside a ledger.

    Raises
    ------
    UsageError
        If the ledger is no file.
    """

    def __init__(self, accounts: Accounts) -> None:
        if "://" in accounts.ledger.path:
            raise UsageError("refinable answers need a ledger in a file, beside which their noise lies; name a file.")
        self._state = StreamState(accounts.ledger.path)

    def keep_drawn(self, entry: Entry, plan: Any, opened: Sequence[Any], released: Released) -> None:
        """Keep the noise of an answer, durably, if it is one that can be refined."""
        if _is_refinable(entry, plan):
            self.keep(entry, *numbers_of(plan, opened, released))

    def keep(self, entry: Entry, exact: Sequence[int], noise: Sequence[int]) -> None:
        """Keep a rounded statistic and its noise, durably."""
        self._state.keep(_key(entry.hash), b"", [*exact, *noise])

    def find(self, entry_hash: str) -> tuple[list[int], list[int]] | None:
        """Return the rounded statistic and the noise that were kept under a charge; None where there are none."""
        numbers = self._state.kept(_key(entry_hash))
        if numbers is None:
            return None
        half = len(numbers) // 2
        return list(numbers[:half]), list(numbers[half:])


def asked_to_refine(answer: Any, plans: Callable[[Any], Sequence[Planned]]) -> tuple[Planned, str | None]:
    """Return the question of an answer at its first level, and the hash of the charge that paid for it, if known.

    Parameters
    ----------
    answer : Answer, str or query
        As :meth:`emdp.Session.refine` takes it.
    plans : callable
        Plans a statement or query.
    """
    if isinstance(answer, Answer):
        if answer._plan is None or answer.receipt is None:
            raise UsageError(_NOT_REFINABLE)
        return Planned(answer.query, answer._plan), answer.receipt.hash
    (planned,) = plans(answer)
    return planned, None


def refined(
    planned: Planned, paid_by: str | None, price: Price, accounts: Accounts, table: Table, tags: Tags
) -> Answer:
    """Return an answer with stronger noise, of which the earlier could have been made; charged the difference.

    Parameters
    ----------
    planned : Planned
        The question at its first level.
    paid_by : str or None
        Hash of the charge that paid for the answer; None for the newest to the question.
    price : Price
        The new level, above that of the answer; the same shows what was refined before again.
    accounts, table, tags
        The session's.

    Raises
    ------
    BudgetExceededError
        If the budget does not cover the difference; nothing is charged or drawn then.
    UsageError
        If the answer cannot be refined, or not to this level.
    LedgerError
        If its noise is lost.
    """
    kept = KeptNoise(accounts)
    first, tip, now = _chain(accounts.ledger.entries(accounts.name), planned, paid_by)
    if first.payload.get("period") != tags.period:
        raise UsageError("answer is of another period than the session; refine it in a session of its own period.")
    own = {} if accounts.users is None else accounts.users.said()
    if _list_of(first.payload) != _list_of(own):
        # It would be charged to people of whom the answer tells nothing.
        raise UsageError("answer is of another list of users than the session's; ask again at the whole price.")
    plan, level = planned.plan, price.level
    if price.weaker:
        raise UsageError(f"{price.kind} is one number where an answer is refined; pass that.")
    if price.kind != plan.guarantee.level_name:
        raise UsageError(f"{price.kind} is not what the answer was asked with; pass {plan.guarantee.level_name}.")
    if not isinstance(plan, Plan) or not _is_refinable(first, plan):
        raise UsageError(_NOT_REFINABLE)
    found = kept.find(tip.hash)
    if found is None:
        raise LedgerError(
            f"the noise of the answer that entry {tip.sequence} paid for is not beside the ledger: it was not kept "
            "(open sessions with refinable=True), is lost, or a refinement was cut off; ask again at the whole price."
        )
    if level == now:
        return _answer(planned, plan, tip, table, *found, level=level, path=accounts.ledger.path)
    if not level >= now * LEAST_STEP:
        raise UsageError(
            f"level must be above the last one by a thousandth or more, but that is {now:g}, got {level:g}; pass a "
            "higher one, or the last to see its answer again."
        )
    check_levels("level", (level, now))
    if level > LARGEST_RATIO * plan.mechanisms[0].alpha:
        raise UsageError(f"level must be at most {LARGEST_RATIO:g} times the first one; ask again at the new level.")
    entry = _charge(planned, first, tip, (now, level), accounts, tags, table)
    exact, noise = found
    drawn = drawn_again(plan, now, level, noise)
    kept.keep(entry, exact, drawn)
    return _answer(planned, plan, entry, table, exact, drawn, level=level, path=accounts.ledger.path)


_NOT_REFINABLE = (
    "answer cannot be refined: that takes Laplace noise, charged by itself, of a session with refinable=True; ask "
    "again (of two answers with Gaussian noise the mean weighed by their precisions loses nothing)."
)


def _list_of(said: Mapping[str, Any]) -> Any:
    """Return the hash of the list of users that a charge names; None where it counts for everybody."""
    return said.get("list", {}).get("users")


def _key(entry_hash: str) -> str:
    return f"noise {entry_hash}"


def _is_refinable(entry: Entry, plan: Any) -> bool:
    """Say whether an answer has Laplace noise and was charged by itself, so that its level stands in the plain sums."""
    return is_refinable(plan) and isinstance(event_from_json(entry.payload["event"]), LaplaceEvent)


def _chain(entries: Sequence[Entry], planned: Planned, paid_by: str | None) -> tuple[Entry, Entry, float]:
    """Return the charge that first paid for an answer, the last one that refined it, and the level of that."""
    charges = {entry.hash: entry for entry in entries if entry.kind == "charge"}
    if paid_by is None:
        event = planned.plan.event.to_json()
        same = [own for own in charges.values() if own.payload["query"] == planned.text]
        first = next((own for own in reversed(same) if own.payload["event"] == event), None)
    else:
        found = charges.get(paid_by)
        first = found if found is None or REFINES not in found.payload else charges[found.payload[REFINES]["answer"]]
    if first is None:
        raise UsageError("answer is none that this ledger has a charge for; pass an answer of this session's table.")
    tip, level = first, float(planned.plan.guarantee.level)
    for own in charges.values():
        said = own.payload.get(REFINES)
        if said is not None and said["answer"] == first.hash:
            tip, level = own, float(said["level"])
    return first, tip, level


def _charge(
    planned: Planned,
    first: Entry,
    tip: Entry,
    levels: tuple[float, float],
    accounts: Accounts,
    tags: Tags,
    table: Table,
) -> Entry:
    now, level = levels
    difference = float_up(as_decimal(level) - as_decimal(now))
    event = GuaranteeEvent(
        planned.plan.guarantee.kind.at_level(difference, 0.0),
        f"refinement of entry {first.sequence} from {now:g} to {level:g}",
        slack_at(planned.plan, level),  # type: ignore[arg-type]  # checked before
    )
    payload = {
        "query": planned.text,
        "data_version": first.payload["data_version"],
        "users": table.users.count,
        REFINES: {"answer": first.hash, "level": level},
    }

    def unmoved(entries: Sequence[Entry], events: Any) -> None:
        del events
        if _chain(entries, planned, first.hash)[1].hash != tip.hash:
            raise LedgerError("another process has refined this answer meanwhile; refine it again.")

    (entry,) = accounts.charge_all([(event, payload)], tags, limit=unmoved)
    return entry


def _answer(
    planned: Planned,
    plan: Plan,
    entry: Entry,
    table: Table,
    exact: Sequence[int],
    noise: Sequence[int],
    *,
    level: float,
    path: str,
) -> Answer:
    made = plan_at(plan, level)
    released, rounded = answer_of(made, exact, noise)
    return Answer(
        **public_part(Planned(planned.text, made), table, entry.payload.get("period")),
        released=released,
        receipt=Receipt(path, entry.sequence, entry.hash),
        _exact=rounded if is_seeded() else None,
        _plan=plan,
    )
