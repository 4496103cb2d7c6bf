"""Keys out of every text that may be shown or stored: providers quote them in their error messages."""

from __future__ import annotations

import re
from collections.abc import Mapping

GONE = "[key removed]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.I)
_SHAPES = re.compile(
    r"\bsk-[\w*.\-]{3,}"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"|\b(?:gsk|xai|pplx|hf|r8|csk|fw|nvapi)[_-][\w\-]{8,}"
    r"|\bAIza[\w\-]{10,}"  # Google
    r"|\bAKIA[A-Z0-9]{12,}"  # AWS
    r"|(?<=Bearer )\S{6,}"
    r"|(?<=[?&]key=)[^&\s]+"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # user and password in an address
)
MIN_SECRET_CHARS = 6  # shorter values are words such as "none"


def redact(text: str, env: Mapping[str, str]) -> str:
    """The text without anything that looks like a key, and without any value of a key variable."""
    secrets = [v for k, v in env.items() if _SECRET_NAME.search(k) and len(v) >= MIN_SECRET_CHARS]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, GONE)
    return _SHAPES.sub(GONE, text)


def one_line(text: str, *, chars: int = 300) -> str:
    """The first paragraph of an error text, on one line, cut."""
    words = " ".join(text.split("Traceback (most recent call last)")[0].split())
    return words if len(words) <= chars else words[:chars].rstrip() + " …"
