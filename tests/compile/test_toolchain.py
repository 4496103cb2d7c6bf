from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

from cutegen_git.hands import toolchain as chain
from cutegen_git.hands.cache import Cache
from cutegen_git.hands.toolchain import cutlass, locate
from cutegen_git.words.errors import CutegenError, TaskError


def _nvcc(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "nvcc"
    file.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release, V{version}'\n")
    file.chmod(0o755)
    return file


def _checkout(folder: Path) -> Path:
    for name, text in (
        ("cute/tensor.hpp", ""),
        ("cutlass/version.h", "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 3\n"),
    ):
        file = folder / "include" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_installed_wheels_make_a_tool_chain(toolchain: chain.Toolchain) -> None:
    assert toolchain.version.startswith("13.")
    assert toolchain.cutlass_version == "4.2.0"
    assert (toolchain.include_dirs[0] / "cute" / "tensor.hpp").is_file()
    assert any((folder / "cuda_runtime.h").is_file() for folder in toolchain.include_dirs)
    assert any((folder / "cuda" / "std").is_dir() for folder in toolchain.include_dirs)
    assert toolchain.cudart.name.startswith("libcudart.so.13")


def test_nvcc_that_the_user_names_wins(tmp_path: Path) -> None:
    named, variable = _nvcc(tmp_path / "a", "12.8.61"), _nvcc(tmp_path / "b", "12.9.1")
    home = _nvcc(tmp_path / "c" / "bin", "13.1.2")
    environment = {"CUTEGEN_GIT_NVCC": str(variable), "CUDA_HOME": str(tmp_path / "c")}
    assert locate.find_nvcc(named, environment) == (named, "12.8.61")
    assert locate.find_nvcc(None, environment) == (variable, "12.9.1")
    assert locate.find_nvcc(None, {"CUDA_HOME": str(tmp_path / "c")}) == (home, "13.1.2")


@pytest.mark.parametrize("environment", [{"CUTEGEN_GIT_NVCC": "/nowhere/nvcc"}, {"CUDA_HOME": "/nowhere"}])
def test_named_nvcc_that_is_not_there_is_the_users_error(environment: Mapping[str, str]) -> None:
    with pytest.raises(TaskError, match="nowhere"):
        locate.find_nvcc(None, environment)


def test_named_nvcc_that_is_too_old_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"12\.4 or newer"):
        locate.find_nvcc(_nvcc(tmp_path, "11.8.89"), {})


def test_nvcc_of_another_generation_on_path_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "_wheel_folders", lambda: ())
    _nvcc(tmp_path, "12.8.61")
    with pytest.raises(chain.ToolMissing, match="CUTEGEN_GIT_NVCC"):
        locate.find_nvcc(None, {"PATH": str(tmp_path)})
    _nvcc(tmp_path, "13.0.1")
    assert locate.find_nvcc(None, {"PATH": str(tmp_path)})[1] == "13.0.1"


def test_missing_nvcc_names_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "_wheel_folders", lambda: ())
    with pytest.raises(chain.ToolMissing, match="run: cutegen-git doctor --fix") as caught:
        locate.find_nvcc(None, {"PATH": str(tmp_path)})
    assert "\n" not in str(caught.value)


def test_missing_host_compiler_names_the_package(tmp_path: Path) -> None:
    with pytest.raises(chain.ToolMissing, match=r"apt-get install g\+\+"):
        chain.find_host_compiler({"PATH": str(tmp_path)})


def test_missing_cutlass_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(chain.ToolMissing, match="doctor --fix"):
        chain.find_cutlass(None, Cache(tmp_path), {})


def test_named_cutlass_checkout_wins_and_its_edits_change_its_identity(tmp_path: Path) -> None:
    checkout = _checkout(tmp_path / "cutlass")
    include, version, before = chain.find_cutlass(
        None, Cache(tmp_path), {"CUTEGEN_GIT_CUTLASS": str(checkout)}
    )
    assert (include, version) == (checkout / "include", "4.3.0")
    (checkout / "include" / "cute" / "tensor.hpp").write_text("// edited")
    assert chain.find_cutlass(checkout, Cache(tmp_path), {})[2] != before


def test_named_folder_without_cute_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="CUTLASS checkout"):
        chain.find_cutlass(tmp_path, Cache(tmp_path), {})


def _wheel(folder: Path, names: Mapping[str, str]) -> Path:
    wheel = folder / "nvidia_cutlass.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)
    return wheel


GOOD = {
    "cutlass_library/source/include/cute/tensor.hpp": "",
    "cutlass_library/source/include/cutlass/version.h": "",
    "cutlass_library/source/tools/big.cu": "",
    "nvidia_cutlass-4.2.0.0.dist-info/licenses/LICENSE.txt": "BSD",
}


def test_only_headers_and_licence_are_unpacked(tmp_path: Path) -> None:
    cutlass.unpack_headers(_wheel(tmp_path, GOOD), tmp_path / "out")
    files = {
        path.relative_to(tmp_path / "out").as_posix()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert files == {"include/cute/tensor.hpp", "include/cutlass/version.h", "LICENSE.txt"}


@pytest.mark.parametrize(
    "name", ["../../../../evil.h", "/../../evil.h", "a/../../../evil.h", "c:/evil.h", "..\\..\\evil.h"]
)
def test_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    wheel = _wheel(tmp_path, {**GOOD, f"cutlass_library/source/include/{name}": "evil"})
    with pytest.raises(CutegenError, match="unsafe name"):
        cutlass.unpack_headers(wheel, tmp_path / "deep" / "er" / "out")
    assert not list(tmp_path.rglob("evil.h"))


def test_wheel_of_another_content_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CutegenError, match="is not the file that cutegen-git knows"):
        cutlass.check_sha256(_wheel(tmp_path, GOOD), cutlass.CUTLASS_SHA256)


def test_python_without_pip_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(chain.ToolMissing, match="ensurepip"):
        chain.require_pip()


def test_named_compiler_and_cutlass_are_part_of_the_identity(toolchain: chain.Toolchain) -> None:
    for part in ("nvcc 13.", "cutlass 4.2.0", "host ", "lib "):
        assert part in toolchain.identity


@pytest.mark.slow
def test_headers_come_from_the_package_index_once(tmp_path: Path) -> None:
    said: list[str] = []
    include = chain.fetch_cutlass(Cache(tmp_path), said.append)
    assert (include / "cute" / "tensor.hpp").is_file()
    assert chain.fetch_cutlass(Cache(tmp_path), said.append) == include
    assert said == ["fetching the headers of nvidia-cutlass==4.2.0.0"]
