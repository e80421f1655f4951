"""The test switch: reproducible inside, the operating system's bits outside, nested, off after an error."""

import threading

import pytest

from emdp.base.errors import UsageError
from emdp.noise import draw_discrete_gaussian, draw_discrete_laplace, draw_k_norm
from emdp.noise.rng import is_seeded, random_bytes
from emdp.testing import seeded


def draws() -> tuple[object, ...]:
    return (
        random_bytes(8),
        draw_discrete_laplace(2.0**40, 2),
        draw_discrete_gaussian(2.0**40, 2),
        draw_k_norm(2.0**40, 3, 2),
    )


def test_equal_seeds_give_equal_draws() -> None:
    found = []
    for seed in (0, 0, 1):
        with seeded(seed):
            found.append(draws())
    assert found[0] == found[1]
    assert all(here != there for here, there in zip(found[0], found[2], strict=True))


def test_nothing_is_reproducible_outside() -> None:
    with seeded(0):
        draws()
    assert not is_seeded()
    assert all(here != there for here, there in zip(draws(), draws(), strict=True))


def test_blocks_nest_and_the_outer_stream_goes_on() -> None:
    with seeded(1):
        first = random_bytes(8), random_bytes(8)
    with seeded(1):
        start = random_bytes(8)
        with seeded(2):
            assert random_bytes(8) not in first
        assert (start, random_bytes(8)) == first


def test_switch_is_off_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="inside"), seeded(1):
        raise RuntimeError("inside")
    assert not is_seeded()


def test_switch_concerns_its_own_thread_only() -> None:
    found: list[bool] = []
    with seeded(1):
        thread = threading.Thread(target=lambda: found.append(is_seeded()))
        thread.start()
        thread.join()
    assert found == [False]


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"), seeded(seed):  # type: ignore[arg-type]
        pass
    assert not is_seeded()
