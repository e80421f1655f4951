"""Fuzzing of SQL: whatever is asked, the answer is a sound plan or one refusal that gives nothing private away.

Three sources of statements: random trees of sqlglot (``sql_grammar.py``), mutated files of tests/sql and queries, and
raw text (``sql_mutants.py``). Every statement is planned; one in twenty also runs in a session on a small table with
marked private values (``sql_worlds.py``), most of them such as are accepted. The seed of a run is drawn anew each time
and stands beside a failure: set ``EMDP_FUZZ_SEED`` to it to see the same statements.
"""

import math
import os
import random
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import hypothesis
import numpy as np
import polars as pl
import pytest
import sql_grammar as grammar
import sql_mutants as mutants
import sql_worlds as worlds
import sqlglot
from hypothesis import HealthCheck, given, settings
from sqlglot.tokens import TokenType
from user_statistics import user_statistic

import emdp
from emdp.base.errors import DataRuleError, EmdpError, InternalError, SqlError
from emdp.estimators import MessagePlan, Plan
from emdp.estimators.owned.plan import RowsPlan
from emdp.expressions import evaluate
from emdp.expressions.cells.reference import cell_values
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.privacy import EmdDP, UserDP
from emdp.questions.select import Select
from emdp.sessions.planning import plan_request
from emdp.sql import translate
from emdp.tables.engines.duckdb import instances

FOREIGN = (
    "Binder Error", "Parser Error", "Catalog Error", "Conversion Error", "Invalid Input Error", "Invalid Error",
    "IO Error", "Out of Range Error", "Not implemented Error", "INTERNAL Error", "Constraint Error",
    "Permission Error", "Invalid Configuration", "Serialization Error", "Type Error", "Out of Memory Error",
    "Candidate functions", "Candidate bindings", "LINE 1:", "_duckdb", "Traceback", 'File "', "object at 0x",
    "NoneType", "sqlglot", "Expecting", "\x1b", "numpy", "polars", "hypothesis",
)  # fmt: skip
"""What errors of the engine, of sqlglot and of Python say, and a message of ours never does."""

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069]")
"""What a terminal acts on; a message has lines, and nothing else of these."""

SECONDS = 2.0
"""Longest time of a plan, of this thread's own work, so that what else the machine does is not measured."""

SEARCHED, LONG = re.compile("shuffle|itemwise", re.IGNORECASE), 15.0
"""What takes a search with the shuffle model's accountant, and its longest time."""

LONGEST = 2_000
"""Characters of a message."""

ASKED = 1e5
"""A statement that asks for more alpha, and yet not for more than the budget, is previewed only: it would use it up."""

BUDGET = 1e12


@dataclass
class Seen:
    """What a run came across."""

    outcomes: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    withheld: int = 0

    @property
    def total(self) -> int:
        return self.outcomes.total()


def fuzz(source: Any, examples: int, check: Callable[[str, str], None]) -> None:
    """Run a check on so many statements; what it raises names the seed."""
    seed = int(os.environ.get("EMDP_FUZZ_SEED", random.SystemRandom().randrange(2**32)))

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    @given(source)
    def run(case: tuple[str, str]) -> None:
        check(*case)

    try:
        run()
    except BaseException as error:
        error.add_note(f"run again with EMDP_FUZZ_SEED={seed}")
        raise


def leaks(message: str, text: str) -> list[str]:
    """Return what a message must not hold, but for what the analyst wrote."""
    low, own = message.lower(), text.lower()
    return [word for word in (*FOREIGN, *worlds.MARKERS) if word.lower() in low and word.lower() not in own]


def check_refusal(error: BaseException, text: str) -> None:
    """A refusal is one of ours, says what is wrong and what to do, and shows where."""
    assert isinstance(error, EmdpError), f"{type(error).__name__}: {error}"
    assert not isinstance(error, InternalError), str(error)
    message = str(error)
    assert not leaks(message, text)
    assert len(message) <= LONGEST
    message.encode("utf-8")
    assert not CONTROLS.search(message), message
    if not isinstance(error, SqlError):
        assert "; " in message, message
        return
    assert error.problem.strip()
    assert error.remedy.strip()
    assert error.code.strip()
    assert error.sql == text
    assert 0 <= error.start <= error.end <= len(text)
    assert error.start < error.end or not text, "nothing is underlined"


