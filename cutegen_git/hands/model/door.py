"""The only module that touches litellm. Imported late: litellm takes seconds to load.

litellm's own retries, logging, `.env` loading and price download are off; `Any` stays in here.
"""

from __future__ import annotations

import functools
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Read by litellm while it is being imported: no price list from the network, no `.env` of the current folder.
_AT_IMPORT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A 200 from a provider, flattened."""

    content: str | None
    refusal: str | None
    finish_reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None  # by litellm's local map; None where it does not know


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception from litellm, flattened."""

    name: str  # of its class
    status: int | None  # what the provider answered, before litellm changed it; None without an answer
    text: str  # message and body
    headers: Mapping[str, str]


@functools.cache
def _litellm() -> Any:
    # litellm builds types on import and on the first request, and pydantic has remarks about them.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic(\.|$)")
    with _environment(_AT_IMPORT):
        import litellm
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.callbacks, litellm.success_callback, litellm.failure_callback = [], [], []
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """The variables set for a while: a library that reads them at import leaves no other way."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def load() -> None:
    """Import litellm now, so that its seconds are not taken for the provider's."""
    _litellm()


def complete(
    model: str,
    messages: Sequence[Mapping[str, object]],
    *,
    timeout_s: float,
    max_tokens: int | None,
    api_base: str | None,
    api_key: str | None,
    context_tokens: int | None = None,
) -> Answer | Failure:
    """One HTTP request, never more. A provider's error is a value."""
    litellm = _litellm()
    optional = {
        "max_tokens": max_tokens,
        "api_base": api_base,
        "api_key": api_key,
        "num_ctx": context_tokens,  # Ollama's own name
    }
    given = {name: value for name, value in optional.items() if value is not None}
    try:
        response = litellm.completion(
            model=model, messages=list(messages), timeout=timeout_s, max_retries=0, num_retries=0, **given
        )
        return _answer(litellm, model, response)
    except Exception as error:  # litellm raises plain Exceptions too (a missing tenacity, an unmapped model)
        return _failure(error)


def _answer(litellm: Any, model: str, response: Any) -> Answer:
    usage = getattr(response, "usage", None)
    # litellm says 0 where the provider says nothing.
    tokens_in = getattr(usage, "prompt_tokens", None) or None
    tokens_out = getattr(usage, "completion_tokens", None) or None
    cost = _cost(litellm, model, response) if tokens_in is not None or tokens_out is not None else None
    if not response.choices:
        return Answer(None, None, None, tokens_in, tokens_out, cost)
    message = response.choices[0].message
    extra = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or extra.get("refusal")
    return Answer(_content(message), refusal, response.choices[0].finish_reason, tokens_in, tokens_out, cost)


def _content(message: Any) -> str | None:
    if isinstance(message.content, str) and message.content:
        return message.content
    # Some models answer with a tool call although no tool was offered.
    for call in getattr(message, "tool_calls", None) or ():
        if isinstance(call.function.arguments, str) and call.function.arguments:
            return call.function.arguments
    return None


def _cost(litellm: Any, model: str, response: Any) -> float | None:
    try:
        return float(litellm.completion_cost(completion_response=response, model=model))
    except Exception:  # three classes by version: NotFoundError, BadRequestError, ModelNotMappedError
        return None


def _failure(error: Exception) -> Failure:
    # litellm turns 413 into 429; the first exception still has what the provider said.
    origin = error.__context__ if isinstance(error.__context__, Exception) else error
    status = next((s for e in (origin, error) if isinstance(s := getattr(e, "status_code", None), int)), None)
    response = getattr(error, "response", None)
    headers = dict(getattr(response, "headers", None) or {})
    if not headers and type(error).__name__ != "Timeout":
        headers = dict(getattr(origin, "headers", None) or {})
    body = getattr(error, "body", None) or getattr(origin, "body", None)
    return Failure(type(error).__name__, status, f"{error} {body or ''}".strip(), headers)


def map_price(model: str) -> tuple[float, float] | None:
    """US dollars for one token in and out by litellm's local map; None where it does not know or have litellm."""
    info = _info(model)
    cost_in, cost_out = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    return None if cost_in is None or cost_out is None else (float(cost_in), float(cost_out))


def map_max_output(model: str) -> int | None:
    """The longest reply that a model gives, in tokens; None where unknown."""
    longest = _info(model).get("max_output_tokens")
    return longest if isinstance(longest, int) and longest > 0 else None


def _info(model: str) -> Mapping[str, Any]:
    """The row of the local map; looked up as a table, since litellm's own look-up may ask an Ollama server."""
    try:
        table = _litellm().model_cost
    except ImportError:
        return {}
    provider, _, bare = model.partition("/")
    row = table.get(model)
    if row is None:  # a bare name counts only if it is this provider's: another's price is not ours
        row = table.get(bare)
        if not isinstance(row, dict) or not str(row.get("litellm_provider", "")).startswith(provider):
            return {}
    return row if isinstance(row, dict) else {}


def exception_names() -> frozenset[str]:
    """The exception classes that litellm defines: `trouble.BY_NAME` must know them all."""
    module = _litellm().exceptions
    return frozenset(
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__
    )
