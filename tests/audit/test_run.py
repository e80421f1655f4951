"""Audits of queries: true promises stand at 1 - 1e-6, broken ones are caught there, sessions are what is audited."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import emdp
from emdp.audit import AuditReport, audit, audit_randomizer
from emdp.audit.releases import _without_noise
from emdp.audit.run import COUNTED, _asked, _setting
from emdp.base.errors import UsageError
from emdp.estimators.frequency.structured_measures import StructuredPlan
from emdp.expressions import col
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.central import edge_laws, gaussian, k_norm, laplace
from emdp.questions import frequencies, mean, user_mean, vector_mean
from emdp.spaces import Categories, Interval, Product, Vector
from emdp.tables import Table

CERTAIN = 1.0 - 1e-6
"""Confidence of all bounds of a report together: a test fails by chance once in a million runs."""

TRIALS = 20_000


@pytest.fixture(scope="module")
def table() -> Table:
    space = Product(Interval("x", 0, 10), Categories("kind", ["bar", "inn", "zoo"]))
    rows = pl.DataFrame({"user": [1], "x": [0.5], "kind": ["bar"]})
    return emdp.read(rows, user="user", space=space, users=40, name="visits")


def audited(table: Table, query: object, **options: object) -> AuditReport:
    settings = {"trials": TRIALS, "confidence": CERTAIN, "end_to_end": 0, **options}
    return audit(table, query, **settings)  # type: ignore[arg-type]


VECTOR = [col("x"), emdp.category_is("bar"), emdp.category_is("inn")]
QUERIES = {
    "laplace": mean(col("x"), alpha=4.0),
    "laplace vector": vector_mean(VECTOR, alpha=4.0, noise="laplace"),
    "k-norm": vector_mean(VECTOR[:2], alpha=4.0, noise="k_norm"),
    "gaussian": vector_mean(VECTOR[:1], alpha=4.0, delta=1e-4, noise="gaussian"),
}
DRAWS = {
    "laplace": (laplace, "draw_discrete_laplace"),
    "laplace vector": (laplace, "draw_discrete_laplace"),
    "k-norm": (k_norm, "draw_k_norm"),
    "gaussian": (gaussian, "draw_discrete_gaussian"),
}


@pytest.mark.quarter
@pytest.mark.parametrize("kind", QUERIES)
def test_the_true_mechanism_stands_and_seven_tenths_of_its_noise_is_caught(
    kind: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At a delta of 0.01 events are counted that differ less.
    distance, trials = (0.5, 6 * TRIALS) if kind == "gaussian" else (0.3, TRIALS)
    true = audited(table, QUERIES[kind], distances=[distance])
    assert true.is_sound
    assert all(row.audited_epsilon > 0 for row in true.rows if row.delta in (0, 0.01))
    module, name = DRAWS[kind]
    drawn = getattr(module, name)

    def weaker(scale: float, *more: int) -> object:
        return drawn(0.7 * scale, *more)

    monkeypatch.setattr(module, name, weaker)
    # The law that scores assume is no longer the true one, so that the fault must show in the draws themselves.
    broken = audited(table, QUERIES[kind], distances=[distance], trials=trials)
    assert broken.broken, broken.frame
    assert not broken.is_sound
    assert broken.verdict.startswith("a promise was broken")


@pytest.mark.slow
def test_noise_on_edges_of_a_plane_is_seen_by_its_likelihood_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a square a cut has two edges, so that noise on them hides least: its exact law is the sharpest test."""
    square = emdp.Vector(["x", "y"], box=[(0, 1), (0, 1)])
    rows = pl.DataFrame({"user": [1], "x": [0.5], "y": [0.5]})
    asked = emdp.read(rows, user="user", space=square, users=40, name="square")
    query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3) MEASURE(PITCH(1.0)) FROM square"
    true = audited(asked, query, distances=[1.0], trials=200_000)
    assert true.is_sound
    (row,) = true.rows
    assert row.test.endswith("likelihood ratio")
    assert row.audited_epsilon > 0.6 * row.claimed_epsilon
    drawn = edge_laws.laplace_integers
    monkeypatch.setattr(edge_laws, "laplace_integers", lambda units, size: drawn(0.7 * units, size))
    broken = audited(asked, query, distances=[1.0], trials=200_000)
    assert broken.broken, broken.frame