def check_columns(plan: Plan | MessagePlan, text: str) -> None:
    """Constants are finite, ranges are ranges, shares are shares."""
    for column in plan.columns:
        assert not leaks(f"{column.expression} {column.note}", text)
        assert column.lipschitz >= 0 or math.isnan(column.lipschitz)
        assert math.isfinite(column.lipschitz) or isinstance(plan.guarantee, UserDP)
        # A number of different values, and of people a key is of, has no public upper end.
        assert -math.inf < column.low <= column.high
        assert column.high < math.inf or isinstance(plan, RowsPlan)
        assert 0 <= column.noise_scale < math.inf
        assert column.expected_error >= 0
        assert column.interval_95 >= 0
        assert 0 <= column.share <= 1
    assert sum(column.share for column in plan.columns) <= 1 + 1e-9
    assert not leaks(" ".join((plan.choice, *plan.notes)), text)


def _coordinates(plan: Plan, world: Any, items: Any) -> Any:
    """Return the scaled vector that each item gives, shape (items, dimension)."""
    aggregation = plan.aggregation
    values = cell_values(aggregation, world.space, items)
    if plan.is_cumulative:
        values = values.reshape(len(items), -1, aggregation.axes[-1].size).cumsum(axis=2).reshape(len(items), -1)
    return values * np.repeat(plan.scales, aggregation.cells)


def check_sensitivity(plan: Plan | MessagePlan, world: Any, seed: int) -> None:
    """No two items, each as all records of a user, move what is released by more than its noise is made for."""
    # Laws of messages, and sums over rows with owners (tests/estimators/owned), have tests of their own.
    if isinstance(plan, MessagePlan | RowsPlan):
        return
    aggregation, items = plan.aggregation, world.items(seed)
    if aggregation.dimension > 20_000:
        return
    items = items[:: 1 if aggregation.dimension < 300 else 6]
    vectors = _coordinates(plan, world, items)
    distances = world.space.distances(items, items)
    if aggregation.cap is not None:
        chosen = np.ones(len(items)) if aggregation.chosen is None else evaluate(aggregation.chosen, world.space, items)
        assert chosen.min() >= -1e-9
        assert chosen.max() <= 1 + 1e-9
        vectors = np.concatenate([vectors * (chosen > 0)[:, None] * aggregation.cap, np.zeros((1, vectors.shape[1]))])
    for mechanism, size in zip(plan.mechanisms, aggregation.group_sizes(world.names.users), strict=True):
        moved = np.array([np.linalg.norm(vectors - own, ord=mechanism.norm, axis=1) for own in vectors])
        bound = mechanism.coordinate_change * (1 if aggregation.cap is not None else size)
        reach = distances if isinstance(plan.guarantee, EmdDP) else 1.0
        errors = 2 * len(plan.scales) * mechanism.statistic_error * size
        slack = errors + 1e-9 * np.abs(vectors).max(initial=0.0) * math.sqrt(aggregation.dimension)
        assert (moved <= bound * reach * (1 + 1e-9) + slack).all(), (moved - bound * reach).max()


def check_items(plan: Plan | MessagePlan, query: object, world: Any, seed: int) -> None:
    """Of each expression in a select list the constant and the range that are printed hold."""
    if not isinstance(query, Select) or isinstance(plan, RowsPlan):
        return
    items, space = world.items(seed), world.space
    distances = space.distances(items, items)
    for item, column in zip(query.items, plan.columns, strict=True):
        if item.expression is None or item.kind not in ("avg", "part") or query.cap is not None:
            continue
        values = evaluate(item.expression, space, items)
        slack = 1e-9 * (np.abs(values).max() + column.high - column.low) + 1e-12
        if item.kind == "avg":
            assert column.low - slack <= values.min()
            assert values.max() <= column.high + slack
        if query.where is None and not query.groups and isinstance(plan.guarantee, EmdDP):
            changes = np.abs(values[:, None] - values[None, :])
            assert (changes <= column.lipschitz * distances * (1 + 1e-9) + slack).all(), str(item.expression)


