"""What the emulator shows of cheating and honest kernels, judged by the real session. Needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cheats.manifest import EXHIBITS, Exhibit, Shown

from cutegen_git.hands import toolchain
from cutegen_git.words.errors import TaskError, ToolError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
COSTLY = ("hangs", "eats_memory")  # minutes of waiting for a limit
RUN = [item for item in EXHIBITS if item.shown is Shown.RUN and item.name not in COSTLY]
# two minutes of waiting


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    device_module = pytest.importorskip("cutegen_git.devices.emulator.device")
    from cheats.court import Court, unbuilt
    from cheats.tasks import TASKS

    try:
        tools = toolchain.find()
    except (ToolError, TaskError) as missing:
        pytest.skip(str(missing))
    folder: Path = tmp_path_factory.mktemp("court")
    device = device_module.EmulatorDevice(tools, folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    made = Court(device, lambda item: device.build(TASKS[item.task][0], item.sources(), unbuilt()), folder)
    yield made
    torch.set_num_threads(threads)
    print(f"\n{made.table()}")


@pytest.mark.parametrize("item", RUN, ids=lambda item: item.name)
def test_emulator_says_what_it_can(item: Exhibit, court: object) -> None:
    from cheats.court import Court

    assert isinstance(court, Court)
    row = court.judge(item, item.on_emulator)
    assert row.is_right, f"{row.found.value}: {row.why}"
