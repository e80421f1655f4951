"""Planted faults: plausible mistakes in the code of emdp, each with the tests that must fail once it is made.

The records stand in ``planted/*.toml``, a file for each package, because their texts are lines of code as they are. A
record says what it breaks, exchanges one text, which stands once in one file, for another, and names the tests that
catch it. ``run.py`` makes the mistakes one by one in a copy of the tree.
"""

import ast
import tomllib
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

__all__ = ["PLANTED", "ROOT", "Fault", "exchanged", "missing_tests", "read_faults"]

ROOT = Path(__file__).parents[2]
"""The tree that faults are planted in a copy of."""
PLANTED = Path(__file__).with_name("planted")


@dataclass(frozen=True)
class Fault:
    """One mistake.

    Parameters
    ----------
    name : str
        Its own name, of small letters and underscores.
    breaks : str
        What it breaks, in one sentence.
    file : str
        The file that holds it, from the root of the tree.
    old, new : str
        The text that stands there once, and the mistake.
    caught_by : tuple of str
        Tests that must fail, by their ids.
    """

    name: str
    breaks: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, ...]


def read_faults(folder: Path = PLANTED) -> tuple[Fault, ...]:
    """Return all faults, in the order of files and lines."""
    names = {field.name for field in fields(Fault)}
    found = []
    for path in sorted(folder.glob("*.toml")):
        for record in tomllib.loads(path.read_text())["fault"]:
            if set(record) != names:
                raise ValueError(f"{path.name}: a fault has {sorted(record)}, not {sorted(names)}.")
            found.append(Fault(**{**record, "caught_by": tuple(record["caught_by"])}))
    return tuple(found)


def exchanged(text: str, fault: Fault) -> str:
    """Return a file's text with the mistake made, or raise ``ValueError`` if the place is not there, or not alone."""
    count = text.count(fault.old)
    if count != 1:
        raise ValueError(f"{fault.name}: its old text stands {count} times in {fault.file}.")
    return text.replace(fault.old, fault.new)


def missing_tests(fault: Fault, root: Path = ROOT) -> list[str]:
    """Return the named tests that are not there, or run only when asked for (marked full)."""
    return [node for node in fault.caught_by if not _is_there(node, root)]


@lru_cache(maxsize=1000)
def _statements(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text()).body if file.is_file() else []


def _is_there(node: str, root: Path) -> bool:
    path, *names = node.partition("[")[0].split("::")
    body = _statements(root / path)
    for name in names:
        own = [item for item in body if isinstance(item, ast.FunctionDef | ast.ClassDef) and item.name == name]
        if not own or any("mark.full" in ast.unparse(decorator) for decorator in own[0].decorator_list):
            return False
        body = own[0].body
    return bool(names and body)
