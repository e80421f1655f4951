"""Public tables of vectors: read from a file or a frame, identified by a digest, carried in JSON."""

import base64
import binascii
import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from emdp.base.checks import check_count, shown, without_login
from emdp.base.errors import UsageError
from emdp.base.files import open_regular, read_header
from emdp.base.frames import BROKEN, to_polars
from emdp.spaces.base import Floats
from emdp.spaces.listed.finite import check_labels
from emdp.spaces.rounding import LARGEST_COORDINATE
from emdp.spaces.values import number_matrix

__all__ = ["check_vector_names", "digest_of", "from_inline", "read_vectors", "to_inline"]

Table = tuple[tuple[Any, ...], Floats]
"""Keys and their vectors, of shape (keys, dimension)."""


def check_vector_names(vector: object) -> str | tuple[str, ...] | None:
    """Return the name of a column of vectors, the names of columns of coordinates, or None, or raise.

    >>> check_vector_names("v"), check_vector_names(["x", "y"])
    ('v', ('x', 'y'))
    """
    if vector is None or isinstance(vector, str):
        return vector
    if isinstance(vector, list | tuple) and vector and all(isinstance(name, str) for name in vector):
        return tuple(vector)
    raise UsageError(f"vector must be a column's name or a list of names, got {shown(vector)}; pass a text.")


def read_vectors(source: object, key: str | None, vector: str | Sequence[str] | None) -> Table:
    """Return the keys and the vectors of a public table.

    Parameters
    ----------
    source : path or frame
        A local ``.parquet`` or ``.csv`` file, a frame with the Arrow C stream interface, or a mapping of
        columns.
    key : str or None
        The column of keys, strings or integers; by default the only column of such a type, or the only column
        of strings.
    vector : str, sequence of str or None
        The column of vectors (an Array or List of numbers), or numeric columns, one a coordinate; by default
        the only Array or List column, or else all numeric columns but the key.

    Returns
    -------
    tuple
        The keys, distinct, and a read-only float64 array of shape (keys, dimension).

    Raises
    ------
    UsageError
        If the source cannot be read, no such columns stand out, keys repeat or a number is not finite.

    >>> keys, vectors = read_vectors({"word": ["a", "b"], "x": [0.0, 1.0], "y": [2.0, 3.0]}, None, None)
    >>> keys, vectors.tolist()
    (('a', 'b'), [[0.0, 2.0], [1.0, 3.0]])
    """
    frame = _frame_of(source)
    key = _key_column(frame) if key is None else _known(frame, "key", key)
    names = _vector_columns(frame, key) if vector is None else vector
    keys = _keys_of(frame.get_column(key))
    matrix = _vectors_of(frame, [names] if isinstance(names, str) else list(names))
    if not (np.abs(matrix) <= LARGEST_COORDINATE).all():
        raise UsageError("vectors must hold finite numbers, without NULL or NaN; drop the rows that do not.")
    if matrix.shape[1] == 0:
        raise UsageError("vectors have no coordinates; pass vectors of at least one number.")
    matrix.flags.writeable = False
    return keys, matrix


def digest_of(table: Table) -> str:
    """Return the SHA-256 of keys and vectors, whatever file they came from, in hexadecimal.

    >>> len(digest_of((("a",), np.zeros((1, 2)))))
    64
    """
    keys, matrix = table
    head = json.dumps([list(matrix.shape), list(keys)]).encode()
    return hashlib.sha256(head + b"\n" + matrix.astype("<f8").tobytes()).hexdigest()


def to_inline(table: Table) -> dict[str, Any]:
    """Return keys and vectors as JSON-ready values: the numbers as base64 of little-endian float64.

    >>> to_inline((("a",), np.zeros((1, 1))))
    {'keys': ['a'], 'dimension': 1, 'float64': 'AAAAAAAAAAA='}
    """
    keys, matrix = table
    numbers = base64.b64encode(matrix.astype("<f8").tobytes()).decode()
    return {"keys": list(keys), "dimension": matrix.shape[1], "float64": numbers}


