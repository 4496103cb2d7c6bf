"""Keys made by the real ssh-keygen."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_key(folder: Path, name: str = "key", *, kind: str = "ed25519", secret: str = "") -> Path:
    words = ["ssh-keygen", "-q", "-t", kind, "-N", secret, "-C", "a runner", "-f", str(folder / name)]
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return folder / name


def public(key: Path) -> str:
    return key.with_suffix(".pub").read_text()
