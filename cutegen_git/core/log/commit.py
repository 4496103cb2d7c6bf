"""An attempt <-> its commit message.

Subject: the intent, no measured results. Body: bottleneck seen, change made, effect expected. Then trailers.
"""

from __future__ import annotations

import re

from cutegen_git.words.attempt import FORMAT, Attempt, Label, Spend

from . import trailers

SUBJECT_CHARS = 60


def render_commit(attempt: Attempt) -> str:
    """The message, ending in one newline."""
    spend = attempt.spend
    pairs = [
        ("Format", str(FORMAT)),
        ("Attempt", str(attempt.label)),
        ("Path", attempt.path),
        ("Move", attempt.move),
        ("Policy", attempt.policy),
        ("Parent-Attempt", str(attempt.parent_attempt) if attempt.parent_attempt else ""),
        ("Outcome", attempt.outcome or ""),
        ("Model", attempt.model),
        ("Prompt", attempt.prompt),
        ("Seen", attempt.seen),
        ("Tokens", _tokens(spend)),
        ("Cost-USD", "" if spend.cost_usd is None else f"{spend.cost_usd:.6f}"),
        ("Seconds", f"{spend.seconds:.1f}" if spend.seconds else ""),
        ("Patch-Id", attempt.patch_id),
        ("Task", attempt.task),
        ("Tool", attempt.tool),
    ]
    subject = clip(trailers.one_line(attempt.subject)) or "(no subject)"
    body = trailers.paragraphs(attempt.body)
    return "\n\n".join(part for part in (subject, body, trailers.render(pairs)) if part) + "\n"


def parse_commit(message: str, label: Label | None = None) -> Attempt | None:
    """The attempt in a message. A person's commit has no trailers: it needs the `label` of its ref, else None."""
    text, found = trailers.split(message)
    subject, _, body = text.partition("\n\n")
    own = Label.parse(found.get("Attempt", ""))
    if "Format" not in found or own is None:
        if label is None:
            return None
        return Attempt(label, found.get("Path", ""), "person", clip(trailers.one_line(subject)), body)
    return Attempt(
        label=own,
        path=found.get("Path", ""),
        move=found.get("Move", ""),
        subject=subject,
        body=body,
        parent_attempt=Label.parse(found.get("Parent-Attempt", "")),
        outcome=found.get("Outcome"),
        model=found.get("Model", ""),
        prompt=found.get("Prompt", ""),
        spend=_spend(found),
        patch_id=found.get("Patch-Id", ""),
        task=found.get("Task", ""),
        seen=found.get("Seen", ""),
        policy=found.get("Policy", ""),
        tool=found.get("Tool", ""),
    )


def clip(subject: str, limit: int = SUBJECT_CHARS) -> str:
    """At most `limit` characters, cut between words where possible."""
    if len(subject) <= limit:
        return subject
    cut = subject[: limit + 1].rpartition(" ")[0] or subject[:limit]
    return cut.rstrip(" ,;:-")


def _tokens(spend: Spend) -> str:
    if spend.tokens_in is None and spend.tokens_out is None:
        return ""
    return "+".join("?" if count is None else str(count) for count in (spend.tokens_in, spend.tokens_out))


def _spend(found: dict[str, str]) -> Spend:
    sent, _, got = found.get("Tokens", "").partition("+")
    return Spend(
        tokens_in=int(sent) if sent.isdecimal() else None,
        tokens_out=int(got) if got.isdecimal() else None,
        cost_usd=_number(found.get("Cost-USD", "")),
        seconds=_number(found.get("Seconds", "")) or 0.0,
    )


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,12})?", text) else None
