"""Writes what today's code answers into ``results``: ``python -m tests.recorded.record [SUBJECT ...]``.

Run it after a change of behaviour that is meant, and read the difference that git shows before you commit it.
"""

import argparse
import importlib.util
import json
import shutil
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

from .cases import BY_PROCESSOR, SUBJECTS, cases_of, results_of
from .form import differences, line_of, numberless

__all__ = ["compared", "read_results", "write_results"]

RESULTS = Path(__file__).parent / "results"


def read_results(subject: str) -> dict[str, dict[str, Any]]:
    """Return the recorded results of a subject, by case and field."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    path = RESULTS / f"{subject}.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        case, field, value = json.loads(line)
        found[case][field] = value
    return dict(found)


def compared(subject: str, name: str, before: dict[str, Any]) -> list[str]:
    """Run one case, and say where it differs from what was recorded; in words alone where numbers need not agree."""
    after = json.loads(json.dumps(results_of(cases_of(subject)[name])))
    if name in BY_PROCESSOR.get(subject, ()):
        before, after = numberless(before), numberless(after)
    return [f"{subject}, {name}: {line}" for line in differences(before, after)]


def write_results(subject: str, folder: Path = RESULTS) -> Path:
    """Run all cases of a subject, and write what they give."""
    lines = [
        line_of(case.name, field, value)
        for case in cases_of(subject).values()
        for field, value in results_of(case).items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{subject}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _has_spark() -> bool:
    return bool(importlib.util.find_spec("pyspark") and shutil.which("java"))


def main() -> None:
    """Write the subjects that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subject", nargs="*", help=f"of {', '.join(SUBJECTS)}; default: all")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    given = parser.parse_args()
    unknown = sorted(set(given.subject) - set(SUBJECTS))
    if unknown:
        parser.error(f"no subject {unknown[0]!r}")
    warnings.simplefilter("ignore")
    for subject in given.subject or SUBJECTS:
        if subject == "engines" and not _has_spark():
            sys.stderr.write("engines: NOT RECORDED, since pyspark or Java is absent\n")
            continue
        path = write_results(subject, given.out)
        sys.stderr.write(f"{subject}: {len(cases_of(subject))} cases, {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
