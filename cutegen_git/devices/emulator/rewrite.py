"""Turns preprocessed CUDA text into C++ that g++ compiles against the emulator's runtime.

Three things are rewritten, all else stays as it is, line by line: kernel launches, inline PTX and shared variables.
What is not understood is a value (`Unsupported`), never a guess; `leftovers` looks again at the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from .lexer import MARKER, Text, balanced_back, balanced_end, split_commas, statement_end

ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b")
SHARED = re.compile(r"\b__emu_shared__\b")
GLOBAL_TEMPLATE = re.compile(r"\btemplate\s*<")
INLINE = r"\b(?:inline|__inline__|__inline)\b"
# Two `inline` in one declaration, which nvcc accepts and g++ does not.
TWO_INLINES = re.compile(
    rf"{INLINE}(?=((?:\s|\b(?:static|constexpr|extern|const)\b|__attribute__\s*\(\(\w+\)\))*)({INLINE}))"
)
STRING = re.compile(r'(?:R"([^(\s]*)\((?:.|\n)*?\)\1"|"(?:[^"\\\n]|\\.)*")')
CALLEE_WORD = re.compile(r"[A-Za-z_]\w*$")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A construct that the emulator can not run."""

    construct: str  # in words for a person and a model
    file: str  # the user's file, or a header's path
    line: int  # 0 where none is known


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in the text."""

    start: int
    end: int
    new: str


def rewrite(preprocessed: str, user_files: Sequence[str]) -> str | Unsupported:
    """The text that g++ can compile, or the construct that stands in the way. `user_files` name the user's files."""
    text = Text(preprocessed)
    found = forbidden(text, user_files)
    if found:
        return found
    edits: list[Edit] = []
    for edit in (*second_inlines(text), *launches(text), *shared_variables(text), *inline_assembly(text)):
        if isinstance(edit, Unsupported):
            return edit
        edits.append(edit)
    result = apply(text, edits)
    return leftovers(result) or result


def apply(text: Text, edits: Sequence[Edit]) -> str:
    """The source with all edits made; of two that overlap, the one that starts first."""
    source, pieces, at = text.source, [], 0
    for edit in sorted(edits, key=lambda e: e.start):
        if edit.start < at:
            continue
        pieces += [source[at : edit.start], edit.new, line_ends(text, edit)]
        at = edit.end
    return "".join([*pieces, source[at:]])


def line_ends(text: Text, edit: Edit) -> str:
    """What keeps the line numbers true behind an edit."""
    old = text.source[edit.start : edit.end]
    if not MARKER.search(old):
        return "\n" * old.count("\n")
    file, line, system = text.place(edit.end)
    return f'\n# {line} "{file}"{" 3" if system else ""}\n'


def second_inlines(text: Text) -> list[Edit | Unsupported]:
    """One edit for each `inline` that another one of the same declaration makes superfluous."""
    return [Edit(*match.span(2), " ") for match in TWO_INLINES.finditer(text.source)]


# ---- launches -------------------------------------------------------------------------------------------------------


def launches(text: Text) -> list[Edit | Unsupported]:
    """One edit for each `callee<<<grid, block, ...>>>(arguments)`."""
    out: list[Edit | Unsupported] = []
    templates = template_kernels(text)
    for match in re.finditer("<<<", text.source):
        if text.in_string(match.start()):
            continue
        out.append(launch(text, match.start(), templates))
    return out


def template_kernels(text: Text) -> frozenset[str]:
    """Names of function templates: a bare one has no single address."""
    names = set()
    for match in GLOBAL_TEMPLATE.finditer(text.source):
        file, _, system = text.place(match.start())
        if system:
            continue
        end = balanced_end(text.source, match.end() - 1, "<", ">")
        head = text.source[end : end + 1500]
        for name in re.findall(r"([A-Za-z_]\w*)\s*\(", head.split("{")[0].split(";")[0]):
            names.add(name)
    return frozenset(names)


