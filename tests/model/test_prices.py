"""Prices are known or unknown, and never asked for over a network."""

from __future__ import annotations

import pytest

from cutegen_git.hands.model.prices import estimate_tokens, max_output, price


def test_a_known_model_has_a_price() -> None:
    assert price("anthropic/claude-sonnet-4-5", {}) == (3e-6, 15e-6)
    assert price("openai/gpt-4o", {}) == (2.5e-6, 10e-6)


@pytest.mark.parametrize("name", ["openai/nobody-knows", "hosted_vllm/gpt-4o", "nosuch/model"])
def test_an_unknown_price_is_none(name: str) -> None:
    assert price(name, {}) is None
    assert max_output(name, {}) is None


@pytest.mark.parametrize("name", ["ollama/qwen3", "handoff", "replay:gemm"])
def test_what_runs_here_pays_nobody(name: str) -> None:
    assert price(name, {}) == (0.0, 0.0)


def test_the_users_price_is_for_a_million_tokens() -> None:
    assert price("openai/nobody-knows", {"CUTEGEN_GIT_PRICE": "1.5, 6"}) == pytest.approx((1.5e-6, 6e-6))
    assert price("openai/nobody-knows", {"CUTEGEN_GIT_PRICE": "cheap"}) is None
    assert price("openai/nobody-knows", {"CUTEGEN_GIT_PRICE": "-1,2"}) is None


def test_the_longest_reply_is_capped_and_can_be_stated() -> None:
    assert max_output("anthropic/claude-sonnet-4-5", {}) == 32_000
    assert max_output("openai/nobody-knows", {"CUTEGEN_GIT_MAX_TOKENS": "9000"}) == 9000


def test_tokens_are_estimated_on_the_long_side() -> None:
    assert estimate_tokens("") == 0
    assert 25 <= estimate_tokens("for (int i = 0; i < size(tLs); ++i) tLs(i) = 0.0f;\n" * 2) <= 60
