"""What the device adds to a run: where programs are kept, and how a run's end is said to the judge."""

from __future__ import annotations

import pytest

from cutegen_git.devices.emulator import device, runtime


def test_program_is_built_again_when_the_emulator_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = device.program_key("nvcc", "header", {"kernel.cu": b"x"})
    assert before == device.program_key("nvcc", "header", {"kernel.cu": b"x"})
    monkeypatch.setattr(device, "engine_hash", lambda: b"another emulator")
    assert device.program_key("nvcc", "header", {"kernel.cu": b"x"}) != before


def test_program_key_keeps_names_and_contents_apart() -> None:
    keys = {
        device.program_key("nvcc", "header", files)
        for files in ({"a": b"bc"}, {"ab": b"c"}, {"a": b"", "b": b"c"}, {"a": b"b", "c": b""})
    }
    assert len(keys) == 4


def test_engine_hash_covers_native_files(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    seen = runtime.engine_hash()
    native = runtime.NATIVE
    assert {path.name for path in native.rglob("*.h")} >= {"rt.h", "cooperative_groups.h"}
    monkeypatch.setattr(runtime, "NATIVE", native / "shim")  # its parent holds no Python files
    assert runtime.engine_hash() != seen
