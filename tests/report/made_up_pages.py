"""One page of every kind that the package writes, from made-up and committed results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blind_study import blind_page
from made_up import experiment, result, score
from made_up_influence import influence_result
from test_figures import mixed_results

from lengthwise.audit.model import Asker, ModelFacts, Reply
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import run_audit
from lengthwise.prediction.example import to_store
from lengthwise.report.influence import InfluenceResult, token_view
from lengthwise.report.page import read_report, render
from lengthwise.report.pages import audit_page, comparison_page, verification_page
from lengthwise.report.summary import SeedResult, SystemSummary, summarize
from lengthwise.tasks import TASKS

ROOT = Path(__file__).parents[2]
TABLE = json.loads((ROOT / "studies" / "blind" / "results" / "blind" / "table.json").read_text(encoding="utf-8"))


class Forgetful(Asker):
    """Answers the first word of the prompt, which is wrong; half of the prompts are too much for it."""

    facts = ModelFacts("my-model", "a folder", context=300, encoding="rope")

    @property
    def identity(self) -> dict[str, Any]:
        return {"model": "made up"}

    def ask(self, prompt: str, budget: int) -> Reply:
        return Reply("", "length" if len(prompt) % 2 else "stop", len(prompt) // 4, 1)

    def tokens(self, prompt: str) -> int | None:
        return len(prompt) // 4


def audit(folder: Path) -> str:
    plan = AuditPlan(TASKS.build("addition"), (3, 6, 12, 24), samples=4, shots=2, forms=("lines", "instruction"))
    found = run_audit(Forgetful(), plan, folder)
    for index, cell in enumerate(found["cells"]):
        right = cell["answered"] * (index % 3) // 2
        if cell["answered"]:
            cell |= {"rate": right / cell["answered"], "low": 0.1, "high": 0.9}
    return audit_page(found)


def comparison_values(count: int = 9, tests: tuple[int, ...] = (6, 9, 12, 18, 24, 36, 48)) -> dict[str, Any]:
    """A comparison of ``count`` systems; the last has no seed, the one before did not fit."""
    names = ("coupled+learned", "random-start+learned", "predictive-coupling+learned", "pose+rope", "alibi", "fire",
             "randomized+learned", "nope", "sequential+rope")  # fmt: skip
    systems = []
    for index in range(count):
        fits, reach = index < count - 2, tests[-1 - index % len(tests)]
        seeds = [
            {
                "seed": seed,
                "fitted": fits,
                "in_distribution": 1.0 if fits else 0.2,
                "reach": reach if fits else 0,
                "mean_beyond": 0.5,
                "exact_match": {str(n): float(n <= reach) for n in tests},
            }
            for seed in range(0 if index == count - 1 else 3)
        ]
        systems.append({
            "system": names[index % len(names)], "seeds": seeds, "fitted": len(seeds) * fits,
            "reach": reach if fits else 0, "mean_beyond": 0.5 * fits, "diverged": False, "missing": 3 - len(seeds),
            "tuning": [seeds[0]["in_distribution"]] if seeds else None,
            "verdict": ("yes", "unknown", None)[index % 3], "sparsity": [5, 5], "span": [12, 202],
            "structure_lengths": [5, 100], "setting": "1 layer, lr 0.003",
            "copy": {"task": "addition", "scheme": {"name": "coupled"}, "steps": 400,
                     "model": {"layers": 1 + index % 2, "width": 64, "log_length": None},
                     "training": {"lr": 0.003}} if seeds else None,
        })  # fmt: skip
    return {
        "name": "my task", "task": {"name": "my task"},
        "trained_to": 6, "tests": list(tests), "reach_at": 0.95, "steps": 400, "seeds": 3, "grid": [{}, {}],
        "budget_seconds": 60.0, "selection": "one setting", "systems": systems, "next": "more seeds",
        "next_options": {},
        "commit": "0123456789ab", "machine": {"processor": "a processor"}, "time": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip


def comparison_systems() -> list[SystemSummary]:
    """The runs of three of its systems."""
    names = ("coupled+learned", "random-start+learned", "pose+rope")
    return summarize(SeedResult.of(result(name, seed)) for name in names for seed in range(3))


def own_task() -> str:
    task = TASKS.build(f"{ROOT / 'examples' / 'my_task.py'}:EverySecond")
    config = {**experiment(), "task": {"name": "/somewhere/else/my_task.py:EverySecond"}}
    values = {**result(recipe="EverySecond", config=config), "task": to_store(task, (8, 16, 40)).to_json()}
    return render([SeedResult.of(values)])


def verification() -> str:
    rows = [{**row, "language": "regex:(a|b)*abb", "reliability": "of 28 languages 5 were decided and 4 behaved so"}
            for row in TABLE["cells"][:2]]  # fmt: skip
    return verification_page(rows, "Verification of regex:(a|b)*abb", ["nope: theory says yes: a program exists"])


def influence(**values: Any) -> InfluenceResult:
    return InfluenceResult.of(influence_result(**values))


def many_panels() -> str:
    scores = [score(n, 100, axes={"chains": c, "depth": n // c}) for n in (8, 16, 400) for c in (1, 4)]
    return render([SeedResult.of(result(f"system {i} of a crowd", scores=scores)) for i in range(9)])


PAGES: dict[str, Callable[[Path], str]] = {
    "runs": lambda folder: render(mixed_results()),
    "many panels": lambda folder: many_panels(),
    "own task": lambda folder: own_task(),
    "influence": lambda folder: render([], [influence()]),
    "passages": lambda folder: token_view(influence()),
    "study": lambda folder: read_report([ROOT / "studies" / "theory" / "results" / "planted-theory"]).html(),
    "comparison": lambda folder: comparison_page(comparison_values(), comparison_systems()),
    "blind study": lambda folder: blind_page(TABLE, "The blind study"),
    "verification": lambda folder: verification(),
    "audit": audit,
}
"""Each gets a folder that it may write to."""
