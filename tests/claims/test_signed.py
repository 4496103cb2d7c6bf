"""A runner that lists a key: what is not signed by it does not count, for verdicts, tags and claim lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from claims.keys import make_key, public
from claims.stall import AT, Stall, samples_of

from cutegen_git.app import claims, claims_sign
from cutegen_git.app.claims_sign import Signed, counted, sign_line, signed
from cutegen_git.app.project import notes_ref
from cutegen_git.core import log
from cutegen_git.hands import signing
from cutegen_git.hands.repo import TOOL, RefUpdate
from cutegen_git.words.errors import CutegenError, TaskError

pytestmark = pytest.mark.skipif(not signing.is_available(), reason="no ssh-keygen")
RUNNER, ID = "rtx4090-lab", "0123456789ab"
VERDICTS = notes_ref("verdict", RUNNER)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path)


@pytest.fixture
def stall(tmp_path: Path, key: Path) -> Stall:
    return Stall.new(tmp_path / "task", public(key))


def signed_claim(stall: Stall, key: Path, tag_key: Path | None = None) -> str:
    """A claim as a runner with a key writes it: signature, verdict, signed tag."""
    project, verdict = stall.project, stall.verdict(1.43)
    sign_line(project.repo, RUNNER, stall.commit.id, log.render_verdict(verdict), signing.VERDICT, key)
    stall.write(verdict, samples_of(1.43))
    name, message = stall.claim_of(verdict)
    tagger = f"{TOOL.name} <{TOOL.email}>"
    signed = signing.sign_tag(name, stall.commit.id, message, tagger, AT, tag_key or key)
    project.repo.tag(name, stall.commit.id, signed, at=AT)
    return name


def count(stall: Stall) -> int:
    notes = stall.project.repo.notes_read(VERDICTS)
    return len(list(counted(stall.project.repo, stall.project.task, RUNNER, notes)))


def test_signed_claim_holds(stall: Stall, key: Path) -> None:
    report = claims.offline(stall.project, signed_claim(stall, key))
    assert report.exit_code == 0, report.text
    assert "ok      the verdict is signed by the runner's key" in report.text
    assert "ok      the tag is signed by the runner's key" in report.text
    assert count(stall) == 1


def test_unsigned_verdict_and_tag_do_not_count(stall: Stall) -> None:
    report = claims.offline(stall.project, stall.claim())
    assert report.exit_code == 1
    assert "the verdict is not signed" in report.text
    assert "the tag is not signed" in report.text
    assert count(stall) == 0


def test_verdict_signed_by_another_key_does_not_count(stall: Stall, tmp_path: Path) -> None:
    report = claims.offline(stall.project, signed_claim(stall, make_key(tmp_path, "other")))
    assert report.exit_code == 1
    assert "the verdict is signed by another key" in report.text
    assert count(stall) == 0


def test_tag_signed_by_another_key_does_not_count(stall: Stall, key: Path, tmp_path: Path) -> None:
    report = claims.offline(stall.project, signed_claim(stall, key, make_key(tmp_path, "other")))
    assert report.exit_code == 1
    assert "the tag is signed by another key" in report.text


def test_signature_of_one_line_is_none_of_another(stall: Stall, key: Path) -> None:
    signed_claim(stall, key)
    repo, commit = stall.project.repo, stall.commit.id
    forged = log.render_verdict(stall.verdict(2.5, seed=3))
    good = repo.notes_read_one(claims_sign.sig_ref(RUNNER), commit).split()[1]
    repo.notes_append(claims_sign.sig_ref(RUNNER), commit, f"{log.verdict_id(forged)} {good}")
    repo.notes_append(VERDICTS, commit, forged)
    assert count(stall) == 1


def test_verdicts_signature_does_not_do_for_a_claim_line(stall: Stall, key: Path) -> None:
    line = log.render_verdict(stall.verdict(1.43))
    note = f"{log.verdict_id(line)} {signing.sign(line.encode(), key, signing.VERDICT)}"
    assert signed(line, note, public(key), signing.VERDICT) is Signed.GOOD
    assert signed(line, note, public(key), signing.CLAIM) is Signed.WRONG
    assert signed(line, note, None, signing.CLAIM) is Signed.NO_KEY


def test_stray_signature_beside_a_good_one_does_no_harm(stall: Stall, key: Path, tmp_path: Path) -> None:
    signed_claim(stall, key)
    line = log.render_verdict(stall.verdict(1.43))
    sign_line(stall.project.repo, RUNNER, stall.commit.id, line, signing.VERDICT, make_key(tmp_path, "other"))
    assert count(stall) == 1


def test_claim_line_must_be_signed_too(stall: Stall, key: Path) -> None:
    tag = signed_claim(stall, key)
    verdict = stall.verdict(1.2, seed=4)
    claims.judge_claim(stall.project, tag, verdict, ID)
    assert claims.standing(stall.project)[0].word == "claimed"
    claims.withdraw(stall.project, tag, RUNNER, "a mistake", AT + 9, key_file=key)
    assert claims.standing(stall.project)[0].word == "withdrawn"


def test_without_ssh_keygen_nothing_is_believed_and_the_fix_is_named(
    stall: Stall, key: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tag = signed_claim(stall, key)
    (tmp_path / "bin").mkdir()
    git = next(
        Path(folder) / "git" for folder in os.environ["PATH"].split(":") if (Path(folder) / "git").exists()
    )
    (tmp_path / "bin/git").symlink_to(git)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(CutegenError, match="install OpenSSH"):
        count(stall)
    report = claims.offline(stall.project, tag)
    assert report.exit_code == 125
    assert "ssh-keygen is not here" in report.text


def test_altered_tag_is_seen(stall: Stall, key: Path) -> None:
    tag = signed_claim(stall, key)
    [raw] = stall.project.repo.tags()
    stall.project.repo.transaction([RefUpdate(raw.ref, raw.id, None)], "forge")
    altered = raw.message.replace("Format: 1", "Driver: another\nFormat: 1")
    stall.project.repo.tag(tag, stall.commit.id, altered, at=AT)
    report = claims.offline(stall.project, tag)
    assert report.exit_code == 1
    assert "the tag is signed by another key than [runners] lists, or was altered" in report.text


def test_runner_with_a_listed_key_must_have_it(stall: Stall, key: Path, tmp_path: Path) -> None:
    def chosen(env: dict[str, str], runner: str = RUNNER) -> Path | None:
        return claims_sign.key_file_for(stall.project.task, runner, env)

    assert chosen({claims_sign.KEY_VARIABLE: str(key)}) == key
    assert chosen({}, "a-laptop") is None
    assert chosen({claims_sign.KEY_VARIABLE: str(key)}, "a-laptop") == key
    with pytest.raises(TaskError, match="count only when signed"):
        chosen({})
    with pytest.raises(TaskError, match="is not the key"):
        chosen({claims_sign.KEY_VARIABLE: str(make_key(tmp_path, "other"))})
