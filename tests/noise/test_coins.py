"""Coins of one probability: every byte and tie by enumeration, rates with stated power, independence, arguments."""

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.noise import coins
from emdp.noise.coins import draw_coins
from emdp.testing import seeded


class TestLaw:
    @pytest.mark.parametrize("high", [0, 1, 77, 254, 255])
    @pytest.mark.parametrize("low", [0, 1, 2**53, 2**54 - 1])
    def test_bytes_and_ties_decide_as_the_theorem_says(
        self, high: int, low: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Every byte once, and for the one tie each word next to the boundary.
        all_bytes = np.arange(256, dtype=np.uint8).view(np.uint64)
        for tie in {0, max(low - 1, 0), min(low, 2**54 - 1), 2**54 - 1}:
            words = iter([all_bytes.copy(), np.array([(tie << 10) + 1023], dtype=np.uint64)])
            monkeypatch.setattr(coins, "random_words", lambda count, words=words: next(words))
            drawn = draw_coins(high * 2**54 + low, 256)
            assert np.count_nonzero(drawn) == high + (tie < low)
            assert not drawn[high + 1 :].any()

    def test_sure_coins(self) -> None:
        assert draw_coins(2**62, 10_000).all()
        assert not draw_coins(0, 10_000).any()
        assert draw_coins(5, 0).shape == (0,)

    @pytest.mark.parametrize("share", [2.5 / 256, 0.3, 0.5, 0.997])
    def test_rates(self, share: float) -> None:
        # 400,000 coins tell 0.7 and 1.3 times the odds from the right ones by at least eight standard deviations.
        for factor in (0.7, 1.0, 1.3):
            drawn_from = factor * share / (1 - share + factor * share)
            with seeded(5):
                heads = int(np.count_nonzero(draw_coins(int(drawn_from * 2**62), 400_000)))
            assert bool(scipy.stats.binomtest(heads, 400_000, share).pvalue > 1e-9) is (factor == 1.0)

    def test_neighbours_and_blocks_are_independent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(coins, "_BLOCK", 1001)
        with seeded(6):
            drawn = draw_coins(2**60, 60_000)
        patterns = np.bincount(drawn[:-2:3] * 4 + drawn[1:-1:3] * 2 + drawn[2::3], minlength=8)
        law = np.array([0.75 ** (3 - bin(word).count("1")) * 0.25 ** bin(word).count("1") for word in range(8)])
        assert scipy.stats.chisquare(patterns, 20_000 * law).pvalue > 1e-9
        assert scipy.stats.chisquare(np.roll(patterns, 1), 20_000 * law).pvalue < 1e-9


@pytest.mark.parametrize(("numerator", "count"), [(-1, 3), (2**62 + 1, 3), (0.5, 3), (1, -1), (1, 2.5)])
def test_malformed_arguments_are_refused(numerator: object, count: object) -> None:
    with pytest.raises(UsageError, match=r"numerator|count"):
        draw_coins(numerator, count)  # type: ignore[arg-type]
