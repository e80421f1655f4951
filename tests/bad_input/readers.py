"""All readers that bad input can reach, one entry each, and one input made, read and judged."""

import random
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from expectations import BrokenPromiseError, check_refusal
from known import known_fault

__all__ = ["READERS", "Outcome", "Reader", "feed"]


@dataclass(frozen=True)
class Reader:
    """How bad input reaches one part of emdp.

    Parameters
    ----------
    place : str
        ``module.Class``: made with an empty folder, in which it writes sound inputs; its ``feed`` takes a seeded
        generator, makes one mutant, reads it, compares what must not change, and returns what came of it or raises.
    share : int
        Inputs out of 100,000.
    quick : int
        Inputs of the run that every change to emdp has to pass.
    is_public : bool
        Whether all that is read is public, so that what other libraries print about it may show it.
    """

    place: str
    share: int
    quick: int
    is_public: bool = False

    def make(self, folder: Path) -> Any:
        """Return the reader with sound inputs in a folder."""
        module, _, name = self.place.partition(".")
        return getattr(import_module(module), name)(folder)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "parquet": Reader("table_readers.ParquetReader", 600, 20),
        "csv": Reader("table_readers.CsvReader", 800, 20),
        "duckdb": Reader("table_readers.DuckDBReader", 400, 12),
        "frame": Reader("table_readers.FrameReader", 1_000, 24),
        "users": Reader("text_readers.UserReader", 4_000, 60, is_public=True),
        "public": Reader("text_readers.PublicReader", 2_000, 50, is_public=True),
        "vectors": Reader("text_readers.VectorReader", 25_000, 700, is_public=True),
        "space": Reader("text_readers.SpaceReader", 30_000, 1_800),
        "catalog": Reader("text_readers.CatalogReader", 2_000, 60),
        "report": Reader("text_readers.ReportReader", 6_000, 120),
        "sql": Reader("text_readers.SqlReader", 4_000, 50),
        "options": Reader("command_readers.OptionReader", 3_000, 50),
        "folder": Reader("command_readers.FolderReader", 1_000, 30),
        "audit": Reader("command_readers.AuditReader", 200, 6),
        "ledger": Reader("ledger_readers.LedgerReader", 6_500, 120),
        "stored": Reader("ledger_readers.StoredReader", 9_000, 400),
        "manifest": Reader("ledger_readers.ManifestReader", 4_500, 120),
    }
)
"""By name, in the order in which data flows."""


@dataclass(frozen=True)
class Outcome:
    """What came of one input.

    Parameters
    ----------
    kind : {"accepted", "refused", "known", "broken"}
        Read or answered; refused as promised; a fault that stands in ``known.py``; a promise that was not kept.
    word : str
        How it was read, the error's name, the known fault's, or the promise with the place in emdp.
    status : int
        What the command line would exit with; -1 for a broken promise.
    seconds : float
        How long it took.
    """

    kind: str
    word: str
    status: int
    seconds: float


def feed(reader: Any, name: str, seed: int, index: int) -> Outcome:
    """Make one input, read it, and judge what came of it; the same seed and index make the same input."""
    began = time.perf_counter()
    kind, word, status = "accepted", "", 0
    try:
        word = reader.feed(random.Random(f"{name}:{seed}:{index}"))
        # Commands have a status of their own.
        status = int(word.rpartition(" ")[2]) if word.startswith("exit ") else 0
        kind = "refused" if status else kind
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic is no Exception, and whatever is raised is judged
        kind, word, status = _judged(reader, name, error)
    return Outcome(kind, word, status, time.perf_counter() - began)


def _judged(reader: Any, name: str, error: BaseException) -> tuple[str, str, int]:
    try:
        word = check_refusal(error, own=getattr(reader, "own", ""))
    except BrokenPromiseError as broken:
        promise = str(error) if isinstance(error, BrokenPromiseError) else str(broken)
        places = _places(error)
        fault = known_fault(name, promise, places)
        if fault is not None:
            return "known", fault, -1
        return "broken", f"{promise} (at {places[-1] if places else 'no place of emdp'})"[:600], -1
    return "refused", word, int(getattr(error, "exit_status", -1))


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    found = [(frame.filename.replace("\\", "/").partition("/emdp/"), frame.name) for frame in frames]
    return [f"emdp/{parts[2]}:{name}" for parts, name in found if parts[1]]
