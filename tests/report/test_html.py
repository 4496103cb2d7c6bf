"""The page: everything in it, nothing alive in it, nothing outside it."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from html.parser import HTMLParser

import pytest
from report.scene import FEEDBACK, SUBJECTS, WHY, Scene, timing

from cutegen_git.app import report
from cutegen_git.core import log
from cutegen_git.words.verdict import Outcome, Timing

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text, and whether every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def page(scene: Scene) -> Page:
    return Page(report.html(scene.project))


@pytest.fixture(params=["small_scene", "hostile_scene", "empty_scene", "unjudged_scene"])
def any_scene(request: pytest.FixtureRequest) -> Scene:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Scene)
    return found


def test_page_is_balanced_and_has_nothing_alive(any_scene: Scene) -> None:
    found = page(any_scene)
    assert found.open == []
    allowed = {
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "header",
        "main",
        "footer",
        "section",
    }
    allowed |= {
        "h1",
        "h2",
        "h3",
        "p",
        "a",
        "b",
        "i",
        "em",
        "bdi",
        "br",
        "code",
        "pre",
        "span",
        "div",
        "dl",
        "dt",
        "dd",
    }
    allowed |= {"figure", "figcaption", "ul", "li", "details", "summary", "ins", "del"}
    allowed |= {"svg", "g", "line", "path", "circle", "polygon", "rect", "text"}
    assert {name for name, _ in found.elements} <= allowed
    for name, attributes in found.elements:
        assert not [
            word for word in attributes if word.startswith("on") or word in ("style", "src", "srcset")
        ], name


def test_page_points_nowhere_outside(any_scene: Scene) -> None:
    found = page(any_scene)
    targets = [attributes["href"] for _, attributes in found.elements if "href" in attributes]
    assert {target for target in targets if not target.startswith("#")} == {"data:,"}
    names = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    assert {target[1:] for target in targets if target.startswith("#")} <= names
    style = "".join(found.words)
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_this_style_and_nothing_else(small_scene: Scene) -> None:
    text = report.html(small_scene.project)
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(
        a["content"] for _, a in Page(text).elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_hostile_words_are_text(hostile_scene: Scene) -> None:
    found = page(hostile_scene)
    for words in (
        SUBJECTS[0],
        SUBJECTS[2],
        WHY,
        FEEDBACK,
        "<img src=x onerror=alert(2)>",
        "<svg onload=alert(6)>",
    ):
        assert words in found.text
    assert "</details></section> שלום" in found.text
    for char in ("\u202e", "\x1b"):
        assert char not in found.text
    assert "⟨U+202E⟩" in found.text
    assert found.count("details") == 5


def test_first_screen_says_what_on_which_against_what_and_how_surely(small_scene: Scene) -> None:
    words = " ".join(page(small_scene).text.split("Attempts")[0].split())
    for part in (
        "1.13× as fast as torch eager",
        "0007 persistent blocks, streaming stores",
        "rtx4090/0007-1.13x",
        "NVIDIA GeForce RTX 4090",
        "rtx4090-lab",
        "1250.1 µs against 1412.6 µs",
        "95 % interval 1.125 to 1.135",
        "the whole interval lies above 1x",
        "noise 0.21 %",
    ):
        assert part in words


def test_every_attempt_unfolds_to_diff_verdict_and_feedback(small_scene: Scene) -> None:
    found = page(small_scene)
    assert found.count("details") == found.count("summary") == 7
    assert found.count("ins") > 10
    for part in (
        "build-error",
        "expected a",
        "25 of 1001 elements differ",
        "Change: float4.",
        "no-diff",
        "memory throughput 91.2 %",
        "580.95.05",
    ):
        assert part in found.text
    assert "$0.18" in found.text


def test_strangers_claim_is_shown_and_does_not_count(hostile_scene: Scene) -> None:
    found = page(hostile_scene)
    head = found.text.split("Attempts")[0]
    assert "1.31×" in head
    assert "9.50" not in head
    assert "8.00" not in head
    assert "0.70×" in found.text.split("Attempts")[0] + found.text  # the other device is told
    assert "Claimed and not verified here: what stranger wrote." in found.text
    shown = next(s for s in re.findall(r"0005 honest\n[^<]*", report.html(hostile_scene.project)))
    assert "1.31x" in shown


def test_same_repository_gives_the_same_bytes(small_scene: Scene) -> None:
    assert report.html(small_scene.project) == report.html(small_scene.project)


def test_task_without_attempts_or_verdicts_says_what_to_run(
    empty_scene: Scene, unjudged_scene: Scene
) -> None:
    assert "No attempt yet" in page(empty_scene).text
    assert "cutegen-git refine" in page(empty_scene).text
    found = page(unjudged_scene)
    assert "2 attempts, none of them timed" in found.text
    assert "cutegen-git verify --pending" in found.text


def test_forged_tag_lends_no_facts(tmp_path_factory: pytest.TempPathFactory) -> None:
    scene = Scene.new(tmp_path_factory.mktemp("forged") / "task")
    best = scene.attempt("best")
    verdict = scene.judge(best, timing=timing(1.5), tag=False)
    assert verdict.timing is not None
    line = log.verdict_id(log.render_verdict(verdict))
    for name, claimed in (("rtx4090/0001-9.99x", line), ("rtx4090/0001-1.50x", "0" * 12)):
        claim = log.Claim(
            best.attempt.label, "rtx4090", verdict.timing, claimed, "t", "k", 1, {"Gpu": "Forged 9000"}
        )
        scene.project.repo.tag(name, best.id, log.render_claim(claim), at=scene.at)
    found = page(scene)
    assert "Forged" not in found.text
    assert "1.50×" in found.text


def test_absurd_numbers_of_a_stranger_change_no_scale(tmp_path_factory: pytest.TempPathFactory) -> None:
    scene = Scene.new(tmp_path_factory.mktemp("absurd") / "task")
    first = scene.attempt("first")
    scene.judge(first, timing=timing(1.2))
    before = re.findall(r'class="tick"[^>]*>([^<]*x)<', report.html(scene.project))
    for value in (Timing(1.0, 0.5, math.inf, 1.0, 1.0, "eager", 1.0), timing(5000.0)):
        scene.judge(scene.attempt(f"claim {value.speedup}", first), timing=value, runner="stranger")
    assert re.findall(r'class="tick"[^>]*>([^<]*x)<', report.html(scene.project)) == before
    assert "inf" not in page(scene).text


def test_slower_than_torch_is_said_as_such(tmp_path_factory: pytest.TempPathFactory) -> None:
    scene = Scene.new(tmp_path_factory.mktemp("slow") / "task")
    slow = scene.attempt("slow")
    scene.judge(slow, timing=timing(0.4), tag=False)
    found = page(scene)
    assert "slower than torch: the whole interval lies below 1x" in found.text
    assert "The claim's tag is not here" in found.text
    level = scene.attempt("level", slow)
    scene.judge(level, timing=timing(1.0))
    assert "no difference to torch is shown" in page(scene).text


def test_earlier_task_is_shown_and_does_not_count(tmp_path_factory: pytest.TempPathFactory) -> None:
    scene = Scene.new(tmp_path_factory.mktemp("era") / "task")
    old = scene.attempt("of another task", task="0" * 16)
    scene.judge(old, timing=timing(5.0))
    broken = scene.attempt("of this task")
    scene.judge(broken, Outcome.RACE, why="racecheck: write after read")
    found = page(scene)
    assert "earlier task" in found.text
    assert "Not measured yet" in found.text
    assert "so that they no longer count: 1 attempts" in found.text
