"""Models behind an API, through litellm: our own retries under one wall clock, and every request accounted for."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from cutegen_git.core.transcript import Call
from cutegen_git.hands.model import door, prices
from cutegen_git.hands.model.account import Account
from cutegen_git.hands.model.redact import one_line, redact
from cutegen_git.hands.model.talk import EMPTY, REFUSED, TRUNCATED, Ask, NoReply, Reply, Say, to_stderr
from cutegen_git.hands.model.trouble import SLOW, Rule, is_refusal, retry_after_s, rule_for
from cutegen_git.words.attempt import Spend
from cutegen_git.words.errors import ModelTrouble

_CUT = ("length", "max_tokens")
OLLAMA_REPLY_TOKENS = 16_384
EMPTY_TRIES = 2  # an empty reply is asked for once more, then it counts
GRACE_S = 0.5  # what our own guard gives litellm's time-out to act first: its message says more


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a provider is asked for one reply."""

    tries: int = 6  # requests, the first one included
    total_s: float = 1800.0  # wall clock over all of them, waiting included
    call_s: float = 900.0  # wall clock of one request; reasoning models think for minutes
    delay_s: float = 2.0  # before the second request, doubled each time
    longest_delay_s: float = 120.0

    def backoff_s(self, tries: int) -> float:
        """The wait after so many failed requests, jittered so that clients do not come back together."""
        return min(self.longest_delay_s, self.delay_s * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)


