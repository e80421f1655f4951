"""Tiers of the frequencies of all items: one charge, a view for each reader with the noise of its level."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import emdp
from emdp.audit import audit
from emdp.base.errors import UsageError
from emdp.mechanisms.central.tiers import TieredNoise
from emdp.testing import seeded

USERS = 2000
ROWS = pl.DataFrame({"user": np.arange(3000) % 1500, "kind": [("a", "b", "b")[place % 3] for place in range(3000)]})
SPACE = emdp.Categories("kind", ["a", "b", "c"])


def asked(folder: Path, ask: Callable[[emdp.Session], Any]) -> Any:
    table = emdp.read(ROWS, user="user", space=SPACE, users=USERS, name="visits")
    budget = [emdp.EmdDP(1e6, 1e-4), emdp.UserDP(1e6, 1e-4)]
    with emdp.Session(table, budget=budget, ledger=folder / "v.ledger") as session:
        return ask(session)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": emdp.tiers([8, 4, 1])},
        {"epsilon": emdp.tiers([8, 4, 1])},
        {"alpha": emdp.tiers([8, 4, 1]), "delta": 1e-6},
    ],
    ids=["alpha", "epsilon", "gaussian"],
)
def test_one_charge_and_a_promise_for_each_reader(tmp_path: Path, options: Any) -> None:
    def ask(session: emdp.Session) -> None:
        answer = session.frequencies(adjust="simplex", **options)
        assert len(session.history()) == 1
        assert answer.spent.level == 8.0
        widths = []
        for number, level in enumerate((8.0, 4.0, 1.0), 1):
            tier = answer.tier(number)
            assert (tier.guarantee.level, tier.spent.level) == (level, 8.0)
            rows = tier.interval(0.9)
            widths.append(float((rows["high"] - rows["low"]).max()))
            assert tier.frame["frequency_adjusted"].sum() == pytest.approx(1.0)
        assert [widths[1] / widths[0], widths[2] / widths[0]] == pytest.approx([2.0, 8.0], rel=0.1)
        assert "charged once, at 8" in str(session.preview(emdp.frequencies(**options)))

    asked(tmp_path, ask)


def test_weaker_shares_are_made_of_every_digit_of_the_strongest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of so many users a share near 1 is more than 2^53 steps of the grid: a double of it lacks the last ones.
    table = emdp.read(ROWS, user="user", space=SPACE, users=10**9)
    seen: list[list[Fraction]] = []
    lowered = TieredNoise.lowered

    def watched(noise: TieredNoise, values: Any) -> Any:
        seen.append([value / Fraction(noise.tiers[0].grid) for value in values])
        return lowered(noise, values)

    monkeypatch.setattr(TieredNoise, "lowered", watched)
    query = emdp.frequencies(epsilon=emdp.tiers([8, 1]), method="histogram")
    with seeded(5), emdp.Session(table, budget=emdp.UserDP(1e6), ledger=tmp_path / "k.ledger") as session:
        made = [session.answer(query) for _ in range(10)]
    steps = [row[0] for row in seen]
    assert min(steps) > 2**53
    assert {step % 2 for step in steps} == {0, 1}
    assert all(one.released[0][0] == float(own) * 2.0**-61 for one, own in zip(made, steps, strict=True))


def test_weaker_shares_have_the_noise_of_their_level(tmp_path: Path) -> None:
    kinds = [f"k{place:04d}" for place in range(2000)]
    table = emdp.read(
        {"user": list(range(USERS)), "kind": [kinds[0]] * USERS}, user="user", space=emdp.Categories("kind", kinds),
        users=USERS,
    )  # fmt: skip
    query = emdp.frequencies(epsilon=emdp.tiers([8, 1]), method="histogram")
    with seeded(5), emdp.Session(table, budget=emdp.UserDP(1e6), ledger=tmp_path / "k.ledger") as session:
        made = [session.answer(query) for _ in range(10)]
        exact = np.array(made[0].exact["frequency"])
        drawn = [np.array([one.tier(place).frame["frequency"].to_numpy() for one in made]) for place in (1, 2)]
    for values, level in zip(drawn, (8.0, 1.0), strict=True):
        noise = (values - exact).ravel()
        for factor in (0.7, 1.0, 1.3):
            p = float(scipy.stats.kstest(noise, scipy.stats.laplace(scale=factor * 2 / USERS / level).cdf).pvalue)
            assert p > 1e-9 if factor == 1.0 else p < 1e-9
    # The second tier is the first with more noise: the variance of what was added is the difference of the variances.
    assert (drawn[1] - drawn[0]).var() == pytest.approx(2 * (2 / USERS) ** 2 * (1 - 1 / 64), rel=0.1)


def test_sql_has_them_too(tmp_path: Path) -> None:
    text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = TIERS(8, 1)) FREQUENCY(*) FROM visits"
    answer = asked(tmp_path, lambda session: session.sql(text))
    assert [answer.tier(place).guarantee.level for place in (1, 2)] == [8.0, 1.0]


def test_methods_without_tiers_are_refused(tmp_path: Path) -> None:
    for options in (
        {"method": "itemwise"}, {"method": "krr"}, {"sizes": emdp.BoundedReduction(samples=4, r=0.5)},
        {"model": "shuffle"},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            asked(
                tmp_path,
                lambda session, own=options: session.frequencies(epsilon=emdp.tiers([2, 1]), delta=1e-6, **own),
            )


def test_an_audit_draws_the_strongest_answer() -> None:
    table = emdp.read(ROWS, user="user", space=SPACE, users=USERS)
    query = emdp.frequencies(epsilon=emdp.tiers([2, 1]))
    report = audit(table, query, trials=4000, end_to_end=0, distances=[1.0], confidence=1 - 1e-6)
    assert report.is_sound
    assert report.rows[0].audited_epsilon > 1.0