def check_plan(name: str, text: str, seen: Seen) -> str:
    """Plan one statement, and check what comes of it; return how it went."""
    world = worlds.WORLDS[name]
    began = time.thread_time()
    try:
        planned = plan_request(text, world.names)
    except EmdpError as error:
        took, outcome = time.thread_time() - began, getattr(error, "code", type(error).__name__)
        check_refusal(error, text)
        seen.outcomes[outcome] += 1
    else:
        took, outcome = time.thread_time() - began, "accepted"
        seed = zlib.crc32(text.encode("utf-8", "replace"))
        for one, translated in zip(planned, translate(text, world.names), strict=True):
            assert one.text in text
            check_columns(one.plan, text)
            check_sensitivity(one.plan, world, seed)
            check_items(one.plan, translated.query, world, seed)
        seen.outcomes[outcome] += 1
    assert took < (LONG if SEARCHED.search(text) else SECONDS), f"{took:.1f} seconds"
    return outcome


class _Recorded:
    """A connection of DuckDB's that notes every text given to it."""

    def __init__(self, connection: Any, texts: list[str]) -> None:
        self._connection, self._texts = connection, texts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        if name not in ("execute", "sql", "query", "executemany", "from_query"):
            return found

        def noted(text: str, *arguments: Any, **named: Any) -> Any:
            self._texts.append(text)
            return found(text, *arguments, **named)

        return noted

    def __enter__(self) -> "_Recorded":
        self._connection.__enter__()
        return self

    def __exit__(self, *arguments: Any) -> None:
        self._connection.__exit__(*arguments)


class Sessions:
    """Sessions on the tables of the grammar, under the test switch, and what they tell the engine."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.texts = folder, list[str]()
        self.opened: dict[str, emdp.Session] = {}
        connect = duckdb.connect
        patch.setattr(duckdb, "connect", lambda *args, **named: _Recorded(connect(*args, **named), self.texts))

    def of(self, name: str) -> emdp.Session:
        if name not in self.opened:
            self.opened[name] = emdp.Session(
                worlds.WORLDS[name].declared,
                budget=[EmdDP(BUDGET, 0.5), UserDP(BUDGET, 0.5)],
                ledger=self.folder / f"{name}.ledger",
                public=worlds.PUBLIC,
            )
        return self.opened[name]


@contextmanager
def opened(folder: Path) -> Iterator[Sessions]:
    """Open sessions for the time of a block."""
    with pytest.MonkeyPatch.context() as patch, emdp.testing.seeded(7):
        # What other tests have opened records nothing.
        patch.setattr(instances, "_kept", {})
        sessions = Sessions(folder, patch)
        yield sessions
        for session in sessions.opened.values():
            session.close()
        instances._let_go()


def check_engine_texts(texts: list[str]) -> None:
    """Of the analyst's own words nothing reaches the engine but inside a literal."""
    for text in texts:
        for token in sqlglot.tokenize(text, "duckdb"):
            assert grammar.OWN not in token.text.lower() or token.token_type == TokenType.STRING, text


def reference(plan: Plan, world: Any) -> pl.DataFrame:
    """Return the exact answer by plain numpy, user by user."""
    rows, groups = world.rows(1), plan.aggregation.users
    keys = rows.get_column("user_id").cast(pl.String)
    bags = {user: world.space.encode(rows.filter(keys == user)) for user in keys.unique()}
    everybody = [*bags, *(f"absent {number}" for number in range(world.names.users - len(bags)))]
    members = [everybody]
    if groups is not None:
        members = [groups.keys.filter(groups.groups == group).to_list() for group in range(len(groups.sizes))]
    nothing = np.zeros((0, world.space.width))
    statistics = []
    for users in members:
        found = user_statistic(plan.aggregation, world.space, [bags.get(user, nothing) for user in users])
        statistics.append(plan.summed(tuple(map(Fraction, found.tolist()))))
    return plan.finisher.exact(tuple(statistics))