MEASURES = {
    "sums of regions": (Vector(["x", "y"], box=[(0, 3), (0, 3)]), emdp.measure(alpha=30.0, pitch=1.0), 0.1),
    "independent": (
        Product(Vector(["x", "y"], box=[(0, 1), (0, 1)]), Interval("hour", 0, 1)),
        emdp.measure(alpha=4.0, pitch=1.0, structure="independent"),
        0.5,
    ),
}


@pytest.mark.parametrize("kind", ["sums of regions", pytest.param("independent", marks=pytest.mark.slow)])
def test_measures_stand_and_less_noise_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By sums of regions of a grid whose law has no formula; of two releases by the joint law, whose loss adds."""
    space, query, distance = MEASURES[kind]
    rows = pl.DataFrame({"user": [1], **{name: [0.5] for name in space.columns}})
    asked = emdp.read(rows, user="user", space=space, users=20, name="area")
    sessions = 0 if kind == "sums of regions" else 30
    true = audited(asked, query, distances=[distance], end_to_end=sessions)
    (row,) = true.rows
    assert true.is_sound, true.frame
    assert 0.3 * row.claimed_epsilon < row.audited_epsilon
    assert row.test.endswith("likelihood ratio") == (kind == "independent")
    assert row.mechanism.count("edge Laplace") == 1 + (kind == "independent")
    drawn = edge_laws.laplace_integers
    monkeypatch.setattr(edge_laws, "laplace_integers", lambda units, size: drawn(0.3 * units, size))
    assert audited(asked, query, distances=[distance]).broken


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["independent", "given zone"])
@pytest.mark.parametrize("fault", [False, True])
def test_answers_are_compared_in_every_block(fault: bool, structure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases whose later blocks have no noise are not what is drawn in bulk, though the first block is."""
    space, _, distance = MEASURES["independent"]
    rows = pl.DataFrame({"user": [1], "x": [0.5], "y": [0.5], "hour": [0.5]})
    asked = emdp.read(rows, user="user", space=space, users=20, name="area")

    def planted(self: StructuredPlan, opened: Any, records: Any, *, keep_exact: bool) -> Any:
        made: list[Fraction] = []
        for place, (own, values) in enumerate(zip(self.releases, opened, strict=True)):
            if place and fault:
                made += own.restored(_without_noise(own.mechanisms[0]).release(own.prepared(values)))
            else:
                made += own.release((values,), records, keep_exact=False)[0][0]
        return (tuple(made),), None

    monkeypatch.setattr(StructuredPlan, "release", planted)
    query = emdp.measure(alpha=4.0, pitch=1.0, structure=structure)
    report = audited(asked, query, distances=[distance], trials=500, end_to_end=60)
    assert bool(report.disagreements) == fault


def test_a_sensitivity_per_record_is_caught(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for a change of one of the user's records, as if all others were other people's."""
    made = LaplaceMechanism.__post_init__

    def of_one_record(self: LaplaceMechanism) -> None:
        object.__setattr__(self, "sensitivity", self.sensitivity / 60)
        made(self)

    monkeypatch.setattr(LaplaceMechanism, "__post_init__", of_one_record)
    report = audited(table, mean(col("x"), alpha=0.2), trials=4000)
    assert report.broken


@pytest.mark.slow
def test_a_rounding_that_does_not_touch_the_grid_is_no_fault_but_skipping_noise_is(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that forgets its noise is seen by the sessions, though what is drawn in bulk is right."""

    def bare(self: LaplaceMechanism, values: Sequence[Fraction]) -> tuple[Fraction, ...]:
        grid = Fraction(self.grid)
        return tuple(round(value / grid) * grid for value in values)

    monkeypatch.setattr(LaplaceMechanism, "release", bare)
    report = audited(table, mean(col("x"), alpha=4.0), end_to_end=40, trials=1000)
    assert not report.broken
    assert report.disagreements
    assert "another law" in report.verdict


@pytest.mark.slow
def test_sessions_answer_by_the_law_that_is_audited(table: Table) -> None:
    query = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) AVG(x) AS m FROM visits"
    report = audited(table, query, end_to_end=30, trials=500, distances=[1.0])
    (found,) = report.agreements
    assert (found.sessions, found.draws) == (30, 120)
    assert found.p_value > 1e-6
    assert report.is_sound