def launch(text: Text, at: int, templates: frozenset[str]) -> Edit | Unsupported:
    source = text.source
    file, line, _ = text.place(at)
    start = callee_start(source, at)
    close = source.find(">>>", at)
    if start is None or close < 0:
        return Unsupported("a kernel launch that is not understood", file, line)
    paren = skip_space(source, close + 3)
    if paren >= len(source) or source[paren] != "(":
        return Unsupported("a kernel launch without arguments", file, line)
    end = balanced_end(source, paren, "(", ")")
    callee = source[start:at].strip()
    config = flat(source[at + 3 : close])
    arguments = source[paren + 1 : end - 1].strip()
    name = re.sub(r"\s+", " ", callee).replace("\\", "").replace('"', "'")
    plain = re.fullmatch(r"(?:\w+::)*\w+", callee) and callee.split("::")[-1] not in templates
    pointer = f"(const void*)({callee})" if plain else "nullptr"
    call = f"[&](auto&&... emu_a) {{ {flat(callee)}(emu_a...); }}"
    tail = f", {flat(arguments)}" if arguments else ""
    new = f'::emu::launch(::emu::cfg({config}), "{name[:70]}", {pointer}, {call}{tail})'
    return Edit(start, end, new)


def callee_start(source: str, at: int) -> int | None:
    """Where the expression before `<<<` begins."""
    i = at
    while True:
        i = back_space(source, i)
        if i > 0 and source[i - 1] == ">":
            i = balanced_back(source, i - 1, "<", ">")
        elif i > 0 and source[i - 1] in ")]":
            opener = "(" if source[i - 1] == ")" else "["
            i = balanced_back(source, i - 1, opener, source[i - 1])
            j = back_space(source, i)
            if not CALLEE_WORD.search(source[max(0, j - 80) : j]) or source[j - 1] in "=(,;{}":
                return i
        if i < 0:
            return None
        word = CALLEE_WORD.search(source[max(0, i - 200) : i])
        if not word:
            return i if i != at else None
        if word.group() in {"return", "else", "do"}:
            return i
        i -= len(word.group())
        before = back_space(source, i)
        if before >= 8 and source[before - 8 : before] == "template":
            before = back_space(source, before - 8)
        if before >= 2 and source[before - 2 : before] == "::":
            i = before - 2
        elif before >= 1 and source[before - 1] == ".":
            i = before - 1
        elif before >= 2 and source[before - 2 : before] == "->":
            i = before - 2
        else:
            return i
        if not re.search(r"[\w>)\]]\s*$", source[max(0, i - 20) : i]):
            return i


def skip_space(source: str, i: int) -> int:
    while i < len(source) and source[i].isspace():
        i += 1
    return i


def back_space(source: str, i: int) -> int:
    while i > 0 and source[i - 1].isspace():
        i -= 1
    return i


def flat(code: str) -> str:
    """The code on one line; line markers of the preprocessor inside it are dropped."""
    lines = [line for line in code.split("\n") if not re.match(r"#\s*\d+\s", line)]
    return " ".join(lines)


# ---- shared variables -----------------------------------------------------------------------------------------------


def shared_variables(text: Text) -> list[Edit | Unsupported]:
    """One edit for each declaration with `__shared__`."""
    out: list[Edit | Unsupported] = []
    done = -1
    for match in SHARED.finditer(text.source):
        if match.start() < done or text.in_string(match.start()):
            continue
        start = declaration_start(text.source, match.start())
        end = statement_end(text.source, match.end())
        edit = shared_declaration(text, start, end)
        out.append(edit)
        done = end
    return out


def declaration_start(source: str, at: int) -> int:
    """Back over the specifiers in front of the marker (`extern`, `static`, `alignas(16)`, ...)."""
    i = at
    while True:
        j = back_space(source, i)
        if j > 0 and source[j - 1] == ")":
            k = back_space(source, balanced_back(source, j - 1, "(", ")"))
            word = CALLEE_WORD.search(source[max(0, k - 40) : k])
            if not word or word.group() not in {"alignas", "__attribute__"}:
                return i
            i = k - len(word.group())
            continue
        word = CALLEE_WORD.search(source[max(0, j - 40) : j])
        if not word or word.group() not in {
            "extern",
            "static",
            "volatile",
            "const",
            "inline",
            "unsigned",
            "constexpr",
        }:
            return i
        i = j - len(word.group())


