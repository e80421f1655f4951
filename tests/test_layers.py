"""Imports point downwards only (style.md, section 1), heavy packages stay lazy, and every exported name exists."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import emdp

ROOT = Path(emdp.__file__).parent
MATHEMATICS = {"spaces", "transport", "noise", "privacy", "mechanisms"}

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "resources": {"base", "__init__"},
    "spaces": {"base"},
    "transport": {"base", "spaces"},
    "noise": {"base"},
    "privacy": {"base"},
    "mechanisms": {"base", "spaces", "noise", "privacy"},
    "randomizers": {"mechanisms"},
    "testing": {"base", "noise"},
    "expressions": {"base", "spaces"},
    "rows": {"base", "expressions"},
    "questions": {"base", "expressions", "rows", *MATHEMATICS},
    "estimators": {"base", "expressions", "rows", "questions", *MATHEMATICS},
    "sql": {"base", "spaces", "expressions", "rows", "questions"},
    "tables": {"base", "noise", "spaces", "expressions", "rows", "questions"},
    "ledger": {"base"},
    "budgets": {"base", "privacy", "ledger"},
    "pictures": {"base", "questions"},
    "answers": {"base", "mechanisms", "privacy", "questions", "pictures"},
    "sessions": {
        "base", "noise", "privacy", "spaces", "expressions", "rows", "questions", "estimators", "sql", "tables",
        "ledger", "budgets", "answers",
    },
    "catalog": {"base", "privacy", "spaces", "questions", "sql", "tables", "ledger", "sessions"},
    "experiments": {
        "base", *MATHEMATICS, "testing", "expressions", "questions", "estimators", "tables", "pictures", "answers",
        "sessions", "learn",
    },
    "audit": {
        "base", *MATHEMATICS, "randomizers", "expressions", "questions", "estimators", "tables", "pictures",
        "sessions",
    },
    "learn": {
        "base", "noise", "privacy", "mechanisms", "spaces", "expressions", "questions", "ledger", "budgets", "answers",
        "sessions",
    },
    "disclosure": {"base", "privacy", "spaces", "tables", "pictures", "sessions"},
    "reports": {
        "base", "privacy", "spaces", "questions", "sql", "ledger", "budgets", "pictures", "answers", "sessions",
        "catalog", "disclosure",
    },
    "cli": {
        "base", "resources", "privacy", "mechanisms", "spaces", "transport", "expressions", "questions", "sql",
        "tables", "ledger", "budgets", "pictures", "answers", "sessions", "catalog", "experiments", "audit",
        "disclosure", "reports", "testing", "__init__",
    },
    "__main__": {"base", "cli"},
}  # fmt: skip
"""For each layer the layers it may import; its own files may always import one another."""

BELOW_STATEMENTS = {"tables/base", "tables/facts"}
BELOW_ENGINES = {*BELOW_STATEMENTS, "tables/column_types", "tables/files", "tables/statements"}
TABLES: dict[str, set[str]] = {
    "tables/base": set(),
    "tables/facts": {"tables/base"},
    "tables/column_types": {"tables/base"},
    "tables/files": set(),
    "tables/statements": BELOW_STATEMENTS,
    "tables/engines": BELOW_ENGINES,
    "tables/engines/*": {*BELOW_ENGINES, "tables/engines"},
}
"""For each room of the tables what of them it may import beside its own files; no engine imports another. What is named
nowhere here stands above all of these.
"""

HEAVY_BY_LAYER = {
    "duckdb": {"tables"},
    "sqlglot": {"tables", "sql"},
    "typer": {"cli"},
    "rich": {"cli"},
    "sqlite3": {"ledger"},
    "psycopg": {"ledger"},
    "pyspark": {"tables"},
    "altair": set(),
    "vl_convert": set(),
    "jinja2": {"reports"},
}
"""Packages that only the named layers may import: no I/O in mathematics, no engine below the tables."""

EXACT_SUMS: dict[str, set[str]] = {
    "audit/bulk": {"sum((number for _, number in bags[table]))"},
    "audit/tester": {"sum((one.T @ one / max(len(one), 1) for one in whitened))"},
    "cli/consequences": {"sum(others)"},
    "cli/ledger": {"sum(widths)"},
    "cli/report": {
        "sum((bool(outcome.reads) for outcome in found.outcomes))",
        "sum((outcome.is_reused for outcome in found.outcomes))",
    },
    "cli/spending": {"sum(others)"},
    "estimators/mean/conditional": {"sum(need.centres)"},
    "estimators/columns/pairs": {"sum(pair)"},
    "estimators/owned/columns": {"sum(own)"},
    "expressions/cells/aggregation": {"sum(self.sizes)"},
    "expressions/nodes/base": {"sum((operand.size for operand in operands))"},
    "expressions/nodes/parts": {"sum((part.width for part in space.parts[:index]))"},
    "mechanisms/central/tree": {
        "sum((math.prod(self.blocks(level)) for level in range(1, self.levels + 1)))",
        "sum(counts)",
    },
    "mechanisms/central/edge_grid": {"sum((self.edges_of(place) for place in range(len(self.axes) + self.has_away)))"},
    "mechanisms/streams/mechanism": {
        "sum((entry * own[place] for entry, own in zip(row, past, strict=True) if entry))"
    },
    "mechanisms/streams/strategy": {
        "sum((entry * entry for entry in _root(periods)))",
        "sum((own * own for own in accumulate(_root(periods))))",
        "sum(((sums[place] - sums[max(place - count, 0)]) ** 2 for place in range(1, periods + 1)))",
    },
    "mechanisms/user_mean/crowd_questions": {"sum((stage.size for stage in self.stages))"},
    "mechanisms/strings/prefix_search": {"sum((letters ** added for added in range(step + 1)))"},
    "noise/k_norm": {"sum((z * z for z in point))", "sum((abs(z) for z in point))"},
    "noise/sets": {"sum(weights)"},
    "questions/owned/groups": {
        "sum(of_argument)",
    },
    "questions/owned/octaves": {"sum(statistic)"},
    "questions/owned/totals": {
        "sum((argument.parts for argument in self.arguments[:place]))",
        "sum(statistic[first * self.cells:(first + count) * self.cells])",
    },
    "questions/assumed": {"sum((part.width for part, count in zip(parts, listed, strict=True) if count is None))"},
    "privacy/guarantees/protections": {"sum(exact)"},
    "privacy/rounding": {"sum(shares)"},
    "privacy/shuffle/renyi_product": {"sum((count for _, count in laws))"},
    "privacy/shuffle/users": {"sum((part.rounds for part in parts))"},
    "reports/checking": {"sum(taken)"},
    "reports/levels": {"sum(map(as_decimal, taken))"},
    "reports/page": {
        "sum((outcome.answer is not None and (not outcome.reads) for outcome in run.outcomes))",
        "sum((outcome.is_reused and (not outcome.reads) for outcome in run.outcomes))",
    },
    "spaces/combined/product": {"sum((part.width for part in self.members))", "sum(weights)"},
    "spaces/rounding": {"sum(((numerator * (scale // denominator)) ** 2 for numerator, denominator in ratios))"},
    "tables/engines/spark/engine": {"sum((_stages(table, _compiled(table, part)) for part in parts))"},
    "tables/engines/spark/draws": {"sum((own.size for own in known))"},
    "tables/engines/spark/passes": {"sum((own.users for own in self._known))"},
    "transport/pairs": {"sum((future.result() for future in finished))"},
}
"""Sums of integers and of fractions, and of one's arrays, by file, where the form of the call does not say so."""