@pytest.mark.slow
def test_statements_are_audited_one_by_one_and_together(table: Table) -> None:
    text = (
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) AS a FROM visits;"
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) AS b FROM visits"
    )
    report = audited(table, text, distances=[0.4], trials=10_000)
    alone, _, together = report.rows
    assert together.query == "all together"
    assert together.claimed_epsilon == pytest.approx(2 * alone.claimed_epsilon)
    # The same change is seen twice, by independent noise.
    assert together.audited_epsilon > 1.3 * alone.audited_epsilon > 0
    assert report.is_sound
    again = audited(table, text.split(";"), distances=[0.4], trials=200)
    assert [row.claimed_epsilon for row in again.rows] == [row.claimed_epsilon for row in report.rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "least"),
    [
        ("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 5) COUNT(*) AS n FROM visits", 0.5),
        ("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2, max_records_per_user = 5) kind, COUNT(*) AS n FROM visits "
         "GROUP BY kind", 0.5),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 8) FREQUENCY(kind) AS share FROM visits", 0.0),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 8) QUANTILE(x, 0.5) AS middle FROM visits", 0.0),
        ("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 8) kind, AVG(x) AS m FROM visits GROUP BY kind", 0.0),
        ("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT user) AS n FROM visits", 0.0),
    ],
)  # fmt: skip
def test_sql_of_every_family_stands(query: str, least: float, table: Table) -> None:
    report = audited(table, query, trials=5000, distances=[1.0])
    assert report.is_sound
    assert max(row.audited_epsilon for row in report.rows) >= least
    assert all(0 < row.distance <= 1 for row in report.rows)


def test_means_in_the_local_model_are_audited_one_message_at_a_time(table: Table) -> None:
    """One message of one user has the guarantee; of the average of 40 nobody would see it."""
    report = audited(table, mean(col("x"), alpha=4.0, model="local"), distances=[0.3])
    (row,) = report.rows
    assert (row.model, row.users, row.trials) == ("local", 1, TRIALS)
    assert 0.6 * row.claimed_epsilon < row.audited_epsilon <= row.claimed_epsilon


def test_messages_and_ranges_are_run_as_a_whole(table: Table) -> None:
    query = user_mean(col("x"), epsilon=2.0, spread=0.2, between=0.2, records=20)
    report = audited(table, query, trials=4000, distances=[1.0])
    (row,) = report.rows
    assert row.trials == 200
    assert report.is_sound


def test_nothing_private_is_read_and_nothing_is_charged(table: Table, tmp_path: object) -> None:
    """The session's table has a record that breaks every rule: it is never looked at."""
    rows = pl.DataFrame({"user": [99], "x": [-5.0]})
    bad = emdp.read(rows, user="user", space=Interval("x", 0, 1), users=["1", "2"])
    with emdp.Session(bad, budget=emdp.EmdDP(1.0), ledger=f"{tmp_path}/a.ledger") as session:
        report = audit(session, mean(col("x"), alpha=1.0), trials=500, confidence=CERTAIN, end_to_end=0)
        assert session.history().height == 0
        assert session.remaining().level == 1.0
    assert report.is_sound
    assert report.rows[0].users == 2


def test_bonferroni_shares_the_failure_among_all_rows(table: Table) -> None:
    """More rows, smaller bounds: the confidence is that of the report, which every row repeats."""
    query = mean(col("x"), alpha=4.0)
    few = audited(table, query, distances=[0.3], confidence=0.95, trials=50_000).rows[-1]
    assert few.confidence == 0.95
    assert 0.9 < few.ratio < 1.0


def test_what_cannot_be_audited_is_refused(table: Table) -> None:
    query = mean(col("x"), alpha=4.0)
    for options, words in (
        ({"trials": 99}, "at least 100"),
        ({"confidence": 1.0}, "confidence"),
        ({"distances": [0.0]}, "above 0"),
        ({"distances": []}, "at least one"),
        ({"distances": [2.0]}, "distances"),
    ):
        with pytest.raises(UsageError, match=words):
            audited(table, query, **options)
    with pytest.raises(UsageError, match="Session or a Table"):
        audit("visits", query)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no statement"):
        audited(table, [])
    with emdp.testing.seeded(1), pytest.raises(UsageError, match="test switch"):
        audited(table, query)
    with pytest.raises(emdp.SqlError):
        audited(table, "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) SUM(x) FROM visits")