def shared_declaration(text: Text, start: int, end: int) -> Edit | Unsupported:
    file, line, _ = text.place(start)
    words = flat(text.source[start : end - 1])
    words = SHARED.sub(" ", words)
    is_extern = re.search(r"\bextern\b", words) is not None
    words = re.sub(r"\b(?:extern|static|inline|constexpr)\b", " ", words)
    words = alignas_to_attribute(words)
    if "=" in strip_brackets(words):
        return Unsupported("a shared variable with an initialiser", file, line)
    names = [declared_name(part) for part in split_commas(words)]
    if any(name is None for name in names):
        return Unsupported("a shared variable whose declaration is not understood", file, line)
    typed = words
    for name in names:
        typed = re.sub(rf"\b{name}\b(?!\s*::)(?=\s*(?:[\[,)]|$))", f"emu_T_{name}", typed, count=1)
    keyword = "static " if text.depth_is_zero(start) else ""
    pieces = [f"typedef {typed.strip()};"]
    for name in names:
        if is_extern:
            pieces.append(
                f" {keyword}emu_T_{name}& {name} = *(emu_T_{name}*)::emu::dynamic_shared(alignof(emu_T_{name}));"
            )
        else:
            slot = "[]() { static ::emu::Slot slot; return &slot; }"
            pieces.append(
                f' {keyword}emu_T_{name}& {name} = ::emu::shared_var<emu_T_{name}>({slot}, "{name}");'
            )
    return Edit(start, end, "".join(pieces))


def alignas_to_attribute(words: str) -> str:
    """`alignas(n)` is not allowed in a typedef; the attribute is."""
    while match := re.search(r"\balignas\s*\(", words):
        end = balanced_end(words, match.end() - 1, "(", ")")
        inner = words[match.end() : end - 1]
        words = f"{words[: match.start()]}__attribute__((aligned({inner}))){words[end:]}"
    return words


def strip_brackets(words: str) -> str:
    """The words without whatever stands in brackets."""
    depth, out = 0, []
    for c in words:
        depth += (c in "[({<") - (c in "])}>")
        if depth == 0:
            out.append(c)
    return "".join(out)


def declared_name(declarator: str) -> str | None:
    """`x` of `float x[4][8]`, of `float (*x)[4]` or of `x[2]`."""
    pointer = re.search(r"\(\s*[*&]\s*(\w+)\s*\)", declarator)
    if pointer:
        return pointer.group(1)
    core = re.sub(r"\s*(?:\[[^\]]*\]\s*)+$", "", drop_attributes(declarator).strip())
    while core.endswith("]"):
        core = core[: balanced_back(core, len(core) - 1, "[", "]")].strip()
    match = re.search(r"([A-Za-z_]\w*)$", core)
    return match.group(1) if match else None


def drop_attributes(words: str) -> str:
    while match := re.search(r"__attribute__\s*\(", words):
        end = balanced_end(words, match.end() - 1, "(", ")")
        words = words[: match.start()] + " " + words[end:]
    return words


# ---- inline PTX -----------------------------------------------------------------------------------------------------


def inline_assembly(text: Text) -> list[Edit | Unsupported]:
    """One edit for each asm statement with text outside system headers."""
    out: list[Edit | Unsupported] = []
    for match in ASM.finditer(text.source):
        if text.in_string(match.start()) or text.place(match.start())[2]:
            continue
        i = skip_space(text.source, match.end())
        while word := re.match(r"(?:volatile|__volatile__|inline|goto)\b", text.source[i : i + 16]):
            i = skip_space(text.source, i + word.end())
        if i >= len(text.source) or text.source[i] != "(":
            continue
        end = balanced_end(text.source, i, "(", ")")
        edit = assembly(text, match.start(), i, end)
        if edit:
            out.append(edit)
    return out


