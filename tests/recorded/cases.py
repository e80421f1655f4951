"""Cases: what is asked, by name and subject, and how it is run so that every run gives the same."""

import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import emdp

from .form import plain

__all__ = ["BY_PROCESSOR", "SUBJECTS", "Case", "cases_of", "results_of"]

SUBJECTS = (
    "statements",
    "refused",
    "queries",
    "sessions",
    "accounting",
    "spaces",
    "refusals",
    "ledgers",
    "commands",
    "reports",
    "engines",
)
"""Each a module of this folder with ``cases()``, and a file of ``results``. ``engines`` needs Spark."""

BY_PROCESSOR = {
    "accounting": ("batch", "curve", "randomizer Exponential", "randomizer Exponential untuned",
        "randomizer Geometric", "renyi", "shuffle rounds"),
    "reports": ("places",),
    "sessions": (
        "fit central", "fit local", "fit shuffle", "fit logistic", "itemwise Exponential central",
        "itemwise Exponential local", "itemwise GKRR shuffle", "itemwise Geometric shuffle", "itemwise Optimal shuffle",
        "itemwise as strong as allowed", "mean local", "mean where", "vector by",
        "vector local",
    ),
    "spaces": ("bags place",),
    "statements": ("random_14", "random_65"),
}  # fmt: skip
"""Cases whose numbers depend on the processor's instructions (AVX2, FMA): a last bit of a scale is another draw, and
another digest of a long list."""


@dataclass(frozen=True)
class Case:
    """One question of a subject.

    Parameters
    ----------
    name : str
        Unique in its subject.
    run : callable
        Given an empty folder, returns results by field; a refusal of emdp is a result too.
    """

    name: str
    run: Callable[[Path], Mapping[str, Any]]


@cache
def cases_of(subject: str) -> dict[str, Case]:
    """Return a subject's cases by name."""
    listed: Iterator[Case] = import_module(f".{subject}", __package__).cases()
    found: dict[str, Case] = {}
    for case in listed:
        if case.name in found:
            raise ValueError(f"{subject} has two cases {case.name!r}")
        found[case.name] = case
    return found


def results_of(case: Case) -> dict[str, Any]:
    """Run a case under the test switch, with a seed of its own, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="recorded") as name, emdp.testing.seeded(zlib.crc32(case.name.encode())):
        folder = Path(name).resolve()
        try:
            found = dict(case.run(folder))
        except emdp.EmdpError as error:
            found = refusal(error)
        return {field: _placeless(plain(value), str(folder)) for field, value in found.items()}


def refusal(error: emdp.EmdpError) -> dict[str, Any]:
    """Return what a refusal says, in full."""
    code = {"code": error.code} if isinstance(error, emdp.SqlError) else {}
    return {"refused": {"error": type(error).__name__, "status": error.exit_status, **code, "says": str(error)}}


def _placeless(value: Any, folder: str) -> Any:
    if isinstance(value, str):
        return value.replace(folder, "<folder>")
    if isinstance(value, list):
        return [_placeless(own, folder) for own in value]
    if isinstance(value, dict):
        return {key: _placeless(own, folder) for key, own in value.items()}
    return value
