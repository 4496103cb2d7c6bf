"""The guard on text made to break it: it always ends, soon, with an answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutegen_git.judge.guard import FILE_BYTES, check_image, check_sources

PIECES = ("R\"(", "/*", "*/", "//", "\"", "'", "\\\n", "\n", "#define ", "#if 0", "#endif", "##", "a", "(", ")", "[[", "]]",
          "asm", "__attribute__", "cudaMalloc", "::", "std", "_Pragma", "#include <", ">", "0x1'0", "\0", "\r", "é")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
@settings(deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    check_sources({"kernel.cu": text.encode()})


@given(st.binary(max_size=400))
def test_any_bytes_get_an_answer(data: bytes) -> None:
    check_sources({"kernel.cu": data})
    check_image(data)
    check_image(b"\x7fELF\x02\x01" + data)


LONG = (
    'R"(', 'R"x(', "/*", '"', "'a", "asm(", "asm volatile(", "__attribute__((", "[[", "[[gnu::", "_Pragma(", "#if 0\n", "((", "\\\n",
    "#define A A A\n", "#define J(a,b) a##b\n", "J(a,", "::a", "#include <", "x##", "%:", "1'", "a" * 50, "#define P(x) x##x P(x)\n",
)  # fmt: skip


@pytest.mark.parametrize("piece", LONG, ids=lambda piece: repr(piece)[:14])
def test_long_hostile_text_is_answered_soon(piece: str) -> None:
    text = f"#define J(a, b) a##b\n{piece * 100_000}"[: FILE_BYTES - 1]
    started = time.process_time()
    check_sources({"kernel.cu": text.encode()})
    assert time.process_time() - started < 10


def test_macros_that_grow_are_answered_soon() -> None:
    lines = ['#define M0 "x"'] + [f"#define M{n + 1} {f'M{n} ' * 40}" for n in range(12)]
    started = time.process_time()
    found = check_sources({"kernel.cu": ("\n".join(lines) + "\nvoid f() { asm(M12); }\n").encode()})
    assert time.process_time() - started < 5
    assert found is not None
    assert "too long" in found.why


def test_chain_of_macros_is_followed_to_its_end() -> None:
    lines = ['#define M0 "%%globaltimer;"'] + [f"#define M{n + 1} M{n}" for n in range(200)]
    found = check_sources(
        {"kernel.cu": ("\n".join(lines) + '\nvoid f() { asm("mov.u64 %0, " M200); }\n').encode()}
    )
    assert found is not None
    assert "clocks" in found.why


def test_endless_chain_of_macros_is_not_followed() -> None:
    lines = ['#define M0 "%%globaltimer;"'] + [f"#define M{n + 1} M{n}" for n in range(5000)]
    found = check_sources(
        {"kernel.cu": ("\n".join(lines) + '\nvoid f() { asm("mov.u64 %0, " M5000); }\n').encode()}
    )
    assert found is not None
    assert "too long" in found.why


def test_file_beyond_all_measure_is_refused() -> None:
    found = check_sources({"kernel.cu": b" " * (FILE_BYTES + 1)})
    assert found is not None
    assert "bytes" in found.why
