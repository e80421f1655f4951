"""Linear models through a session: what is charged, what is found, what is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
import emdp.learn
from emdp.base.errors import BudgetExceededError, DataRuleError, UsageError
from emdp.estimators.fit.records import ABSENT, KeptRecords
from emdp.mechanisms.descent.central import CentralDescent
from emdp.questions.linear_fit import linear_fit_query
from emdp.spaces.combined.elsewhere import Elsewhere

USERS = 3000
SPACE = emdp.Product(
    emdp.Interval("x", 0, 10, on_invalid="clamp"),
    emdp.Categories("kind", ["a", "b"]),
    emdp.Interval("y", 0, 50, on_invalid="clamp"),
)
TRUTH = np.array([10.0, 3.0, 8.0])
FEATURES = ["x", emdp.category_is("b")]


def rows(seed: int = 5) -> pl.DataFrame:
    # One user in ten has no record and counts with the neutral item.
    generator = np.random.default_rng(seed)
    sizes = np.where(np.arange(USERS) % 10 == 0, 0, 1 + np.arange(USERS) % 7)
    users = np.repeat(np.arange(USERS), sizes)
    x, is_b = generator.uniform(0, 10, len(users)), generator.uniform(size=len(users)) < 0.5
    y = TRUTH[0] + TRUTH[1] * x + TRUTH[2] * is_b + generator.normal(0, 1, len(users))
    return pl.DataFrame({"user": users, "x": x, "kind": np.where(is_b, "b", "a"), "y": np.clip(y, 0, 50)})


def opened(folder: Path, data: pl.DataFrame | None = None, space: emdp.Space = SPACE) -> emdp.Session:
    table = emdp.read(rows() if data is None else data, user="user", users=USERS, space=space)
    return emdp.Session(table, budget=(emdp.UserDP(100.0, 1e-4), emdp.EmdDP(9.0)), ledger=folder / "x.ledger")


@pytest.mark.quarter
@pytest.mark.parametrize(("model", "delta"), [("central", 1e-6), ("central", 0.0), ("local", 0.0), ("shuffle", 1e-6)])
def test_a_fit_is_one_charge_in_each_model(tmp_path: Path, model: Any, delta: float) -> None:
    with emdp.testing.seeded(3):
        session = opened(tmp_path)
        fit = emdp.learn.fit_linear(session, FEATURES, "y", epsilon=3.0, delta=delta, model=model, rounds=16)
    assert isinstance(fit.guarantee, emdp.UserDP)
    assert fit.guarantee.model == model
    assert 2.9 < fit.guarantee.epsilon <= 3.0
    assert fit.guarantee.delta <= delta
    assert session.spent(emdp.UserDP).epsilon == fit.guarantee.epsilon
    assert session.spent(emdp.EmdDP).alpha == 0
    history = session.history()
    assert history["query"].to_list() == [fit.query.text]
    frame = fit.answer.frame
    assert frame["feature"].to_list() == ["intercept", "x", "category_is('b')"]
    assert (fit.intercept, *fit.coefficients) == tuple(frame["coefficient"].to_list())
    assert (
        (frame["coefficient_low"] < frame["coefficient"]) & (frame["coefficient"] < frame["coefficient_high"])
    ).all()
    text = fit.answer.explain()
    for told in ("NOT PRIVATE", "16, of", "rescaled to [-1, 1]", "excess loss"):
        assert told in text


ELSEWHERE = emdp.Product(
    emdp.Interval("x", 0, 10, on_invalid="elsewhere"),
    emdp.Categories("kind", ["a", "b"]),
    emdp.Interval("y", 0, 50, on_invalid="elsewhere"),
)


WAYS = pytest.mark.parametrize(
    ("model", "delta", "more"),
    [
        ("central", 1e-6, {"method": "moments"}),
        ("central", 0.0, {"method": "descent", "rounds": 60}),
        ("local", 0.0, {"rounds": 30}),
        ("shuffle", 1e-6, {"rounds": 12}),
    ],
)


def half_of_the_rows() -> pl.DataFrame:
    # Half of the users have no record, and a third of the records of the others no x: none of them is in the middle.
    frame = rows().filter(pl.col("user") % 10 > 4)
    gone = pl.int_range(pl.len()) % 3 == 0
    return frame.with_columns(x=pl.when(gone).then(None).otherwise(pl.col("x")), y=pl.col("y").clip(20, 50))


@pytest.mark.quarter
@WAYS
def test_a_model_is_one_of_the_records_that_are_somewhere(
    tmp_path: Path, model: Any, delta: float, more: dict[str, Any]
) -> None:
    frame = half_of_the_rows()
    table = emdp.read(frame, user="user", users=USERS, space=ELSEWHERE, elsewhere=1)
    budget = emdp.UserDP(1e5, 1e-4)
    with emdp.testing.seeded(3), emdp.Session(table, budget=budget, ledger=tmp_path / "x.ledger") as session:
        fit = emdp.learn.fit_linear(session, FEATURES, "y", epsilon=1e3, delta=delta, model=model, **more)
        exact = fit.answer.exact_frame["coefficient"].to_numpy()
    kept = frame.drop_nulls()
    sizes = frame.group_by("user").len()
    weights = kept.join(sizes, on="user", how="left", maintain_order="left")["len"].to_numpy() ** -0.5
    matrix = np.column_stack([np.ones(len(kept)), kept["x"], (kept["kind"] == "b").cast(pl.Float64)])
    wanted = np.linalg.lstsq(matrix * weights[:, None], kept["y"].to_numpy() * weights, rcond=None)[0]
    assert exact == pytest.approx(wanted, abs=0.05)
    if more.get("method") == "moments":
        assert np.array([fit.intercept, *fit.coefficients]) == pytest.approx(wanted, abs=0.2)
        lows, highs = fit.answer.frame["coefficient_low"].to_numpy(), fit.answer.frame["coefficient_high"].to_numpy()
        assert ((lows <= exact) & (exact <= highs)).all()
    assert "the model is one of the records that are somewhere" in str(fit.answer.explain())
    assert np.isnan(fit.predict({"x": [5.0, None], "kind": ["a", "b"]})).tolist() == [False, True]


@pytest.mark.quarter
@WAYS
def test_with_slots_a_model_weighs_records(tmp_path: Path, model: Any, delta: float, more: dict[str, Any]) -> None:
    """Least squares over records: of a user with more than the slots they count as the slots together."""
    frame = half_of_the_rows()
    slots = 2
    table = emdp.read(frame, user="user", users=USERS, space=ELSEWHERE, slots=slots)
    budget = emdp.UserDP(1e5, 1e-4)
    with emdp.testing.seeded(3), emdp.Session(table, budget=budget, ledger=tmp_path / "x.ledger") as session:
        fit = emdp.learn.fit_linear(session, FEATURES, "y", epsilon=1e3, delta=delta, model=model, **more)
        exact = fit.answer.exact_frame["coefficient"].to_numpy()
    kept = frame.drop_nulls()
    sizes = kept.group_by("user").len()
    counts = kept.join(sizes, on="user", how="left", maintain_order="left")["len"].to_numpy()
    assert (counts > slots).any()
    assert (counts < slots).any()
    weights = np.maximum(counts, slots) ** -0.5
    matrix = np.column_stack([np.ones(len(kept)), kept["x"], (kept["kind"] == "b").cast(pl.Float64)])
    wanted = np.linalg.lstsq(matrix * weights[:, None], kept["y"].to_numpy() * weights, rcond=None)[0]
    assert exact == pytest.approx(wanted, abs=0.05)
    if more.get("method") == "moments":
        assert np.array([fit.intercept, *fit.coefficients]) == pytest.approx(wanted, abs=0.2)
    assert "records weigh alike" in str(fit.answer.explain())
    assert "a user's as 2 at most" in str(fit.answer.explain())


def test_bags_are_filled_up_to_the_slots() -> None:
    """One by one: records that are somewhere first, in their order, then elsewhere ones for the room that is left."""
    random = np.random.default_rng(7)
    for slots in (1, 3, 8):
        space = Elsewhere(ELSEWHERE, 1.0, slots)
        query = linear_fit_query(FEATURES, "y", epsilon=1.0, rounds=4)
        kept = KeptRecords(query, space, ((5.0, 5.0), (0.5, 0.5), (25.0, 25.0)), 10**6)
        bags = [
            [(float(x), 1.0, float(y)) if random.random() < 0.6 else None for x, y in random.uniform(0, 9, (size, 2))]
            for size in random.integers(1, 7, size=9)
        ]
        items = np.array([space.neutral_item[0] if one is None else one for bag in bags for one in bag])
        offsets = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])
        ends, numbers = kept.prepare(SimpleNamespace(items=items, offsets=offsets, users=None))
        for place, bag in enumerate(bags):
            own = numbers[ends[place] : ends[place + 1]]
            wanted = [one for one in bag if one is not None]
            assert len(own) == max(len(wanted), slots)
            assert own[: len(wanted), 2] == pytest.approx([(one[2] - 25.0) / 25.0 for one in wanted])
            assert (own[len(wanted) :, 2] == ABSENT).all()


@pytest.mark.slow
@pytest.mark.parametrize("way", [{"sampled": 300}, {"participation": 0.1}])
def test_users_may_be_drawn_anew_in_each_shuffled_round(tmp_path: Path, way: dict[str, Any]) -> None:
    options: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6, "model": "shuffle", "rounds": 8, **way}
    with emdp.testing.seeded(3):
        session = opened(tmp_path)
        fit = emdp.learn.fit_linear(session, FEATURES, "y", **options)
    assert isinstance(fit.guarantee, emdp.UserDP)
    assert 2.9 < fit.guarantee.epsilon <= 3.0
    ((name, value),) = way.items()
    assert f"{name}={value}" in fit.query.text
    text = fit.answer.explain()
    for told in (
        "8, of 300 users each",
        "trusted not to look",
        "mixed apart",
        "drawn by somebody trusted",
        "bits a user",
    ):
        assert told in text
    for wrong in ({"model": "central"}, {"sampled": 5, "participation": 0.5}, {"rounds": 8, "participation": 1e-4}):
        with pytest.raises(UsageError):
            session.preview(emdp.learn.linear_fit_query(FEATURES, "y", **{**options, **wrong}))


def least_squares() -> Any:
    # Every user weighs the same; those without records have x = 5, kind a, y = 25.
    data = rows()
    share = data.with_columns(pl.len().over("user"))["len"].to_numpy() ** -0.5
    absent = USERS - data["user"].n_unique()
    design = np.column_stack([np.ones(len(data)), data["x"], data["kind"] == "b"]) * share[:, None]
    extra = np.tile([1.0, 5.0, 0.0], (absent, 1))
    target = np.concatenate([data["y"] * share, np.full(absent, 25.0)])
    return np.linalg.lstsq(np.vstack([design, extra]), target, rcond=None)[0]


@pytest.mark.slow
def test_the_central_fit_is_near_least_squares_and_the_wrong_sign_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = least_squares()
    options: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-5, "radius": 2.0, "method": "descent"}
    with emdp.testing.seeded(3):
        session = opened(tmp_path)
        fit = emdp.learn.fit_linear(session, FEATURES, "y", **options)
        again = session.answer(fit.query)
        assert fit.answer.exact["coefficient"] == pytest.approx(least, abs=1e-6)
        found = np.array([fit.intercept, *fit.coefficients])
        # In units of the rescaled weights.
        assert np.abs((found - least) * [1 / 25, 5 / 25, 0.5 / 25]).max() < 0.03
        assert again.frame["coefficient"].to_list() != list(found)
        plain = CentralDescent._estimate
        monkeypatch.setattr(CentralDescent, "_estimate", lambda self, gradients: -plain(self, gradients))
        wrong = emdp.learn.fit_linear(session, FEATURES, "y", **options)
        found = np.array([wrong.intercept, *wrong.coefficients])
        assert np.abs((found - least) * [1 / 25, 5 / 25, 0.5 / 25]).max() > 0.3


def test_equal_seeds_give_equal_fits(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with emdp.testing.seeded(8):
            session = opened(tmp_path / name)
            found.append(emdp.learn.fit_linear(session, "x", "y", epsilon=2.0, model="local", rounds=8).coefficients)
    assert found[0] == found[1]


def test_a_logistic_fit_tells_classes_apart(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    x = generator.uniform(0, 10, 2 * USERS)
    kind = np.where(generator.uniform(size=2 * USERS) < 1 / (1 + np.exp(-1.0 * (x - 4))), "b", "a")
    data = pl.DataFrame({"user": np.repeat(np.arange(USERS), 2), "x": x, "kind": kind, "y": np.full(2 * USERS, 1.0)})
    with emdp.testing.seeded(4):
        fit = emdp.learn.fit_linear(
            opened(tmp_path, data), "x", emdp.category_is("b"), epsilon=4.0, delta=1e-6, loss="logistic", radius=6.0
        )
    chances = fit.predict({"x": [0.0, 4.0, 10.0]})
    assert chances[0] < 0.2 < 0.3 < chances[1] < 0.7 < 0.8 < chances[2]
    assert fit.answer.exact["coefficient"] == pytest.approx([-4.0, 1.0], rel=0.15)


def test_predictions_need_the_features_columns_alone(tmp_path: Path) -> None:
    with emdp.testing.seeded(3):
        fit = emdp.learn.fit_linear(opened(tmp_path), FEATURES, "y", epsilon=3.0, rounds=4)
    frame = pl.DataFrame({"x": [1.0, 2.0], "kind": ["a", "b"]})
    slope, jump = fit.coefficients
    expected = [fit.intercept + slope, fit.intercept + 2 * slope + jump]
    assert fit.predict(frame) == pytest.approx(expected)
    assert fit.predict(frame.with_columns(y=pl.lit(3.0))) == pytest.approx(expected)
    with pytest.raises(UsageError, match="frame has no column 'kind'"):
        fit.predict(frame.drop("kind"))


def test_a_preview_spends_nothing_and_tells_rounds_and_noise(tmp_path: Path) -> None:
    with emdp.testing.seeded(3):
        session = opened(tmp_path)
        query = emdp.learn.linear_fit_query(FEATURES, "y", epsilon=2.0, model="local", rounds=30)
        preview = session.preview(query)
        assert session.spent(emdp.UserDP).epsilon == 0
        text = preview.explain()
        for told in (
            "30, of 100 users each",
            "noise",
            "in the 2-norm a round",
            "at most in expectation",
            "one message",
        ):
            assert told in text
        assert preview.frame["expected_error"][0] > 0
        assert preview.frame["affordable"][0] == 50


def test_nothing_is_charged_for_what_is_refused(tmp_path: Path) -> None:
    with emdp.testing.seeded(3):
        session = opened(tmp_path)
        with pytest.raises(BudgetExceededError):
            emdp.learn.fit_linear(session, "x", "y", epsilon=101.0, rounds=2)
        with pytest.raises(UsageError, match="must be 0 or 1 for the logistic loss"):
            emdp.learn.fit_linear(session, "x", "y", epsilon=1.0, loss="logistic")
        with pytest.raises(UsageError, match="session must be"):
            emdp.learn.fit_linear("x.ledger", "x", "y", epsilon=1.0)  # type: ignore[arg-type]
        assert session.spent(emdp.UserDP).epsilon == 0


def test_records_without_a_number_break_a_rule_before_the_charge(tmp_path: Path) -> None:
    space = emdp.Product(emdp.Interval("x", 0, 10), emdp.Interval("y", 0, 50))
    data = pl.DataFrame({"user": [0, 1], "x": [1.0, float("nan")], "y": [2.0, 3.0]})
    with emdp.testing.seeded(3):
        session = opened(tmp_path, data, space)
        with pytest.raises(DataRuleError):
            emdp.learn.fit_linear(session, "x", "y", epsilon=1.0, rounds=2)
        assert session.spent(emdp.UserDP).epsilon == 0


def test_a_fit_by_moments_has_ends_that_hold_and_a_hopeless_one_is_called_so(tmp_path: Path) -> None:
    least = least_squares()
    with emdp.testing.seeded(5):
        session = opened(tmp_path)
        fit = emdp.learn.fit_linear(session, FEATURES, "y", epsilon=20.0, delta=1e-5)
        frame = fit.answer.frame
        assert "moments" in fit.answer.explain()
        assert frame["coefficient_low"].to_list() < least.tolist() < frame["coefficient_high"].to_list()
        assert ((frame["coefficient_high"] - frame["coefficient_low"]) > 0).all()
        weak = emdp.learn.linear_fit_query(FEATURES, "y", epsilon=0.01, model="local")
        assert "this fit will be useless" in str(session.preview(weak))
        assert "useless" not in str(session.preview(fit.query))
        with pytest.raises(UsageError, match="moments"):
            emdp.learn.linear_fit_query(FEATURES, "y", epsilon=1.0, method="moments", clip=1.0)
        with pytest.raises(UsageError, match="method"):
            emdp.learn.linear_fit_query(FEATURES, "y", epsilon=1.0, method="magic")  # type: ignore[arg-type]
