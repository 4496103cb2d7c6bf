"""What the parts of the guard hand to each other."""

from __future__ import annotations

from cutegen_git.words.verdict import Outcome

from .guard_lexer import Directive, Token

Found = tuple[Outcome, str, int]  # outcome, sentence, line


def rejected(why: str, line: int) -> Found:
    return Outcome.REJECTED_BEFORE_BUILD, why, line


def body(directive: Directive) -> tuple[Token, ...]:
    """The words of a directive that reach the compiler: a macro's body, a condition."""
    if directive.name == "define":
        return directive.tokens[1:]
    return directive.tokens if directive.name in ("if", "elif", "ifdef", "ifndef") else ()