def check_answer(answer: Any, plan: Plan | MessagePlan, name: str, text: str) -> None:
    """An answer gives no private value away, and before noise it is what plain numpy finds."""
    world, exact = worlds.WORLDS[name], answer.exact_frame
    assert not leaks(f"{answer.explain()} {answer!r} {answer.frame}", text)
    for column in plan.columns:
        own = exact.get_column(column.name).drop_nulls().drop_nans()
        slack = 1e-9 * (column.high - column.low + abs(column.low))
        assert len(own) == 0 or column.low - slack <= own.min() <= own.max() <= column.high + slack
    if isinstance(plan, MessagePlan | RowsPlan):
        return
    if isinstance(world.space, emdp.Words) or all(mechanism.is_exact for mechanism in plan.mechanisms):
        return
    expected = reference(plan, world)
    assert exact.columns == expected.columns
    for column in plan.columns:
        slack = 1e-5 * (column.high - column.low) + 1e-9
        pairs = zip(exact.get_column(column.name), expected.get_column(column.name), strict=True)
        assert all(a == b or (a is not None and abs(a - b) <= slack) for a, b in pairs), (exact, expected)


def ask(name: str, text: str, sessions: Sessions, seen: Seen) -> None:
    """Preview and answer one text in a session; what is refused must be refused here too."""
    session = sessions.of(name)
    plans: list[Plan | MessagePlan] = []
    sessions.texts.clear()
    try:
        plans = [one.plan for one in plan_request(text, worlds.WORLDS[name].names)]
        preview = session.preview(text)
        assert not leaks(f"{preview.explain()} {preview.frame}", text)
        asked = max(plan.guarantee.level for plan in plans)
        if not ASKED < asked <= BUDGET and max(plan.guarantee.delta for plan in plans) <= 1e-5:
            answers = session.sql_batch(text)
            seen.answered += 1
            for answer, plan in zip(answers, plans, strict=True):
                check_answer(answer, plan, name, text)
    except EmdpError as error:
        check_refusal(error, text)
        if isinstance(error, DataRuleError):
            assert name == "strict", "only one table breaks its rules"
            seen.withheld += 1
    check_engine_texts(sessions.texts)


def run(source: Any, examples: int, folder: Path) -> Seen:
    """Plan so many statements, and ask about one in twenty of a session."""
    seen = Seen()
    with opened(folder) as sessions:

        def check(name: str, text: str) -> None:
            outcome = check_plan(name, text, seen)
            is_due = zlib.crc32(text.encode("utf-8", "replace")) % (8 if outcome == "accepted" else 40) == 0
            # Of the one table that breaks its rules every accepted statement is asked.
            if is_due or (name == "strict" and outcome == "accepted"):
                ask(name, text, sessions, seen)

        fuzz(source, examples, check)
    return seen


def check_trees(examples: int, folder: Path) -> None:
    seen = run(grammar.trees(), examples, folder)
    assert seen.total >= examples
    assert seen.outcomes["accepted"] > examples / 10
    assert len(seen.outcomes) > 60, "few kinds of refusals were met"
    assert seen.answered > examples / 200
    assert seen.withheld > 0, "the table that breaks its rules was never asked"


def check_mutants(examples: int, folder: Path) -> None:
    seen = run(mutants.mutants(), examples, folder)
    assert seen.total >= examples
    assert seen.outcomes["accepted"] > examples / 25
    assert len(seen.outcomes) > 60
    assert seen.answered > 0


def check_raw(examples: int, folder: Path) -> None:
    seen = run(mutants.raw(), examples, folder)
    assert seen.total >= examples
    assert seen.outcomes["accepted"] < examples / 10


MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price) AS mean FROM visits"


def planned(text: str, name: str = "count") -> tuple[Plan, Any, Any]:
    world = worlds.WORLDS[name]
    (one,), (translated,) = plan_request(text, world.names), translate(text, world.names)
    return one.plan, translated.query, world


def refusal(problem: str, **changed: Any) -> SqlError:
    return SqlError(
        **{"problem": problem, "remedy": "write x", "code": "x", "sql": "SELECT x", "start": 0, "end": 6} | changed
    )


