"""Consequences of budgets: the New York example, stories against exact distances, words, warnings, page, attackers."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

import emdp
from emdp.audit.bounds import clopper_pearson_lower, clopper_pearson_upper
from emdp.base.errors import UsageError
from emdp.disclosure.asked import write
from emdp.disclosure.consequences import CURVE_DELTAS, Consequences, consequences_of
from emdp.disclosure.page import Block, page
from emdp.disclosure.pictures import home_picture, homes_hidden, reach_picture, year_picture
from emdp.disclosure.stories import Story, default_stories, once, read_stories
from emdp.disclosure.words import percent
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.privacy.inference import advantage, curve_advantage, curve_power, gaussian_advantage, power
from emdp.tables.space_types import extended_space

CITY = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
LINE = emdp.Interval("x", 0.0, 40.0, unit="km")
TOWN = emdp.Product(LINE, emdp.Categories("kind", ["bar", "cafe", "park"]))


def row_of(found: Consequences, title: str) -> tuple[float, ...]:
    own = next(row for row in found.rows if row.story.title == title)
    return (own.epsilon, *own.beliefs, own.caught, own.advantage)


def test_the_new_york_example() -> None:
    """The table of the design, in percent: epsilon, beliefs from 50, 10 and 1, caught, gap."""
    stories = [
        once("clinic once", 100), once("clinic once", 20), once("clinic once", 5),
        Story("a day", 1 / 30, 5.0), Story("home", 0.6, 5.0), Story("job", 0.35, 8.0),
    ]  # fmt: skip
    found = consequences_of(CITY, emdp.EmdDP(20.0), stories=stories)
    expected = {
        "clinic once, of 100 records": (0.2, 55.0, 11.9, 1.22, 1.2, 10.0),
        "clinic once, of 20 records": (1.0, 73.1, 23.2, 2.67, 2.7, 46.2),
        "clinic once, of 5 records": (4.0, 98.2, 85.8, 35.6, 54.6, 96.4),
        "a day": (0.049, 51.2, 10.4, 1.05, 1.1, 2.5),
        "home": (0.883, 70.7, 21.2, 2.38, 2.4, 41.5),
        "job": (0.824, 69.5, 20.2, 2.25, 2.3, 39.0),
    }
    for title, (loss, *percents) in expected.items():
        epsilon, *probabilities = row_of(found, title)
        assert epsilon == pytest.approx(loss, abs=6e-4)
        for seen, printed in zip(probabilities, percents, strict=True):
            assert 100 * seen == pytest.approx(printed, abs=0.06)
    gaussian = consequences_of(CITY, emdp.EmdDP(20.0, 1e-8), stories=stories)
    seen = [(100 * row.gaussian_advantage, 100 * row.usual_belief) for row in gaussian.rows]  # type: ignore[operator]
    printed = [(1.2, 51.7), (5.8, 58.6), (22.9, 82.1), (0.3, 50.4), (5.1, 57.6), (4.8, 57.1)]
    assert np.allclose(seen, printed, atol=0.06)
    year = consequences_of(CITY, emdp.EmdDP(20.0, 1e-8), stories=stories[1:2], reports=52)
    assert year.rows[0].gaussian_advantage == pytest.approx(0.400, abs=6e-4)
    assert year.rows[0].usual_belief == pytest.approx(0.952, abs=6e-4)


@pytest.mark.parametrize("space", [LINE, CITY, TOWN])
def test_stories_bound_the_exact_distance(space: emdp.Space) -> None:
    """Random bags that change as a story says are at most its distance apart, in both directions of one record more."""
    rng = np.random.default_rng(2)
    units = np.array([rng.random(space.width) for _ in range(60)])
    items = space.items_at(units)
    for _ in range(30):
        count = int(rng.integers(2, 7))
        bag = items[rng.integers(0, 60, count)]
        other = bag.copy()
        other[0] = items[rng.integers(0, 60)]
        most = once("once", count).d_em(space)
        assert _d_em(space, bag, other) <= most + 1e-9
        assert _d_em(space, bag, bag[1:]) <= most + 1e-9
        everything = items[rng.integers(0, 60, count)]
        assert _d_em(space, bag, everything) <= Story("all", 1.0).d_em(space) + 1e-9


def _d_em(space: emdp.Space, first: np.ndarray, second: np.ndarray) -> float:
    from scipy.optimize import linprog

    costs = np.minimum(space.distances(first, second), 1.0)
    n, m = costs.shape
    equal = np.zeros((n + m, n * m))
    for i in range(n):
        equal[i, i * m : (i + 1) * m] = 1
    for j in range(m):
        equal[n + j, j::m] = 1
    weights = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return float(linprog(costs.ravel(), A_eq=equal, b_eq=weights, bounds=(0, None)).fun)


def test_parts_have_their_share() -> None:
    """A move of place and a change of kind weigh half each, as the space says; all together is 1."""
    assert Story("place", 1.0, 40.0, "x").d_em(TOWN) == 0.5
    assert Story("kind", 0.5, None, "kind").d_em(TOWN) == 0.25
    assert Story("all", 1.0).d_em(TOWN) == 1.0
    with pytest.raises(UsageError, match="part is missing"):
        consequences_of(TOWN, emdp.EmdDP(1.0), stories=[Story("where?", 0.5, 2.0)])


@pytest.mark.slow
def test_the_traps_have_warnings() -> None:
    """What misleads in such numbers is said beside them, computed from the space and the budget."""

    def told(space: emdp.Space, guarantee: emdp.Guarantee) -> str:
        return " ".join(consequences_of(space, guarantee).warnings)

    small, large = told(LINE, emdp.EmdDP(20.0)), told(emdp.Interval("x", 0.0, 4000.0, unit="km"), emdp.EmdDP(20.0))
    assert "epsilon 0.5 per km of x" in small
    assert "epsilon 0.005 per km of x" in large
    both = told(TOWN, emdp.EmdDP(20.0))
    assert "0.25 per km of x; 10 for another value of kind" in both
    assert "all of it with one record, and 4 with five" in both
    assert "with one record" not in told(extended_space(LINE, None, 20), emdp.EmdDP(20.0))
    assert "would show (epsilon 20)" in both
    weekly = " ".join(consequences_of(TOWN, emdp.EmdDP(1.0), reports=20).warnings)
    assert weekly == both  # of twenty reports together, fixed in advance or not
    assert "would show" not in told(LINE, emdp.EmdDP(2.0))
    for text in (both, told(LINE, emdp.UserDP(1.0))):
        for said in ("in the table at all is not hidden", "Friends' records tell", "shown again tells nothing new"):
            assert said in text
    assert "is hidden with epsilon 1" in told(LINE, emdp.UserDP(1.0, neighbours="remove"))
    assert "hides little" in told(LINE, emdp.UserDP(5.0))
    removal = emdp.UserDP(1.0, neighbours="remove")
    mixed = " ".join(consequences_of(LINE, emdp.EmdDP(2.0), beside=[removal]).warnings)
    assert "at all is not hidden" in mixed
    assert "at all is hidden" not in mixed


def test_default_stories_are_sorted_and_end_with_everything() -> None:
    for space in (LINE, CITY, TOWN, emdp.Categories("kind", ["a", "b"]), emdp.Cycle("hour", 24)):
        found = default_stories(space)
        distances = [story.d_em(space) for story in found]
        assert distances == sorted(distances)
        assert distances[-1] == 1.0


def test_kinds_of_guarantees() -> None:
    near = consequences_of(LINE, emdp.DiscreteEmdDP(1.0, 1e-9, 0.1), stories=[Story("near", 0.1), Story("far", 0.5)])
    assert [row.is_open for row in near.rows] == [False, True]
    assert "no protection" in near.sentences()[1]
    user = consequences_of(LINE, emdp.UserDP(1.0), stories=[Story("near", 0.1), Story("all", 1.0)])
    assert [row.epsilon for row in user.rows] == [1.0, 1.0]
    removed = consequences_of(LINE, emdp.UserDP(1.0, neighbours="remove"))
    assert not any("at all is not hidden" in text for text in removed.warnings)
    assert any("at all is not hidden" in text for text in user.warnings)
    group = consequences_of(LINE, emdp.EmdDP(2.0, 1e-6), stories=[Story("all", 1.0)], group=3)
    assert group.rows[0].epsilon == 6.0
    assert group.failure == pytest.approx(2e-6 * (1 + math.exp(2) + math.exp(4)) / (1 - math.exp(-0.1)), rel=1e-6)


def test_what_is_stated_by_removal_costs_twice_where_somebody_stays_and_changes() -> None:
    """One person less and one more (theorem 2): with counts of two listed keys the attacker attains twice epsilon."""
    removal = emdp.UserDP(1.0, 1e-9, neighbours="remove")
    row = consequences_of(LINE, removal, stories=[Story("all", 1.0)]).rows[0]
    assert row.epsilon == 2.0
    # A change is one removal and one addition: noise for one of them is shifted twice as far.
    kept = consequences_of(LINE, emdp.UserDP(1.0, 1e-9), stories=[Story("all", 1.0)]).rows[0]
    shift = emdp.privacy.gaussian_mu(1.0, 1e-9)
    assert kept.gaussian_advantage == gaussian_advantage(shift)
    assert row.gaussian_advantage == gaussian_advantage(2 * shift)
    pure = consequences_of(LINE, emdp.UserDP(1.0, neighbours="remove"), stories=[Story("all", 1.0)]).rows[0]
    # The record moves from one key to the other: each count shifts by one, under Laplace noise of scale 1.
    rng = np.random.default_rng(3)
    draws = rng.laplace((0.0, 1.0), size=(100_000, 2))
    ratio = np.abs(draws[:, 0]) - np.abs(draws[:, 0] - 1) + np.abs(draws[:, 1]) - np.abs(draws[:, 1] - 1)
    seen = 1 / (1 + np.exp(-ratio.max()))
    assert 1 / (1 + math.exp(-1.0)) < 0.99 * seen
    assert seen <= pure.beliefs[0] <= 1.0001 * seen
    assert consequences_of(LINE, emdp.UserDP(30.0, 1e-9, neighbours="remove")).rows[0].is_open


def test_what_is_released_beside_adds_up() -> None:
    stories = [Story("a tenth", 0.1), Story("all", 1.0)]
    found = consequences_of(LINE, emdp.EmdDP(2.0, 1e-9), stories=stories, beside=[emdp.UserDP(0.5, 1e-9)])
    assert [row.epsilon for row in found.rows] == [0.7, 2.5]
    assert found.failure == pytest.approx(4e-9 / (1 - math.exp(-0.1)), rel=1e-6)
    near = consequences_of(LINE, emdp.EmdDP(2.0), stories=stories, beside=[emdp.DiscreteEmdDP(0.5, 1e-9, r=0.1)])
    assert [row.is_open for row in near.rows] == [False, True]
    assert near.rows[0].beliefs[0] > 1 / (1 + math.exp(-0.7))
    assert found.promise == f"{emdp.EmdDP(2.0, 1e-9)}, and {emdp.UserDP(0.5, 1e-9)}"
    for asked in ({"group": 2}, {"reports": 2}):
        twice = consequences_of(LINE, emdp.EmdDP(2.0), stories=stories, beside=[emdp.UserDP(0.5)], **asked)
        assert [row.epsilon for row in twice.rows] == [1.4, 5.0]
        # The curve of releases that are fixed in advance is of one guarantee alone.
        assert [row.advantage for row in twice.rows] == [advantage(1.4), advantage(5.0)]


def test_reports_fixed_in_advance_tell_less_than_their_sum() -> None:
    found = consequences_of(LINE, emdp.EmdDP(1.0), stories=[once("visit", 20)], reports=52).rows[0]
    assert found.epsilon == pytest.approx(2.6)
    assert found.advantage < 0.5 < advantage(2.6)
    assert found.caught < power(0.01, 2.6)


def test_reports_fixed_in_advance_agree_with_dp_accounting() -> None:
    """Detection and gap (T7) by the loss distribution of another library: 52 responses of epsilon 0.05."""
    found = consequences_of(LINE, emdp.EmdDP(1.0), stories=[once("visit", 20)], reports=52).rows[0]
    response = common.DifferentialPrivacyParameters(0.05, 0.0)
    losses = pld.from_privacy_parameters(response, value_discretization_interval=1e-4).self_compose(52)
    curve = [(losses.get_epsilon_for_delta(delta), delta) for delta in CURVE_DELTAS]
    assert found.caught == pytest.approx(curve_power(0.01, curve), abs=1e-4)
    assert found.advantage == pytest.approx(curve_advantage(curve), abs=1e-4)
    assert found.caught < 0.4 * power(0.01, 2.6)


def test_numbers_in_words_are_rounded_up() -> None:
    for probability in np.random.default_rng(1).random(500):
        text = percent(float(probability))
        assert float(text.removesuffix(" %").removeprefix("below ")) >= 100 * min(probability, 0.9995) - 1e-12
    assert percent(0.9994) == "99.9 %" or percent(0.9994) == "100 %"


def test_homes_on_a_line() -> None:
    assert [round(homes_hidden(LINE, alpha)[0], 1) for alpha in (5.0, 20.0, 60.0)] == [6.9, 2.2, 1.2]


def test_stories_of_a_file() -> None:
    found = read_stories([{"title": "clinic", "once": 4, "distance": 2.0}, {"title": "a tenth", "fraction": 0.1}])
    assert [story.fraction for story in found] == [0.25, 0.1]
    wrong: tuple[object, ...] = (
        None, [], ["x"], [{"title": "x"}], [{"title": "x", "once": 2, "fraction": 0.1}], [{"name": "x"}],
        [{"title": "", "fraction": 0.1}], [{"title": "x", "fraction": 2}], [{"title": "x", "once": 0}],
    )  # fmt: skip
    for one in wrong:
        with pytest.raises(UsageError):
            read_stories(one)


@pytest.mark.slow
def test_a_page_needs_no_network_and_escapes_titles(tmp_path: object) -> None:
    found = consequences_of(LINE, emdp.EmdDP(2.0, 1e-8), stories=[Story("<b>at & after</b>", 0.1)])
    text = page("<script>alert(1)</script>", LINE, [Block("Budget", "All.", found)])
    for absent in ("<script", "<b>at", "src=", "href="):
        assert absent not in text
    assert "&lt;b&gt;at &amp; after" in text
    files = write(str(tmp_path), "city", LINE, [Block("Budget", "All.", found)])
    assert [path.name for path in files] == [
        "index.html", "consequences.svg", "consequences.csv", "consequences.json",
    ]  # fmt: skip
    assert pl.read_csv(files[2]).height == 1


@pytest.mark.parametrize("story", [once("visit", 20), Story("home", 0.6, 5.0)])
def test_attackers_reach_the_bounds_and_do_not_pass_them(story: Story) -> None:
    """The likelihood ratio of a mean's Laplace noise: surely above the bound at 0.7 times it, never at its own."""
    alpha, width, trials = 20.0, 40.0 / 50, 60_000
    epsilon = consequences_of(LINE, emdp.EmdDP(alpha), stories=[story]).rows[0].epsilon
    for factor, is_kept in ((1.0, True), (0.7, False)):
        mechanism = LaplaceMechanism(sensitivity=width, alpha=alpha / factor)
        with emdp.testing.seeded(11):
            draws = np.array(mechanism.draw_many(3 * trials), dtype=np.float64) * mechanism.grid
        chosen, zero, one = draws.reshape(3, trials) + np.array([[0.0], [0.0], [width * story.d_em(LINE)]])
        # False alarms at one half of e^-eps, where the bound is attained; chosen on draws of its own.
        threshold = np.quantile(chosen, 1 - 0.5 * math.exp(-epsilon))
        most = float(clopper_pearson_upper([int((zero > threshold).sum())], trials, 1e-6)[0])
        least = float(clopper_pearson_lower([int((one > threshold).sum())], trials, 1e-6)[0])
        assert (least <= power(most, epsilon)) == is_kept
        if is_kept:
            assert float((one > threshold).mean()) >= 0.95 * power(float((zero > threshold).mean()), epsilon)


