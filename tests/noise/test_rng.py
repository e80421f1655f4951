"""Random words: their number, their bits, the test switch, and blocks of the operating system's generator."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats

from emdp.noise import rng
from emdp.noise.rng import random_words
from emdp.testing import seeded


@pytest.mark.parametrize("count", [0, 1, 5, 2**17, 2**17 + 3])
def test_words_are_as_many_as_asked_and_writable(count: int) -> None:
    words = random_words(count)
    assert (words.shape, words.dtype) == ((count,), np.uint64)
    words += np.uint64(1)


def test_every_bit_is_fair_and_words_differ() -> None:
    few = np.concatenate([random_words(400) for _ in range(500)])
    for words in (random_words(200_000), seeded_words(1, 200_000), few):
        ones = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0, dtype=np.int64)
        assert np.all(np.abs(ones - 100_000) < 7 * np.sqrt(50_000))
        assert np.unique(words).size == words.size
        counts = np.bincount(words.view(np.uint16) >> 8, minlength=256)
        assert scipy.stats.chisquare(counts).pvalue > 1e-9


def seeded_words(seed: int, count: int) -> np.ndarray:
    with seeded(seed):
        return random_words(count)


def test_seeded_words_repeat_and_production_does_not() -> None:
    assert np.array_equal(seeded_words(1, 9), seeded_words(1, 9))
    assert not np.array_equal(seeded_words(1, 9), seeded_words(2, 9))
    assert not np.array_equal(random_words(9), random_words(9))


def test_words_are_drawn_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    import ssl

    sizes: list[int] = []
    drawn = ssl.RAND_bytes

    def record(count: int) -> bytes:
        sizes.append(count)
        return drawn(count)

    monkeypatch.setattr(ssl, "RAND_bytes", record)
    monkeypatch.setattr(rng, "_WORDS_AT_ONCE", 4)
    monkeypatch.setattr(rng, "_FEW_WORDS", 9)
    assert random_words(10).size == 10
    assert sizes == [32, 32, 16]


def test_a_failing_generator_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import ssl

    def fail(count: int) -> bytes:
        raise ssl.SSLError("no entropy")

    monkeypatch.setattr(ssl, "RAND_bytes", fail)
    monkeypatch.setattr(os, "urandom", fail)
    for count in (1, 10_000):
        with pytest.raises(ssl.SSLError):
            random_words(count)


def test_the_switch_needs_no_ssl() -> None:
    code = "import sys, emdp.noise.rng; assert 'ssl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_forked_process_has_other_words() -> None:
    code = (
        "import os; from emdp.noise.rng import random_words; random_words(1); random_words(600); r, w = os.pipe();\n"
        "if os.fork() == 0:\n    os.write(w, random_words(4).tobytes() + random_words(600).tobytes()); os._exit(0)\n"
        "assert os.read(r, 32) != random_words(4).tobytes()\n"
        "assert os.read(r, 4800) != random_words(600).tobytes(); os.wait()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
