"""The page in a real browser: Chromium without a window. Skipped where there is none."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from report.scene import Scene

from cutegen_git.app import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH"),
]
MEASURE = """<script>addEventListener("load", () => {
  document.title = `${document.documentElement.scrollWidth}/${innerWidth}`;
});</script>"""


def browse(page: Path, *flags: str, width: int = 1280) -> tuple[str, str]:
    """(stdout, console messages) of one visit."""
    command = [
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        f"--user-data-dir={page.parent / 'profile'}",
        f"--window-size={width},1400",
        "--virtual-time-budget=2000",
        "--enable-logging=stderr",
        *flags,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def first_pixel(png: Path) -> tuple[int, int, tuple[int, ...]]:
    """Width, height and the colour at the top left, which is the paper."""
    data = png.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    packed, place = b"", 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        if data[place + 4 : place + 8] == b"IDAT":
            packed += data[place + 8 : place + 8 + length]
        place += 12 + length
    return width, height, tuple(zlib.decompress(packed)[1:4])


SCENES = ("small_scene", "hostile_scene", "empty_scene", "unjudged_scene", "large_scene")


@pytest.fixture
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    scene = request.getfixturevalue(request.param)
    assert isinstance(scene, Scene)
    path = tmp_path / "report.html"
    path.write_text(report.html(scene.project), encoding="utf-8")
    return path


@pytest.mark.parametrize("page", SCENES, indirect=True)
def test_console_stays_silent_and_dom_holds_every_attempt(page: Path) -> None:
    dom, console = browse(page, "--dump-dom")
    assert console == ""
    assert "<script" not in dom
    assert dom.count("<details>") == page.read_text().count("<details>")


@pytest.mark.parametrize("page", ["small_scene"], indirect=True)
def test_light_and_dark_follow_the_reader(page: Path) -> None:
    for scheme, darkest, lightest in ((1, 230, 255), (0, 0, 50)):
        shot = page.parent / f"shot-{scheme}.png"
        browse(page, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}")
        width, height, colour = first_pixel(shot)
        assert (width, height) == (1280, 1400)
        assert darkest <= min(colour) <= max(colour) <= lightest


@pytest.mark.parametrize("page", ["hostile_scene", "large_scene"], indirect=True)
@pytest.mark.parametrize("width", [1280, 500])
def test_page_is_never_wider_than_the_window(page: Path, width: int) -> None:
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', MEASURE, page.read_text())
    text = text.replace("<details>", "<details open>")
    page.write_text(text)
    dom, _ = browse(page, "--dump-dom", width=width)
    found = re.search(r"<title>(\d+)/(\d+)</title>", dom)
    assert found is not None
    assert int(found[1]) <= int(found[2])


def test_link_to_an_attempt_opens_its_row(small_scene: Scene, tmp_path: Path) -> None:
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>',
        '<script>addEventListener("load", () => { location.hash = "a0005"; });</script>',
        report.html(small_scene.project),
    )
    path = tmp_path / "report.html"
    path.write_text(text)
    dom, _ = browse(path, "--dump-dom")
    assert len(re.findall(r"<details open", dom)) == 1


class _Counter(BaseHTTPRequestHandler):
    hits: list[str] = []

    def do_GET(self) -> None:
        self.hits.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), _Counter) as found:
        _Counter.hits.clear()
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def test_policy_holds_even_if_markup_got_through(
    small_scene: Scene, tmp_path: Path, server: HTTPServer
) -> None:
    at = f"http://127.0.0.1:{server.server_port}"
    evil = (
        f'<script>document.title = "in"; fetch("{at}/fetch")</script><img src="{at}/img" onerror="document.title = 1">'
        f'<link rel="stylesheet" href="{at}/css"><iframe src="{at}/frame"></iframe><style>@import "{at}/import";</style>'
    )
    path = tmp_path / "report.html"
    honest = report.html(small_scene.project)
    path.write_text(honest.replace("<main>", f"<main>{evil}"))
    dom, console = browse(path, "--dump-dom")
    assert _Counter.hits == []
    assert "<title>add: 1.13x on rtx4090</title>" in dom
    assert "Content Security Policy" in console
    path.write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", honest).replace(
            "<main>", f"<main>{evil}"
        )
    )
    browse(path, "--dump-dom")
    assert _Counter.hits != []  # without the policy the same page does ask
