"""The wheel in an empty environment, outside of the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOOKUP = """
from cutegen_git.hands import data
for name in ("prompts", "kernel_repo_template", "examples/gemm"):
    root = data.root(name)
    assert any(root.iterdir()), root
    print(root)
"""


def _run(*command: object, cwd: Path) -> str:
    env = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "LANG")
        or name.startswith(("PIP_", "SSL_", "CUTEGEN_GIT_CACHE"))
        or "proxy" in name
    }
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    _run(*command, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel and its base dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    lock = ROOT / "requirements" / "dev.txt"
    _run(python, "-m", "pip", "install", "--quiet", "--constraint", lock, wheel, cwd=folder)
    return folder / "venv" / "bin"


@pytest.mark.slow
def test_wheel_holds_data_licence_and_every_module(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folder = ROOT / "cutegen_git"
    others = [
        path for path in folder.rglob("*") if path.suffix in (".j2", ".css", ".cu", ".cuh", ".h", ".cpp")
    ]
    assert {path.relative_to(ROOT).as_posix() for path in others} <= names
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "cutegen_git").rglob("*.py")}
    assert modules <= names
    for folder in ("prompts", "kernel_repo_template", "examples/gemm"):
        files = [
            path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        ]
        expected = {f"cutegen_git/data/{path.relative_to(ROOT).as_posix()}" for path in files}
        assert expected <= names
    assert any(name.endswith("LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


@pytest.mark.slow
def test_installed_tool_says_its_version_under_both_names(installed: Path, tmp_path: Path) -> None:
    assert _run(installed / "cutegen-git", "--version", cwd=tmp_path).startswith("cutegen-git ")
    assert _run(installed / "git-cutegen", "--version", cwd=tmp_path).startswith("cutegen-git ")


@pytest.mark.slow
def test_installed_doctor_works_without_torch_litellm_or_nvcc(installed: Path, tmp_path: Path) -> None:
    record = json.loads(_run(installed / "cutegen-git", "doctor", "--json", cwd=tmp_path))
    states = {finding["name"]: finding["state"] for finding in record["findings"]}
    assert (states["torch"], states["litellm"]) == ("missing", "missing")
    assert record["roles"]["review"] == "ready"


@pytest.mark.slow
def test_installed_tool_finds_its_data(installed: Path, tmp_path: Path) -> None:
    found = _run(installed / "python", "-c", LOOKUP, cwd=tmp_path).splitlines()
    assert all("site-packages/cutegen_git/data" in line for line in found)


@pytest.mark.slow
def test_every_command_explains_itself_without_the_extras(installed: Path, tmp_path: Path) -> None:
    for command in ("new", "refine", "verify", "log", "show", "report", "export", "sync", "doctor"):
        assert "Usage" in _run(installed / "cutegen-git", command, "--help", cwd=tmp_path)


@pytest.mark.slow
def test_installed_tool_replays_and_reviews_the_example_without_torch(
    installed: Path, tmp_path: Path
) -> None:
    tool = installed / "cutegen-git"
    _run(tool, "new", "g", "--example", "gemm", cwd=tmp_path)
    assert "0007  passed  0.96x" in _run(tool, "refine", "g", cwd=tmp_path)
    assert "0007" in _run(tool, "log", "-C", "g", cwd=tmp_path)
    _run(tool, "report", "-C", "g", "-o", "report.html", cwd=tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_installed_tool_has_its_manual(installed: Path) -> None:
    assert (installed.parent / "share" / "man" / "man1" / "git-cutegen.1").is_file()
