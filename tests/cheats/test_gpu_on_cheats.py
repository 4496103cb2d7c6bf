"""Every exhibit that can run, judged on a real GPU by the session alone; prints one table.

CUTEGEN_GIT_GPU_OUT names a folder for the table and its numbers. Cheats that the guard refuses first are judged here
too where a run must show them as well. Builds go side by side before anything is judged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cheats.manifest import CHEATS, EXHIBITS, HONEST, Exhibit

from cutegen_git.words.verdict import Outcome

if TYPE_CHECKING:
    from cheats.court import Court

pytestmark = pytest.mark.gpu
# Same task next to each other: rank inputs and references of one task at a time are enough to hold.
ON_GPU = sorted(
    (item for item in EXHIBITS if item.on_gpu), key=lambda item: (item.task, item in HONEST, item.name)
)


@pytest.fixture(scope="module")
def court() -> Iterator[Court]:
    from cheats.court import Court, built_side_by_side, or_trouble

    from cutegen_git.devices.gpu import open_gpu
    from cutegen_git.hands import toolchain
    from cutegen_git.hands.cache import Cache

    tools, cache = toolchain.find(), Cache.default()
    device, why = open_gpu(toolchain=tools, folder=cache.root / "judge")
    assert device is not None, why
    workers = (os.cpu_count() or 2) // 2
    builds = built_side_by_side(ON_GPU, tools, cache, device.facts.sm, workers)
    made = Court(device, lambda item: or_trouble(builds[item.name]), cache.root / "judge")
    yield made
    print(f"\n{made.table()}")
    _keep(made)
    device.close()


def _keep(court: Court) -> None:
    folder = os.environ.get("CUTEGEN_GIT_GPU_OUT")
    if folder:
        (Path(folder) / "cheats.md").write_text(court.table() + "\n")
        rows = [
            {"name": row.exhibit.name, "task": row.exhibit.task, "found": row.found.value, "why": row.why,
             "wanted": [outcome.value for outcome in row.wanted], "seconds": round(row.seconds, 2), "speedup": row.speedup}
            for row in court.rows
        ]  # fmt: skip
        (Path(folder) / "cheats.json").write_text(json.dumps(rows, indent=1))


@pytest.mark.parametrize("item", ON_GPU, ids=lambda item: item.name)
def test_exhibit_gets_its_outcome(item: Exhibit, court: Court) -> None:
    if court.sessions and item.task not in court.sessions:
        court.sessions.clear()  # frees the rank inputs of the task before
    row = court.judge(item, item.on_gpu)
    assert row.is_right, f"{row.found.value}: {row.why}"


def test_the_device_works_after_all_that(court: Court) -> None:
    assert court.device.probe() == ""
    assert len(CHEATS) + len(HONEST) == len(EXHIBITS)
    assert all(row.found is not Outcome.INFRASTRUCTURE for row in court.rows)
