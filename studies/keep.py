"""Keep every result file that a commit ever added: bring back what later commits removed or overwrote.

``python studies/keep.py`` reads the git history, writes each version that the tree has not to
``studies/<study>/results/<recipe>/superseded/<commit>/<hash>/``, and lists all versions in ``studies/kept.txt``, by the
SHA-256 of what they say: how their JSON is laid out does not count. Until November 2026 they were in ``results/``.
``<commit>`` is the commit that added that version, and ``superseded/commits.txt`` lists these, oldest first. Readers of
results leave ``superseded`` folders out.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from table_parts import STUDIES, results

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("kept.txt")
NAMES = ("result.json", "study.json")
"""Files of runs and studies. Tables are made from them."""


def git(*arguments: str, given: bytes = b"") -> bytes:
    """What a git command prints; raises `subprocess.CalledProcessError` outside a repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, input=given, check=True, capture_output=True).stdout


def added() -> Iterator[tuple[str, str, bytes]]:
    """Commit, path and contents of every version of a result file, oldest first."""
    kinds = "--name-status", "--no-renames", "--diff-filter=AM"
    log = git("log", "--reverse", "--format=@%h", *kinds, "--", "results", "studies/*/results")
    commit, found = "", []
    for line in log.decode().splitlines():
        if line.startswith("@"):
            commit = line[1:8]
        elif line:
            path = line.split("\t")[1]
            if "superseded" not in path and path.endswith(NAMES):
                found.append((commit, path))
    # One process prints all of them: a line with the size, the contents, and an end of line.
    printed, at = git("cat-file", "--batch", given="".join(f"{c}:{p}\n" for c, p in found).encode()), 0
    for commit, path in found:
        start = printed.index(b"\n", at) + 1
        at = start + int(printed[at:start].split()[2])
        yield commit, path, printed[start:at]
        at += 1


def superseded(commit: str, path: str) -> Path:
    """Where the version of ``path`` that ``commit`` added goes: below ``superseded`` in the recipe's folder."""
    recipe, rest = parts(path)
    return results(recipe).joinpath("superseded", commit, rest)


def parts(path: str) -> tuple[str, str]:
    """Recipe and rest of the path of a result file, of today or from when all were in ``results/``."""
    recipe, rest = path.partition("results/")[2].split("/", 1)
    return recipe, rest


def digest(contents: bytes) -> str:
    """SHA-256 of a JSON text without its layout, in hexadecimal."""
    return hashlib.sha256(json.dumps(json.loads(contents), separators=(",", ":")).encode()).hexdigest()


def in_tree() -> dict[str, Path]:
    """The result files of the tree, current and superseded, by SHA-256."""
    return {digest(path.read_bytes()): path for name in NAMES for path in sorted(STUDIES.glob(f"*/results/**/{name}"))}


def write_order(folder: Path) -> None:
    """Write the commits of a ``superseded`` folder with their dates, oldest first."""
    dates = {
        commit.name: git("log", "-1", "--format=%aI", commit.name).decode().strip() for commit in folder.glob("*/")
    }
    lines = [f"{commit}  {date}" for commit, date in sorted(dates.items(), key=lambda item: item[1])]
    (folder / "commits.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Bring back what is missing and write the list."""
    for commit, path, contents in added():
        recipe, rest = parts(path)
        current = results(recipe) / rest
        if current.exists() and digest(current.read_bytes()) == digest(contents):
            continue
        target = superseded(commit, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents)
    for folder in sorted(STUDIES.glob("*/results/*/superseded")):
        write_order(folder)
    lines = [f"{name}  {path.relative_to(STUDIES).as_posix()}" for name, path in in_tree().items()]
    LIST.write_text("\n".join(sorted(lines, key=lambda line: line.split()[1])) + "\n", encoding="utf-8")
    print(f"{len(lines)} versions of result files, {sum('superseded' in line for line in lines)} of them superseded")


if __name__ == "__main__":
    main()