LAZY = (
    "pyspark", "psycopg", "ot", "dp_accounting", "scipy.stats", "opendp", "typer", "rich", "altair", "vl_convert",
    "jinja2", "pandas", "sqlite3", "emdp.learn",
)  # fmt: skip
"""Packages that ``import emdp`` must not load."""


FILES = sorted(path for path in ROOT.rglob("*.py") if not path.relative_to(ROOT).parts[0].startswith("_"))
SOURCES = {path: path.read_text() for path in ROOT.rglob("*.py")}
"""Each file is read once, and each test goes through all of them: as a case of its own each would be thousands."""


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(SOURCES[path])


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _layer(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(path: Path) -> list[tuple[str, int]]:
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "emdp":
                found += [(f"emdp.{alias.name}", node.lineno) for alias in node.names]
            else:
                found.append((node.module or "", node.lineno))
    return found


MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES
}


def _imported_modules(path: Path) -> set[str]:
    """Return the modules of emdp that a file names in an import: anywhere, also in functions and for types alone."""
    found = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= named if named <= MODULES.keys() else {*named, node.module or ""}
    return found & MODULES.keys()


def _room(path: Path) -> str:
    """Return the room of a file of the tables: its folder, or itself where it stands in none."""
    relative = path.relative_to(ROOT)
    return str(relative.with_suffix("") if len(relative.parts) == 2 else relative.parent)


