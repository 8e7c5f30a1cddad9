"""`Endpoint`: a model behind an OpenAI-compatible server, asked by the package `openai` within hard bounds."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import ssl
import threading
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from lengthwise.audit.model import FAILED, REFUSED, TIMED_OUT, Asker, ModelFacts, Reply, RequestFailed, printable
from lengthwise.core.errors import LengthwiseError, require, shortened

try:
    import httpx2
    import openai
except ModuleNotFoundError:
    raise LengthwiseError(
        "the audit of an endpoint needs the package openai; run: pip install 'lengthwise[audit]'"
    ) from None

LARGEST = 1 << 20
"""Most bytes of a response."""
LISTING = 10.0
"""Most seconds for the list of models."""
SHORTEST_KEY = 8
"""Characters of a key that is blacked out in responses."""
MOST_TOKENS = 10**9
"""A larger count of tokens in a response is not believed."""
PASSING = {408, 409, 425, 429}
"""Statuses below 500 after which another try may succeed."""
FATAL = {401: "the key is missing or wrong", 403: "the key is not allowed to", 404: "there is no such model or path"}
NO_KEY = "none"


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities that all servers are checked by, which take long to read."""
    return httpx2.create_ssl_context()


class _Bounded(openai.DefaultAsyncHttpxClient):
    """An HTTP client in which a whole response has one deadline, a largest size, and no compression.

    The deadline is the one for reading of the request. Raises `httpx2.RequestError`, which `openai` tries again.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        seconds = request.extensions["timeout"]["read"]
        request.headers["Accept-Encoding"] = "identity"
        if request.headers.get("Authorization") == f"Bearer {NO_KEY}":
            del request.headers["Authorization"]
        options["stream"] = True
        try:
            async with asyncio.timeout(seconds):
                response = await super().send(request, **options)
                try:
                    content = await self._content(request, response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no whole response within {seconds:g} s", request=request) from None
        names = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
        headers = {name: response.headers[name] for name in names if name in response.headers}
        return httpx2.Response(response.status_code, headers=headers, content=content, request=request)

    async def _content(self, request: httpx2.Request, response: httpx2.Response) -> bytes:
        coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            raise httpx2.DecodingError(
                f"a response compressed by {shortened(coding, 20)} where none was allowed", request=request
            )
        content = bytearray()
        async for part in response.aiter_raw():
            content += part
            if len(content) > LARGEST:
                raise httpx2.ReadError(f"a response of more than {LARGEST:,} bytes", request=request)
        if response.status_code == 200 and _json_of(content) is None:
            start = shortened(content.decode("utf-8", "replace"), 60)
            raise httpx2.RemoteProtocolError(f"a response that is not JSON: {start!r}", request=request)
        return bytes(content)


@dataclass
class Endpoint(Asker):
    """A model of a server.

    Arguments:
        url: ends where ``/chat/completions`` follows, as in ``http://localhost:8000/v1``.
        model: its name there.
        api: which path of the server.
        key_variable: the environment variable with the key, which goes into a header only.
        timeout: seconds of one try, from its start to the last byte of the response.
        retries: further tries of a request that failed in a way that may pass.
        concurrency: requests at the same time.
        context: tokens of prompt and answer; None for what the server lists.
        encoding: name of the position system for the theory, if it is known.

    Raises:
        LengthwiseError: for settings that don't fit.
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
    by_content = False

    def __post_init__(self) -> None:
        _check_url(self.url, self.key_variable)
        require(self.retries >= 0, f"retries must be 0 or more, got {self.retries}")
        require(self.concurrency >= 1, f"concurrency must be 1 or more, got {self.concurrency}")
        require(0 < self.timeout < math.inf, f"timeout must be above 0 seconds, got {self.timeout:g}")
        require(self.context is None or self.context >= 1, f"context must be 1 token or more, got {self.context}")
        self.url = self.url.rstrip("/")
        self.tries = self.retries + 1
        self._key = _key_of(self.key_variable)
        self._limit, self._answered = "max_tokens", False
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._client: Any = openai.AsyncOpenAI(
            base_url=self.url, api_key=self._key or NO_KEY, max_retries=self.retries, timeout=self.timeout,
            http_client=_Bounded(follow_redirects=False, verify=_certificates()),
            # Those of the user's account elsewhere are no business of this server.
            default_headers={"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()},  # type: ignore[dict-item]
        )  # fmt: skip
        given = tuple(name for name in ("context", "encoding") if getattr(self, name) is not None)
        context = self.context or self._declared()
        self.facts = ModelFacts(self.model, self.url, context, encoding=self.encoding, given=given)

    @property
    def identity(self) -> dict[str, Any]:
        return {"url": self.url, "model": self.model, "api": self.api}

    def ask(self, prompt: str, budget: int) -> Reply:
        try:
            raw = self._wait(self._request(prompt, budget))
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        except openai.APITimeoutError:
            raise RequestFailed(TIMED_OUT, f"no whole response within {self.timeout:g} s") from None
        except openai.APIError as error:
            cause = error.__cause__ or error
            require(
                self._answered or not isinstance(cause, httpx2.ConnectError),
                self._without_key(f"no connection to {self.url} ({cause}); start the server, or correct the URL"),
            )
            raise RequestFailed(FAILED, self._without_key(f"{type(cause).__name__}: {cause}")) from None
        self._answered = True
        return reply_of(json.loads(self._without_key(raw.http_response.text)), budget, raw.retries_taken)

    def cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            self._loop.call_soon_threadsafe(task.cancel)

    def _wait(self, work: Awaitable[Any]) -> Any:
        async def awaited() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    async def _request(self, prompt: str, budget: int) -> Any:
        common: dict[str, Any] = {"model": self.model, "temperature": 0}
        if self.api == "completion":
            return await self._client.completions.with_raw_response.create(**common, prompt=prompt, max_tokens=budget)
        common["messages"] = [{"role": "user", "content": prompt}]
        chat = self._client.chat.completions.with_raw_response
        limit = self._limit
        try:
            return await chat.create(**common, **{limit: budget})
        except openai.BadRequestError as error:
            # Newer servers refuse the old name of the limit and name the new one.
            if limit != "max_tokens" or "max_completion_tokens" not in error.response.text:
                raise
            self._limit = "max_completion_tokens"
        return await chat.create(**common, **{self._limit: budget})

    def _refused(self, error: openai.APIStatusError) -> Exception:
        status = error.status_code
        if status in FATAL:
            path = (
                "" if status != 404 or self.url.endswith("/v1") else f"; its path mostly ends in /v1: try {self.url}/v1"
            )
            return LengthwiseError(
                f"{self.url} answers {status}: {FATAL[status]}{path}; check the URL, the model {self.model!r} and the "
                f"environment variable {self.key_variable}"
            )
        text = shortened(printable(self._without_key(error.response.text)))
        passing = status in PASSING or status >= 500
        return RequestFailed(
            FAILED if passing else REFUSED, f"status {status}: {text}", final=not passing and status >= 400
        )

    def _without_key(self, text: str) -> str:
        # A placeholder such as EMPTY, which servers without keys take, may be a part of an answer.
        return text.replace(self._key, "[key]") if len(self._key) >= SHORTEST_KEY else text

    def _declared(self) -> int | None:
        """The context that the server lists for the model (vLLM does), if it does."""
        seconds = min(self.timeout, LISTING)
        client = self._client.with_options(max_retries=0, timeout=seconds)
        try:
            listed = json.loads(self._wait(client.models.with_raw_response.list()).http_response.text)
            found = [entry.get("max_model_len") for entry in listed["data"] if entry.get("id") == self.model]
        except (openai.APIError, KeyError, TypeError, AttributeError, ValueError):
            return None
        return found[0] if found and type(found[0]) is int and found[0] > 0 else None


def reply_of(found: Any, budget: int, retries: int) -> Reply:
    """The text of a response in the format of either path; content may come in chunks.

    A text that has all tokens of the ``budget`` did not stop, even if the server gives another reason.

    Raises:
        RequestFailed: for another format, and where the server or its filter refused.
    """
    try:
        choice = found["choices"][0]
        message = choice.get("message")
        text = message.get("content") if message is not None else choice["text"]
        refusal = None if message is None else message.get("refusal")
        thought = message is not None and any(message.get(name) for name in ("reasoning_content", "reasoning"))
        reason = choice.get("finish_reason")
        if isinstance(text, list):
            text = "".join(part if isinstance(part, str) else _chunk(part) for part in text)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise RequestFailed(FAILED, f"a response without text: {shortened(repr(found), 60)}") from None
    if refusal or reason == "content_filter":
        raise RequestFailed(REFUSED, f"the model refused: {shortened(str(refusal or reason), 60)}")
    if text is not None and not isinstance(text, str):
        raise RequestFailed(FAILED, f"a response whose text is {type(text).__name__}")
    usage = found.get("usage")
    prompt, new = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    finish = "length" if new is not None and new >= budget else shortened(printable(str(reason or "stop")), 40)
    return Reply(text or "", finish, prompt, new, retries, bool(thought))


def _chunk(part: dict[str, Any]) -> str:
    """The text of a piece of content; reasoning and other kinds have none."""
    return str(part["text"]) if part.get("type", "text") in ("text", "output_text") else ""


def _count(usage: Any, name: str) -> int | None:
    """A count of tokens, or None where the server gives none that can be true."""
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if type(found) is int and 0 <= found <= MOST_TOKENS else None


def _json_of(content: bytes | bytearray) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _check_url(url: str, key_variable: str) -> None:
    """Raises `LengthwiseError` unless ``url`` is one of a server, without a password or a key."""
    wrong = f"an endpoint is a URL such as http://localhost:8000/v1, got {url!r}"
    try:
        parts = urlsplit(url)
        require(parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0, wrong)
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
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
        "the name of an environment variable has letters, digits and underscores; key_variable is the name, and never "
        "the key",
    )
    key = os.environ.get(variable, "").strip()
    require(key.isascii() and key.isprintable(), f"the key in {variable} has characters that no key has; set it again")
    return key
