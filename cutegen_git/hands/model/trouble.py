"""What a provider's error means: a table by class name, then by HTTP status, then by text.

litellm's classes have no common base of their own, give one meaning two classes (413 arrives as a rate
limit) and two meanings one class (a hard quota too), so the texts are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from cutegen_git.words.errors import ModelTrouble


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: what it is, whether asking again can help, and what the user can do."""

    trouble: ModelTrouble
    retry: bool
    advice: str


BUSY = Rule(ModelTrouble.RATE_LIMIT, True, "try again later, or use another model")
QUOTA = Rule(ModelTrouble.QUOTA, False, "add credit or wait for the quota to renew; asking again is useless")
KEY = Rule(ModelTrouble.AUTH, False, "check the key and what it may use")
UNKNOWN = Rule(ModelTrouble.NOT_FOUND, False, "check the model's name and CUTEGEN_GIT_API_BASE")
TOO_LONG = Rule(ModelTrouble.CONTEXT_LENGTH, False, "the prompt is too long for this model")
DOWN = Rule(ModelTrouble.SERVER, True, "the provider has trouble; try again later")
REJECTED = Rule(
    ModelTrouble.SERVER, False, "the provider rejects the request as it is; asking again is useless"
)
SLOW = Rule(ModelTrouble.TIMEOUT, True, "try again later, or a faster model")
SETUP = Rule(ModelTrouble.NOT_CONFIGURED, False, "check the model's name and its provider's settings")

BY_NAME: Mapping[str, Rule] = {
    "AuthenticationError": KEY,
    "CallerCredentialAuthenticationError": KEY,
    "PermissionDeniedError": KEY,
    "NotFoundError": UNKNOWN,
    "ModelNotMappedError": UNKNOWN,
    "RateLimitError": BUSY,
    "CallerCredentialRateLimitError": BUSY,
    "PaymentRequiredError": QUOTA,
    "BudgetExceededError": QUOTA,
    "ContextWindowExceededError": TOO_LONG,
    "Timeout": SLOW,
    "APIConnectionError": DOWN,
    "InternalServerError": DOWN,
    "ServiceUnavailableError": DOWN,
    "BadGatewayError": DOWN,
    "APIError": DOWN,
    "APIResponseValidationError": DOWN,
    "JSONSchemaValidationError": DOWN,
    "MidStreamFallbackError": DOWN,
    "OpenAIError": REJECTED,
    "MockException": REJECTED,
    "BadRequestError": REJECTED,
    "InvalidRequestError": REJECTED,
    "UnprocessableEntityError": REJECTED,
    "MalformedRequestFieldError": REJECTED,
    "RejectedRequestError": REJECTED,
    "ContentPolicyViolationError": REJECTED,  # becomes a refused Reply before it gets here
    "GuardrailRaisedException": REJECTED,
    "BlockedPiiEntityError": REJECTED,
    "SensitiveDataRouteException": REJECTED,
    "ModifyResponseException": REJECTED,
    "ImageFetchError": REJECTED,
    "VectorStoreSearchError": REJECTED,
    "UnsupportedEndpointError": SETUP,
    "EndpointNotSupportedByModelError": SETUP,
    "UnsupportedParamsError": SETUP,
    "LiteLLMUnknownProvider": SETUP,
}
BY_STATUS: Mapping[int, Rule] = {
    401: KEY, 402: QUOTA, 403: KEY, 404: UNKNOWN, 408: SLOW, 413: TOO_LONG, 429: BUSY, 504: SLOW,
}  # fmt: skip

_TOO_LONG = re.compile(
    r"context[ _]length|context[ _]window|context limit|maximum (?:input|prompt) length"
    r"|(?:prompt|input|message|request)s? (?:is |are |was )?too (?:long|large)|too large for model"
    r"|input (?:tokens?|length|token count) (?:exceeds?|and)|token count (?:of \d+ |\(\d+\) )?exceeds|tokens exceed",
    re.I,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|credit balance is too low|out of credits?"
    r"|usage limit|spend(?:ing)? limit|payment required|billing[_ ]hard[_ ]limit|billing_not_active",
    re.I,
)
_SOFT_QUOTA = re.compile(r"exceeded your current quota|quota exceeded", re.I)  # hard unless it names a delay
_NO_PROVIDER = re.compile(r"LLM Provider NOT provided|Unmapped LLM provider|tenacity import failed", re.I)
_NO_MODEL = re.compile(r"model[_ ]not[_ ]found|model \S+ does not exist|no such model|unknown model", re.I)

_REFUSED = re.compile(
    r"content[ _]policy|content[_ ]filter|content management policy|safety system|usage policy", re.I
)
_REFUSED_NAMES = ("ContentPolicyViolationError", "GuardrailRaisedException")


def is_refusal(name: str, status: int | None, text: str) -> bool:
    """True where the provider will not pass this prompt on: the same as a model that refuses."""
    return name in _REFUSED_NAMES or (status in (400, 403) and bool(_REFUSED.search(text)))


def rule_for(name: str, status: int | None, text: str) -> Rule:
    """What an exception of this class name, HTTP status and text (message and body) means."""
    final = status is None or 400 <= status < 500
    if final and (status == 413 or _TOO_LONG.search(text)):
        return TOO_LONG
    if final and (_QUOTA.search(text) or (_SOFT_QUOTA.search(text) and retry_after_s({}, text) is None)):
        return QUOTA
    if _NO_PROVIDER.search(text):
        return SETUP
    if final and _NO_MODEL.search(text):
        return UNKNOWN
    if by_status := BY_STATUS.get(status or 0):
        return by_status
    rule = BY_NAME.get(name, DOWN)
    return REJECTED if rule is DOWN and status and 400 <= status < 500 else rule


_IN_BODY = re.compile(
    r"(?:retryDelay\W{1,6}|(?:try|retry) again in |retry (?:after|in) |wait )"
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)\s*(ms|s\b|seconds?)?)?",
    re.I,
)


def retry_after_s(headers: Mapping[str, str], text: str, *, now: datetime | None = None) -> float | None:
    """Seconds that the provider asks us to wait, from its headers or its text; None where it says nothing."""
    lower = {key.lower(): value.strip() for key, value in headers.items()}
    for key, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = lower.get(key, "")
        if re.fullmatch(r"\d+(?:\.\d+)?", value):
            return float(value) / per_second
    if value := lower.get("retry-after", ""):
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=timezone.utc)
        return max(0.0, (until - (now or datetime.now(timezone.utc))).total_seconds())
    found = _IN_BODY.search(text)
    if not found or not any(found.group(1, 2, 3)):
        return None
    hours, minutes, number, unit = found.groups()
    seconds = float(number or 0) / (1000.0 if unit == "ms" else 1.0)
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + seconds
