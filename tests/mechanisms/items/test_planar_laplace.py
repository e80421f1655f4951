"""Planar Laplace: charts that lengthen nothing, alpha0 and its slack, the law of what is drawn, the blanket."""

import json
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.mechanisms.items import planar_charts, planar_laplace
from emdp.mechanisms.items.planar_charts import BallChart, BoxChart, Chart, GeoPlane, GeoSphere, chart_of
from emdp.mechanisms.items.planar_laplace import PlanarLaplace
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Space, Vector
from emdp.testing import seeded

THRESHOLD = 1e-9
DRAWS = 20_000
Floats = npt.NDArray[np.float64]

NEW_YORK = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70))
STATES = Geo("lat", "lon", box=(24.0, -125.0, 50.0, -66.0), unit="mi")
WORLD = Geo("lat", "lon", box=(-90.0, -180.0, 90.0, 180.0))
PACIFIC = Geo("lat", "lon", box=(-20.0, 170.0, -10.0, 190.0))
NORTH = Geo("lat", "lon", box=(80.0, 0.0, 90.0, 300.0), unit="m")
INTERVAL = Interval("x", -3.0, 7.0)
BOX = Vector(["x", "y"], box=[(0, 3), (-4, 0)])
BALL = Vector(["x", "y"], radius=2.0)
TALL = Vector([f"v{i}" for i in range(5)], box=[(i, i + 1.5) for i in range(5)])
CUT = Vector(["x", "y"], box=[(0, 3), (0, 4)], diameter=2.0)
SPACES = {
    "new york": NEW_YORK,
    "states": STATES,
    "world": WORLD,
    "pacific": PACIFIC,
    "north": NORTH,
    "interval": INTERVAL,
    "box": BOX,
    "ball": BALL,
    "tall": TALL,
    "cut": CUT,
}
spaces = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)


def bounds_of(space: Space) -> tuple[list[float], list[float]]:
    if isinstance(space, Geo):
        south, west, north, east = space.box
        return [south, west], [north, east]
    if isinstance(space, Interval):
        return [space.low], [space.high]
    assert isinstance(space, Vector)
    lows, highs = space.coordinate_bounds
    return lows.tolist(), highs.tolist()


def items_of(space: Space, count: int, seed: int = 0) -> Floats:
    """Items all over the domain, with its corners and, for places, pairs along the edges."""
    generator = np.random.default_rng(seed)
    low, high = map(np.array, bounds_of(space))
    share = generator.random((count, space.width))
    edge = generator.random(share.shape) < 0.3
    items = low + (high - low) * np.where(edge, np.rint(share), share)
    return chart_of(space).clamp(np.clip(items, low, high))


def is_inside(space: Space, items: Floats) -> bool:
    frame = {column: items[:, place].tolist() for place, column in enumerate(space.columns)}
    return bool(space.valid_mask(frame).all())