def test_the_check_of_refusals_sees_what_it_is_for() -> None:
    check_refusal(refusal("x is wrong"), "SELECT x")
    check_refusal(refusal("'SECRETLABEL' is wrong", sql="SELECT 'SECRETLABEL'"), "SELECT 'SECRETLABEL'")
    faults = [
        KeyError("x"),
        InternalError("a bug; please report it."),
        DataRuleError("Conversion Error: could not convert; correct it."),
        DataRuleError("nothing to do."),
        refusal("user secret-user-7 is wrong"),
        refusal("1234.5678 is wrong"),
        refusal("\x1b[4mx\x1b[0m is wrong"),
        refusal("x is wrong", remedy=" "),
        refusal("x is wrong", end=9),
        refusal("x is wrong", end=0),
        refusal("x " * LONGEST),
    ]
    for fault in faults:
        with pytest.raises(AssertionError):
            check_refusal(fault, "SELECT x")


@pytest.mark.parametrize(
    "text",
    [
        MEAN,
        MEAN.replace("AVG(price)", "STDDEV(price)"),
        MEAN.replace("AVG(price)", "QUANTILE(price, 0.5)"),
        MEAN.replace("AVG(price)", "FREQUENCY(GRID(5))"),
        MEAN.replace("EMD_PRIVACY OPTIONS (alpha = 1)", "USER_PRIVACY OPTIONS (epsilon = 1)"),
        MEAN.replace("EMD_PRIVACY OPTIONS (alpha = 1)", "USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 3)"),
    ],
)
def test_the_check_of_sensitivities_sees_one_too_small(text: str) -> None:
    plan, _, world = planned(text)
    check_sensitivity(plan, world, 5)
    smaller = [halved(mechanism) for mechanism in plan.mechanisms]
    with pytest.raises(AssertionError):
        check_sensitivity(replace(plan, mechanisms=tuple(smaller)), world, 5)


def halved(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    half = 0.5 * mechanism.sensitivity
    if isinstance(mechanism, EdgeMechanism):
        axes = tuple(replace(axis, sensitivity=0.5 * axis.sensitivity) for axis in mechanism.axes)
        return replace(mechanism, sensitivity=half, axes=axes)
    return replace(mechanism, sensitivity=half)


@pytest.mark.parametrize("change", [{"lipschitz": 49.0}, {"high": 48.0}, {"low": 2.0}])
def test_the_check_of_items_sees_a_wrong_constant_or_range(change: dict[str, float]) -> None:
    plan, query, world = planned(MEAN)
    check_items(plan, query, world, 5)
    wrong = replace(plan, columns=(replace(plan.columns[0], **change),))
    with pytest.raises(AssertionError):
        check_items(wrong, query, world, 5)


def test_the_check_of_engine_texts_sees_the_analysts_words() -> None:
    check_engine_texts(["SELECT price FROM source_rows WHERE label = 'zq cafe'"])
    for text in ("SELECT price AS zq_0 FROM x", 'SELECT "zq 0" FROM x', "SELECT price /* zq */ FROM zq"):
        with pytest.raises(AssertionError):
            check_engine_texts([text])


def test_the_check_of_answers_sees_another_number(tmp_path: Path) -> None:
    plan, _, _ = planned(MEAN)
    with opened(tmp_path) as sessions:
        answer = sessions.of("count").sql(MEAN)
        check_answer(answer, plan, "count", MEAN)
        other = sessions.of("count").sql(MEAN.replace("AVG(price)", "AVG(price + 0.01)"))
        with pytest.raises(AssertionError):
            check_answer(other, plan, "count", MEAN)
        with pytest.raises(DataRuleError):
            sessions.of("strict").sql(MEAN)
        assert any("source_rows" in text for text in sessions.texts)


@pytest.mark.slow
def test_random_trees(tmp_path: Path) -> None:
    check_trees(900, tmp_path)


@pytest.mark.slow
def test_mutated_files(tmp_path: Path) -> None:
    check_mutants(900, tmp_path)


@pytest.mark.slow
def test_raw_text(tmp_path: Path) -> None:
    check_raw(200, tmp_path)


@pytest.mark.full
def test_random_trees_at_full_size(tmp_path: Path) -> None:
    check_trees(9_000, tmp_path)


@pytest.mark.full
def test_mutated_files_at_full_size(tmp_path: Path) -> None:
    check_mutants(9_000, tmp_path)


@pytest.mark.full
def test_raw_text_at_full_size(tmp_path: Path) -> None:
    check_raw(2_000, tmp_path)
