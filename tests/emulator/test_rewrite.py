"""The rewriter reads odd C++ rightly, and says so when it does not."""

from __future__ import annotations

import pytest

from cutegen_git.devices.emulator.rewrite import Unsupported, rewrite

FILES = ("kernel.cu",)
MARK = '# 1 "kernel.cu"\n'


def text_of(code: str) -> str:
    result = rewrite(MARK + code, FILES)
    assert isinstance(result, str), result
    return result


def refusal(code: str) -> Unsupported:
    result = rewrite(MARK + code, FILES)
    assert isinstance(result, Unsupported), result
    return result


@pytest.mark.parametrize(
    ("code", "callee"),
    [
        ("void f() { k<<<1, 2>>>(a, b); }", "k"),
        ("void f() { k <<<dim3(1, 2), 3, 4, s>>> (); }", "k"),
        ("void f() { k<float, 4><<<g, b>>>(a); }", "k<float, 4>"),
        (
            "void f() { ns::k<decltype(x), (2 > 1 ? 3 : 4)><<<g, b>>>(a); }",
            "ns::k<decltype(x), (2 > 1 ? 3 : 4)>",
        ),
        ("void f() { (k<(2 > 1 ? 3 : 4)>)<<<g, b>>>(a); }", "(k<(2 > 1 ? 3 : 4)>)"),
        ("void f() { table[i]<<<g, b>>>(a); }", "table[i]"),
        ("void f() { if (x) k<<<g, b>>>(a); else k<<<b, g>>>(a); }", "k"),
        ("void f() { k<<<{1, 2, 3},\n 128>>>(a,\n b); }", "k"),
        ("void f() { T::template k<int><<<g, b>>>(a); }", "T::template k<int>"),
        ("void f() { p->run<<<g, b>>>(a); }", "p->run"),
        ("void f() { k<std::array<int, 3>><<<g, b>>>(a); }", "k<std::array<int, 3>>"),
    ],
)
def test_launch_is_rewritten_with_its_whole_callee(code: str, callee: str) -> None:
    result = text_of(code)
    assert "<<<" not in result
    assert f"{{ {callee}(emu_a...); }}" in result
    assert result.count("\n") == (MARK + code).count("\n")


def test_launch_in_a_string_is_left_alone() -> None:
    code = 'const char* s = "k<<<1, 2>>>(a)"; const char* r = R"x(k<<<1,2>>>(")x"; char q = \'"\';'
    assert text_of(code) == MARK + code


def test_arguments_with_brackets_and_lambdas_stay_whole() -> None:
    result = text_of("void f() { k<<<g, b>>>(make(1, 2), [](int x) { return x; }(3), p ? q : r); }")
    assert ", make(1, 2), [](int x) { return x; }(3), p ? q : r)" in result


@pytest.mark.parametrize(
    ("code", "typedef"),
    [
        ("__emu_shared__ float x[4][8];", "typedef float emu_T_x[4][8];"),
        ("static __emu_shared__ T a[2], b;", "typedef T emu_T_a[2], emu_T_b;"),
        ("alignas(128) __emu_shared__ half_t s[cosize_v<L<1, 2>>];", "__attribute__((aligned(128)))"),
        ("__emu_shared__ volatile int flag;", "typedef volatile int emu_T_flag;"),
        ("__emu_shared__ typename C::Storage storage;", "typedef typename C::Storage emu_T_storage;"),
        ("__emu_shared__ std::pair<int, float> p[3];", "typedef std::pair<int, float> emu_T_p[3];"),
    ],
)
def test_shared_variable_keeps_type_and_name(code: str, typedef: str) -> None:
    result = text_of(f"void f() {{ {code} }}")
    assert " ".join(typedef.split()) in " ".join(result.split())
    assert "::emu::shared_var<" in result


def test_extern_shared_array_names_the_dynamic_part() -> None:
    result = text_of("void f() { extern __emu_shared__ __attribute__((aligned(16))) char raw[]; }")
    assert "emu_T_raw& raw = *(emu_T_raw*)::emu::dynamic_shared(alignof(emu_T_raw));" in result


def test_shared_array_at_namespace_scope_is_static() -> None:
    assert "static emu_T_raw& raw" in text_of("namespace a { extern __emu_shared__ char raw[]; }")


def test_second_inline_of_a_declaration_is_dropped() -> None:
    always = "__attribute__((always_inline))"
    assert (
        text_of(f"inline {always} inline float f(float);").count("inline") == 2
    )  # one of them inside the attribute
    assert text_of(f"static __inline__ inline {always} int g();").count("inline") == 2
    assert text_of("inline int f(); inline int g();").count("inline") == 2


def test_inline_ptx_keeps_its_operands_in_order() -> None:
    result = text_of(
        'void f() { asm volatile("add.u32 %0, %1, %2;\\n" "// more" : "=r"(d) : "r"(a), "n"(N + 1) : "memory"); }'
    )
    assert "asm" not in result.replace("emu_asm", "")
    assert "::emu::outs(::emu::out(d)), (a), (N + 1))" in result
    assert '"=r,r,n,"' in result


def test_read_and_write_operand_is_read_first() -> None:
    assert "::emu::inout(d)" in text_of('void f() { asm("x" : "+r"(d)); }')


def test_empty_asm_is_a_compiler_barrier_and_stays() -> None:
    code = 'void f() { asm volatile("" ::: "memory"); }'
    assert text_of(code) == MARK + code


def test_asm_of_a_system_header_stays() -> None:
    code = '# 1 "/usr/include/x.h" 1 3\nvoid g() { asm("nop"); }\n# 2 "kernel.cu" 2\n'
    assert 'asm("nop")' in text_of(code)


def test_line_markers_inside_a_rewritten_statement_keep_lines_true() -> None:
    code = 'void f() { __emu_shared__\n# 1 "kernel.cu" 3 4\n float\n# 1 "kernel.cu"\n x; int here; }\n'
    after = text_of(code).split("int here")[0]
    assert after.rstrip(" ").endswith('# 1 "kernel.cu"\n')


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("void f() { nvcuda::wmma::fragment<int> x; }", "wmma"),
        ("\n\nusing A = SM90_TMA_LOAD;", "sm_90"),
        ("void f() { cuda::barrier<x> b; }", "cuda::barrier"),
        ("void f() { cooperative_groups::this_grid().sync(); }", "grid-wide"),
        ("void f() { cub::BlockReduce<float, 128> r; }", "cub"),
        ("cudaTextureObject_t t;", "textures"),
        ("__emu_cluster_dims__ void k();", "clusters"),
        ('void f() { asm("add %[d], 1;" : [d] "=r"(x)); }', "named operands"),
        ("void f() { k<<<1, 2>>>; }", "without arguments"),
        ("void f() { __emu_shared__ int x = 3; }", "initialiser"),
    ],
)
def test_what_can_not_be_emulated_is_named_with_its_line(code: str, word: str) -> None:
    found = refusal(code)
    assert word in found.construct
    assert found.file == "kernel.cu"
    assert found.line == 1 + code[: len(code) - len(code.lstrip())].count("\n")


def test_forbidden_word_in_a_library_header_is_no_matter() -> None:
    code = '# 1 "/x/cute/sm90.hpp"\nusing A = SM90_TMA_LOAD;\n# 2 "kernel.cu"\nint x;\n'
    assert isinstance(rewrite(code, FILES), str)
