"""Imports point downwards only (style.md, section 1), heavy packages stay lazy, and every exported name exists."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import emdp

ROOT = Path(emdp.__file__).parent
GROUND = {"errors", "checks", "forks", "frames", "statistic", "resources"}
MATHEMATICS = {"spaces", "transport", "noise", "privacy", "mechanisms"}

ALLOWED: dict[str, set[str]] = {
    "__main__": {"cli"},
    "lazy": set(),
    "errors": set(),
    "checks": {"errors"},
    "forks": {"errors"},
    "frames": {"errors", "checks"},
    "statistic": {"errors"},
    "resources": {"errors", "__init__"},
    "spaces": {"errors", "checks", "frames"},
    "transport": {"errors", "checks", "frames", "spaces"},
    "noise": {"errors", "checks"},
    "privacy": {"errors", "checks"},
    "mechanisms": {"errors", "checks", "spaces", "noise", "privacy"},
    "randomizers": {"mechanisms"},
    "testing": {"errors", "checks", "noise"},
    "expressions": {"errors", "checks", *MATHEMATICS},
    "estimators": {"errors", "checks", "expressions", *MATHEMATICS},
    "tables": {"errors", "checks", "forks", "frames", "statistic", "expressions", *MATHEMATICS},
    "sql": {"errors", "checks", "frames", "spaces", "expressions"},
    "pictures": {"errors", "checks", "expressions"},
    "answers": {"errors", "checks", "frames", "expressions", "pictures", *MATHEMATICS},
    "ledger": {"errors", "checks", "noise", "privacy"},
    "accounts": {"errors", "checks", "privacy", "ledger", "reservations", "spending"},
    "statements": {"errors", "privacy", "expressions", "estimators", "sql"},
    "presentation": {"errors", "statistic", "expressions", "estimators", "statements", "tables", "answers"},
    "spending": {"errors", "checks", "privacy", "ledger"},
    "reservations": {"errors", "checks", "privacy", "ledger", "spending"},
    "questions": {"answers", "expressions"},
    "releasing": {
        "accounts", "errors", "noise", "expressions", "estimators", "tables", "answers", "ledger", "statements",
        "presentation",
    },
    "session": {
        "accounts", *GROUND, *MATHEMATICS, "expressions", "estimators", "tables", "answers", "ledger", "statements",
        "presentation", "questions", "releasing",
    },
    "store": {"errors", "accounts", "answers", "ledger", "session", "sql", "statements"},
    "catalog": {*GROUND, *MATHEMATICS, "tables", "session", "expressions"},
    "experiments": {
        "errors", "checks", *MATHEMATICS, "expressions", "estimators", "tables", "answers", "session", "pictures",
        "testing", "randomizers",
    },
    "audit": {
        "errors", "checks", *MATHEMATICS, "expressions", "estimators", "tables", "session", "statements", "pictures",
        "randomizers",
    },
    "learn": {"errors", "frames", "expressions", "spaces", "privacy", "answers", "session"},
    "reports": {
        "errors", "checks", "expressions", "spaces", "privacy", "accounts", "ledger", "answers", "pictures", "sql",
        "statements", "session", "store", "catalog", "spending", "reservations",
    },
    "cli": {
        "audit", "experiments", "pictures", "reports", "reservations", "spending", "store",
        *GROUND, *MATHEMATICS, "testing", "accounts", "expressions", "tables", "answers", "ledger", "session",
        "statements", "presentation", "sql", "catalog", "cli", "__init__",
    },
}  # fmt: skip
"""For each layer the layers it may import; its own files may always import one another."""

HEAVY_BY_LAYER = {
    "duckdb": {"tables"},
    "sqlglot": {"tables", "sql"},
    "typer": {"cli"},
    "rich": {"cli"},
    "sqlite3": {"ledger"},
    "psycopg": {"ledger"},
    "pyspark": {"tables"},
    "altair": {"pictures"},
    "vl_convert": {"pictures"},
    "jinja2": {"reports"},
}
"""Packages that only the named layers may import: no I/O in mathematics, no engine below the tables."""

LAZY = (
    "pyspark", "psycopg", "ot", "dp_accounting", "scipy.stats", "opendp", "typer", "rich", "altair", "vl_convert",
    "jinja2", "pandas", "sqlite3", "emdp.learn",
)  # fmt: skip
"""Packages that ``import emdp`` must not load."""


def _layer(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(path: Path) -> list[tuple[str, int]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "emdp":
                found += [(f"emdp.{alias.name}", node.lineno) for alias in node.names]
            else:
                found.append((node.module or "", node.lineno))
    return found


FILES = sorted(path for path in ROOT.rglob("*.py") if not path.relative_to(ROOT).parts[0].startswith("_"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    layer = _layer(path)
    assert layer in ALLOWED, f"{layer} has no row in the table of layers"
    for name, line in _imports(path):
        parts = name.split(".")
        if parts[0] == "emdp":
            target = parts[1] if len(parts) > 1 else "__init__"
            assert target in {layer, "lazy"} | ALLOWED[layer], f"{path}:{line} imports {name}"
        elif parts[0] in HEAVY_BY_LAYER:
            assert layer in HEAVY_BY_LAYER[parts[0]], f"{path}:{line} imports {name}"


def test_importing_emdp_loads_no_heavy_package() -> None:
    code = f"import sys, emdp; print([name for name in {LAZY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(module.name for module in pkgutil.walk_packages([str(ROOT)], "emdp.")))
def test_every_exported_name_exists(name: str) -> None:
    module = importlib.import_module(name)
    for exported in getattr(module, "__all__", []):
        assert hasattr(module, exported), f"{name} exports {exported}, which it does not have"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_draws_randomness_outside_the_noise_module(path: Path) -> None:
    if _layer(path) == "noise":
        return
    source = path.read_text()
    for token in ("np.random", "numpy.random", "default_rng", "import random", "from random", "import secrets"):
        assert token not in source, f"{path} uses {token}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= 400, "a file above 400 lines does a second thing"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 50, f"{node.name} has {length} lines"
