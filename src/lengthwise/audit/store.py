"""Answers on disk, one line of JSON each, so that an audit that was stopped asks nothing twice."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from lengthwise.audit.outcomes import ANSWERED, APART
from lengthwise.core.errors import LengthwiseError

FILE = "answers.jsonl"


class AnswerStore:
    """Records by key; every new one is written at once. Safe for several threads of one process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        torn = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
            for line in text.splitlines():
                found = _record(line)
                if found is not None:
                    self._known[found["key"]] = found
            torn = bool(text) and not text.endswith("\n")
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise LengthwiseError(f"cannot write {self.path}: {error.strerror}; choose another --out") from None
        if torn:
            # A line that was cut short stays behind as it is and is not read.
            self._file.write("\n")

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a key, or None."""
        with self._lock:
            return self._known.get(key)

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Write a record; raises `LengthwiseError` if the disk is full."""
        entry = {"key": key, **record}
        with self._lock:
            try:
                self._file.write(json.dumps(entry) + "\n")
                self._file.flush()
            except OSError as error:
                raise LengthwiseError(f"cannot write {self.path}: {error.strerror}; free space") from None
            self._known[key] = entry

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _record(line: str) -> dict[str, Any] | None:
    """The record of a line, or None if it was cut short or changed; its question is then asked again."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("key"), str):
        return None
    counts = (found.get(name) for name in ("prompt_tokens", "completion_tokens", "retries"))
    known = found.get("outcome") in (*ANSWERED, *APART)
    return found if known and all(count is None or type(count) is int for count in counts) else None
