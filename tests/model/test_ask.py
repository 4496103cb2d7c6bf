"""Every way a provider answers ends in a clear state; real HTTP, real litellm, requests counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cutegen_git.hands.model.ask import Patience
from cutegen_git.hands.model.choose import open_model
from cutegen_git.hands.model.talk import Ask, NoReply, Reply
from cutegen_git.words.errors import ModelTrouble

sys.path.insert(0, str(Path(__file__).parent))
from provider import Answer, Provider, chat, error, serving  # noqa: E402

KEY = "sk-verysecret-0123456789"
QUICK = Patience(tries=3, total_s=8.0, call_s=5.0, delay_s=0.02, longest_delay_s=0.05)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydantic")
ASK = Ask("0003", "You write kernels.", "Make it faster.", "a" * 40)
DIFF = "Intent: tile\n\n```diff\n--- a/kernel/kernel.cu\n```\n"


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def ask(
    provider: Provider,
    *,
    model: str = "openai/kernel-coder",
    patience: Patience = QUICK,
    env: dict[str, str] | None = None,
    said: list[str] | None = None,
) -> Reply:
    settings = {"OPENAI_API_KEY": KEY, "CUTEGEN_GIT_API_BASE": provider.url, **(env or {})}
    talk = said if said is not None else []
    opened = open_model(model, repo_dir=Path(), env=settings, patience=patience, say=talk.append)
    return opened.ask(ASK)


def refused(provider: Provider, patience: Patience = QUICK) -> NoReply:
    with pytest.raises(NoReply) as caught:
        ask(provider, patience=patience)
    assert "\n" not in str(caught.value)
    assert len(caught.value.calls) == len(provider.requests)
    return caught.value


def test_a_reply_comes_back_raw_with_its_usage() -> None:
    with serving(chat(DIFF + "\r\n  é \u2028")) as provider:
        reply = ask(provider)
    assert reply.text == (DIFF + "\r\n  é \u2028").encode()
    assert (reply.model, reply.finish_reason, reply.outcome) == ("openai/kernel-coder", "stop", None)
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (10, 5)
    assert reply.usage.seconds > 0
    assert [call.status for call in reply.calls] == [200]
    assert len(provider.requests) == 1


def test_the_prompt_arrives_as_system_and_user() -> None:
    with serving(chat()) as provider:
        ask(provider)
    assert provider.requests[0]["messages"] == [
        {"role": "system", "content": ASK.system},
        {"role": "user", "content": ASK.user},
    ]
    assert "temperature" not in provider.requests[0]


def test_an_unknown_price_is_none_and_never_nothing() -> None:
    with serving(chat()) as provider:
        assert ask(provider).usage.cost_usd is None


def test_a_known_price_is_charged() -> None:
    with serving(chat()) as provider:
        cost = ask(provider, model="openai/gpt-4o").usage.cost_usd
    assert cost == pytest.approx(10 * 2.5e-6 + 5 * 10e-6)


def test_the_users_own_price_counts_first() -> None:
    with serving(chat()) as provider:
        cost = ask(provider, env={"CUTEGEN_GIT_PRICE": "1000,2000"}).usage.cost_usd
    assert cost == pytest.approx(10 * 0.001 + 5 * 0.002)


def test_missing_usage_is_unknown_not_zero() -> None:
    with serving(chat(DIFF, usage=False)) as provider:
        reply = ask(provider, model="openai/gpt-4o")
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.cost_usd) == (None, None, None)
    assert reply.text == DIFF.encode()


def test_a_rate_limit_is_waited_out_as_long_as_the_header_says() -> None:
    busy = error(429, "Rate limit reached", code="rate_limit_exceeded", headers={"retry-after": "1"})
    with serving(busy, chat(DIFF)) as provider:
        reply = ask(provider)
    assert [call.status for call in reply.calls] == [429, 200]
    assert [call.trouble for call in reply.calls] == ["rate-limit", ""]
    assert reply.usage.seconds >= 1.0
    assert len(provider.requests) == 2


def test_every_further_request_is_said_without_the_key() -> None:
    said: list[str] = []
    with serving(error(503, f"busy {KEY}"), chat(None), chat(DIFF)) as provider:
        ask(provider, said=said)
    assert ["503" in said[0], "empty" in said[1], len(said)] == [True, True, 2]
    assert KEY not in said[0]


def test_a_rate_limit_to_the_end_stops_after_the_tries() -> None:
    with serving(error(429, "slow down", headers={"retry-after": "0"})) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.RATE_LIMIT
    assert len(provider.requests) == QUICK.tries


def test_a_wait_longer_than_our_patience_stops_at_once() -> None:
    with serving(error(429, "Please try again in 1h2m3s")) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.RATE_LIMIT
    assert len(provider.requests) == 1


def test_an_empty_account_stops_at_once() -> None:
    with serving(error(429, "You exceeded your current quota", code="insufficient_quota")) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.QUOTA
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "Your credit balance is too low"),
        (402, "Insufficient Balance"),
        (429, "5-hour usage limit reached"),
    ],
)
def test_other_words_for_an_empty_account_stop_at_once(status: int, text: str) -> None:
    with serving(error(status, text)) as provider:
        assert refused(provider).trouble is ModelTrouble.QUOTA


def test_a_request_that_is_rejected_is_not_sent_again() -> None:
    with serving(error(422, "unprocessable")) as provider:
        assert refused(provider).trouble is ModelTrouble.SERVER
    assert len(provider.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 529])
def test_a_broken_server_is_asked_to_the_end_of_the_tries(status: int) -> None:
    with serving(error(status, "oops")) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.SERVER
    assert [call.status for call in found.calls] == [status] * QUICK.tries


def test_503_then_success_is_a_reply() -> None:
    with serving(error(503, "busy"), chat(DIFF)) as provider:
        reply = ask(provider)
    assert reply.text == DIFF.encode()
    assert [call.status for call in reply.calls] == [503, 200]


def test_a_silent_server_ends_at_our_wall_clock() -> None:
    patience = Patience(tries=2, total_s=1.0, call_s=0.3, delay_s=0.01)
    with serving(Answer(delay_s=3.0)) as provider:
        found = refused(provider, patience)
    assert found.trouble is ModelTrouble.TIMEOUT
    assert sum(call.seconds for call in found.calls) < 2.5
    assert all(call.cost_usd is None for call in found.calls)


def test_a_dripping_server_ends_at_our_wall_clock() -> None:
    dripping = Answer(body=chat(DIFF).body, drip_s=0.1)
    with serving(dripping) as provider:
        found = refused(provider, Patience(tries=1, total_s=5.0, call_s=0.5))
    assert found.trouble is ModelTrouble.TIMEOUT
    assert found.calls[0].seconds < 2.0


def test_a_reply_cut_by_length_is_truncated_and_kept() -> None:
    with serving(chat("```diff\n--- a/k", finish="length")) as provider:
        reply = ask(provider)
    assert (reply.outcome, reply.finish_reason) == ("truncated", "length")
    assert reply.text == b"```diff\n--- a/k"


def test_tokens_spent_on_reasoning_alone_are_truncated_not_empty() -> None:
    cut = chat("", finish="length", message={"reasoning_content": "```diff\n--- a/k\n```"})
    with serving(cut) as provider:
        reply = ask(provider)
    assert (reply.outcome, reply.text) == ("truncated", b"")
    assert len(provider.requests) == 1


@pytest.mark.parametrize("answer", [chat(""), chat(None), chat("  \n"), chat(choices=False)])
def test_an_empty_reply_is_asked_for_once_more_and_then_counts(answer: Answer) -> None:
    with serving(answer) as provider:
        reply = ask(provider)
    assert reply.outcome == "empty-reply"
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (20, 10)
    assert len(provider.requests) == 2


def test_reasoning_is_never_taken_for_the_reply() -> None:
    with serving(chat("", message={"reasoning_content": DIFF})) as provider:
        assert ask(provider).text == b""


def test_the_reply_after_an_empty_one_counts_and_both_are_paid() -> None:
    with serving(chat(None), chat(DIFF)) as provider:
        reply = ask(provider, env={"CUTEGEN_GIT_PRICE": "1000,0"})
    assert reply.text == DIFF.encode()
    assert reply.usage.cost_usd == pytest.approx(0.02)


def test_a_refusal_in_its_own_field_is_a_refusal() -> None:
    with serving(chat(None, message={"refusal": f"I cannot help {KEY}"})) as provider:
        reply = ask(provider)
    assert (reply.outcome, reply.text) == ("refused", b"")
    assert reply.refusal == "I cannot help [key removed]"
    assert len(provider.requests) == 1


def test_a_content_filter_is_a_refusal() -> None:
    with serving(chat(None, finish="content_filter")) as provider:
        assert ask(provider).outcome == "refused"


def test_a_provider_that_rejects_the_content_is_a_refusal() -> None:
    policy = error(
        400, "Your request was rejected as a result of our safety system", code="content_policy_violation"
    )
    with serving(policy) as provider:
        reply = ask(provider)
    assert (reply.outcome, reply.finish_reason) == ("refused", "content_filter")
    assert reply.usage.cost_usd is None
    assert len(provider.requests) == 1


def test_a_reply_in_a_tool_call_is_read() -> None:
    call = {"id": "t", "type": "function", "function": {"name": "apply", "arguments": '{"patch": "x"}'}}
    with serving(chat(None, finish="tool_calls", message={"tool_calls": [call]})) as provider:
        assert ask(provider).text == b'{"patch": "x"}'


@pytest.mark.parametrize("body", ["not json at all", "<html>ok</html>", ""])
def test_an_answer_that_is_no_json_is_a_server_error(body: str) -> None:
    with serving(Answer(body=body)) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.SERVER
    assert len(provider.requests) == QUICK.tries


def test_a_wrong_key_stops_at_once_and_is_not_shown() -> None:
    with serving(error(401, f"Incorrect API key provided: {KEY}, also sk-abc123")) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.AUTH
    assert "verysecret" not in str(found)
    assert "abc123" not in str(found)
    assert len(provider.requests) == 1


def test_an_unknown_model_stops_at_once() -> None:
    with serving(error(404, "The model does not exist", code="model_not_found")) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.NOT_FOUND
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000."),
        (400, "Input tokens exceed the configured limit of 100000 tokens. Yours resulted in 120000 tokens."),
        (400, "prompt is too long: 205000 tokens > 200000 maximum"),
        (400, "input length and `max_tokens` exceed context limit: 171000 + 32000 > 200000"),
        (413, "Request too large"),
        (413, "<html>Request Entity Too Large</html>"),
        (429, "Request too large for gpt-x on tokens per min (TPM): Limit 10000, Requested 12000."),
    ],
)
def test_a_prompt_that_is_too_long_stops_at_once(status: int, text: str) -> None:
    with serving(error(status, text)) as provider:
        found = refused(provider)
    assert found.trouble is ModelTrouble.CONTEXT_LENGTH
    assert len(provider.requests) == 1


def test_a_server_that_is_not_there_is_a_server_error() -> None:
    with serving() as provider:
        pass
    provider.script = ()
    with pytest.raises(NoReply) as caught:
        ask(provider)
    assert caught.value.trouble is ModelTrouble.SERVER
    assert len(caught.value.calls) == QUICK.tries


def test_anthropic_gets_its_cache_mark_and_its_refusal_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None,
        "content": [{"type": "text", "text": "no"}], "stop_reason": "refusal",
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }  # fmt: skip
    with serving(Answer(body=body)) as provider:
        provider.url = provider.url.removesuffix("/v1")
        reply = ask(provider, model="anthropic/claude-sonnet-4-5", env={"ANTHROPIC_API_KEY": KEY})
    assert provider.paths == ["/v1/messages"]
    system = provider.requests[0]["system"]
    assert isinstance(system, list)
    assert system[0]["cache_control"] == {"type": "ephemeral"}
    assert provider.requests[0]["max_tokens"] == 32_000
    assert reply.outcome == "refused"
    assert reply.usage.cost_usd == pytest.approx(7 * 3e-6 + 3 * 15e-6)


@pytest.mark.parametrize("kind", ["ollama", "ollama_chat"])
def test_ollama_is_given_room_for_the_prompt_and_costs_nothing(kind: str) -> None:
    body = {"model": "m", "created_at": "2026-12-01T00:00:00Z", "done": True, "done_reason": "stop",
            "response": DIFF, "message": {"role": "assistant", "content": DIFF},
            "prompt_eval_count": 9, "eval_count": 4}  # fmt: skip
    with serving(Answer(body=body)) as provider:
        provider.url = provider.url.removesuffix("/v1")
        reply = ask(provider, model=f"{kind}/qwen3")
    asked = next(request for request in provider.requests if "options" in request)
    assert asked["options"]["num_ctx"] == 20_480  # type: ignore[index]
    assert reply.text == DIFF.encode()
    assert reply.usage.cost_usd == 0.0
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (9, 4)


def test_litellm_says_nothing_and_leaves_the_environment_alone(capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    with serving(chat("x", finish="insufficient_system_resource"), error(401, "no")) as provider:
        ask(provider)
        with pytest.raises(NoReply):
            ask(provider)
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child there")
def test_ctrl_c_ends_a_hanging_request_at_once() -> None:
    code = (
        "import os, sys; from pathlib import Path; from cutegen_git.hands.model import door;"
        "from cutegen_git.hands.model.choose import open_model; from cutegen_git.hands.model.talk import Ask;"
        "door.load(); print('ready', flush=True);"
        "open_model('openai/x', repo_dir=Path(), env=os.environ).ask(Ask('0001', 's', 'u', 'a'))"
    )
    with serving(Answer(delay_s=20.0)) as provider:
        env = {**os.environ, "CUTEGEN_GIT_API_BASE": provider.url}
        child = subprocess.Popen(
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for _ in range(200):
            if provider.requests:
                break
            time.sleep(0.05)
        started = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=10)
    assert time.monotonic() - started < 3
    assert child.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")
