"""What an adversarial reading of the SQL layer's privacy looked for beyond sensitivities of random plans."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import emdp
from emdp.base.errors import EmdpError
from emdp.estimators.plan import parallel_event
from emdp.mechanisms import KNormMechanism, LaplaceMechanism
from emdp.privacy.events.table import LaplaceEvent

SPACE = emdp.Product(
    emdp.Categories("gate", [1, 2]).weighted(1),
    emdp.Categories("is_paid", [True, False]).weighted(9),
)
"""Two parts of which one lists 1 and the other true, which Python calls equal; a gate is a tenth of the distance."""


def session_on(gate: int, folder: Path) -> emdp.Session:
    own = {"user": ["1", "2"], "gate": [gate, 2], "is_paid": [False, False]}
    table = emdp.read(own, user="user", space=SPACE, users=["1", "2"], name="visits")
    return emdp.Session(table, budget=emdp.EmdDP(1e9), ledger=folder / f"{gate}.ledger")


@pytest.mark.parametrize("make", [emdp.category_is, emdp.distance_to])
def test_labels_that_python_calls_equal_are_different_leaves(make: Callable[..., emdp.Expression]) -> None:
    assert make(1) != make(True)
    assert make(1) == make(1)
    assert make(True) == make(True)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 3.0), (0.5, -2.0)])
def test_equal_labels_of_two_parts_never_move_an_answer_by_more_than_its_sensitivity(
    weights: tuple[float, float], tmp_path: Path
) -> None:
    """One record changes its gate, at d_em = 0.1, and no more than a tenth of the sensitivity may show."""
    answers = []
    with emdp.testing.seeded(3):
        for gate in (1, 2):
            with session_on(gate, tmp_path) as session:
                expression = weights[0] * emdp.category_is(1) + weights[1] * emdp.category_is(True)
                answers.append(session.mean(expression, alpha=1.0))
    first, second = (answer.exact["mean"] for answer in answers)
    assert abs(first - second) <= 0.1 * answers[0].noise.sensitivity * (1 + 1e-12)
    assert first == pytest.approx(0.5 * weights[0])


def test_a_remembered_statement_is_not_that_of_an_equal_label(tmp_path: Path) -> None:
    """The second query has a ninth of the first one's noise, so the first one's column must not come back."""
    with emdp.testing.seeded(3), session_on(1, tmp_path) as session:
        assert session.mean(emdp.category_is(1), alpha=1.0).exact["mean"] == 0.5
        assert session.mean(emdp.category_is(True), alpha=1.0).exact["mean"] == 0.0


def test_equal_labels_in_one_list_are_two_columns(tmp_path: Path) -> None:
    with emdp.testing.seeded(3), session_on(1, tmp_path) as session:
        expressions = [emdp.category_is(1), emdp.category_is(True)]
        plain = session.vector_mean(expressions, alpha=1.0, names=["gate", "paid"])
        chosen = session.vector_mean(expressions, alpha=1.0, names=["gate", "paid"], where=emdp.category_is(False))
    assert plain.exact == {"gate": 0.5, "paid": 0.0}
    assert chosen.exact == {"gate": 0.5, "paid": 0.0}


def test_parallel_releases_of_two_laws_are_not_priced_as_laplace_noise() -> None:
    mechanisms = [law(sensitivity=1.0, alpha=1.0, dimension=3) for law in (KNormMechanism, LaplaceMechanism)]
    event = parallel_event(mechanisms, emdp.EmdDP(0.0))
    assert not isinstance(event, LaplaceEvent)
    assert event.guarantee.level == 1.0
    assert event.slack_epsilon == max(mechanism.slack_epsilon for mechanism in mechanisms)


def test_a_ledger_holds_no_value_of_an_enumeration(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.execute("CREATE TYPE kinds AS ENUM ('bar', 'SECRET')")
        connection.execute("CREATE TABLE visits (person VARCHAR, kind kinds)")
        connection.execute("INSERT INTO visits VALUES ('1', 'SECRET')")
    space = emdp.Categories("kind", ["bar", "zoo"], on_invalid="neutral")
    table = emdp.read(f"{tmp_path / 'city.duckdb'}::visits", user="person", space=space, users=["1"])
    ledger = tmp_path / "city.ledger"
    with emdp.testing.seeded(3), emdp.Session(table, budget=emdp.EmdDP(10), ledger=ledger) as session:
        session.mean(emdp.category_is("bar"), alpha=1.0)
    assert all(b"SECRET" not in path.read_bytes() for path in tmp_path.glob("city.ledger*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    [
        "USER_PRIVACY OPTIONS (epsilon = 1)",
        "USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6)",
        "USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 4)",
        "EMD_PRIVACY OPTIONS (alpha = 1)",
    ],
)
@pytest.mark.parametrize(
    ("small", "large"), [("1e-300", "1e300"), ("1e-150", "1e150"), ("1e-100", "1e100"), ("1e-50", "1e50")]
)
@pytest.mark.parametrize("rest", ["", " WHERE RAMP(x, 1, 2)"])
def test_weights_far_apart_are_answered_or_refused_before_a_charge(
    header: str, small: str, large: str, rest: str, tmp_path: Path
) -> None:
    space = emdp.Interval("x", 0, 10)
    table = emdp.read({"user": ["1"], "x": [2.0]}, user="user", space=space, users=["1", "2", "3"], name="t")
    budget = emdp.UserDP(9, 1e-3)
    with emdp.testing.seeded(3), emdp.Session(table, budget=budget, ledger=tmp_path / "l") as session:
        for first, second in ((small, large), (large, small)):
            items = f"WEIGHT(AVG(x), {first}) AS a, WEIGHT(VARIANCE(x * 1e20), {second}) AS b"
            charged = len(session.history())
            try:
                session.sql(f"SELECT WITH {header} {items} FROM t{rest}").interval(0.9, coverage="all")
            except EmdpError:
                assert len(session.history()) == charged
