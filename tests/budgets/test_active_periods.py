"""The cap on active periods: its theorem by enumeration, what it is read off, and the ways to get it wrong.

A user counts in the first ``k`` periods with records of the user, as written in diaries of the rows that were drawn.
"""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linear_sum_assignment

import emdp
from emdp.mechanisms.streams.mechanism import StreamMechanism
from emdp.mechanisms.streams.strategy import SCALE, Plan, Strategy, crossing
from emdp.sessions.diary import capped

PLANS: tuple[Plan, ...] = ("days", "totals", "both")


def matrix_of(plan: Plan, periods: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return Strategy.of(plan, periods).matrix(tuple(range(1, periods + 1)))


def bound_of(plan: Plan, periods: int, active: int) -> float:
    return math.sqrt(Strategy.of(plan, periods).active_square(periods, active)) / SCALE


class TestWorstPeriods:
    """Which periods move the rows most."""

    @pytest.mark.parametrize("plan", PLANS)
    @pytest.mark.parametrize("periods", [1, 2, 5, 12])
    def test_they_are_the_first_in_a_row(self, plan: Plan, periods: int) -> None:
        """All subsets, periods that are apart among them."""
        chosen = np.array(list(itertools.product((0.0, 1.0), repeat=periods)))
        norms = np.linalg.norm(chosen @ matrix_of(plan, periods).T, axis=1)
        sizes = chosen.sum(axis=1)
        for active in range(1, periods + 1):
            largest = norms[sizes <= active].max()
            assert largest == pytest.approx(bound_of(plan, periods, active), rel=1e-12)
        assert bound_of(plan, periods, periods + 3) == bound_of(plan, periods, periods)

    def test_known_answers_of_a_year(self) -> None:
        """elsewhere-periods-continual.md C2: user level, T = 365."""
        found = [bound_of("totals", 365, active) for active in (1, 7, 30, 100, 365)]
        assert found == [pytest.approx(number, rel=3e-3) for number in (1.72, 10.34, 39.1, 113.3, 291.4)]
        column = bound_of("totals", 365, 1)
        assert [column * own for own in found] == [
            pytest.approx(number, rel=3e-3) for number in (2.94, 17.7, 67.1, 194.4, 500)
        ]
        assert bound_of("days", 365, 30) == pytest.approx(math.sqrt(30), rel=1e-12)

    def test_known_crossings(self) -> None:
        """Totals are more exact than sums of days below 5 of 7, 20 of 52 and 96 of 365."""
        for periods, least in ((7, 5), (52, 20), (365, 96)):
            assert crossing(periods) == least
            for active, is_better in ((least - 1, True), (least, False)):
                totals = bound_of("totals", periods, 1) * bound_of("totals", periods, active)
                assert (totals < math.sqrt(periods * active)) is is_better


def worlds(values: list[tuple[float, ...]], periods: int, active: int) -> list[tuple[tuple[float, ...], ...]]:
    """Return what a user may add to the periods, at most so many times."""
    nothing = tuple(0.0 for _ in values[0])
    all_of_them = itertools.product([nothing, *values], repeat=periods)
    return [own for own in all_of_them if sum(one != nothing for one in own) <= active]


def largest(values: list[tuple[float, ...]], plan: Plan, periods: int, active: int) -> float:
    """Return the largest ``‖C (g - g')‖`` over all pairs of worlds."""
    found = np.array(worlds(values, periods, active))
    rows = np.einsum("ts,wsd->wtd", matrix_of(plan, periods), found).reshape(len(found), -1)
    squares = (rows**2).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * rows @ rows.T
    return float(np.sqrt(apart.max()))


class TestTheorem:
    """The largest change of the rows by enumeration of all pairs of worlds, whatever periods each has."""

    @pytest.mark.parametrize("plan", PLANS)
    @pytest.mark.parametrize("active", [1, 2, 3])
    def test_of_centred_numbers_the_share_is_free(self, plan: Plan, active: int) -> None:
        """``((e - m), s)``, ``s = h = 1``: ``r^2 = 2``, ``rho = 0``; without a share ``r = rho = 1``: 2 both."""
        for values in ([(1.0, 1.0), (-1.0, 1.0), (0.0, 1.0)], [(1.0,), (-1.0,)], [(1.0, 0.5), (-1.0, 0.5)]):
            found = largest(values, plan, 4, active)
            assert found <= 2 * bound_of(plan, 4, active) * (1 + 1e-12)
            assert found == pytest.approx(2 * bound_of(plan, 4, active), rel=1e-9)

    def test_a_known_answer(self) -> None:
        """``T = 4``, ``k = 2``, ``s = h = 1``: 4.237113."""
        assert largest([(1.0, 1.0), (-1.0, 1.0)], "totals", 4, 2) == pytest.approx(4.237113, rel=1e-4)

    @pytest.mark.parametrize("active", [1, 2])
    def test_counts_pay_the_root_of_two(self, active: int) -> None:
        """The periods of two worlds may be others: a bound that takes them for the same is broken."""
        found = largest([(1.0,)], "days", 4, active)
        assert found == pytest.approx(math.sqrt(2) * bound_of("days", 4, active), rel=1e-9)
        for plan in ("totals", "both"):
            assert largest([(1.0,)], plan, 5, active) <= math.sqrt(2) * bound_of(plan, 5, active) * (1 + 1e-12)

    def test_a_histogram_and_the_share_elsewhere(self) -> None:
        """``(1_cell, -1)``: ``r^2 = 2``, ``rho = 0``, so 2, where two users' cells differ by the root of two."""
        values = [(1.0, 0.0, -1.0), (0.0, 1.0, -1.0)]
        found = largest(values, "days", 4, 2)
        assert found == pytest.approx(2 * bound_of("days", 4, 2), rel=1e-9)
        assert found > 1.4 * math.sqrt(2) * bound_of("days", 4, 2) * 0.99

    @pytest.mark.parametrize("plan", PLANS)
    def test_random_hulls(self, plan: Plan) -> None:
        """Values of any signs: the smaller of the two bounds holds, of numbers that are computed of them here."""
        random = np.random.default_rng(11)
        for _ in range(25):
            values = random.normal(size=(3, 2)) * random.uniform(0.1, 3, size=2) + random.normal(size=2)
            length = np.linalg.norm(values, axis=1).max()
            against = max(0.0, float((-values @ values.T).max()))
            apart = max(length, *(np.linalg.norm(one - other) for one in values for other in values))
            found = largest([tuple(own) for own in values.tolist()], plan, 4, 1)
            first = math.sqrt(2 * length**2 + 2 * against) * bound_of(plan, 4, 1)
            assert found <= min(first, apart * bound_of(plan, 4, 2)) * (1 + 1e-9)


class TestReach:
    """``reach`` of real questions, against the vectors that records of their tables give."""

    SPACE = emdp.Interval("x", 0, 1)
    ASKS = (
        ("AVG(x) AS a FROM visits", ""),
        ("AVG(x) AS a FROM visits WHERE RAMP(x, 0.2, 0.9)", ""),
        ("AVG(x) AS a, VARIANCE(x) AS v FROM visits", ""),
        ("AVG(RAMP(x, 0.2, 0.9)) AS s FROM visits", ""),
        ("FREQUENCY(GRID(0.25)) FROM visits", ""),
        ("COUNT(*) AS n FROM visits", ", max_records_per_user = 3"),
        ("SUM(x - 0.4) AS s, COUNT(*) AS n FROM visits", ", max_records_per_user = 2"),
    )

    @pytest.mark.quarter
    @pytest.mark.parametrize("ask", ASKS, ids=[text for text, _ in ASKS])
    def test_no_two_worlds_are_farther_apart(self, ask: tuple[str, str]) -> None:
        from emdp.estimators.streams import plan_stream
        from emdp.sessions.planning import plan_request
        from emdp.sessions.records import TableRecords

        text, option = ask
        query = f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 5, delta = 1e-5{option}) {text}"
        found: list[list[float]] = []
        for bag in ([], *([x] for x in (0.0, 0.1, 0.35, 0.5, 0.62, 0.9, 1.0)), [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]):
            rows = {"user": [1] * len(bag) + [2], "x": [*bag, 0.3]}
            table = emdp.read(rows, user="user", space=self.SPACE, users=2, name="visits", elsewhere=1)
            names = table.names()
            (planned,) = plan_request(query, names, (), gaussian=True)
            (statistic,) = planned.plan.statistic(TableRecords(table), keep_exact=False)
            found.append([float(value) for value in planned.plan.prepared(statistic.open())])
            stream = plan_stream(
                planned.plan, 4, unit="user", figures="totals", active=1, space=names.space, users=names.users
            )
        adds = np.array(found) - np.array(found[0])
        values = [tuple(own) for own in adds[1:].tolist()]
        for plan in PLANS:
            own = StreamMechanism(
                Strategy.of(plan, 4), 4, "user", stream.mechanism.sensitivity, stream.mechanism.dimension, 1.0, 1e-6,
                active=1, reach=stream.mechanism.reach,
            )  # fmt: skip
            assert largest(values, plan, 4, 1) <= own.mu("user") * own.sigma * (1 + 1e-9)


