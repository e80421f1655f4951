"""Print for pip what pyproject.toml asks for, each package in its lowest version or in any: ``packages.py lowest|any``.

Nothing is listed here, so that what is declared and what is tried cannot drift apart. Tools are left out, and pyspark,
which takes longer to install than the tests take that are run with these.
"""

import re
import sys
import tomllib
from pathlib import Path

LEFT_OUT = ("mypy", "pyspark", "ruff")
RANGE = re.compile(r"([A-Za-z0-9_.-]+(?:\[[a-z,]+\])?)>=([0-9.]+),<[0-9.]+( *;.*)?")


def wanted(place: Path, which: str) -> list[str]:
    """Return a line for each dependency, those of the tests and of the build too."""
    read = tomllib.loads(place.read_text())
    project = read["project"]
    lines = []
    for text in [
        *read["build-system"]["requires"],
        *project["dependencies"],
        *project["optional-dependencies"]["test"],
    ]:
        parts = RANGE.fullmatch(text)
        if parts is None:
            raise ValueError(f"{text!r} states no range; write name>=lowest,<first that is not allowed.")
        if not text.startswith(LEFT_OUT):
            lines.append({"lowest": f"{parts[1]}=={parts[2]}{parts[3] or ''}", "any": text}[which])
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(wanted(Path(__file__).parents[1] / "pyproject.toml", sys.argv[1])) + "\n")