def test_a_promise_of_one_period_tells_no_whole_stories() -> None:
    with pytest.raises(UsageError, match="one period"):
        consequences_of(emdp.Interval("x", 0, 40), emdp.EmdDP(2.0, unit="period"))


def test_pictures_of_one_guarantee_are_not_drawn_for_two() -> None:
    """A curve of alpha alone would lie below what both tell; the picture of beliefs has both in it."""
    both = consequences_of(LINE, emdp.EmdDP(2.0), beside=[emdp.UserDP(1.0)])
    alone = consequences_of(LINE, emdp.EmdDP(2.0))
    text = page("Both", LINE, [Block("Budget", "All.", both)])
    assert (text.count("<svg"), page("One", LINE, [Block("Budget", "All.", alone)]).count("<svg")) == (2, 4)
    assert reach_picture(LINE, both) is None
    assert year_picture(both, both.rows[0]) is None
    assert home_picture(CITY, consequences_of(CITY, emdp.EmdDP(2.0), beside=[emdp.UserDP(1.0)])) is None
    assert home_picture(CITY, consequences_of(CITY, emdp.EmdDP(2.0))) is not None


def test_a_session_is_told_with_all_its_budgets(tmp_path: Path) -> None:
    table = emdp.read({"who": [1], "x": [1.0]}, user="who", users=5, space=LINE, name="t")
    budgets = [emdp.EmdDP(2.0), emdp.UserDP(1.0)]
    with emdp.Session(table, budget=budgets, ledger=tmp_path / "both.ledger") as session:
        found = emdp.consequences(session)
    assert found.rows[-1].epsilon == pytest.approx(3.0, abs=3e-3)
    with pytest.raises(UsageError, match="budget is missing"):
        emdp.consequences(LINE)