class LiteModel:
    """One model behind an API, "anthropic/…"."""

    def __init__(
        self,
        name: str,
        *,
        env: Mapping[str, str],
        api_base: str | None = None,
        api_key: str | None = None,
        patience: Patience | None = None,
        say: Say = to_stderr,
    ) -> None:
        self.name = name
        self._env, self._patience, self._say = env, patience or Patience(), say
        self._api_base, self._api_key = api_base, api_key

    def ask(self, request: Ask) -> Reply:
        """One reply; NoReply with every request's account where none was had in time."""
        door.load()
        account = Account(time.monotonic())
        while True:
            account, answer = self._call(request, account)
            if isinstance(answer, door.Answer):
                reply = self._reply(answer, account)
                if reply.outcome != EMPTY or not self._asks_again(account):
                    return reply
                delay_s, why = self._patience.backoff_s(1), "the reply was empty"
            elif is_refusal(answer.name, answer.status, answer.text):
                return self._refused(answer, account)
            else:
                delay_s, why = self._delay_or_stop(answer, account), _said(answer)
            self._say(redact(f"{self.name}: {why}; asking again in {delay_s:.0f} s", self._env))
            time.sleep(delay_s)

    def _call(self, request: Ask, account: Account) -> tuple[Account, door.Answer | door.Failure]:
        left_s = min(self._patience.call_s, self._patience.total_s - account.seconds())
        at_s, started_s = int(time.time()), time.monotonic()
        answer = self._guarded(request, max(0.001, left_s))
        seconds = round(time.monotonic() - started_s, 3)
        if isinstance(answer, door.Failure):
            return account.failed(
                Call(at_s, seconds, answer.status, trouble=_rule(answer).trouble.value)
            ), answer
        cost = prices.cost_usd(self.name, self._env, answer.tokens_in, answer.tokens_out)
        spend = Spend(answer.tokens_in, answer.tokens_out, answer.cost_usd if cost is None else cost)
        return account.paid(at_s, seconds, spend), answer

    def _guarded(self, request: Ask, limit_s: float) -> door.Answer | door.Failure:
        """The answer within the limit: a server that drips a byte now and then never trips a socket's time-out."""
        box: queue.SimpleQueue[door.Answer | door.Failure] = queue.SimpleQueue()

        def work() -> None:
            box.put(
                door.complete(
                    self.name,
                    _messages(self.name, request),
                    timeout_s=limit_s,
                    max_tokens=prices.max_output(self.name, self._env),
                    api_base=self._api_base,
                    api_key=self._api_key,
                    context_tokens=_context_tokens(self.name, request),
                )
            )

        # A daemon: a hanging request must keep neither Ctrl-C nor the end of the program waiting.
        threading.Thread(target=work, daemon=True, name=f"ask {request.label}").start()
        try:
            return box.get(timeout=limit_s + GRACE_S)
        except queue.Empty:
            return door.Failure("Timeout", None, f"no whole answer in {limit_s:.0f} s", {})

    def _asks_again(self, account: Account) -> bool:
        """True where an empty reply is asked for once more."""
        in_time = account.seconds() + self._patience.delay_s < self._patience.total_s
        return in_time and account.answered() < EMPTY_TRIES and len(account.calls) < self._patience.tries

    def _delay_or_stop(self, failure: door.Failure, account: Account) -> float:
        """Seconds to wait before the next request; NoReply where there is to be none."""
        rule, tries = _rule(failure), len(account.calls)
        if not rule.retry or tries >= self._patience.tries:
            raise self._no_reply(rule.trouble, f"{_said(failure)} ({rule.advice})", account)
        asked_s = retry_after_s(failure.headers, failure.text)
        jitter_s = self._patience.delay_s * random.uniform(0.0, 0.5)
        delay_s = self._patience.backoff_s(tries) if asked_s is None else asked_s + jitter_s
        if account.seconds() + delay_s >= self._patience.total_s:
            why = f"no time to wait {delay_s:.0f} s for the next request"
            raise self._no_reply(rule.trouble, f"{_said(failure)} ({why})", account)
        return delay_s

    def _reply(self, answer: door.Answer, account: Account) -> Reply:
        text = (answer.content or "").encode("utf-8", "surrogatepass")
        if answer.refusal is not None or answer.finish_reason == "content_filter":
            outcome: str | None = REFUSED
        elif answer.finish_reason in _CUT:
            outcome = TRUNCATED
        else:
            outcome = None if text.strip() else EMPTY
        refusal = redact(answer.refusal, self._env) if answer.refusal else None
        spend = account.spend or Spend()
        return Reply(text, self.name, answer.finish_reason, spend, refusal, outcome, account.calls)

    def _refused(self, failure: door.Failure, account: Account) -> Reply:
        """A provider that will not pass the prompt on: the same as a model that refuses."""
        words = redact(one_line(failure.text), self._env)
        spend = account.spend or Spend(seconds=account.seconds())
        return Reply(b"", self.name, "content_filter", spend, words, REFUSED, account.calls)

    def _no_reply(self, trouble: ModelTrouble, text: str, account: Account) -> NoReply:
        requests = "1 request" if len(account.calls) == 1 else f"{len(account.calls)} requests"
        said = redact(f"{self.name}: {text}", self._env)
        return NoReply(trouble, f"{said} [{requests}, {account.seconds():.0f} s]", account.calls)


def _rule(failure: door.Failure) -> Rule:
    return SLOW if failure.name == "Timeout" else rule_for(failure.name, failure.status, failure.text)


def _said(failure: door.Failure) -> str:
    status = f" {failure.status}" if failure.status else ""
    return f"{failure.name}{status}: {one_line(failure.text.removeprefix('litellm.'))}"


def _messages(model: str, request: Ask) -> list[dict[str, object]]:
    system: object = request.system
    if model.startswith("anthropic/"):  # the one provider that caches only what is marked
        system = [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]
    return [{"role": "system", "content": system}, {"role": "user", "content": request.user}]


def _context_tokens(model: str, request: Ask) -> int | None:
    """Room for prompt and reply: Ollama silently drops the start of a prompt that its small default cannot hold."""
    if model.split("/", 1)[0] not in ("ollama", "ollama_chat"):
        return None
    needed = prices.estimate_tokens(request.system + request.user) + OLLAMA_REPLY_TOKENS
    return -(-needed // 4096) * 4096
