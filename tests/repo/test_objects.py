"""Objects: bytes in, the same bytes and the same ids out, whatever the user has set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from cutegen_git.hands.repo import Identity, RefUpdate, Repo, objects
from cutegen_git.words.errors import RepoError

Make = Callable[..., Repo]
Git = Callable[..., str]
MODEL = Identity("anthropic/some-model", "some-model@cutegen.invalid")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_an_attempt_is_written_and_read_back(make_repo: Make, plain_git: Git, object_format: str) -> None:
    repo = make_repo(object_format=object_format)
    base = repo.resolve("refs/heads/main") or ""
    source = b"line\r\n\xff\x00tail without newline"
    tree = repo.tree_with(base, {"kernel/kernel.cu": source, "kernel/deep/er.cuh": b"x\n", "task.toml": None})
    made = repo.commit(tree, [base], "subject \u00fc\n\nbody\n", author=MODEL, at=1_700_000_100)
    assert made == repo.commit(tree, [base], "subject \u00fc\n\nbody\n", author=MODEL, at=1_700_000_100)
    assert repo.files_at(made) == {"kernel/kernel.cu": source, "kernel/deep/er.cuh": b"x\n"}
    assert set(repo.files_at(made, "kernel/deep")) == {"kernel/deep/er.cuh"}
    found = repo.commits([made, base])[0]
    assert (found.parents, found.tree, found.author, found.at) == ((base,), tree, MODEL, 1_700_000_100)
    assert found.message == "subject \u00fc\n\nbody\n"
    assert len(made) == {"sha1": 40, "sha256": 64}[object_format]
    assert repo.dirty() == []
    assert plain_git(repo.root, "cat-file", "commit", made).count("encoding") == 0
    assert plain_git(repo.root, "fsck", "--strict", "--no-dangling") == ""


def test_ids_are_those_that_the_format_defines(make_repo: Make) -> None:
    repo = make_repo()
    assert repo.blob(b"abc\n") == hashlib.sha1(b"blob 4\0abc\n").hexdigest()


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("count", [0, 1, 2, 150])
def test_many_blobs_are_stored_as_they_are(make_repo: Make, object_format: str, count: int) -> None:
    repo = make_repo(object_format=object_format)
    texts = [b"\r\n\0done\n%d" % number for number in range(count)]
    ids = objects.write_blobs(repo.git, texts)
    assert ids == [repo.blob(text) for text in texts]
    assert [repo.read_blob(id) for id in ids] == texts


def test_a_tree_without_change_has_the_same_id(make_repo: Make) -> None:
    repo = make_repo()
    assert repo.tree_with("refs/heads/main", {}) == repo.tree_of("refs/heads/main")
    assert repo.tree_with("refs/heads/main", {"kernel/kernel.cu": b"// 0\n"}) == repo.tree_of(
        "refs/heads/main"
    )


def test_a_folder_whose_last_file_goes_is_gone(make_repo: Make) -> None:
    repo = make_repo()
    tree = repo.tree_with("refs/heads/main", {"kernel/kernel.cu": None})
    assert repo.tree_of(tree, "kernel") == ""
    assert set(repo.files_at(tree)) == {"task.toml"}


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a/../b", ".git/config", "kernel/.GIT/x", "a//b", "a\\b", "", "a\nb"]
)
def test_a_path_that_leaves_the_task_is_refused(make_repo: Make, path: str) -> None:
    with pytest.raises(RepoError):
        make_repo().tree_with(None, {path: b"x"})


def test_links_and_executables_are_reported(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    (repo.root / "kernel/run").write_text("x")
    (repo.root / "kernel/run").chmod(0o755)
    (repo.root / "kernel/away").symlink_to("/etc/passwd")
    plain_git(repo.root, "add", "kernel")
    plain_git(repo.root, "commit", "-q", "-m", "odd")
    assert repo.odd_at("HEAD", "kernel") == {
        "kernel/run": "an executable file",
        "kernel/away": "a symbolic link",
    }
    assert set(repo.files_at("HEAD", "kernel")) == {"kernel/kernel.cu", "kernel/run"}
    assert repo.odd_at("HEAD~1") == {}


def test_the_diff_has_one_form_under_hostile_settings(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo({"kernel/kernel.cu": b"a\nb\nc\nd\ne\nf\ng\nh\n", ".gitattributes": b"*.cu binary\n"})
    for key, value in (
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("core.abbrev", "5"),
    ):
        plain_git(repo.root, "config", key, value)
    main = repo.resolve("HEAD") or ""
    tree = repo.tree_with(main, {"kernel/kernel.cu": b"a\nb\nc\nd\nE\nf\ng\nh\n"})
    text = repo.diff(main, tree, ["kernel"])
    assert text.startswith("diff --git a/kernel/kernel.cu b/kernel/kernel.cu\nindex ")
    assert text.endswith("@@ -2,7 +2,7 @@ a\n b\n c\n d\n-e\n+E\n f\n g\n h\n")
    assert repo.diff("", tree).count("new file mode 100644") == 2
    assert repo.patch_id(main, tree) == repo.patch_id(main, tree) != ""
    assert repo.patch_id(main, main) == ""


def test_an_annotated_tag_stands_without_signing_and_is_never_moved(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    head = repo.resolve("HEAD") or ""
    made = repo.tag("refs/tags/h200/0001-1.43x", head, "claim\n\nKey: value\n", at=5)
    assert made == repo.tag("h200/0001-1.43x", head, "claim\n\nKey: value\n", at=5)
    found = repo.tags("refs/tags/h200/")[0]
    assert (found.id, found.target, found.name, found.at) == (made, head, "h200/0001-1.43x", 5)
    assert found.message == "claim\n\nKey: value\n"
    assert plain_git(repo.root, "tag", "-n3").startswith("h200/0001-1.43x claim")
    with pytest.raises(RepoError, match="moved meanwhile|exists"):
        repo.tag("h200/0001-1.43x", head, "another claim\n", at=6)
    assert repo.refs("refs/tags/") == {"refs/tags/h200/0001-1.43x": made}


def test_a_missing_commit_is_named(make_repo: Make) -> None:
    with pytest.raises(RepoError, match="commit 1111111111"):
        make_repo().commits(["1" * 40])


@pytest.mark.parametrize("rev", ["nothing", "", "-n", "HEAD^9", "a\nb", "--help", "HEAD:task.toml"])
def test_a_revision_that_names_no_commit_is_none(make_repo: Make, rev: str) -> None:
    assert make_repo().resolve(rev) is None


def test_an_ambiguous_short_name_does_not_disturb_full_names(make_repo: Make, plain_git: Git) -> None:
    repo = make_repo()
    base = repo.resolve("HEAD") or ""
    later = repo.commit(repo.tree_of(base), [base], "later\n", author=MODEL, at=9)
    plain_git(repo.root, "branch", "v1x", later)
    plain_git(repo.root, "tag", "v1x", base)
    assert repo.resolve("refs/heads/v1x") == later
    assert repo.resolve("v1x") == base


def test_history_and_ancestry(make_repo: Make) -> None:
    repo = make_repo()
    base = repo.resolve("HEAD") or ""
    one = repo.commit(repo.tree_of(base), [base], "one\n", author=MODEL, at=9)
    merge = repo.commit(repo.tree_of(base), [base, one], "merge\n", author=MODEL, at=10)
    assert repo.history(merge) == [merge, one, base]
    assert repo.history(merge, first_parent=True) == [merge, base]
    assert repo.history(merge, exclude=[base]) == [merge, one]
    assert repo.is_ancestor(base, merge)
    assert not repo.is_ancestor(merge, base)


def test_refs_outside_our_names_are_not_written() -> None:
    for name in (
        "HEAD",
        "refs/stash",
        "refs/heads/../x",
        "refs/heads/a..b",
        "refs/heads/x.lock",
        "main",
        "refs/heads/",
    ):
        with pytest.raises(RepoError):
            RefUpdate(name, None, "1" * 40)


@pytest.mark.parametrize("rev", ["--output=x", "^HEAD", "", "a\nb"])
def test_what_git_would_take_for_an_option_is_refused(make_repo: Make, rev: str) -> None:
    repo = make_repo()
    for read in (repo.history, repo.entries, lambda name: repo.is_ancestor(name, "HEAD")):
        with pytest.raises(RepoError, match="not a revision"):
            read(rev)
