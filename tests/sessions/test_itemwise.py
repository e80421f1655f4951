"""Item-wise releases and local means through a session: what is refused, what is charged, what comes out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, DataRuleError, UsageError
from emdp.estimators.itemwise.itemwise import plan_itemwise
from emdp.privacy import shuffle_alpha
from emdp.randomizers import GKRR, KRR, Exponential, HadamardResponse, OneBit, PlanarLaplace

KINDS = emdp.Categories("kind", ["bar", "cafe", "park"], on_invalid="neutral")
USERS, SIZE = 400, 5
BOUNDED = emdp.EmdDP(1000.0, 1e-6, sizes="bounded")


@pytest.fixture(autouse=True)
def switched() -> Iterator[None]:
    with emdp.testing.seeded(17):
        yield


def equal_rows() -> pl.DataFrame:
    kinds = ["bar"] * 3 + ["cafe"] * 2
    return pl.DataFrame({"user": np.repeat(np.arange(USERS), SIZE), "kind": kinds * USERS})


def unequal_rows() -> pl.DataFrame:
    # User u has u % 7 records: one in seven has none, and counts as a bag of the neutral item, "bar".
    users = np.repeat(np.arange(USERS), np.arange(USERS) % 7)
    return pl.DataFrame({"user": users, "kind": ["cafe", "park"] * (len(users) // 2) + ["cafe"] * (len(users) % 2)})


def opened(
    folder: Path, rows: pl.DataFrame, space: emdp.Space, budget: Any = BOUNDED, records: int | None = SIZE
) -> emdp.Session:
    table = emdp.read(rows, user="user", users=USERS, space=space, records=records)
    return emdp.Session(table, budget=budget, ledger=folder / "x.ledger")


def test_a_release_costs_what_the_accountant_says(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    answer = session.itemwise(KRR(KINDS, 1.0), delta=1e-9)
    expected = shuffle_alpha(None, SIZE, SIZE * USERS, 1e-9, randomizer=KRR(KINDS, 1.0))
    assert answer.guarantee == emdp.EmdDP(expected, 1e-9, "bounded", "central")
    assert session.spent().alpha == expected
    assert answer.frame.columns == ["kind", "count", "frequency", "frequency_low", "frequency_high"]
    assert answer.frame["count"].sum() == SIZE * USERS
    assert answer.exact["frequency"] == [0.6, 0.4, 0.0]
    assert "k-ary" in answer.explain()
    assert answer.interval(0.9)["query"].unique().to_list() == ["frequency"]
    assert "svg" in answer.plot().svg


@pytest.mark.parametrize("model", ["central", "shuffle", "local"])
def test_models_differ_in_their_promise(tmp_path: Path, model: str) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    answer = session.itemwise(KRR(KINDS, 0.5), delta=1e-9, model=model)
    assert answer.guarantee.model == model
    pooled = SIZE if model == "local" else SIZE * USERS
    assert answer.guarantee.alpha == shuffle_alpha(None, SIZE, pooled, 1e-9, randomizer=KRR(KINDS, 0.5))
    if model == "local":
        frame = answer.frame
        assert frame.columns == ["user", "kind", "count"]
        assert frame.group_by("user").agg(pl.col("count").sum())["count"].unique().to_list() == [SIZE]
        assert frame["user"].n_unique() == USERS
        with pytest.raises(UsageError, match="messages alone"):
            answer.interval()
        with pytest.raises(UsageError, match="messages alone"):
            answer.plot()


@pytest.mark.slow
def test_a_class_is_made_as_strong_as_the_price_allows(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    preview = session.preview(emdp.itemwise(KRR, alpha=2.0, delta=1e-9))
    alpha = preview.statements[0].guarantee.level
    assert 1.9 < alpha <= 2.0
    assert preview.frame["affordable"][0] == int(1000 // alpha)
    with pytest.raises(UsageError, match=r"randomizer has alpha0 = 6, .*pass alpha0 = "):
        session.itemwise(KRR(KINDS, 6.0), alpha=2.0, delta=1e-9)
    with pytest.raises(UsageError, match="takes more than a space"):
        session.itemwise(OneBit, alpha=2.0, delta=1e-9)
    assert session.spent().alpha == 0


@pytest.mark.slow
def test_estimates_are_unbiased_and_covered(tmp_path: Path) -> None:
    # 25 releases: the mean is within 5 standard errors of the truth, each interval holds; the raw share is far off.
    session = opened(tmp_path, equal_rows(), KINDS)
    randomizer = KRR(KINDS, 1.0)
    found = [session.itemwise(randomizer, delta=1e-9).frame for _ in range(25)]
    shares = np.array([frame["frequency"].to_numpy() for frame in found])
    errors = shares.std(axis=0, ddof=1) / np.sqrt(25)
    assert (np.abs(shares.mean(axis=0) - [0.6, 0.4, 0.0]) < 5 * errors).all()
    raw = np.array([frame["count"].to_numpy() / (SIZE * USERS) for frame in found])
    assert abs(raw.mean(axis=0)[2]) > 10 * errors[2]
    covered = [
        ((frame["frequency_low"] <= [0.6, 0.4, 0.0]) & (frame["frequency_high"] >= [0.6, 0.4, 0.0])) for frame in found
    ]
    assert np.mean([list(one) for one in covered]) > 0.95
    deviation = np.sqrt(randomizer.estimate_variance().max() / (SIZE * USERS))
    assert shares.std(axis=0).max() < 1.6 * deviation


def test_unequal_users_need_a_reduction(tmp_path: Path) -> None:
    budget = emdp.DiscreteEmdDP(50.0, 1e-6, r=0.1)
    session = opened(tmp_path, unequal_rows(), KINDS, budget, records=None)
    with pytest.raises(UsageError, match=r"records= to emdp.read .* sizes=emdp.BoundedReduction"):
        session.itemwise(KRR(KINDS, 1.0), delta=1e-9)
    sizes = emdp.BoundedReduction(samples=50, r=0.1)
    answer = session.itemwise(KRR(KINDS, 1.0), delta=1e-8, sizes=sizes)
    guarantee = answer.guarantee
    assert isinstance(guarantee, emdp.DiscreteEmdDP)
    assert (guarantee.r, guarantee.sizes) == (0.1, "unbounded")
    assert guarantee.delta <= 1e-8
    assert answer.frame["count"].sum() == 50 * USERS
    assert "published bound" in answer.explain()
    # Users without records count with the neutral item: one in seven, here 58 of 400.
    absent = sum(1 for user in range(USERS) if user % 7 == 0)
    assert answer.exact["frequency"][0] == pytest.approx(absent / USERS, abs=1e-12)
    assert sum(answer.exact["frequency"]) == pytest.approx(1.0, abs=1e-9)
    widths = answer.frame.select(pl.col("frequency_high") - pl.col("frequency"))["frequency_high"].to_list()
    for share, exact, width in zip(answer.frame["frequency"], answer.exact["frequency"], widths, strict=True):
        assert abs(share - exact) < 2 * width


@pytest.mark.slow
def test_a_reduction_prices_classes_too(tmp_path: Path) -> None:
    session = opened(tmp_path, unequal_rows(), KINDS, emdp.DiscreteEmdDP(50.0, 1e-6, r=0.1), records=None)
    sizes = emdp.BoundedReduction(samples=50, r=0.1)
    answer = session.itemwise(KRR, epsilon=1.5, delta=1e-8, sizes=sizes)
    assert 1.3 < answer.guarantee.epsilon <= 1.5
    local = session.itemwise(KRR(KINDS, 0.05), delta=1e-8, sizes=sizes, model="local")
    assert local.guarantee.model == "local"
    counts = local.frame.group_by("user").agg(pl.col("count").sum())
    assert (len(counts), counts["count"].unique().to_list()) == (USERS, [50])
    with pytest.raises(UsageError, match="alpha does not fit sizes"):
        session.itemwise(KRR, alpha=1.5, delta=1e-8, sizes=sizes)
    with pytest.raises(UsageError, match="epsilon belongs to sizes"):
        session.itemwise(KRR, epsilon=1.5, delta=1e-8)


def test_a_bounded_release_cannot_be_paid_by_an_unbounded_budget(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS, emdp.EmdDP(1000.0, 1e-6))
    with pytest.raises(UsageError, match="bounded guarantees say nothing about bags of other sizes"):
        session.itemwise(KRR(KINDS, 1.0), delta=1e-9)
    assert session.spent().alpha == 0


def test_declared_sizes_are_checked_before_a_charge(tmp_path: Path) -> None:
    session = opened(tmp_path, unequal_rows(), KINDS)
    with pytest.raises(DataRuleError, match="number of records is not the declared one"):
        session.itemwise(KRR(KINDS, 1.0), delta=1e-9)
    assert session.spent().alpha == 0


def test_the_budget_is_not_overspent(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS, emdp.EmdDP(1.0, 1e-8, sizes="bounded"))
    with pytest.raises(BudgetExceededError):
        session.itemwise(KRR(KINDS, 6.0), delta=1e-9)
    assert session.spent().alpha == 0


def test_other_outputs_than_items(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    bits = session.itemwise(OneBit(KINDS, 2.0, [0.0, 1.0, 0.5]), delta=1e-9)
    assert bits.frame["output"].to_list() == [-1, 1]
    assert bits.frame["count"].sum() == SIZE * USERS
    response = HadamardResponse(KINDS, 2.0)
    answer = session.itemwise(response, delta=1e-9)
    assert answer.frame["count"].sum() == SIZE * USERS
    estimate = response.estimate(answer.frame["count"].to_numpy())
    assert estimate == pytest.approx([0.6, 0.4, 0.0], abs=0.2)


@pytest.mark.slow
def test_clusters_and_products(tmp_path: Path) -> None:
    clusters = emdp.Clusters("kind", {"bar": "drink", "cafe": "drink", "park": "air", "zoo": "air"}, 0.3)
    session = opened(tmp_path, equal_rows(), clusters)
    assert session.itemwise(GKRR, alpha=3.0, delta=1e-9).frame["count"].sum() == SIZE * USERS
    rows = equal_rows().with_columns(x=pl.Series(np.linspace(0, 1, SIZE * USERS)))
    product = emdp.Product(emdp.Grid(emdp.Interval("x", 0, 1), 4), KINDS)
    table = emdp.read(rows, user="user", users=USERS, space=product, records=SIZE)
    with emdp.Session(table, budget=BOUNDED, ledger=tmp_path / "p.ledger") as other:
        answer = other.itemwise(Exponential, alpha=5.0, delta=1e-9)
    assert len(answer.frame) == 12
    assert answer.frame.columns[:3] == ["x", "kind", "count"]
    exact = answer.exact_frame
    assert exact.filter(pl.col("kind") == "bar")["frequency"].sum() == pytest.approx(0.6, abs=1e-12)


def test_points_of_a_plane(tmp_path: Path) -> None:
    space = emdp.Geo("lat", "lon", box=(40.0, -75.0, 41.0, -73.0), unit="km", on_invalid="clamp")
    rng = np.random.default_rng(2)
    spots = {"lat": rng.uniform(40.0, 41.0, SIZE * USERS), "lon": rng.uniform(-75.0, -73.0, SIZE * USERS)}
    rows = equal_rows().with_columns(**{name: pl.Series(values) for name, values in spots.items()})
    session = opened(tmp_path, rows, space)
    answer = session.itemwise(PlanarLaplace, alpha=10.0, delta=1e-9)
    assert answer.frame.shape == (SIZE * USERS, 2)
    assert answer.frame.equals(answer.frame.sort("lat", "lon"))
    assert answer.guarantee.level <= 10.0
    assert not set(answer.frame["lat"]) & set(rows["lat"])
    local = session.itemwise(PlanarLaplace(space, 1.0), delta=1e-9, model="local")
    assert local.frame.group_by("user").len()["len"].unique().to_list() == [SIZE]
    with pytest.raises(UsageError, match=r"read the table with space=emdp.Grid"):
        session.itemwise(Exponential(emdp.Grid(space, (4, 4)), 1.0), delta=1e-9)


def test_sampled_points(tmp_path: Path) -> None:
    space = emdp.Interval("x", 0, 1)
    rows = unequal_rows().with_columns(x=pl.lit(0.75)).drop("kind")
    session = opened(tmp_path, rows, space, emdp.DiscreteEmdDP(2000.0, 1e-6, r=0.1), records=None)
    sizes = emdp.BoundedReduction(samples=20, r=0.1)
    answer = session.itemwise(PlanarLaplace(space, 50.0), delta=1e-8, sizes=sizes)
    assert answer.frame.shape == (20 * USERS, 1)
    # One in seven has no record and counts at the centre, 0.5: the median of the rest stays at 0.75.
    assert abs(answer.frame["x"].median() - 0.75) < 0.02
    near_centre = (answer.frame["x"] - 0.5).abs().lt(0.05).mean()
    assert 0.1 < near_centre < 0.2


@pytest.mark.parametrize("alpha", [0.3, 5.0])
def test_local_means(tmp_path: Path, alpha: float) -> None:
    rows = unequal_rows().with_columns(x=pl.lit(0.25), y=pl.lit(2.0)).drop("kind")
    space = emdp.Product(emdp.Interval("x", 0, 1), emdp.Interval("y", 0, 4))
    session = opened(tmp_path, rows, space, emdp.EmdDP(1000.0, 1e-6), records=None)
    answer = session.mean(emdp.col("x"), alpha=alpha, model="local", name="x")
    assert answer.guarantee == emdp.EmdDP(alpha, 0.0, "unbounded", "local")
    assert session.spent().alpha == alpha
    absent = sum(1 for user in range(USERS) if user % 7 == 0)
    truth = (0.25 * (USERS - absent) + 0.5 * absent) / USERS
    assert answer.exact["x"] == pytest.approx(truth, abs=1e-12)
    low, high = answer.frame["x_low"][0], answer.frame["x_high"][0]
    assert low - 0.5 * (high - low) < truth < high + 0.5 * (high - low)
    pair = session.vector_mean([emdp.col("x"), emdp.col("y")], alpha=alpha, model="local", names=["x", "y"])
    assert pair.exact["y"] == pytest.approx(2.0, abs=1e-12)
    for wrong in ({"by": "kind"}, {"where": {"kind": "a"}}):
        with pytest.raises(UsageError, match="model='local' has every user send the same messages"):
            session.mean(emdp.col("x"), alpha=1.0, model="local", **wrong)
    with pytest.raises(UsageError, match="model must be one of"):
        session.mean(emdp.col("x"), alpha=1.0, model="mixed")


def test_local_means_under_user_privacy(tmp_path: Path) -> None:
    rows = unequal_rows().with_columns(x=pl.lit(0.25)).drop("kind")
    session = opened(tmp_path, rows, emdp.Interval("x", 0, 1), emdp.UserDP(100.0), records=None)
    answer = session.mean(emdp.col("x"), epsilon=1.0, model="local", name="x")
    assert answer.guarantee == emdp.UserDP(1.0, 0.0, "local")
    assert "one bit" in answer.choice
    assert session.preview(emdp.mean(emdp.col("x"), epsilon=9.0, model="local")).frame["expected_error"][0] < 0.05


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    for wrong, message in (
        ({"randomizer": "krr"}, "randomizer must be one of emdp.randomizers"),
        ({"randomizer": KRR}, "alpha must be given with a class"),
        ({"randomizer": KRR, "alpha": -1.0}, "alpha must be above 0"),
        ({"randomizer": KRR, "alpha": 1.0, "delta": 1.0}, "delta must be in"),
        ({"randomizer": KRR, "alpha": 1.0, "model": "remote"}, "model must be one of"),
        ({"randomizer": KRR, "alpha": 1.0, "sizes": 7}, "sizes must be an emdp.BoundedReduction"),
        ({"randomizer": KRR, "alpha": 1.0, "name": "count"}, "name='count' give a column"),
        ({"randomizer": KRR(emdp.Categories("kind", ["a", "b"]), 1.0), "alpha": 1.0}, "another space"),
        ({"randomizer": PlanarLaplace, "alpha": 1.0}, "space"),
    ):
        with pytest.raises(UsageError, match=message):
            session.itemwise(**wrong)
    assert session.spent().alpha == 0


def test_the_first_user_of_a_switch(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    first = session.itemwise(KRR(KINDS, 1.0), delta=1e-9)
    assert not first.is_private
    assert "NOT PRIVATE" in first.explain()
    local = session.itemwise(KRR(KINDS, 0.5), delta=1e-9, model="local")
    assert not local.is_private
    with pytest.raises(UsageError, match="not kept"):
        _ = local.exact


@pytest.mark.parametrize("kind", [HadamardResponse(KINDS, 2.0), OneBit(KINDS, 0.5, [0.0, 1.0, 0.5])])
def test_other_outputs_of_each_user(tmp_path: Path, kind: Any) -> None:
    session = opened(tmp_path, equal_rows(), KINDS)
    answer = session.itemwise(kind, delta=1e-9, model="local")
    assert answer.frame.columns == ["user", "output", "count"]
    assert set(answer.frame["output"]) <= set(kind.outputs_frame()["output"])
    assert answer.frame["count"].sum() == SIZE * USERS


def test_a_table_without_rows_breaks_the_declared_sizes(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows().clear(), KINDS)
    for model in ("central", "local"):
        with pytest.raises(DataRuleError, match="number of records is not the declared one"):
            session.itemwise(KRR(KINDS, 0.5), delta=1e-9, model=model)
    assert session.spent().alpha == 0


def test_a_class_comes_near_the_price_where_the_accountant_changes() -> None:
    grid = emdp.Grid(emdp.Vector(["x", "y"], box=[(0, 1), (0, 1)]), (8, 8))
    query = emdp.itemwise(KRR, alpha=50.0, delta=1e-9)
    plan = plan_itemwise(query, space=grid, users=2000, records=100)
    assert 45.0 < plan.guarantee.level <= 50.0


def test_intervals_follow_the_released_counts(tmp_path: Path) -> None:
    # A rare item's estimate varies less than that of the worst item: its interval is narrower, and still holds.
    space = emdp.Categories("kind", [f"k{number}" for number in range(30)])
    rows = pl.DataFrame({"user": np.repeat(np.arange(USERS), SIZE), "kind": ["k0"] * (SIZE * USERS)})
    session = opened(tmp_path, rows, space)
    randomizer = KRR(space, 3.0)
    frame = session.itemwise(randomizer, delta=1e-9).frame
    widths = (frame["frequency_high"] - frame["frequency"]).to_numpy()
    deviation = np.sqrt(randomizer.estimate_variance().max() / (SIZE * USERS))
    assert widths[5] < 0.7 * widths[0]
    assert widths[0] < 4.5 * deviation
    truth = np.array([1.0] + [0.0] * 29)
    held = (frame["frequency_low"].to_numpy() <= truth) & (truth <= frame["frequency_high"].to_numpy())
    assert held.mean() > 0.9


def test_what_no_budget_covers_names_the_budget_that_would(tmp_path: Path) -> None:
    session = opened(tmp_path, equal_rows(), KINDS, emdp.EmdDP(1000.0, 1e-6))
    with pytest.raises(UsageError, match=r"declare budget=emdp.EmdDP\(alpha, delta, sizes='bounded'\)"):
        session.itemwise(KRR(KINDS, 1.0), delta=1e-9)
    sizes = emdp.BoundedReduction(samples=50, r=0.1)
    with pytest.raises(UsageError, match=r"declare budget=emdp.DiscreteEmdDP\(epsilon, delta, r=0.1\)"):
        session.itemwise(KRR(KINDS, 1.0), delta=1e-8, sizes=sizes)
