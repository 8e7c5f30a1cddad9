"""`Endpoint`: a model behind an OpenAI-compatible server, with retries, a deadline and a limit on what is read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from lengthwise.audit.asker import Asker, ModelFacts
from lengthwise.audit.outcomes import FAILED, REFUSED, TIMED_OUT, Reply, RequestFailed
from lengthwise.core.errors import LengthwiseError, require, shortened
from lengthwise.core.rng import stream

try:
    import httpx
except ModuleNotFoundError:
    raise LengthwiseError(
        "the audit of an endpoint needs the package httpx; run: pip install 'lengthwise[audit]'"
    ) from None

LARGEST = 1 << 20
"""Most bytes of a response."""
LONGEST_WAIT = 60.0
"""Most seconds between two tries."""
RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
FATAL = {401: "the key is missing or wrong", 403: "the key is not allowed to", 404: "there is no such model or path"}


@dataclass
class Endpoint(Asker):
    """``url`` ends where ``/chat/completions`` follows, as in ``http://localhost:8000/v1``.

    The key is read from the environment variable ``key_variable`` and goes into a header only. ``timeout`` is the time
    of one try, in seconds.
    """

    url: str
    model: str
    api: Literal["chat", "completion"] = "chat"
    key_variable: str = "OPENAI_API_KEY"
    timeout: float = 60.0
    retries: int = 5
    concurrency: int = 4
    context: int | None = None
    encoding: str | None = None
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        require(
            parts.scheme in ("http", "https") and bool(parts.hostname),
            f"an endpoint is a URL such as http://localhost:8000/v1, got {self.url!r}",
        )
        require(
            parts.username is None and not parts.query,
            "a URL with a password or a key would reach the files; put the key into the environment variable "
            f"{self.key_variable}",
        )
        self.url = self.url.rstrip("/")
        key = os.environ.get(self.key_variable, "")
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=self.timeout, follow_redirects=False
        )
        self.facts = ModelFacts(self.model, self.url, self.context or self._declared(), encoding=self.encoding)

    @property
    def identity(self) -> dict[str, Any]:
        return {"url": self.url, "model": self.model, "api": self.api}

    def ask(self, prompt: str, budget: int) -> Reply:
        body: dict[str, Any] = {"model": self.model, "max_tokens": budget, "temperature": 0}
        if self.api == "chat":
            path, body["messages"] = "/chat/completions", [{"role": "user", "content": prompt}]
        else:
            path, body["prompt"] = "/completions", prompt
        for attempt in range(self.retries + 1):
            try:
                return _reply(self._post(path, body), attempt)
            except _Again as again:
                if attempt == self.retries:
                    raise RequestFailed(again.kind, again.detail) from None
                self.sleep(again.wait if again.wait is not None else _back_off(attempt))
        raise AssertionError("unreachable")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON of a response; raises `_Again` for what may pass, `RequestFailed` for a refusal."""
        deadline = time.monotonic() + self.timeout
        content = bytearray()
        try:
            with self._http.stream("POST", self.url + path, json=body) as response:
                for part in response.iter_bytes():
                    content += part
                    if len(content) > LARGEST:
                        raise _Again(FAILED, f"a response of more than {LARGEST:,} bytes")
                    if time.monotonic() > deadline:
                        raise _Again(TIMED_OUT, f"a response that took more than {self.timeout:g} s")
        except httpx.TimeoutException:
            raise _Again(TIMED_OUT, f"no response within {self.timeout:g} s") from None
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise _Again(FAILED, f"{type(error).__name__}: {error}") from None
        text = content.decode("utf-8", "replace")
        if response.status_code in RETRIED:
            raise _Again(FAILED, f"status {response.status_code}", _retry_after(response.headers.get("Retry-After")))
        if response.status_code in FATAL:
            why = FATAL[response.status_code]
            raise LengthwiseError(
                f"{self.url}{path} answers {response.status_code}: {why}; check the URL, the model {self.model!r} and "
                f"the environment variable {self.key_variable}"
            )
        if response.status_code >= 300:
            raise RequestFailed(REFUSED, f"status {response.status_code}: {shortened(' '.join(text.split()))}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise _Again(FAILED, f"a response that is not JSON: {shortened(text, 60)!r}") from None

    def _declared(self) -> int | None:
        """The context that the server lists for the model (vLLM does), if it does."""
        try:
            listed = self._http.get(f"{self.url}/models", timeout=min(self.timeout, 10.0)).json()
            found = [entry.get("max_model_len") for entry in listed["data"] if entry.get("id") == self.model]
        except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return found[0] if found and isinstance(found[0], int) else None


class _Again(Exception):
    """A failure that may pass, with the seconds that the server wants to be left alone."""

    def __init__(self, kind: str, detail: str, wait: float | None = None) -> None:
        self.kind, self.detail, self.wait = kind, detail, wait
        super().__init__(detail)


def _reply(found: Any, attempt: int) -> Reply:
    """The text of a response in the format of either path; raises `_Again` if it has another one."""
    try:
        choice = found["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        usage = found.get("usage") or {}
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise _Again(FAILED, f"a response without text: {shortened(repr(found), 60)}") from None
    if text is not None and not isinstance(text, str):
        raise _Again(FAILED, f"a response whose text is {type(text).__name__}")
    known = [count if isinstance(count, int) else None for count in counts]
    return Reply(text or "", str(choice.get("finish_reason") or "stop"), known[0], known[1], attempt)


def _back_off(attempt: int) -> float:
    """Seconds that double with each try, with a random part so that parallel requests spread."""
    spread = 0.5 + float(stream(time.monotonic_ns(), "back-off").random())
    return min(LONGEST_WAIT, 0.5 * 2**attempt * spread)


def _retry_after(value: str | None) -> float | None:
    try:
        return None if value is None else min(LONGEST_WAIT, max(0.0, float(value)))
    except ValueError:
        return None
