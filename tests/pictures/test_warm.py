"""What makes pictures fast changes nothing else: no checks of our charts, a warm-up beside other work, threads."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from emdp.pictures import draw_periods, warm

IN_THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor
from emdp.pictures import draw_periods, warm

series = [(f"w{place}", float(place), place - 1.0, place + 1.0) for place in range(9)]
start = threading.Barrier(9)

def task(place):
    start.wait()
    return [draw_periods(series, f"km {place}").svg for _ in range(4)] if place < 6 else warm()

with ThreadPoolExecutor(9) as pool:
    found = list(pool.map(task, range(9)))
alone = [draw_periods(series, f"km {place}").svg for place in range(6)]
from altair.utils import schemapi
print(found == [[svg] * 4 for svg in alone] + [None] * 3, schemapi.DEBUG_MODE)
"""
"""Warming and drawing begin at once in a process that has loaded nothing yet."""


def _svg() -> str:
    picture = draw_periods([("a", 1.0, 0.5, 1.5), ("b", 2.0, 1.5, 2.5)], "km")
    assert picture is not None
    return picture.svg


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every check of a part of a chart against the schema of Vega-Lite."""
    from altair.utils import schemapi

    found: list[object] = []
    checking: Callable[..., object] = schemapi.validate_jsonschema

    def counted(*given: object, **options: object) -> object:
        found.append(given)
        return checking(*given, **options)

    monkeypatch.setattr(schemapi, "validate_jsonschema", counted)
    return found


def test_our_charts_are_not_checked_and_those_of_the_analyst_are(checks: list[object]) -> None:
    import altair as alt
    from altair.utils import schemapi

    _svg()
    assert checks == []
    with pytest.raises(schemapi.SchemaValidationError):
        alt.MarkDef(type="no such mark")
    assert checks != []


def test_where_altair_cannot_leave_out_its_checks_the_picture_is_the_same(
    checks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from altair.utils import schemapi

    before, switch = _svg(), schemapi.debug_mode
    # Altair uses the switch itself, so it is hidden from us alone: by the name that we look for.
    monkeypatch.setattr("emdp.pictures.rendering.SWITCH", "no_such_switch")
    assert _svg() == before
    assert len(checks) > 10
    assert schemapi.debug_mode is switch


@pytest.mark.slow
def test_warming_and_drawing_in_many_threads_is_safe() -> None:
    done = subprocess.run([sys.executable, "-c", IN_THREADS], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "True True"
    assert done.stderr == ""


def test_a_process_may_end_while_it_warms() -> None:
    code = "import threading; from emdp.pictures import warm; threading.Thread(target=warm, daemon=True).start()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""


def test_warming_loads_what_draws() -> None:
    warm()
    assert {"altair", "vl_convert"} <= set(sys.modules)