class TestCharts:
    def test_each_space_has_the_chart_that_fits(self) -> None:
        found = {name: type(chart_of(space)) for name, space in SPACES.items()}
        plane, sphere, box, ball = GeoPlane, GeoSphere, BoxChart, BallChart
        assert found == {
            "new york": plane, "states": sphere, "world": sphere, "pacific": plane, "north": sphere,
            "interval": box, "box": box, "ball": ball, "tall": box, "cut": box,
        }  # fmt: skip

    @spaces
    def test_no_distance_is_lengthened(self, space: Space) -> None:
        chart, items = chart_of(space), items_of(space, 400)
        flat = chart.to_plane(items)
        apart = np.linalg.norm(flat[:, None] - flat[None, :], axis=2)
        distances = space.natural_distances(items, items)
        size = space.radius if isinstance(space, Geo) else space.domain_diameter
        assert (apart <= distances + 2 * chart.error + 1e-13 * size).all()

    @given(st.floats(-89, 88), st.floats(1e-3, 90), st.floats(-180, 100), st.floats(1e-3, 200), st.integers(0, 2**32))
    @settings(deadline=None, max_examples=150)
    def test_no_distance_is_lengthened_in_any_box(
        self, south: float, height: float, west: float, width: float, seed: int
    ) -> None:
        space = Geo("lat", "lon", box=(south, west, min(south + height, 90.0), west + width), as_given=True)
        items = items_of(space, 60, seed)
        distances = space.natural_distances(items, items)
        charts: list[Chart] = [planar_charts._sphere_chart(space)]
        if width <= planar_charts.WIDEST and south + height < 90:
            charts.append(planar_charts._plane_chart(space))
        for chart in charts:
            flat = chart.to_plane(items)
            assert (np.linalg.norm(flat[:, None] - flat[None, :], axis=2) <= distances + 3e-10).all()
            assert (np.linalg.norm(flat, axis=1) <= chart.radius + chart.error).all()

    def test_the_largest_latitude_s_cosine_would_lengthen(self) -> None:
        # the trap of EMD 2: between two places of the northern edge the shortest path leaves the box
        chart = planar_charts._plane_chart(STATES)
        ends = np.array([[50.0, -125.0], [50.0, -66.0]])
        wrong = STATES.radius * math.cos(math.radians(50)) * math.radians(59)
        assert wrong > STATES.natural_distances(ends, ends)[0, 1] * 1.01
        assert np.linalg.norm(np.diff(chart.to_plane(ends), axis=0)) < STATES.natural_distances(ends, ends)[0, 1]

    def test_the_plane_keeps_nearly_all_of_a_short_distance(self) -> None:
        items = np.array([[40.92, -74.0], [40.92, -73.9], [40.82, -74.0]])
        flat = chart_of(NEW_YORK).to_plane(items)
        distances = NEW_YORK.natural_distances(items, items)
        assert np.linalg.norm(flat[0] - flat[1]) == pytest.approx(distances[0, 1], rel=1e-4)
        assert np.linalg.norm(flat[0] - flat[2]) == pytest.approx(distances[0, 2], rel=1e-9)

    @spaces
    def test_the_way_back_is_the_way_there(self, space: Space) -> None:
        chart, items = chart_of(space), items_of(space, 200)
        back = chart.from_plane(chart.to_plane(items))
        assert is_inside(space, back)
        assert np.diag(space.natural_distances(items, back)).max() < 1e-9 * (space.diameter + 6371)

    @spaces
    def test_everything_comes_back_into_the_domain(self, space: Space) -> None:
        chart = chart_of(space)
        generator = np.random.default_rng(3)
        for size in (1e-3, 1.0, 1e3, 1e12, 1e200):
            points = generator.standard_cauchy((500, chart.dimension)) * size * space.diameter
            assert is_inside(space, chart.from_plane(points))

    def test_a_place_past_an_edge_comes_back_at_the_nearer_one(self) -> None:
        chart = planar_charts._sphere_chart(PACIFIC)
        assert isinstance(chart, GeoSphere)
        east, west = (planar_charts.unit_vectors(np.array([[-15.0, lon]])) * chart.earth for lon in (-165.0, 160.0))
        centre = np.array(chart.centre)
        assert chart.from_plane(east - centre)[0] == pytest.approx([-15.0, 190.0])
        assert chart.from_plane(west - centre)[0] == pytest.approx([-15.0, 170.0])

    @pytest.mark.parametrize(
        "space",
        [
            Product(NEW_YORK, Categories("kind", ["a", "b"])),
            Categories("kind", ["a", "b"]),
            Cycle("hour", 24.0),
        ],
    )
    def test_spaces_without_a_chart_are_refused_by_name(self, space: Space) -> None:
        with pytest.raises(UsageError, match=f"got a {space.kind} space"):
            PlanarLaplace(space, 1.0)

    def test_too_many_dimensions_are_refused(self) -> None:
        assert PlanarLaplace(Vector([f"v{i}" for i in range(24)], radius=1.0), 1.0).dimension == 24
        with pytest.raises(UsageError, match="24 dimensions"):
            PlanarLaplace(Vector([f"v{i}" for i in range(25)], radius=1.0), 1.0)