def from_inline(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns ``key`` and ``vector`` from what :func:`to_inline` made, or raise ``UsageError``.

    >>> from_inline({"keys": ["a"], "dimension": 1, "float64": "AAAAAAAAAAA="})["vector"].tolist()
    [[0.0]]
    """
    if set(data) != {"keys", "dimension", "float64"}:
        listed = shown(sorted(map(str, data)))
        raise UsageError(f"vectors must hold keys, dimension and float64, not {listed}; pass those three.")
    keys, dimension = data["keys"], check_count("dimension", data["dimension"])
    if not isinstance(keys, list | tuple):
        raise UsageError(f"vectors' keys must be a list, not {type(keys).__name__}; pass a list.")
    try:
        numbers = np.frombuffer(base64.b64decode(data["float64"], validate=True), dtype="<f8")
        matrix = numbers.astype(np.float64).reshape(len(keys), dimension)
    except (binascii.Error, TypeError, ValueError, OverflowError) as error:
        raise UsageError("vectors' float64 does not decode to one vector a key; write it anew.") from error
    return {"key": keys, "vector": matrix}


def _frame_of(source: object) -> pl.DataFrame:
    if isinstance(source, str | Path):
        return _read_file(str(source))
    if isinstance(source, Mapping):
        # Polars takes the type of nested lists from the first number, and then fails at the first fraction.
        source = {name: _as_matrix(values) for name, values in source.items()}
    return to_polars("vectors", source)


def _read_file(path: str) -> pl.DataFrame:
    named = shown(without_login(path))
    if "://" in path:
        raise UsageError(f"vectors must be a local file, not {named}; download it first.")
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise UsageError(f"vectors must be a .parquet or .csv file or a frame, got {named}; convert it.")
    try:
        with open_regular(path) as file:
            if suffix == ".csv":
                # A packed file, which Polars would unpack whole, is no text.
                read_header(file)
                file.seek(0)
                return pl.read_csv(file, infer_schema_length=None)
            import pyarrow.parquet as pq

            # Polars' own reader panics at some damaged files.
            table = pq.read_table(file, partitioning=None)
    except (*BROKEN, csv.Error) as error:
        raise UsageError(f"the vectors at {shown(path)} cannot be read; check that the file is whole.") from error
    return to_polars("vectors", table)


def _as_matrix(values: Any) -> Any:
    nested = isinstance(values, Sequence) and len(values) > 0 and isinstance(values[0], Sequence | np.ndarray)
    if not nested or isinstance(values[0], str):
        return values
    return number_matrix("vectors", values)


def _known(frame: pl.DataFrame, name: str, column: str) -> str:
    if column not in frame.columns:
        raise UsageError(f"{name}={shown(column)} is no column of the vectors, only {frame.columns}; name one of them.")
    return column


def _key_column(frame: pl.DataFrame) -> str:
    types = frame.schema
    texts = [name for name in types if types[name] in (pl.String, pl.Categorical, pl.Enum)]
    for found in (texts, [name for name in types if types[name].is_integer()]):
        if len(found) == 1:
            return found[0]
        if found:
            break
    raise UsageError(f"the key column of the vectors is not clear among {frame.columns}; name it by key=.")


def _vector_columns(frame: pl.DataFrame, key: str) -> list[str]:
    types = frame.schema
    nested = [name for name in types if isinstance(types[name], pl.Array | pl.List)]
    numeric = [name for name in types if types[name].is_numeric() and name != key]
    if len(nested) > 1 or not (nested or numeric):
        raise UsageError(f"the vector column is not clear among {frame.columns}; name it by vector=.")
    return nested or numeric


def _keys_of(series: pl.Series) -> tuple[Any, ...]:
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if not (series.dtype == pl.String or series.dtype.is_integer()):
        raise UsageError(f"the key column {series.name!r} must hold strings or integers, not {series.dtype}; cast it.")
    if series.null_count():
        raise UsageError(f"the key column {series.name!r} holds NULL; drop those rows.")
    return check_labels(f"the key column {series.name!r}", series.to_list())


def _vectors_of(frame: pl.DataFrame, names: list[str]) -> Floats:
    columns = [frame.get_column(_known(frame, "vector", name)) for name in names]
    if len(columns) == 1 and isinstance(columns[0].dtype, pl.Array | pl.List):
        return _unnested(columns[0])
    for column in columns:
        if not column.dtype.is_numeric():
            raise UsageError(f"the vector column {column.name!r} must hold numbers, not {column.dtype}; cast it.")
    if not columns:
        raise UsageError("vector names no column; name one or leave it out.")
    return np.column_stack([column.cast(pl.Float64).to_numpy() for column in columns])


def _unnested(column: pl.Series) -> Floats:
    dtype: Any = column.dtype
    if not dtype.inner.is_numeric():
        raise UsageError(f"the vector column {column.name!r} must hold numbers, not {dtype.inner}; cast it.")
    if isinstance(dtype, pl.List):
        lengths = column.list.len().unique()
        if len(lengths) != 1 or not lengths[0]:
            raise UsageError(f"the vectors of {column.name!r} differ in length or are empty; repair them.")
        column = column.list.to_array(int(lengths[0]))
    elif column.null_count():
        raise UsageError(f"the vector column {column.name!r} holds NULL; drop those rows.")
    array: Any = column.cast(pl.Array(pl.Float64, column.dtype.shape[0]))  # type: ignore[attr-defined]
    return np.array(array.to_numpy(), dtype=np.float64).reshape(len(column), -1)
