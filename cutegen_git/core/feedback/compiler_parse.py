"""The messages in the output of nvcc and the tools that it runs: who said what, where, and reached from where.

One line form per tool: EDG ("file(12): error: ..."), gcc ("file:12:3: fatal error: ..."), ptxas, nvlink, nvcc, ld.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

_EDG = re.compile(
    r"^(?P<file>[^\s():][^():]*(?::[^():]+)?)\((?P<line>\d+)\): "
    r"(?P<kind>(?:catastrophic |internal |fatal )?[Ee]rror|[Ww]arning|remark|note)(?: #(?P<number>\d+)(?:-D)?)?: (?P<text>.*)$"
)
_GCC = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?P<kind>(?:fatal )?error|warning|note): (?P<text>.*)$"
)
_PTX_LINE = re.compile(r"^ptxas (?P<file>.+), line (?P<line>\d+); (?P<kind>\w+)\s*: (?P<text>.*)$")
_TOOL = re.compile(r"^(?P<tool>ptxas|nvlink|nvcc|fatbinary|cicc|cudafe\+\+) (?P<kind>\w+)\s*: (?P<text>.*)$")
_DRIVER = re.compile(
    r"^(?P<tool>cc1plus|cc1|gcc|g\+\+|c\+\+|clang\+*|collect2|x86_64-[\w-]+|as|ld|nvcc|cicc)(?:-\d+)?: (?P<kind>(?:fatal |internal compiler )?error|warning): (?P<text>.*)$"
)
_LINKER = re.compile(
    r"(?P<text>(?:undefined reference to|multiple definition of) [`'].*?'|cannot find -l\S+|undefined symbol: \S+"
    r"|relocation \S+ against .*|file not recognized.*|No space left on device)"
)
_CATASTROPHE = re.compile(
    r"^(?:Catastrophic error|Command-line error|Internal error|Fatal error)[: ]\s*(?P<text>.*)$"
)
_FRAME = re.compile(r'instantiation of (?P<what>.*?) at line (?P<line>\d+)(?: of "?(?P<file>[^"\n]+?)"?)?$')
_INCLUDED = re.compile(r"^(?:In file included from|\s+from) (?P<file>[^:]+):(?P<line>\d+)[:,]?")
_NOISE = re.compile(
    r"^(Remark: |\d+ (catastrophic )?errors? detected in|\d+ warnings? detected|Error limit reached|"
    r"[Cc]ompilation (terminated|aborted)|Compilation terminated)"
)
_ABORTED = ("Ptx assembly aborted due to errors", "ld returned 1 exit status", "ld returned")


@dataclass(frozen=True, slots=True)
class Frame:
    """One step from an error up to the code that asked for it."""

    what: str  # 'class "Cfg<...> [with ...]"' or "" for an #include
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Message:
    """One diagnostic with the lines that belong to it."""

    kind: str  # error, warning, note
    tool: str  # edg, gcc, ptxas, nvlink, nvcc, ld, ...
    text: str
    file: str = ""
    line: int = 0
    number: str = ""  # EDG's number of the diagnostic
    details: tuple[str, ...] = ()  # operand types, the source line, the caret
    frames: tuple[Frame, ...] = ()  # innermost first

    @property
    def is_ptx(self) -> bool:
        """Is `line` one of a temporary PTX file?"""
        return self.tool == "ptxas" and self.line > 0


@dataclass(slots=True)
class _Reader:
    messages: list[Message] = field(default_factory=list)
    includes: list[Frame] = field(default_factory=list)
    open: bool = False  # the last message may still get lines
    in_note: bool = False

    def feed(self, line: str) -> None:
        if self.start(line):
            return
        included = _INCLUDED.match(line)
        if included:
            self.includes.append(Frame("", included["file"], int(included["line"])))
        elif not line.strip() or _NOISE.match(line):
            self.open = False
        elif self.open:
            self.attach(line)

    def start(self, line: str) -> bool:
        message = _message(line)
        if message is None:
            return False
        if message.kind == "note":
            self.in_note = True
            return True
        self.in_note = False
        if message.kind == "info" or message.text.startswith(_ABORTED):
            self.open = False
            return True
        self.messages.append(replace(message, frames=tuple(self.includes)))
        self.includes.clear()
        self.open = True
        return True

    def attach(self, line: str) -> None:
        last = self.messages[-1] if self.messages else None
        if last is None:
            return
        frame = _FRAME.search(line)
        if frame:
            step = Frame(frame["what"].strip(), frame["file"] or last.file, int(frame["line"]))
            self.messages[-1] = replace(last, frames=(*last.frames, step))
        elif not self.in_note and "detected during" not in line and "instantiation of" not in line:
            self.messages[-1] = replace(last, details=(*last.details, line))


def _message(line: str) -> Message | None:
    for pattern, tool in ((_EDG, "edg"), (_GCC, "gcc"), (_PTX_LINE, "ptxas")):
        match = pattern.match(line)
        if match:
            number = match["number"] or "" if tool == "edg" else ""
            kind = _kind(match["kind"])
            return Message(
                kind, tool, match["text"].strip(), match["file"].strip(), int(match["line"]), number
            )
    for pattern in (_TOOL, _DRIVER):
        match = pattern.match(line)
        if match:
            return Message(_kind(match["kind"]), match["tool"], match["text"].strip())
    match = _CATASTROPHE.match(line)
    if match:
        return Message("error", "edg-fatal", match["text"].strip())
    match = _LINKER.search(line)
    if match and ("ld" in line or ".o" in line or ".text" in line or "collect2" in line):
        return Message("error", "ld", match["text"].strip())
    return None


def _kind(word: str) -> str:
    word = word.lower()
    if word in ("warning", "note", "info", "remark"):
        return "note" if word == "remark" else word
    return "error"


def messages(output: str) -> list[Message]:
    """All errors and warnings in order; consequences of a tool that died are left out."""
    reader = _Reader()
    for line in output.replace("\r\n", "\n").split("\n"):
        reader.feed(line)
    died = any(message.tool == "nvcc" and "died" in message.text for message in reader.messages)
    return [one for one in reader.messages if not (died and one.tool == "edg-fatal")]
