"""ssh signatures: who wrote a verdict line or a tag, said by a key that `[runners]` lists (design git.md, Trust).

ssh-keygen signs and checks; nothing here does cryptography. A verdict's signature stands beside it, one line
`<verdict id> <base64>` in refs/notes/cutegen/sig/<runner>: the line itself keeps its 600 bytes and its readers. A tag
carries git's own signature block, so that plain `git verify-tag` and hosting sites check it too.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from cutegen_git.hands import process
from cutegen_git.words.errors import TaskError, ToolError

VERDICT, CLAIM, TAG = (
    "cutegen-verdict",
    "cutegen-claim",
    "git",
)  # namespaces: a signature of one is none of another
TIMEOUT_S = 20.0
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_KEY = re.compile(
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)"
    r"[ \t]+([A-Za-z0-9+/]{20,}={0,3})(?:[ \t].*)?"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,8000}={0,2}")


def is_available() -> bool:
    """False where signatures can be neither made nor checked."""
    return shutil.which("ssh-keygen") is not None


def sign(text: bytes, key_file: Path, namespace: str) -> str:
    """The signature in base64, one line. ToolError for a key that cannot be used: missing, open to others, locked."""
    with tempfile.TemporaryDirectory(prefix="cutegen-sign-") as folder:
        done = _keygen(Path(folder), text, "-Y", "sign", "-f", str(key_file.absolute()), "-n", namespace)
        return unwrap(done.check().text())


def check(text: bytes, signature: str, public_key: str, namespace: str) -> bool:
    """True where the key signed exactly this text for this purpose. ToolError where ssh-keygen is missing.

    `public_key` as in a .pub file; TaskError for anything else. `signature` as `sign` gives it.
    """
    if not _BASE64.fullmatch(signature):
        return False
    return _check(text, signature, plain_key(public_key), namespace)


def plain_key(public_key: str) -> str:
    """Type and body of a public key, without its comment. TaskError for what is none."""
    found = _KEY.fullmatch(public_key.strip())
    if found is None:
        raise TaskError(
            f"[runners] key {public_key[:40]!r} is no ssh public key; write the line of a .pub file"
        )
    return f"{found[1]} {found[2]}"


@lru_cache(maxsize=8192)  # history is read again after every write
def _check(text: bytes, signature: str, key: str, namespace: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="cutegen-sign-") as folder:
        signers, armoured = Path(folder) / "signers", Path(folder) / "signature"
        signers.write_text(f'runner namespaces="{namespace}" {key}\n')
        armoured.write_text(wrap(signature))
        words = ("-Y", "verify", "-f", str(signers), "-I", "runner", "-n", namespace, "-s", str(armoured))
        done = _keygen(Path(folder), text, *words)
        if done.code is None:
            raise ToolError(["ssh-keygen", *words], None, done.text(), done.errors())
        return done.ok


def _keygen(folder: Path, text: bytes, *words: str) -> process.Done:
    """ssh-keygen in an environment of its own: no agent, no settings, nothing that could ask a question."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LC_ALL": "C",
        "SSH_ASKPASS": "/bin/false",
        "SSH_ASKPASS_REQUIRE": "force",
    }
    return process.run(["ssh-keygen", *words], timeout_s=TIMEOUT_S, cwd=folder, env=env, stdin=text)


def wrap(signature: str) -> str:
    """The block that ssh-keygen and git write, from one line of base64; ends in a newline."""
    lines = [signature[at : at + 70] for at in range(0, len(signature), 70)]
    return "\n".join((_BEGIN, *lines, _END, ""))


def unwrap(block: str) -> str:
    """One line of base64 from a block; "" if there is none."""
    inside = block.partition(_BEGIN)[2].partition(_END)[0]
    return "".join(inside.split())


def split(message: str) -> tuple[str, str]:
    """A tag's message without its signature block, and the signature ("" if it has none).

    git signs all before the block's first line; what follows the block is no signature's.
    """
    text, begin, rest = message.partition(f"\n{_BEGIN}\n")
    if not begin or not rest.rstrip().endswith(_END):
        return message, ""
    return f"{text}\n", unwrap(f"{_BEGIN}{rest}")


def tag_payload(name: str, commit: str, message: str, tagger: str, at: int) -> bytes:
    """What git signs of an annotated tag: its object up to the signature. `tagger`: "name <mail>"; `name` short."""
    head = f"object {commit}\ntype commit\ntag {name}\ntagger {tagger} {at} +0000\n\n"
    return (head + (message if message.endswith("\n") else f"{message}\n")).encode()


def sign_tag(name: str, commit: str, message: str, tagger: str, at: int, key_file: Path) -> str:
    """The message with git's signature block: hand it to `Repo.tag` with the same name, tagger and date."""
    payload = tag_payload(name, commit, message, tagger, at)
    whole = message if message.endswith("\n") else f"{message}\n"
    return whole + wrap(sign(payload, key_file, TAG))