class TestStrength:
    @spaces
    @pytest.mark.parametrize("alpha0", [1e-4, 0.3, 1.0, 5.0, 300.0, 1e6])
    def test_what_is_reached_is_at_most_and_nearly_what_was_asked(self, space: Space, alpha0: float) -> None:
        randomizer = PlanarLaplace(space, alpha0)
        assert alpha0 * (1 - 1e-12) < randomizer.alpha0 <= alpha0
        assert randomizer.requested == alpha0
        reach = Fraction(max(space.diameter, space.domain_diameter))
        noise = Fraction(randomizer.units) * Fraction(randomizer.grid)
        assert Fraction(randomizer.alpha0) >= reach * (1 + Fraction(randomizer.slack_distance)) / noise
        assert math.frexp(randomizer.grid)[0] == 0.5

    @spaces
    @pytest.mark.parametrize("alpha0", [0.3, 25.0])
    def test_slack_is_small_and_bounds_what_rounding_moves(self, space: Space, alpha0: float) -> None:
        randomizer = PlanarLaplace(space, alpha0)
        assert 0 < randomizer.slack_distance < 1e-10
        items = items_of(space, 100)
        flat = chart_of(space).to_plane(items)
        moved = np.linalg.norm(randomizer.lattice_points(items) * randomizer.grid - flat, axis=1)
        assert 2 * moved.max() <= randomizer.slack_distance * max(space.diameter, space.domain_diameter)

    def test_slack_holds_exactly_on_a_line(self) -> None:
        randomizer = PlanarLaplace(INTERVAL, 1.0)
        generator = np.random.default_rng(1)
        items = np.sort(generator.uniform(-3, 7, (400, 1)), axis=0)
        items[1::2] = np.nextafter(items[::2], 8) + generator.choice([0, randomizer.grid / 2], (200, 1))
        places = randomizer.lattice_points(items)[:, 0].tolist()
        exact = [Fraction(value) for value in items[:, 0].tolist()]
        excess = max(
            abs(places[i] - places[j]) * Fraction(randomizer.grid) - abs(exact[i] - exact[j])
            for i in range(400)
            for j in range(i)
        )
        assert 0 < excess <= Fraction(randomizer.slack_distance) * 10

    @spaces
    @pytest.mark.parametrize("alpha0", [0.5, 4.0])
    def test_log_ratios_on_the_lattice(self, space: Space, alpha0: float) -> None:
        # claim (a), all pairs of a fine set of items, at outputs near and far
        randomizer = PlanarLaplace(space, alpha0)
        items = items_of(space, 60)
        outputs = np.concatenate([randomizer.lattice_points(items), 7 * randomizer.lattice_points(items)])
        density = randomizer.log_density(items, outputs)
        ratio = (density[:, None, :] - density[None, :, :]).max(axis=2)
        allowed = randomizer.alpha0 * (space.distances(items, items) + randomizer.slack_distance) + 1e-10
        assert (ratio <= allowed).all()
        if isinstance(chart_of(space), BoxChart) and not space.is_truncated:
            assert (ratio / allowed).max() > 0.999  # and none of it is given away

    def test_cut_distances_are_paid_by_the_domain_s_diameter(self) -> None:
        randomizer = PlanarLaplace(CUT, 2.0)
        assert randomizer.scale == pytest.approx(5.0 / 2.0)
        assert "calibrated to the domain's diameter 5" in randomizer.explain()
        corners = np.array([[0.0, 0.0], [3.0, 4.0]])
        density = randomizer.log_density(corners, randomizer.lattice_points(corners))
        assert density[0, 0] - density[1, 0] == pytest.approx(2.0)
        wrong = 5.0 / (CUT.diameter / 2.0)  # log-ratio of the corners with noise of scale diameter/alpha0
        assert wrong > 2.0

    def test_a_declared_diameter_above_the_domain_s_needs_more_noise(self) -> None:
        assert PlanarLaplace(Interval("x", 0, 1, diameter=4.0), 2.0).scale == pytest.approx(2.0)

    @pytest.mark.parametrize("alpha0", [0.0, -1.0, math.nan, math.inf, 2.0**-21, 2.0**31, True, "1"])
    def test_strengths_out_of_range_are_refused(self, alpha0: float) -> None:
        with pytest.raises(UsageError, match="alpha0"):
            PlanarLaplace(BOX, alpha0)

    @pytest.mark.parametrize("alpha0", [2.0**-20, 2.0**30])
    def test_both_ends_of_the_range_draw(self, alpha0: float) -> None:
        for space in (NEW_YORK, WORLD, BALL, TALL):
            randomizer = PlanarLaplace(space, alpha0)
            assert is_inside(space, randomizer.draw(items_of(space, 20)))
            assert randomizer.slack_distance < 1e-5

    def test_properties(self) -> None:
        randomizer = PlanarLaplace(NEW_YORK, 20.0)
        assert randomizer.law is None
        assert randomizer.w_min == 0.0
        assert randomizer.at(3.0) == PlanarLaplace(NEW_YORK, 3.0)
        assert randomizer.scale == pytest.approx(NEW_YORK.diameter / 20)
        assert "planar Laplace on a geo space, alpha0 = 20: moves an item by 6.799 km" in randomizer.explain()
        assert json.loads(json.dumps(randomizer.parameters()))["alpha0"] == randomizer.alpha0
        assert "EMD 4" in randomizer.theorem
        assert randomizer.slack_epsilon(25.0) >= 25 * Fraction(randomizer.slack_distance)