def test_many_users_are_fewer_where_all_are_drawn(table: Table) -> None:
    many = replace(table, users=replace(table.users, count=100_000))
    setting = _setting(many, None, 1000, 0, None, ())
    (few,) = _asked(setting, [user_mean(col("x"), epsilon=2.0)])
    (all_of_them,) = _asked(setting, [mean(col("x"), alpha=2.0)])
    assert (few.users, all_of_them.users) == (1000, None)


def test_a_column_of_text_outside_the_space_is_audited() -> None:
    rows = {"user": [1], "x": [0.5], "shop": ["inn"]}
    table = emdp.read(rows, user="user", space=Interval("x", 0, 1), users=200)
    query = emdp.heavy_hitters("shop", count=2, epsilon=1.0, delta=1e-6)
    report = audited(table, query, distances=[1.0], end_to_end=5)
    (row,) = report.rows
    assert report.is_sound
    assert 0.4 < row.audited_epsilon <= row.claimed_epsilon == 1.0


@pytest.mark.slow
def test_answers_that_found_nothing_are_compared_too(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a session's answers are empty, none of the draws is: that is another law."""
    monkeypatch.setattr("emdp.audit.agreement.first_numbers", lambda plan, frame: (math.nan,))
    report = audited(table, mean(col("x"), alpha=4.0), end_to_end=20, trials=200, distances=[0.5])
    assert report.disagreements
    monkeypatch.setattr("emdp.audit.plans.AuditedNoise.values", lambda plan, tables, most: [(math.nan,)] * most)
    assert not audited(table, mean(col("x"), alpha=4.0), end_to_end=2, trials=200, distances=[0.5]).disagreements


def test_a_randomizer_with_another_law_than_it_states_is_caught() -> None:
    space = Categories("kind", ["bar", "inn", "zoo"])

    class Louder(emdp.randomizers.KRR):
        def draw(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
            return emdp.randomizers.KRR(self.space, 1.5 * self.requested).draw(codes)

    assert audit_randomizer(emdp.randomizers.KRR(space, 1.0), trials=TRIALS, confidence=CERTAIN).is_sound
    report = audit_randomizer(Louder(space, 1.0), trials=TRIALS, confidence=CERTAIN)
    assert report.broken
    assert math.isclose(report.rows[0].claimed_epsilon, 1.0, rel_tol=1e-6)


@pytest.mark.full
def test_laplace_noise_is_measured_within_a_fifth_at_a_million_draws(table: Table) -> None:
    report = audited(table, mean(col("x"), alpha=4.0), trials=1_000_000, confidence=0.95)
    assert report.is_sound
    assert all(row.ratio > 0.8 for row in report.rows if row.claimed_epsilon >= 0.4), report.frame


@pytest.mark.slow
def test_laplace_noise_is_measured_within_a_third_at_a_tenth_of_that(table: Table) -> None:
    report = audited(table, mean(col("x"), alpha=4.0), trials=100_000, confidence=0.95, distances=[0.125, 0.5])
    assert report.is_sound
    assert all(row.ratio > 0.66 for row in report.rows), report.frame


@pytest.mark.slow
def test_mixed_messages_have_a_row_for_one_user_s_own(table: Table) -> None:
    """It is held against the pure epsilon of a message, which mixing starts from; by itself it is seen nearly whole."""
    labels = Categories("kind", ["bar", "inn"])
    source = emdp.read({"user": [1], "kind": ["bar"]}, user="user", space=labels, users=500)
    report = audited(source, frequencies(epsilon=1.0, delta=1e-6, model="shuffle"), distances=[0.5, 1.0])
    own, mixed = ([row for row in report.rows if (row.users == 1) == is_own] for is_own in (True, False))
    (row,) = own
    assert (row.model, row.delta, row.distance) == ("local", 0.0, 1.0)
    assert row.mechanism.endswith("; one user's own message, unmixed")
    # both distances, and at the larger one how often each message comes
    assert [(one.users, one.distance) for one in mixed if one.mechanism.endswith(COUNTED)] == [(500, 1.0)]
    assert [one.users for one in mixed] == [500, 500, 500]
    assert 0.8 * row.claimed_epsilon < row.audited_epsilon <= row.claimed_epsilon
    assert max(one.audited_epsilon for one in mixed) < 1.0 < row.claimed_epsilon
    assert report.is_sound
    # What a curator adds noise to has no such message.
    assert all(one.users == 40 for one in audited(table, QUERIES["laplace"]).rows)


REMOVAL = (
    "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 4, neighbours = 'remove') kind, COUNT(*), "
    "SUM(x) FROM visits GROUP BY kind"
)


@pytest.mark.parametrize("users", [None, 40])
def test_a_removed_user_is_hidden_and_by_no_more_than_needed(users: int | None) -> None:
    space = Product(Interval("x", -1, 2), Categories("kind", ["bar", "inn"]))
    own = emdp.read({"user": [1], "x": [0.5], "kind": ["bar"]}, user="user", space=space, users=users, name="visits")
    (row,) = audited(own, REMOVAL, distances=[1.0]).rows
    assert 0.7 < row.audited_epsilon <= row.claimed_epsilon


def test_noise_for_a_replaced_user_halved_without_removal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sensitivity of removal under a promise by replacement: half of what counts by key need."""
    from emdp.estimators.totals import totals

    space = Product(Interval("x", -1, 2), Categories("kind", ["bar", "inn"]))
    own = emdp.read({"user": [1], "x": [0.5], "kind": ["bar"]}, user="user", space=space, users=40, name="visits")
    query = REMOVAL.replace(", neighbours = 'remove'", "").replace(", SUM(x)", "")
    assert audited(own, query, distances=[1.0]).rows[-1].audited_epsilon <= 1.0
    monkeypatch.setattr(totals, "aggregation_spread", totals.aggregation_removal)
    assert audited(own, query, distances=[1.0]).rows[-1].audited_epsilon > 1.5


def test_a_small_period_loses_what_its_own_distance_says() -> None:
    """One record in the period, 99 in others: a hundredth of the user's records, and the loss is that of distance 1."""
    table = emdp.read({"u": [1], "x": [0.5]}, user="u", space=Interval("x", 0, 100), users=2)
    query = mean(col("x"), alpha=4.0)
    (row,) = audited(table, query, distances=[1.0], period_records=1).rows
    assert row.distance == pytest.approx(1.0)
    assert 4.0 * 0.01 < 2.0 < row.audited_epsilon <= row.claimed_epsilon < 4.001
    # A record that is all there is of somebody moves as a whole or not at all.
    near = audited(table, query, distances=[0.25], period_records=1).rows[0]
    assert near.audited_epsilon <= near.claimed_epsilon <= 1.001
    with pytest.raises(UsageError, match="period_records"):
        audit(table, query, trials=4000, period_records=0)


@pytest.mark.parametrize("privacy", ["EMD_PRIVACY OPTIONS (alpha = 2)", "USER_PRIVACY OPTIONS (epsilon = 2)"])
def test_one_person_who_is_gone_is_what_presence_costs(privacy: str) -> None:
    """No record that moves changes the share of what is elsewhere; to have none at all, at distance rho, does."""
    table = emdp.read({"u": [1], "x": [0.5]}, user="u", space=Interval("x", 0, 1), users=20, elsewhere=1, name="v")
    query = f"SELECT WITH {privacy} SHARE(ELSEWHERE) AS gone FROM v"
    (row,) = audited(table, query, distances=[1.0], period_records=1).rows
    assert row.distance == pytest.approx(1.0)
    assert 0.7 * row.claimed_epsilon < row.audited_epsilon <= row.claimed_epsilon == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["COUNT(*)", "SUM(x)", pytest.param("AVG(x), COUNT(*)", marks=pytest.mark.slow)])
def test_one_record_fewer_is_what_its_slot_costs(kind: str) -> None:
    space = Interval("x", 0, 10)
    table = emdp.read({"user": [1], "x": [0.5]}, user="user", space=space, users=20, name="visits", slots=5)
    query = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 10) {kind} FROM visits"
    report = audited(table, query, distances=[0.2])
    (row,) = report.rows
    assert row.distance == pytest.approx(0.2)
    assert 0.75 * row.claimed_epsilon < row.audited_epsilon <= row.claimed_epsilon
    assert row.claimed_epsilon == pytest.approx(2.0)
    assert not report.broken


@pytest.mark.slow
def test_a_measure_is_released_anew_for_each_answer_that_is_compared() -> None:
    """The same question of a measure is given the first answer again, for nothing: forty of these have no law."""
    rows = pl.DataFrame({"user": [1], "x": [5.0]})
    asked = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 9), users=20, name="line")
    report = audited(asked, emdp.measure(alpha=4.0, pitch=3.0), distances=[0.5], trials=1000, end_to_end=40)
    (agreement,) = report.agreements
    assert agreement.sessions == 40
    assert agreement.p_value > 1e-9