@pytest.mark.slow
def test_imports_point_downwards() -> None:
    assert {_layer(path) for path in FILES} <= ALLOWED.keys(), "a layer has no row in the table of layers"
    wrong = []
    for path in FILES:
        layer = _layer(path)
        for name, line in _imports(path):
            parts = name.split(".")
            if parts[0] == "emdp":
                target = parts[1] if len(parts) > 1 else "__init__"
                is_allowed = target in {layer} | ALLOWED[layer]
            else:
                is_allowed = layer in HEAVY_BY_LAYER.get(parts[0], {layer})
            wrong += [] if is_allowed else [f"{_name(path)}:{line} imports {name}"]
    assert not wrong, "; ".join(wrong)


def test_no_two_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({name: _imported_modules(path) for name, path in MODULES.items()}).prepare()
    except CycleError as error:
        pytest.fail("files import each other: " + " <- ".join(error.args[1]))


def test_rooms_of_the_tables_import_downwards() -> None:
    wrong = []
    for path in sorted((ROOT / "tables").rglob("*.py")):
        room = _room(path)
        row = "tables/engines/*" if room.startswith("tables/engines/") else room
        if row in TABLES:
            below = {room} | TABLES[row]
            named = sorted(name for name in _imported_modules(path) if name.startswith("emdp.tables"))
            wrong += [f"{_name(path)} imports {name}" for name in named if _room(MODULES[name]) not in below]
        elif path.parent != ROOT / "tables":
            wrong.append(f"{room} has no row in the table of rooms")
    assert not wrong, "; ".join(wrong)


def test_importing_emdp_loads_no_heavy_package() -> None:
    code = f"import sys, emdp; print([name for name in {LAZY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_exported_name_exists() -> None:
    missing = []
    for name in sorted(module.name for module in pkgutil.walk_packages([str(ROOT)], "emdp.")):
        module = importlib.import_module(name)
        missing += [f"{name}.{one}" for one in getattr(module, "__all__", []) if not hasattr(module, one)]
    assert not missing, ", ".join(missing)


def test_no_file_draws_randomness_outside_the_noise_module() -> None:
    tokens = ("np.random", "numpy.random", "default_rng", "import random", "from random", "import secrets")
    above = [path for path in FILES if _layer(path) != "noise"]
    assert [f"{_name(path)} uses {one}" for path in above for one in tokens if one in SOURCES[path]] == []


@pytest.mark.slow
def test_files_and_functions_stay_small() -> None:
    wrong = [f"{_name(path)}: above 400 lines it does a second thing" for path in FILES if _lines(path) > 400]
    for path in FILES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                wrong += [f"{_name(path)}: {node.name} has {length} lines"] if length > 50 else []
    assert not wrong, "; ".join(wrong)


def _lines(path: Path) -> int:
    return len(SOURCES[path].splitlines())


def _is_exact(call: ast.Call) -> bool:
    """Say whether a sum is of truth values, of lengths, or begins with a fraction and so takes no float."""
    terms = call.args[0].elt if isinstance(call.args[0], ast.GeneratorExp) else call.args[0]
    return (
        (len(call.args) == 2 and ast.unparse(call.args[1]).startswith(("Fraction(", "as_decimal(")))
        or isinstance(terms, ast.Compare)
        or ast.unparse(terms).startswith(("len(", "map(len, "))
    )


def test_floats_are_added_by_fsum() -> None:
    # Python's own sum of floats rounds after each term up to 3.11, and compensates from 3.12 on.
    found = {}
    for path in FILES:
        calls = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.Call))
        named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "sum"]
        sums = {ast.unparse(call) for call in named if not _is_exact(call)}
        if sums:
            found[_name(path).removesuffix(".py")] = sums
    assert found == EXACT_SUMS, "write math.fsum, or list a sum of integers or fractions in EXACT_SUMS"
