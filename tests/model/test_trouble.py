"""The table of provider errors, retry delays in every spelling, and keys that never get out."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from cutegen_git.hands.model import door
from cutegen_git.hands.model.redact import one_line, redact
from cutegen_git.hands.model.trouble import BY_NAME, is_refusal, retry_after_s, rule_for
from cutegen_git.words.errors import ModelTrouble


def test_the_table_knows_every_exception_of_litellm() -> None:
    assert door.exception_names() - set(BY_NAME) == set()


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"Retry-After": "17"}, "", 17),
        ({"retry-after-ms": "250", "retry-after": "1"}, "", 0.25),
        ({"retry-after": "Tue, 01 Dec 2026 10:00:30 GMT"}, "", 30),
        ({"retry-after": "Tue, 01 Dec 2026 09:00:00 GMT"}, "", 0),
        ({"retry-after": "Tue, 01 Dec 2026 10:00:30 -0000"}, "", 30),
        ({"retry-after": "soon"}, "", None),
        ({}, '"@type": "google.rpc.RetryInfo", "retryDelay": "17s"', 17),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again in 1.5s.", 1.5),
        ({}, "Please try again in 2m30.5s.", 150.5),
        ({}, "Please retry after 3 seconds", 3),
        ({}, "try again in 1h2m3s", 3723),
        ({}, "try again later", None),
        ({}, "", None),
    ],
)
def test_the_delay_is_read(headers: dict[str, str], text: str, seconds: float | None) -> None:
    now = datetime(2026, 12, 1, 10, 0, 0, tzinfo=timezone.utc)
    assert retry_after_s(headers, text, now=now) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("name", "status", "text", "trouble"),
    [
        (
            "RateLimitError",
            429,
            "You exceeded your current quota. retryDelay: '17s'",
            ModelTrouble.RATE_LIMIT,
        ),
        (
            "RateLimitError",
            429,
            "You exceeded your current quota, please check your plan",
            ModelTrouble.QUOTA,
        ),
        (
            "BadRequestError",
            400,
            "litellm.BadRequestError: LLM Provider NOT provided.",
            ModelTrouble.NOT_CONFIGURED,
        ),
        ("BadRequestError", 400, "model foo does not exist", ModelTrouble.NOT_FOUND),
        ("BadRequestError", 400, "input token count (1200) exceeds the maximum", ModelTrouble.CONTEXT_LENGTH),
        ("ContextWindowExceededError", None, "whatever", ModelTrouble.CONTEXT_LENGTH),
        ("InternalServerError", 500, "context length table not loaded", ModelTrouble.SERVER),
        ("APIError", 403, "nope", ModelTrouble.AUTH),
        ("APIError", 418, "teapot", ModelTrouble.SERVER),
        ("SomethingNew", None, "?", ModelTrouble.SERVER),
    ],
)
def test_an_error_is_known_by_name_status_and_text(
    name: str, status: int | None, text: str, trouble: ModelTrouble
) -> None:
    assert rule_for(name, status, text).trouble is trouble


def test_no_final_client_error_is_retried() -> None:
    for status in (400, 401, 402, 403, 404, 405, 409, 413, 418, 422):
        assert not rule_for("APIError", status, "no").retry, status


def test_a_server_that_mentions_its_filter_is_not_a_refusal() -> None:
    assert is_refusal("BadRequestError", 400, "blocked by content_filter")
    assert not is_refusal("InternalServerError", 500, "content_filter service is down")


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-ant-api03-AbC_12*****xyz.",
        "https://host/v1?key=AIzaSyA1234567890abcdefg&alt=json",
        "Authorization: Bearer abcdef123456",
        "key mysecretvalue was wrong",
        "https://user:hunter22@host/v1",
    ],
)
def test_a_key_is_removed(text: str) -> None:
    shown = redact(text, {"MY_API_KEY": "mysecretvalue", "HOME": "/home/host"})
    for secret in ("api03", "AIzaSy", "abcdef123456", "mysecretvalue", "hunter22"):
        assert secret not in shown
    assert "[key removed]" in shown


def test_ordinary_text_is_left_alone() -> None:
    text = "task-sk8 risk-averse none of this is a key"
    assert redact(text, {"OPENAI_API_KEY": "none", "HOME": "this"}) == text


def test_an_error_is_one_short_line() -> None:
    assert one_line("Invalid\n response Traceback (most recent call last):\n  File") == "Invalid response"
    assert len(one_line("x" * 999)) <= 302
