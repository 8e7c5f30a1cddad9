"""`Endpoint`: a model behind an OpenAI-compatible server, with retries, a deadline and a limit on what is read."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from lengthwise.audit.asker import Asker, ModelFacts
from lengthwise.audit.outcomes import FAILED, REFUSED, TIMED_OUT, Reply, RequestFailed
from lengthwise.audit.response import Again, json_of, reply_of
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
LISTING = 10.0
"""Most seconds for the list of models."""
SHORTEST_KEY = 8
"""Characters of a key that is blacked out in responses."""
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
        _check_url(self.url, self.key_variable)
        require(self.retries >= 0, f"retries must be 0 or more, got {self.retries}")
        require(self.concurrency >= 1, f"concurrency must be 1 or more, got {self.concurrency}")
        require(0 < self.timeout < math.inf, f"timeout must be above 0 seconds, got {self.timeout:g}")
        require(self.context is None or self.context >= 1, f"context must be 1 token or more, got {self.context}")
        self.url = self.url.rstrip("/")
        self._key = _key_of(self.key_variable)
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {}, timeout=self.timeout,
            follow_redirects=False,
        )  # fmt: skip
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
                return reply_of(self._post(path, body), budget, attempt)
            except Again as again:
                if attempt == self.retries:
                    raise RequestFailed(again.kind, again.detail) from None
                self.sleep(again.wait if again.wait is not None else _back_off(attempt))
        raise AssertionError("unreachable")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON of a response; raises `Again` for what may pass, `RequestFailed` for a refusal."""
        status, headers, text = self._exchange("POST", path, body)
        if status in RETRIED:
            raise Again(FAILED, f"status {status}", _retry_after(headers.get("Retry-After")))
        if status in FATAL:
            raise LengthwiseError(
                f"{self.url}{path} answers {status}: {FATAL[status]}; check the URL, the model {self.model!r} and "
                f"the environment variable {self.key_variable}"
            )
        if status >= 300:
            raise RequestFailed(REFUSED, f"status {status}: {shortened(' '.join(text.split()))}")
        return json_of(text)

    def _exchange(
        self, method: str, path: str, body: dict[str, Any] | None = None, timeout: float | None = None
    ) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and text of a response, in which the key is blacked out should the server repeat it."""
        timeout = timeout or self.timeout
        deadline = time.monotonic() + timeout
        content = bytearray()
        try:
            with self._http.stream(method, self.url + path, json=body, timeout=timeout) as response:
                for part in response.iter_bytes():
                    content += part
                    if len(content) > LARGEST:
                        raise Again(FAILED, f"a response of more than {LARGEST:,} bytes")
                    if time.monotonic() > deadline:
                        raise Again(TIMED_OUT, f"a response that took more than {timeout:g} s")
        except httpx.TimeoutException:
            raise Again(TIMED_OUT, f"no response within {timeout:g} s") from None
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise Again(FAILED, self._without_key(f"{type(error).__name__}: {error}")) from None
        return response.status_code, response.headers, self._without_key(content.decode("utf-8", "replace"))

    def _without_key(self, text: str) -> str:
        # A placeholder such as EMPTY, which servers without keys take, may be a part of an answer.
        return text.replace(self._key, "[key]") if len(self._key) >= SHORTEST_KEY else text

    def _declared(self) -> int | None:
        """The context that the server lists for the model (vLLM does), if it does."""
        try:
            listed = json_of(self._exchange("GET", "/models", timeout=min(self.timeout, LISTING))[2])
            found = [entry.get("max_model_len") for entry in listed["data"] if entry.get("id") == self.model]
        except (Again, KeyError, TypeError, AttributeError):
            return None
        return found[0] if found and type(found[0]) is int and found[0] > 0 else None


def _check_url(url: str, key_variable: str) -> None:
    """Raises `LengthwiseError` unless ``url`` is one of a server, without a password or a key."""
    wrong = f"an endpoint is a URL such as http://localhost:8000/v1, got {url!r}"
    try:
        parts = urlsplit(url)
        require(parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0, wrong)
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        raise LengthwiseError(wrong) from None
    require(
        parts.username is None and not parts.query and not parts.fragment,
        "a URL with a password or a key would reach the files; put the key into the environment variable "
        f"{key_variable}",
    )


def _key_of(variable: str) -> str:
    """The key in an environment variable, "" without one; raises `LengthwiseError` for what can't be in a header."""
    require(
        re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable) is not None,
        "the name of an environment variable has letters, digits and underscores; give --key-variable the name, and "
        "never the key",
    )
    key = os.environ.get(variable, "").strip()
    require(key.isascii() and key.isprintable(), f"the key in {variable} has characters that no key has; set it again")
    return key


def _back_off(attempt: int) -> float:
    """Seconds that double with each try, with a random part so that parallel requests spread."""
    spread = 0.5 + float(stream(time.monotonic_ns(), "back-off").random())
    return min(LONGEST_WAIT, 0.5 * 2**attempt * spread)


def _retry_after(value: str | None) -> float | None:
    try:
        return None if value is None else min(LONGEST_WAIT, max(0.0, float(value)))
    except ValueError:
        return None
