"""``Embedding``: keys with public vectors, and ``Words``: the words of a text with theirs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from emdp.base.checks import check_choice, shown
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, check_on_invalid
from emdp.spaces.listed import unicode
from emdp.spaces.listed.finite import FinitePart, Label
from emdp.spaces.listed.spread import largest_distance
from emdp.spaces.listed.vector_table import check_vector_names, digest_of, read_vectors, to_inline
from emdp.spaces.part import check_columns, check_diameter
from emdp.spaces.rounding import (
    check_coordinate,
    dot_error,
    norm_error,
    norm_up,
    product_up,
    widened,
)

__all__ = ["Embedding", "Tokenizer", "Words"]

Tokenizer = Literal["words", "whitespace", "unicode"]
"""Names of the rules that make words of a text."""


@dataclass(frozen=True, init=False, repr=False)
class Embedding(FinitePart):
    """Keys in one column, at the Euclidean distance of their public vectors.

    Two keys with equal vectors are at distance 0, so on keys this is a pseudo-metric; the indicator of such a
    key has no finite constant.

    Parameters
    ----------
    col : str
        The column of keys in the private table.
    vectors : path or frame
        The public table: a local ``.parquet`` or ``.csv`` file, a frame, or a mapping of columns. Keys are
        distinct strings or integers; NULL and whatever is no key is invalid.
    key, vector : str, optional
        Its columns, as in :func:`emdp.spaces.listed.vector_table.read_vectors`; ``vector`` may be a list of numeric
        columns.
    diameter : float, optional
        Distance that counts as 1; default the largest distance among the vectors, exact and rounded outward
        (above 20,000 vectors that survive pruning, a bound of it).
    on_invalid : {"error", "neutral", "elsewhere"}
        What is done with an invalid key.
    neutral : key, optional
        The neutral item, a listed key; default the mean vector, which has no key.
    sha256 : str, optional
        Digest that the table must have, as ``digest`` gives it.

    Attributes
    ----------
    vector_table : numpy.ndarray
        Vector of each code, shape (codes, dimension): the keys', then the mean vector unless ``neutral`` is
        given.

    Raises
    ------
    UsageError
        If an argument is malformed, keys repeat, a vector is not finite, or the digest differs.

    References
    ----------
    EMD 2, "Linear embedding query" and "Expressions".

    >>> table = {"word": ["cat", "dog", "red"], "x": [0.0, 3.0, 0.0], "y": [0.0, 4.0, 2.5]}
    >>> space = Embedding("word", table, on_invalid="neutral", neutral="cat")
    >>> space.pairwise({"word": ["cat"]}, {"word": ["dog", "red", "zebra"]}).round(9).tolist()
    [[1.0, 0.5, 0.0]]
    """

    kind: ClassVar[str] = "embedding"
    has_label_vectors: ClassVar[bool] = True
    columns: tuple[str, ...]
    values: tuple[Any, ...] = field(compare=False)
    vector_table: Floats = field(compare=False)
    digest: str
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: Label | None
    source: str | None = field(compare=False)
    source_columns: tuple[str | None, str | tuple[str, ...] | None] = field(compare=False)

    def __init__(
        self,
        col: str,
        vectors: object,
        *,
        key: str | None = None,
        vector: str | Sequence[str] | None = None,
        diameter: float | None = None,
        on_invalid: OnInvalid = "error",
        neutral: Label | None = None,
        sha256: str | None = None,
    ) -> None:
        source = str(vectors) if isinstance(vectors, str | Path) else None
        names = check_vector_names(vector)
        keys, table = read_vectors(vectors, key, names)
        digest = digest_of((keys, table))
        if sha256 is not None and not (isinstance(sha256, str) and sha256 == digest):
            raise UsageError(
                f"vectors have the digest {digest}, not sha256={shown(sha256)}; restore the table it names."
            )
        self._set(columns=check_columns("col", [col]), values=keys, unit=None, digest=digest)
        if neutral is None:
            table = np.vstack([table, table.mean(axis=0)])
            table.flags.writeable = False
        self._set(
            vector_table=table,
            on_invalid=check_on_invalid(on_invalid, allowed=("error", "neutral", "elsewhere")),
            neutral=None if neutral is None else self.values[self.code_of(neutral)],
            source=source,
            source_columns=(key, names),
        )
        domain_diameter = largest_distance(table)
        self._set(domain_diameter=domain_diameter, diameter=check_diameter(diameter, domain_diameter))

    def __repr__(self) -> str:
        """Return a short description: the table may be large."""
        origin = f"{len(self.values)} vectors" if self.source is None else repr(self.source)
        return f"{type(self).__name__}({self.column!r}, {origin}, diameter={self.diameter!r})"

    @property
    def vectors(self) -> Floats:
        """Vectors of the keys, in the order of ``labels``, shape (keys, dimension)."""
        return self.vector_table[: len(self.values)]

    @property
    def dimension(self) -> int:
        return int(self.vector_table.shape[1])

    @property
    def neutral_code(self) -> int:
        """Code of the neutral item: a key's, or the number of keys for the mean vector."""
        return len(self.values) if self.neutral is None else self.code_of(self.neutral)

    def vector_of(self, label: Label) -> Floats:
        """Return the vector of a key, shape (dimension,).

        Raises
        ------
        UsageError
            If there is no such key.
        """
        return np.asarray(self.vector_table[self.code_of(label)], dtype=np.float64)

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        matrix = cdist(self.vector_table[self.codes(left)], self.vector_table[self.codes(right)])
        return np.asarray(matrix, dtype=np.float64)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to a key's vector; the range is that of the table."""
        distances = self.natural_distances(self.all_items, point)
        error = norm_error(self.dimension, float(distances.max()))
        low, high = widened(float(distances.min()), float(distances.max()), error)
        return FunctionBounds(self.diameter, max(low, 0.0), high, error)

    def inner_bounds(self, vector: Floats) -> FunctionBounds:
        """Return what is known of the inner product with a vector, shape (dimension,); the table's range."""
        weights = self._check_vector(vector)
        norm = norm_up(weights)
        if norm == 0:
            return FunctionBounds(0.0, 0.0, 0.0, 0.0)
        products = self.vector_table @ weights
        error = dot_error(self.dimension + 2, float((np.abs(self.vector_table) @ np.abs(weights)).max()))
        low, high = widened(float(products.min()), float(products.max()), error)
        return FunctionBounds(product_up(norm, self.diameter), low, high, error)

    def inner_values(self, items: Floats, vector: Floats) -> Floats:
        return np.asarray((self.vector_table @ self._check_vector(vector))[self.codes(items)], dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return the arguments that rebuild the space: the table's path and digest, or the table itself."""
        key, vector = self.source_columns if self.source is not None else (None, None)
        return {
            "kind": self.kind,
            "col": self.column,
            "vectors": to_inline((self.values, self.vectors)) if self.source is None else self.source,
            "key": key,
            "vector": list(vector) if isinstance(vector, tuple) else vector,
            "diameter": self.diameter,
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
            "sha256": self.digest,
        }

    def _distance_error(self, distance: float) -> float:
        return norm_error(self.dimension, distance)

    def _check_vector(self, vector: object) -> Floats:
        values = np.asarray(vector)
        if values.shape != (self.dimension,) or values.dtype.kind not in "iuf":
            raise UsageError(
                f"vector must be {self.dimension} numbers, got shape {values.shape}; pass one a coordinate."
            )
        check_coordinate("vector's largest entry", float(np.abs(values).max()))
        return values.astype(np.float64)


@dataclass(frozen=True, init=False, repr=False)
class Words(Embedding):
    """Words of a text column, at the Euclidean distance of their public vectors.

    Each row of the private table holds a text; the table layer makes one item of every token, by the declared
    rule below. A token without a vector is invalid and follows ``on_invalid``. The frames that :meth:`encode`
    and ``pairwise`` take hold one token a row under the column's name.

    Parameters
    ----------
    col : str
        The column of texts.
    vectors, key, vector, diameter, on_invalid, neutral, sha256
        As for :class:`Embedding`; the keys are strings.
    tokenizer : {"words", "whitespace", "unicode"}
        ``"words"``: ASCII capitals become small letters, then tokens are the matches of
        ``PATTERNS["words"]``: runs of ASCII letters and digits, with apostrophes between them.
        ``"whitespace"``: tokens are the runs without ASCII white space, unchanged.
        ``"unicode"``: words of every language, as :mod:`emdp.spaces.listed.unicode` says, by Unicode 14.0: folded as
        NFKC_Casefold; runs of letters, digits and marks; single letters of scripts without spaces. All are the same in
        RE2 (DuckDB), Java (Spark) and Python.

    Attributes
    ----------
    CAPITALS, SMALL : str
        What lower-casing translates, character by character.
    PATTERNS : mapping
        Regular expression of a token, for each tokenizer of ASCII.
    TOKENIZERS : tuple of str
        Names of all tokenizers.

    >>> table = {"word": ["i", "don't", "know"], "vector": [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]}
    >>> space = Words("text", table, on_invalid="neutral")
    >>> space.tokenize("I DON'T know!")
    ['i', "don't", 'know']
    >>> Words("text", table, tokenizer="unicode").tokenize("M\u00dcLLER, \u6771\u4eac")
    ['m\u00fcller', '\u6771', '\u4eac']
    """

    CAPITALS: ClassVar[str] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    SMALL: ClassVar[str] = "abcdefghijklmnopqrstuvwxyz"
    PATTERNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"words": r"[a-z0-9]+(?:'[a-z0-9]+)*", "whitespace": r"[^\x09-\x0d\x20]+"}
    )

    TOKENIZERS: ClassVar[tuple[str, ...]] = (*PATTERNS, "unicode")

    kind: ClassVar[str] = "words"
    tokenizer: Tokenizer

    def __init__(
        self,
        col: str,
        vectors: object,
        *,
        key: str | None = None,
        vector: str | Sequence[str] | None = None,
        diameter: float | None = None,
        on_invalid: OnInvalid = "error",
        neutral: Label | None = None,
        sha256: str | None = None,
        tokenizer: Tokenizer = "words",
    ) -> None:
        super().__init__(
            col,
            vectors,
            key=key,
            vector=vector,
            diameter=diameter,
            on_invalid=on_invalid,
            neutral=neutral,
            sha256=sha256,
        )
        if not isinstance(self.values[0], str):
            raise UsageError("the key column of a Words space must hold strings; name another by key=.")
        self._set(tokenizer=check_choice("tokenizer", tokenizer, self.TOKENIZERS))

    @property
    def pattern(self) -> str:
        """Regular expression of a token."""
        return self.pattern_of(self.tokenizer)

    @classmethod
    def pattern_of(cls, tokenizer: str) -> str:
        """Return the regular expression of a token, by a tokenizer's name."""
        return unicode.pattern() if tokenizer == "unicode" else cls.PATTERNS[tokenizer]

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text, in order, by the declared rule."""
        if self.tokenizer == "unicode":
            return unicode.tokens(text)
        if self.tokenizer == "words":
            text = text.translate(str.maketrans(self.CAPITALS, self.SMALL))
        return re.findall(self.pattern, text)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "tokenizer": self.tokenizer}
