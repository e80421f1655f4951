"""A made-up vocabulary for the messages: words in topics, how frequent, their vectors and written forms."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .streams import Weights, generator, lookup

__all__ = ["DIMENSION", "FORMS", "TOPICS", "Vocabulary", "build_vocabulary", "nicks", "word_vectors"]

TOPICS = 15
"""Number of topics."""

TOPIC_WORDS = 120
"""Words of each topic."""

COMMON_WORDS = 200
"""Words that belong to no topic, the most frequent ones."""

RARE_WORDS = 400
"""Words without a vector: misspelt ones, names, numbers."""

DIMENSION = 25
"""Length of a word vector."""

CENTRE_NORM = 4.0
WORD_SPREAD = 0.4
"""Norm of a topic's mean vector, and standard deviation of its words around it, in each dimension."""

ZIPF_POWER = 1.0
ZIPF_SHIFT = 2.7
"""The word of rank r = 0, 1, ... is as frequent as ``(r + ZIPF_SHIFT) ** -ZIPF_POWER`` (Zipf-Mandelbrot)."""

FORMS = ("{0}", "{1}", "{0},", "{0}.", "{0}?", "{0}!", "{1}.", "{1}?", "{2}")
"""Ways to write a word: 0 in lower case, 1 capitalised, 2 in capitals, with or without a mark."""

_CONSONANTS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st", "tr", "pl")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS = ("", "", "", "n", "r", "s", "t", "l", "ck")

_NICK_SYLLABLES = tuple(c + v for c in _CONSONANTS[:14] for v in _VOWELS[:5])


@dataclass(frozen=True)
class Vocabulary:
    """Words in the order common, topic after topic, rare; and tables for drawing them.

    Attributes
    ----------
    words : tuple of str
        All words, all different.
    known : int
        How many of them, from the first, have a vector.
    common, rare : numpy.ndarray
        Positions of words, each in proportion to its frequency (see :func:`streams.lookup`).
    topics : numpy.ndarray, shape (TOPICS, k)
        The same for the words of each topic.
    forms : tuple of str
        Every word in each of :data:`FORMS`; word ``w`` in form ``f`` stands at ``w * len(FORMS) + f``.
    """

    words: tuple[str, ...]
    known: int
    common: npt.NDArray[np.int32]
    topics: npt.NDArray[np.int32]
    rare: npt.NDArray[np.int32]
    forms: tuple[str, ...]


def build_vocabulary(seed: int) -> Vocabulary:
    """Draw the vocabulary of one seed.

    >>> build_vocabulary(0).known
    2000
    """
    words = _words(generator(seed, 0))
    first_rare = COMMON_WORDS + TOPICS * TOPIC_WORDS
    topic = lookup(_zipf(TOPIC_WORDS), 1 << 12)
    starts = COMMON_WORDS + TOPIC_WORDS * np.arange(TOPICS, dtype=np.int32)
    return Vocabulary(
        words=words,
        known=first_rare,
        common=lookup(_zipf(COMMON_WORDS), 1 << 12),
        topics=starts[:, None] + topic,
        rare=np.int32(first_rare) + lookup(_zipf(RARE_WORDS), 1 << 12),
        forms=tuple(form.format(word, word.capitalize(), word.upper()) for word in words for form in FORMS),
    )


def word_vectors(seed: int, vocabulary: Vocabulary) -> npt.NDArray[np.float32]:
    """Draw a vector for each known word; those of one topic lie around a common centre.

    >>> word_vectors(0, build_vocabulary(0)).shape
    (2000, 25)
    """
    rng = generator(seed, 4)
    centres = rng.standard_normal((TOPICS + 1, DIMENSION))
    centres *= CENTRE_NORM / np.linalg.norm(centres, axis=1, keepdims=True)
    group = np.repeat(np.arange(TOPICS + 1), [COMMON_WORDS] + [TOPIC_WORDS] * TOPICS)
    vectors = centres[group] + WORD_SPREAD * rng.standard_normal((vocabulary.known, DIMENSION))
    return np.round(vectors, 5).astype(np.float32)


def nicks(count: int) -> list[str]:
    """Return so many different pronounceable names.

    >>> nicks(3)
    ['baba', 'bebe2', 'bibi_']
    """
    base = len(_NICK_SYLLABLES)
    return [_nick(number, base) for number in range(count)]


def _nick(number: int, base: int) -> str:
    # All syllables have two letters, and those after the first spell the number: no two names are equal.
    digits: list[str] = []
    rest = number
    while not digits or rest:
        rest, digit = divmod(rest, base)
        digits.append(_NICK_SYLLABLES[digit])
    return digits[0] + "".join(digits) + ("", "2", "_", "", "")[number % 5]


def _words(rng: np.random.Generator) -> tuple[str, ...]:
    total = COMMON_WORDS + TOPICS * TOPIC_WORDS + RARE_WORDS
    found: dict[str, None] = {}
    while len(found) < total:
        syllables = rng.integers(1, 3) if len(found) < COMMON_WORDS else rng.integers(2, 4)
        word = "".join(str(rng.choice(_CONSONANTS)) + str(rng.choice(_VOWELS)) for _ in range(syllables))
        word += str(rng.choice(_ENDS))
        is_number = len(found) >= total - RARE_WORDS and rng.random() < 0.1
        found[str(rng.integers(10_000)) if is_number else word] = None
    return tuple(found)


def _zipf(count: int) -> Weights:
    return np.power(np.arange(count, dtype=np.float64) + ZIPF_SHIFT, -ZIPF_POWER)