AWAY = None
Bag = tuple[float | None, ...]


def distance(one: Bag, other: Bag) -> float:
    """Return the distance of two bags, of one size each after repeating; the point elsewhere is at distance 1."""
    size = int(np.lcm(max(len(one), 1), max(len(other), 1)))
    left, right = (
        [value for value in (bag or (AWAY,)) for _ in range(size // max(len(bag), 1))] for bag in (one, other)
    )
    cost = np.array([[0.0 if x is y else 1.0 if x is None or y is None else abs(x - y) for y in right] for x in left])
    return float(cost[linear_sum_assignment(cost)].sum() / size)


def first_periods(history: tuple[Bag, ...], most: int) -> tuple[Bag, ...]:
    found, active = [], 0
    for bag in history:
        is_kept = any(value is not AWAY for value in bag) and active < most
        active += is_kept
        found.append(bag if is_kept else tuple(AWAY for _ in bag))
    return tuple(found)


class TestWhyNotOtherwise:
    """What breaks a cap that is read off files, and why it is no help under d_EM."""

    def test_what_is_read_again_may_have_changed(self) -> None:
        """Cap 1: W1 is answered, then its file is corrected, and W2 finds nobody active before: two periods count."""
        as_answered, as_corrected = ((0.0,), (0.5,)), ((), (0.5,))
        told = (first_periods(as_answered, 1)[0], first_periods(as_corrected, 1)[1])
        assert sum(any(value is not AWAY for value in bag) for bag in told) == 2

    def test_one_more_active_period_moves_two(self) -> None:
        """The sum of distances grows to twice its size; with M slots to M + 1 times; and one week to any size."""
        bags: tuple[Bag, ...] = ((), (0.0,), (1.0,))
        worst = 0.0
        for one, other in itertools.product(itertools.product(bags, repeat=4), repeat=2):
            before = sum(distance(left, right) for left, right in zip(one, other, strict=True))
            pairs = zip(first_periods(one, 1), first_periods(other, 1), strict=True)
            worst = max(worst, sum(distance(left, right) for left, right in pairs) / before if before else 0.0)
        assert worst == 2.0
        for slots in (2, 3, 100):
            # One record of the first period is there or not, a share of 1/M; the second, full, is in or out.
            empty, full = (AWAY,) * slots, (0.0,) * slots
            one, other = ((0.0, *empty[1:]), full), (empty, full)
            before = max(distance(left, right) for left, right in zip(one, other, strict=True))
            pairs = zip(first_periods(one, 1), first_periods(other, 1), strict=True)
            after = max(distance(left, right) for left, right in pairs)
            assert (before, after) == (pytest.approx(1 / slots), 1.0)


def table(rows: dict[str, list[object]], version: str = "v") -> emdp.Table:
    return emdp.read(
        pl.DataFrame(rows, schema={"user": pl.Int64, "x": pl.Float64}), user="user", space=emdp.Interval("x", 0, 1),
        users=5, name="visits", version=version, elsewhere=1,
    )  # fmt: skip


class TestDiary:
    """Who counts in a row is decided by a user's own record and diary alone."""

    def test_two_worlds_whose_files_are_corrected(self) -> None:
        """Random data, of user 1 others in either world: everybody counts at most k times, and nobody else moves."""
        random = np.random.default_rng(3)
        for active in (1, 2):
            diaries: tuple[list[tuple[str, ...]], list[tuple[str, ...]]] = ([], [])
            for _ in range(7):
                others = [user for user in (2, 3, 4) if random.random() < 0.6]
                for world in diaries:
                    users = [*others, *([1] if random.random() < 0.7 else [])]
                    own, counted = capped(table({"user": users, "x": [0.5] * len(users)}), active, world)
                    assert own.users.keys is not None
                    assert own.users.keys.to_list() == list(counted)
                    assert own.n == 5
                    world.append(counted)
                assert {key for key in diaries[0][-1] if key != "1"} == {key for key in diaries[1][-1] if key != "1"}
            for world in diaries:
                assert max(sum(key in own for own in world) for key in "1234") == active

    def test_whoever_has_counted_is_elsewhere(self) -> None:
        from emdp.expressions import col
        from emdp.expressions.nodes.base import Constant
        from emdp.tables.engine import mean_of_user_means

        own, counted = capped(table({"user": [1, 1, 2, 3], "x": [0.0, 1.0, 0.25, 1.0]}), 1, [("3",)])
        assert counted == ("1", "2")
        found = mean_of_user_means(own, [col("x"), Constant(1.0)]).open()
        assert [float(value) for value in found] == [pytest.approx(0.75 / 5), pytest.approx(2 / 5)]
        nobody, none = capped(own, 1, [("1", "2", "3")])
        assert none == ()
        assert [float(value) for value in mean_of_user_means(nobody, [col("x")]).open()] == [0.0]

    def test_a_record_that_is_elsewhere_counts_too(self) -> None:
        """A user is active with any record: what COUNT(*) counts is one of a period that counts."""
        own = emdp.read(
            {"user": [1, 2], "x": [7.0, 0.5]}, user="user", users=5, name="visits", elsewhere=1,
            space=emdp.Interval("x", 0, 1, on_invalid="elsewhere"),
        )  # fmt: skip
        assert capped(own, 1, [])[1] == ("1", "2")

    def test_listed_users_alone(self) -> None:
        own = emdp.read(
            {"user": ["a", "b", None], "x": [0.1, 0.2, 0.3]}, user="user", users=["a", "c"], name="visits",
            space=emdp.Interval("x", 0, 1), elsewhere=1,
        )  # fmt: skip
        assert capped(own, 1, [])[1] == ("a",)


class TestNoise:
    """The noise of a capped stream, by the worst change."""

    @pytest.mark.parametrize("plan", PLANS)
    def test_the_worst_change_is_what_was_stated(self, plan: Plan) -> None:
        """Of 20,000 streams: ``mu`` of the best test on the rows is the stated one within 3 %.

        Power: with 0.7 times the noise it is 43 % more, with 1.3 times 23 % less; five standard errors of a deviation
        of 20,000 draws are 2.5 %.
        """
        own = StreamMechanism(
            Strategy.of(plan, 6), 6, "user", 2.0, 20_000, 2.0, 1e-6, active=2, reach=2.0
        )  # fmt: skip
        change = np.array([2.0, 2.0, 0, 0, 0, 0])
        shift = matrix_of(plan, 6) @ change
        rows = [own.draw() for _ in range(6)]
        blocks = own.strategy.blocks
        noise = np.array([rows[t][block] for block in range(blocks) for t in range(6)], dtype=np.float64)
        projected = (shift / np.linalg.norm(shift)) @ noise * own.grid / SCALE
        found = float(np.linalg.norm(shift) / projected.std())
        stated = own.mu("user")
        assert abs(found / stated - 1) < 0.03
        for factor in (0.7, 1.3):
            assert abs(found / factor / stated - 1) > 0.2

    def test_a_cap_is_cheaper_than_none_and_never_dearer(self) -> None:
        """UserDP(1, 1e-6) for a year: .0889 at 30 days for .310 without a cap (the theory's NYC mean)."""
        free = StreamMechanism(Strategy.of("days", 365), 365, "user", 2.0, 1, 1.0, 1e-6)
        for active, ratio in ((30, math.sqrt(30 / 365)), (365, 1.0), (400, 1.0)):
            own = StreamMechanism(
                Strategy.of("days", 365), 365, "user", 2.0, 1, 1.0, 1e-6, active=active, reach=2.0
            )  # fmt: skip
            assert own.sigma / free.sigma == pytest.approx(ratio, rel=1e-9)
            # Not known: twice as many periods.
            loose = StreamMechanism(Strategy.of("days", 365), 365, "user", 2.0, 1, 1.0, 1e-6, active=active)
            assert own.sigma <= loose.sigma <= free.sigma * (1 + 1e-12)

    def test_prolonging_days_is_free_and_totals_pay(self) -> None:
        """Two periods of a user in a year are two in two years."""
        for plan, is_free in (("days", True), ("totals", False)):
            first = StreamMechanism(
                Strategy.of(plan, 10), 10, "user", 2.0, 1, 1.0, 1e-6, active=2, reach=2.0
            )  # fmt: skip
            longer = first.prolonged(20, first.sigma, 10)
            assert (longer.mu("user") == first.mu("user")) is is_free
            assert longer.alpha >= first.alpha * (1 - 1e-9)
