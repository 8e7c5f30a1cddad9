"""Reads the responses of an OpenAI-compatible server and refuses what has another format."""

from __future__ import annotations

import json
from typing import Any

from lengthwise.audit.outcomes import FAILED, REFUSED, Reply, RequestFailed
from lengthwise.core.errors import shortened

MOST_TOKENS = 10**9
"""A larger count of tokens in a response is not believed."""


class Again(Exception):
    """A failure that may pass, with the seconds that the server wants to be left alone."""

    def __init__(self, kind: str, detail: str, wait: float | None = None) -> None:
        self.kind, self.detail, self.wait = kind, detail, wait
        super().__init__(detail)


def json_of(text: str) -> Any:
    """The JSON of a response; raises `Again` for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Again(FAILED, f"a response that is not JSON: {shortened(text, 60)!r}") from None


def reply_of(found: Any, budget: int, attempt: int) -> Reply:
    """The text of a response in the format of either path.

    A text that has all tokens of the ``budget`` did not stop, even if the server gives another reason. Raises `Again`
    for another format, and `RequestFailed` where the server says that it, or its filter, refused.
    """
    try:
        choice = found["choices"][0]
        message = choice.get("message")
        text = message["content"] if message is not None else choice["text"]
        refusal = None if message is None else message.get("refusal")
        reason = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Again(FAILED, f"a response without text: {shortened(repr(found), 60)}") from None
    if refusal or reason == "content_filter":
        raise RequestFailed(REFUSED, f"the model refused: {shortened(str(refusal or reason), 60)}")
    if text is not None and not isinstance(text, str):
        raise Again(FAILED, f"a response whose text is {type(text).__name__}")
    usage = found.get("usage")
    prompt, new = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    finish = "length" if new is not None and new >= budget else shortened(str(reason or "stop"), 40)
    return Reply(text or "", finish, prompt, new, attempt)


def _count(usage: Any, name: str) -> int | None:
    """A count of tokens, or None where the server gives none that can be true."""
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if type(found) is int and 0 <= found <= MOST_TOKENS else None
