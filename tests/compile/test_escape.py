from __future__ import annotations

import pytest

from cutegen_git.hands.build import refusals


def _of(text: str) -> tuple[str, ...]:
    return refusals({"kernel.cu": text.encode()})


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '#include "../secret.h"',
        '#include "sub/../../secret.h"',
        "  #  include  <../x>",
        '%:include "/etc/passwd"',
        '??=include "/etc/passwd"',
        '#inc\\\nlude "/etc/passwd"',
        '#include/* */"/etc/passwd"',
        '/* one\n two */ #include "/etc/passwd"',
        '#include_next "/etc/passwd"',
        '#embed "/etc/passwd"',
        '#import "/etc/passwd"',
        '#define F "/etc/passwd"\n#include F',
        '#if __has_include("/etc/passwd")\n#endif',
        'asm(".incbin \\"/etc/passwd\\"");',
        '#include "C:\\\\x.h"',
    ],
)
def test_include_that_leaves_the_kernel_folder_is_refused(line: str) -> None:
    assert _of(line)


@pytest.mark.parametrize(
    "text",
    [
        "#include <cute/tensor.hpp>",
        '#include "tile.cuh"',
        '// #include "/etc/passwd"',
        '/* #include "../x" */',
        "#if __has_include(<cuda_fp8.h>)\n#endif",
        'const char* text = "see #include <../x> and // this";',
        "float f = 1.0f; // ..",
        "int x = a /* .. */ / b;",
    ],
)
def test_ordinary_source_is_not_refused(text: str) -> None:
    assert _of(text) == ()


def test_refusal_names_file_and_line() -> None:
    (line,) = _of('\n\\\n\n#include "../x.h"\n')
    assert line.startswith('kernel/kernel.cu(4): error: #include "../x.h" leaves kernel/')


def test_kernel_without_a_cu_file_is_refused() -> None:
    assert refusals({"a.cuh": b""}) == ("kernel/: error: there is no .cu file",)


@pytest.mark.parametrize("name", ["../x.cu", "/x.cu", "a b.cu", "-o.cu", "a//b.cu", "x;.cu", ".cu"])
def test_file_name_that_could_mean_something_else_is_refused(name: str) -> None:
    assert any("file name" in line for line in refusals({name: b"", "kernel.cu": b""}))


def test_two_files_of_one_name_are_refused() -> None:
    assert refusals({"a/x.cu": b"", "b/x.cu": b""}) == (
        "kernel/b/x.cu: error: kernel/a/x.cu has the same file name; rename one",
    )
