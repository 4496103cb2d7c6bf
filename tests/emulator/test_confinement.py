"""A kernel file gets nothing of the machine that it runs on, from its first instruction on; an honest one sees no limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cutegen_git.devices.emulator import child as child_module
from cutegen_git.devices.emulator.build import EmulatorBuild
from cutegen_git.devices.emulator.call import Pointer, Role, Scalar
from cutegen_git.devices.emulator.child import ChildResult
from cutegen_git.devices.emulator.run import EmulatorRun, RunStatus, ending
from cutegen_git.devices.emulator.trouble import trouble_of
from cutegen_git.words.verdict import Outcome

from .conftest import Builder, call_kernel, header, tensor

SOURCE = (Path(__file__).parent / "confined.cu").read_text()
TARGET = Path("/tmp/cutegen-confinement-test")
FIELDS = header("const float* x; float* y; int64_t which;")
X = np.arange(64, dtype=np.float32)
# Which attempt of confined.cu: refused with an error, or the end of the process.
REFUSED = dict(
    enumerate(("write", "read", "fopen", "mkdir", "symlink", "mem", "memfd", "tkill", "prlimit", "stat"))
)
KILLED = dict(
    enumerate(
        ("inet", "unix", "fork", "vfork", "execve", "ptrace", "kill", "setsid", "clone", "system"), start=20
    )
)
HONEST = -1


def built_with(builder: Builder, *defines: str) -> EmulatorBuild:
    lines = [f"#define {line}" for line in (f'TARGET "{TARGET}"', *defines)]
    return builder("\n".join([*lines, SOURCE]), FIELDS)


def tried(built: EmulatorBuild, which: int) -> tuple[bool, EmulatorRun]:
    """Did an honest result come out, and how did it end?"""
    y = np.zeros(64, np.float32)
    fields: list[Pointer | Scalar] = [
        tensor("x", X, Role.INPUT),
        tensor("y", y, Role.OUTPUT),
        Scalar("which", "int64", which),
    ]
    found = call_kernel(built, fields)
    return bool(np.array_equal(y, X)), found


@pytest.fixture(scope="module")
def plain(builder: Builder) -> EmulatorBuild:
    return built_with(builder)


@pytest.fixture(autouse=True)
def target() -> Iterator[None]:
    """A file that no kernel may make."""
    TARGET.unlink(missing_ok=True)
    yield
    assert not TARGET.exists()


def test_honest_kernel_passes_with_all_limits_held(plain: EmulatorBuild) -> None:
    right, found = tried(plain, HONEST)
    assert right
    assert found.ok, found
    assert "calls" in found.confined


@pytest.mark.parametrize("which", REFUSED, ids=REFUSED.get)
def test_launch_is_refused(plain: EmulatorBuild, which: int) -> None:
    right, found = tried(plain, which)
    assert right, "the machine did what it must not"
    assert found.ok, found


@pytest.mark.parametrize("which", KILLED, ids=KILLED.get)
def test_launch_is_killed(plain: EmulatorBuild, which: int) -> None:
    assert_killed(tried(plain, which)[1])


def assert_killed(found: EmulatorRun) -> None:
    assert found.status is RunStatus.FORBIDDEN, found
    trouble = trouble_of(found)
    assert trouble
    assert trouble.outcome is Outcome.FORBIDDEN_CALL
    assert "killed" in trouble.why


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1], ids=REFUSED.get)
@pytest.mark.parametrize("how", ["EARLY_ONLY", "PREINIT", "RESOLVER"])
def test_files_are_out_of_reach_before_launch(builder: Builder, how: str, which: int) -> None:
    right, found = tried(built_with(builder, f"EARLY {which}", how), HONEST)
    if how == "RESOLVER" and "files" not in found.confined:
        pytest.skip("this kernel has no landlock")
    assert right, "the machine did what it must not"
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.parametrize("which", [20, 22, 24], ids=KILLED.get)
@pytest.mark.parametrize("how", ["EARLY_ONLY", "PREINIT"])
def test_process_is_killed_before_launch(builder: Builder, how: str, which: int) -> None:
    assert_killed(tried(built_with(builder, f"EARLY {which}", how), HONEST)[1])


@pytest.mark.slow
@pytest.mark.parametrize("which", [20, 22], ids=KILLED.get)
def test_resolver_that_the_loader_calls_is_killed(builder: Builder, which: int) -> None:
    assert_killed(tried(built_with(builder, f"EARLY {which}", "RESOLVER"), HONEST)[1])


def test_program_without_a_cage_is_not_run(plain: EmulatorBuild, tmp_path: Path) -> None:
    assert plain.program
    alone = tmp_path / "program"
    alone.write_bytes(plain.program.read_bytes())
    with pytest.raises(FileNotFoundError):
        tried(replace(plain, program=alone), HONEST)


def test_run_that_nobody_confined_is_our_fault_and_no_pass(
    plain: EmulatorBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "held", lambda _: ("files",))
    found = tried(plain, HONEST)[1]
    assert found.status is RunStatus.INFRASTRUCTURE
    trouble = trouble_of(found)
    assert trouble
    assert trouble.outcome is Outcome.INFRASTRUCTURE
    assert "confined" in trouble.why


@pytest.mark.parametrize(
    ("child", "status"),
    [
        (ChildResult(-31, False, "", "", ("calls",)), RunStatus.FORBIDDEN),
        (ChildResult(-11, False, "", "", ("calls",)), RunStatus.CRASHED),
        (ChildResult(0, False, "", "", ("calls",)), RunStatus.OK),
        (ChildResult(0, False, "", "", ("files",)), RunStatus.INFRASTRUCTURE),
        (ChildResult(0, True, "", "", ()), RunStatus.TIMEOUT),
        (
            ChildResult(127, False, "", "error while loading shared libraries: x", ("calls",)),
            RunStatus.INFRASTRUCTURE,
        ),
    ],
)
def test_word_of_the_process_is_less_than_the_systems(child: ChildResult, status: RunStatus) -> None:
    assert ending(child, {"status": "ok", "code": 0})[0] is status
