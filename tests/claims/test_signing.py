"""Signatures with the real ssh-keygen; tags are checked by plain git as the independent witness."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from claims.keys import make_key, public

from cutegen_git.hands import signing
from cutegen_git.hands.repo import TOOL, Repo
from cutegen_git.words.errors import TaskError, ToolError

pytestmark = pytest.mark.skipif(not signing.is_available(), reason="no ssh-keygen")
LINE = b"passed 1.43x device=h200 id=0123456789ab"
TAGGER = f"{TOOL.name} <{TOOL.email}>"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_signature_holds_for_its_text_key_and_purpose(tmp_path: Path, kind: str) -> None:
    key, other = make_key(tmp_path, kind=kind), make_key(tmp_path, "other")
    signature = signing.sign(LINE, key, signing.VERDICT)
    assert "\n" not in signature
    assert signing.check(LINE, signature, public(key), signing.VERDICT)
    assert not signing.check(LINE + b" ", signature, public(key), signing.VERDICT)
    assert not signing.check(LINE, signature, public(other), signing.VERDICT)
    assert not signing.check(LINE, signature, public(key), signing.CLAIM)


NO_SIGNATURE = ("", "AAAA", "x" * 9000, "not base64!" * 9, "QUJD" * 30, "-f /etc/passwd")


@pytest.mark.parametrize("signature", NO_SIGNATURE, ids=lambda text: text[:9])
def test_what_is_no_signature_holds_for_nothing(key: Path, signature: str) -> None:
    assert not signing.check(LINE, signature, public(key), signing.VERDICT)


NO_KEY = (
    "",
    "ssh-ed25519",
    "cert-authority ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA",
    'namespaces="git" ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIA',
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA\nssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIA",
)


@pytest.mark.parametrize("line", NO_KEY)
def test_what_is_no_public_key_is_said(line: str) -> None:
    with pytest.raises(TaskError, match="no ssh public key"):
        signing.check(LINE, "QUJD" * 30, line, signing.VERDICT)


def test_key_with_a_passphrase_does_not_hang(tmp_path: Path) -> None:
    locked = make_key(tmp_path, secret="a secret")
    with pytest.raises(ToolError, match="ssh-keygen"):
        signing.sign(LINE, locked, signing.VERDICT)


def test_missing_key_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="ssh-keygen"):
        signing.sign(LINE, tmp_path / "nothing", signing.VERDICT)


def test_missing_ssh_keygen_is_said(key: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="cannot be started"):
        signing.check(b"another text", "QUJD" * 30, public(key), signing.VERDICT)


def test_block_and_line_are_the_same_signature(key: Path) -> None:
    signature = signing.sign(LINE, key, signing.TAG)
    assert signing.unwrap(signing.wrap(signature)) == signature
    assert signing.split(f"Claim\n\nFormat: 1\n{signing.wrap(signature)}") == (
        "Claim\n\nFormat: 1\n",
        signature,
    )
    assert signing.split("Claim\n\nFormat: 1\n") == ("Claim\n\nFormat: 1\n", "")


def signed_tag(repo: Repo, key: Path, name: str) -> None:
    commit = repo.resolve("refs/heads/main")
    assert commit is not None
    message = signing.sign_tag(name, commit, "0001 is fast\n\nFormat: 1\n", TAGGER, 1_700_000_001, key)
    repo.tag(name, commit, message, at=1_700_000_001)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_plain_git_verifies_a_signed_tag(
    make_repo: Callable[..., Repo],
    plain_git: Callable[..., str],
    key: Path,
    tmp_path: Path,
    object_format: str,
) -> None:
    repo = make_repo(object_format=object_format)
    signed_tag(repo, key, "h200/0001-1.43x")
    signers = tmp_path / "signers"
    signers.write_text(f"{TOOL.email} {public(key)}")
    ask = (
        "-c",
        f"gpg.ssh.allowedSignersFile={signers}",
        "-c",
        "gpg.format=ssh",
        "verify-tag",
        "h200/0001-1.43x",
    )
    plain_git(repo.root, *ask)
    signers.write_text(f"{TOOL.email} {public(make_key(tmp_path, 'other'))}")
    with pytest.raises(AssertionError):
        plain_git(repo.root, *ask)


def test_tag_read_back_checks_and_an_altered_one_does_not(make_repo: Callable[..., Repo], key: Path) -> None:
    repo = make_repo()
    signed_tag(repo, key, "h200/0001-1.43x")
    [tag] = repo.tags()
    text, signature = signing.split(tag.message)
    payload = signing.tag_payload(tag.name, tag.target, text, TAGGER, tag.at)
    assert signing.check(payload, signature, public(key), signing.TAG)
    for altered in (payload.replace(b"fast", b"slow"), payload.replace(b"0001-1.43x", b"0001-9.43x")):
        assert not signing.check(altered, signature, public(key), signing.TAG)