class TestDraws:
    def test_known_quantiles_of_the_radius(self) -> None:
        # technical-notes.md 4, eps = 1: u = .05, .5, .95; mean 2/eps. A wide box: nothing is clamped
        space = Vector(["x", "y"], box=[(-500, 500), (-500, 500)])
        randomizer = PlanarLaplace(space, space.diameter)
        assert randomizer.scale == pytest.approx(1.0)
        assert randomizer.expected_error == pytest.approx(2.0)
        with seeded(2):
            radii = np.linalg.norm(randomizer.draw(np.zeros((DRAWS, 2))), axis=1)
        for share, radius in ((0.05, 0.3553615107), (0.5, 1.6783469900), (0.95, 4.7438645184)):
            assert 1 - (1 + radius) * math.exp(-radius) == pytest.approx(share, abs=1e-9)
            found = int(np.count_nonzero(radii <= radius))
            assert scipy.stats.binomtest(found, DRAWS, share).pvalue > THRESHOLD
            for factor in (0.7, 1.3):
                wrong = int(np.count_nonzero(factor * radii <= radius))
                assert scipy.stats.binomtest(wrong, DRAWS, share).pvalue < THRESHOLD
        assert abs(radii.mean() - 2) < 6 * math.sqrt(2 / DRAWS)

    @pytest.mark.parametrize("space", [NEW_YORK, STATES, WORLD, BOX, BALL, TALL, INTERVAL])
    def test_mean_distance_moved_is_what_is_expected(self, space: Space) -> None:
        randomizer = PlanarLaplace(space, 400.0)
        start = space.neutral_item
        with seeded(2):
            ends = randomizer.draw(np.repeat(start, DRAWS, axis=0))
        moved = space.natural_distances(start, ends)[0].mean()
        assert moved == pytest.approx(randomizer.expected_error, rel=0.03)

    def test_every_item_has_noise_of_its_own_in_every_coordinate(self) -> None:
        # seen in the wild: a sampler that returns point[0] + y, and one that returns the item
        items = items_of(BOX, 1000)
        with seeded(4):
            noise = PlanarLaplace(BOX, 1000.0).draw(items) - items
        inside = np.abs(items - [1.5, -2.0]) < 1.4  # coordinates that no clamp changes
        assert self.is_isotropic(noise[inside.all(axis=1)])
        assert not self.is_isotropic(np.column_stack([noise[:, 0], np.zeros(1000)]))
        assert not self.is_isotropic(items * 0)
        assert not self.is_isotropic(np.repeat(noise[:10], 100, axis=0))

    @staticmethod
    def is_isotropic(noise: Floats) -> bool:
        distinct = len(np.unique(noise, axis=0)) == len(noise)
        spread = noise.std(axis=0)
        return bool(distinct and spread.min() > 0.8 * spread.max() > 0)

    @spaces
    def test_outputs_lie_in_the_domain(self, space: Space) -> None:
        for alpha0 in (1e-4, 1.0, 50.0):
            assert is_inside(space, PlanarLaplace(space, alpha0).draw(items_of(space, 500)))

    @pytest.mark.parametrize("d", [1, 2])
    def test_the_whole_law_on_a_coarse_grid(self, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
        # rounding, noise, clamping: against the exact finite distribution of the output
        monkeypatch.setattr(planar_laplace, "_REACH_BITS", 3)
        monkeypatch.setattr(planar_laplace, "_SCALE_BITS", 1)
        monkeypatch.setattr(planar_laplace, "_MOST_BITS", 1)
        space: Space = Interval("x", 0, 1) if d == 1 else Vector(["x", "y"], box=[(0, 1), (0, 1)])
        randomizer = PlanarLaplace(space, 3.0)
        assert 2 <= randomizer.units < 8
        item = np.full((1, d), 0.3)
        expected = self.exact_outputs(randomizer, item)
        right = self.outputs_p(randomizer, item, expected)
        assert right > THRESHOLD
        for other in (2.1, 4.3):
            assert self.outputs_p(randomizer, item, self.exact_outputs(randomizer, item, other / 3)) < THRESHOLD

    @staticmethod
    def exact_outputs(randomizer: PlanarLaplace, item: Floats, factor: float = 1.0) -> dict[tuple[float, ...], float]:
        side = np.arange(-60, 61)
        mesh = np.meshgrid(*[side] * randomizer.dimension, indexing="ij")
        lattice = np.column_stack([axis.ravel() for axis in mesh])
        weights = np.exp(-np.linalg.norm(lattice, axis=1) * factor / randomizer.units)
        weights /= weights.sum()
        ends = randomizer.outputs(lattice + randomizer.lattice_points(item))
        chances: dict[tuple[float, ...], float] = {}
        for end, weight in zip(map(tuple, ends.tolist()), weights.tolist(), strict=True):
            chances[end] = chances.get(end, 0.0) + weight
        return chances

    @staticmethod
    def outputs_p(randomizer: PlanarLaplace, item: Floats, chances: dict[tuple[float, ...], float]) -> float:
        with seeded(6):
            ends = randomizer.draw(np.repeat(item, DRAWS, axis=0))
        seen = dict.fromkeys(chances, 0)
        for end in map(tuple, ends.tolist()):
            seen[end] += 1  # an output that the law does not know is an error
        return float(scipy.stats.chisquare(list(seen.values()), [DRAWS * chance for chance in chances.values()]).pvalue)

    def test_items_outside_the_domain_are_moved_into_it(self) -> None:
        randomizer = PlanarLaplace(NEW_YORK, 1.0)
        strange = np.array([[99.0, 0.0], [math.nan, -74.0], [40.7, math.inf], [40.5, -74.0]])
        proper = np.array([[40.92, -73.70], *NEW_YORK.neutral_item.tolist() * 2, [40.5, -74.0]])
        assert np.array_equal(randomizer.lattice_points(strange), randomizer.lattice_points(proper))
        ball = PlanarLaplace(BALL, 1.0)
        assert np.abs(ball.lattice_points(np.array([[1e300, 1e300]])) * ball.grid).max() < 2.0
        assert math.isnan(strange[1, 0])  # the caller's array stays as it is

    def test_many_items_stream_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(planar_laplace, "_BLOCK", 64)
        items = items_of(BOX, 1000)
        ends = PlanarLaplace(BOX, 1e6).draw(items)
        assert np.abs(ends - items).max() < 1e-3
        assert (ends != items).any(axis=1).mean() > 0.5
        assert PlanarLaplace(BOX, 1.0).draw(items[:0]).shape == (0, 2)

    @pytest.mark.parametrize("items", [np.zeros((3, 1)), np.zeros(3), np.zeros((3, 3))])
    def test_items_of_another_width_are_refused(self, items: Floats) -> None:
        with pytest.raises(UsageError, match="shape"):
            PlanarLaplace(BOX, 1.0).draw(items)

    def test_reproducible_inside_the_test_switch_alone(self) -> None:
        randomizer, items = PlanarLaplace(NEW_YORK, 5.0), items_of(NEW_YORK, 50)
        with seeded(1):
            first = randomizer.draw(items)
        with seeded(1):
            assert np.array_equal(randomizer.draw(items), first)
        assert not np.array_equal(randomizer.draw(items), randomizer.draw(items))


class TestBlanket:
    @spaces
    @pytest.mark.parametrize("alpha0", [0.5, 4.0, 30.0])
    def test_every_item_s_law_holds_the_blanket(self, space: Space, alpha0: float) -> None:
        randomizer = PlanarLaplace(space, alpha0)
        items = items_of(space, 200)
        outputs = np.concatenate([randomizer.lattice_points(items), -9 * randomizer.lattice_points(items)])
        around_centre = -np.linalg.norm(outputs.astype(float), axis=1) / randomizer.units
        margin = randomizer.log_density(items, outputs) - around_centre
        assert margin.min() >= math.log(randomizer.blanket_mass) - 1e-9

    @pytest.mark.parametrize("space", [INTERVAL, BOX, BALL, TALL])
    @pytest.mark.parametrize("alpha0", [0.5, 4.0])
    def test_closed_form(self, space: Space, alpha0: float) -> None:
        mass = PlanarLaplace(space, alpha0).blanket_mass
        assert mass == pytest.approx(math.exp(-alpha0 / 2), rel=1e-9)
        assert mass < math.exp(-alpha0 / 2)

    def test_mass_that_underflows_is_none(self) -> None:
        assert PlanarLaplace(BOX, 1e5).blanket_mass == 0.0