def assembly(text: Text, start: int, paren: int, end: int) -> Edit | Unsupported | None:
    file, line, _ = text.place(start)
    sections = asm_sections(flat(text.source[paren + 1 : end - 1]))
    if not "".join(STRING.findall(sections[0]) or [""]) and not asm_text(sections[0]).strip():
        return None
    outs = operands(sections[1] if len(sections) > 1 else "")
    ins = operands(sections[2] if len(sections) > 2 else "")
    if outs is None or ins is None:
        return Unsupported("inline PTX with named operands", file, line)
    constraints = "".join(f"{c}," for c, _ in (*outs, *ins))
    name = PurePosixPath(file).name
    program = (
        f"[]() {{ static ::emu::Program* p = ::emu::ptx_program({sections[0].strip()}, "
        f'"{constraints}", "{name}", {line}); return p; }}()'
    )
    refs = ", ".join(f"::emu::{'inout' if '+' in c else 'out'}({e})" for c, e in outs)
    values = "".join(f", ({e})" for _, e in ins)
    return Edit(start, end, f"::emu::ptx({program}, ::emu::outs({refs}){values})")


def asm_text(literals: str) -> str:
    return "".join(m.group()[1:-1] for m in STRING.finditer(literals))


def asm_sections(inner: str) -> list[str]:
    """The text, outputs, inputs and clobbers of an asm statement, cut at `:` (`::` is two cuts)."""
    sections, depth, i, now = [], 0, 0, ""
    while i < len(inner):
        string = STRING.match(inner, i)
        if string and (inner[i] == '"' or inner[i] == "R"):
            now += string.group()
            i = string.end()
            continue
        c = inner[i]
        depth += (c in "([{") - (c in ")]}")
        if c == ":" and depth == 0:
            sections.append(now)
            now = ""
        else:
            now += c
        i += 1
    return [*sections, now]


def operands(section: str) -> list[tuple[str, str]] | None:
    """(constraint, expression) pairs; None where one has a symbolic name."""
    out = []
    for part in split_commas(section):
        if not part.strip():
            continue
        match = re.match(r'\s*"([^"]*)"\s*\(((?:.|\n)*)\)\s*$', part)
        if not match:
            return None
        out.append((match.group(1), match.group(2).strip()))
    return out


# ---- what can not be emulated -----------------------------------------------------------------------------------------

FORBIDDEN = (
    (r"\bnvcuda\s*::\s*wmma\b|\bwmma\s*::", "nvcuda::wmma (use CuTe's MMA atoms)"),
    (
        r"\bcuda\s*::\s*(?:barrier|pipeline|memcpy_async|thread_scope_\w+|atomic_ref|atomic)\b",
        "cuda::barrier, cuda::pipeline, cuda::atomic",
    ),
    (r"\bcub\s*::", "cub"),
    (r"\bthrust\s*::", "thrust"),
    (r"\bSM(?:90|100|103|120)a?_\w+", "an atom of sm_90 or later"),
    (r"\b(?:tex[123]D\w*|surf[123]D\w*|cudaTextureObject_t|cudaSurfaceObject_t)\b", "textures and surfaces"),
    (r"\b__emu_cluster_dims__\b|\bthis_cluster\b|\bcluster_group\b", "thread-block clusters"),
    (r"\bNamedBarrier\b|\bClusterTransactionBarrier\b", "cutlass::arch barriers (sm_90)"),
    (r"\bgrid_group\b|\bthis_grid\b", "grid-wide synchronisation (cooperative launch)"),
    (r"\bcudaLaunchCooperativeKernel\b", "a cooperative launch"),
    (r"\bcudaGraph\w+\b", "CUDA graphs inside launch"),
)


def forbidden(text: Text, user_files: Sequence[str]) -> Unsupported | None:
    """The first construct of the user's own text that the emulator can not run."""
    for start, end in text.user_spans(user_files):
        code = text.source[start:end]
        for pattern, construct in FORBIDDEN:
            for match in re.finditer(pattern, code):
                if text.in_string(start + match.start()):
                    continue
                file, line, _ = text.place(start + match.start())
                return Unsupported(construct, file, line)
    return None


def leftovers(source: str) -> Unsupported | None:
    """What a complete rewriting can not leave behind."""
    text = Text(source)
    for match in re.finditer(r"<<<|\b__emu_shared__\b", source):
        if not text.in_string(match.start()):
            file, line, _ = text.place(match.start())
            return Unsupported(f"'{match.group()}' that could not be rewritten", file, line)
    for edit in inline_assembly(text):
        if isinstance(edit, Unsupported):
            return edit
        file, line, _ = text.place(edit.start)
        return Unsupported("inline PTX that could not be rewritten", file, line)
    return None
