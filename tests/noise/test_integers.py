"""The adapter of opendp's samplers: what it returns, where opendp cuts, and that it stays lazy."""

import subprocess
import sys

import pytest

from emdp.base.errors import UsageError
from emdp.noise.integers import I64_MAX, I64_MIN, MAX_SCALE, MIN_SCALE, Law, check_noise_scale, draw_integers


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [MIN_SCALE, 0.3, 1.0, 2.0**40, 1e12 / 3, MAX_SCALE])
def test_draws_are_python_integers(law: Law, scale: float) -> None:
    draws = draw_integers(law, scale, 3)
    assert len(draws) == 3
    assert all(type(draw) is int and abs(draw) < 200 * scale + 2 for draw in draws)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_no_draws(law: Law) -> None:
    assert draw_integers(law, 1.0, 0) == []


def test_opendp_cuts_at_the_ends_of_i64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emdp.noise.integers.MAX_SCALE", 2.0**63)
    draws = draw_integers("laplace", 2.0**62, 400)
    assert (max(draws), min(draws)) == (I64_MAX, I64_MIN)


@pytest.mark.parametrize("scale", [2.0**57, 2.0**-21])
def test_scales_out_of_range_are_refused(scale: float) -> None:
    with pytest.raises(UsageError, match=r"scale must be between 2\^-20 and 2\^56"):
        check_noise_scale(scale)


def test_opendp_is_imported_by_the_first_draw_and_not_before() -> None:
    code = (
        "import sys, emdp.noise.integers as n; assert 'opendp' not in sys.modules;"
        "n.draw_integers('laplace', 1.0, 1); assert 'opendp' in sys.modules;"
        "assert 'opendp.prelude' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
