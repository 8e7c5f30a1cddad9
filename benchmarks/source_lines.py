"""How long the source is, package by package, against the commit before the redesign, feature by feature.

A line counts for a feature if what it belongs to did not exist at that commit: a whole file or folder, or one function,
class or constant of a file whose other parts did (``(docstring)``: those of its classes). `FEATURES` says which.
Everything else is compared: code that was moved, split or renamed, and whatever was added to it. So changed lines
inside old functions count as old, which makes the compared part longer than it should be, never shorter.

    python benchmarks/source_lines.py [COMMIT]      # default: the working tree
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

BEFORE = "a772327"
"""The last commit before the redesign: 32,972 lines."""
ROOT = "src/lengthwise/"
TEXTS = (".crasp", ".lark", ".toml", ".html", ".css", ".js")
"""Files of the package that are neither Python nor data: programs that were Python before are among them."""

FEATURES = {
    "import lengthwise as lw, own components": """
        __init__.py::__getattr__ __init__.py::__dir__ __init__.py::_HOMES __init__.py::_MODULES
        __init__.py::__all__ api/ testing/ core/table.py
        core/registry.py core/user_code.py core/user_code.py::load_object tasks/base.py::solve
        core/user_code.py::file_of core/user_code.py::code_of core/user_code.py::_CODE
        core/user_code.py::_check_complete prediction/suites.py::_defines_the_same
        prediction/suites.py::DEFINING experiments/recipe.py::GROUP
        prediction/verdict.py::table cli/check.py core/registry.py::_installed
        core/registry.py::is_built_in core/registry.py::origin core/registry.py::alias core/registry.py::_name_by_file
        core/errors.py::OTHER_NAMES experiments/defaults.py cli/config_file.py experiments/run.py::_own_task
        prediction/example.py report/figures.py report/figures.py""",
    "language models: audit, export, Hugging Face": """
        audit/ hf/ cli/audit.py cli/export.py report/pages.py report/figures.py
        evaluation/accuracy.py influence/models.py::Numbering
        influence/models.py::ids_of_windows influence/models.py::window_ids
        influence/models.py::WindowIds influence/models.py::_without_id_head
        influence/models.py::model_type influence/corpus.py workflows/task_influence.py
        cli/influence.py::answer_token experiments/trained.py::load_exported""",
    "longer contexts": """
        influence/lm.py models/extension.py cli/lm.py::ExtendSettings cli/lm.py::extend
        cli/lm.py::_extension_table training/further.py""",
    "blind study": """
        experiments/blind/ report/blind/ experiments/recipes/huang_review.py
        workflows/verify.py::reliability_line workflows/verify.py::_study""",
    "studies fixed beforehand": """
        experiments/recipes/alternation_depth.py experiments/recipes/fixed_beforehand.py
        experiments/recipes/golowich_assignment.py experiments/recipes/golowich_parity.py
        experiments/recipes/golowich_sparse_parity.py experiments/recipes/influence_far.py
        experiments/recipes/positional_unions.py evaluation/parent_attention.py influence/lm.py
        influence/corpus.py experiments/run.py::_attention experiments/recipes/addition.py::local_job
        experiments/recipes/addition.py::coupled_job experiments/recipes/addition.py::REPORTED_SEEDS
        experiments/recipes/addition.py::LOCAL_SEEDS experiments/recipes/addition_methods.py
        experiments/recipes/coupled_arithmetic.py experiments/recipes/method_matrix.py""",
    "comparison of position systems, demo": """
        experiments/comparison/ cli/compare.py cli/compare_view.py workflows/compare.py report/comparison/ cli/demo.py
        workflows/demo.py experiments/recipes/demo.py experiments/recipes/addition_jumps.py positions/system.py""",
    "the time that training still takes, and the command after a verdict": """
        cli/training_clock.py workflows/next_command.py""",
    "clusters, torchrun, plans, trackers, digests": """
        experiments/cluster/ cli/cluster.py cli/plan.py cli/trackers.py training/distributed/ experiments/followers.py
        training/trainer.py::_share training/checkpoint.py::text_of training/checkpoint.py::progress_of
        core/files.py::guarded core/files.py::_check_guards core/files.py::remove_unfinished
        core/result_file.py::sealed core/result_file.py::check_seal core/result_file.py::_seal
        core/result_file.py::_unsealed core/result_file.py::read_sealed influence/tokenizer.py::tokenizer_digest
        influence/lm.py::TOKENIZER training/trainer.py::_add_up cli/run.py::SHARD cli/threads.py
        training/threads.py""",
    "encodings as modules with arguments of their own (lengthwise.nn)": "nn/base.py nn/__init__.py nn/absolute.py "
    + " ".join(
        f"nn/{name}.py::__init__ nn/{name}.py::(docstring)"
        for name in ("alibi", "fire", "t5", "learned", "sinusoidal", "rope", "added", "relative_bias", "slots", "nope")
    ),
    "more encodings, and those by content or by layer": """
        nn/content.py nn/base.py nn/rotary.py nn/layers.py
        models/transformer.py::weights_by_content models/kernels.py::attend_by_content
        positions/encodings.py::EncodingRegistry positions/encodings.py::extends_rope
        nn/base.py::has_scores nn/base.py::layer nn/base.py::rotates_keys_alike nn/base.py::rotate_keys """
    + " ".join(
        f"nn/{name}.py positions/encodings/{name}.py"
        for name in (
            "alibi_learned", "hard_alibi", "cope", "coupled_bias", "dynamic_bias", "dynamic_ntk", "forgetting",
            "kerple", "layers",
            "learned_slow", "llama3", "local_bias", "longrope", "ntk", "path", "pi", "rerope", "rope_partial",
            "scalable_softmax", "selective", "self_extend", "shaw", "transformer_xl", "xpos", "yarn",
        )
    ),
    "more schemes": " ".join(
        f"positions/schemes/{name}.py"
        for name in ("abacus", "id_multiplier", "own_rule", "randomized_float", "rare_jump", "reset")
    ),
    "looped layers, self-improvement, priming": """
        models/looped.py models/config.py::Loops training/trainer.py::progressive_loops training/trainer.py::step_loss
        training/further.py training/further/__init__.py
        training/data.py::priming_lengths training/config.py::priming training/config.py::priming_length
        training/config.py::longest
        experiments/recipes/self_improvement.py experiments/recipes/looped_parity.py""",
    "29 tasks": "tasks/arithmetic/ tasks/chomsky/ tasks/recoupled.py tasks/recall/ tasks/strings/",
    "evidence on them, rules of predicted ids, search": """
        prediction/predicted_ids/ prediction/search.py prediction/search.py
        prediction/suites.py prediction/couple.py
        prediction/predict.py::predict_with_search prediction/predict.py::Found prediction/predict.py::_on_condition
        prediction/measured.py::conflict prediction/measured.py::_of prediction/measured.py::_contradicts
        prediction/verdict.py::shown prediction/verdict.py::reason
        positions/structure.py::Reach evaluation/accuracy.py""",
    "couplings of answers of about n/2 symbols": """
        prediction/couple.py::_check_answer prediction/couple.py::MORE
        sparsity/coupling.py::MoreLengthsError sparsity/coupling.py::_SizeFormula
        sparsity/coupling.py::_size sparsity/coupling.py::_used_places
        sparsity/coupling.py::DIVISORS sparsity/coupling.py::ENOUGH_FOR_DIVISORS""",
    "reports of studies, of tasks, of controls and of many tests": """
        report/page.py report/page.py core/result_file.py::StudyResult
        report/figures.py::_draw_small report/summary.py::unfitted_cells cli/run_view.py::_control
        report/figures.py::MOST_NAMED prediction/example.py::short_example
        report/figures.py::_with_fitted report/figures.py::_not_drawn
        prediction/example.py::tested_structure""",
    "dark mode": "report/figures.py::themed report/figures.py::ROLES",
    "limits of work, and processes that end without a traceback": """
        crasp/decide.py::Work crasp/decide.py::TooMuchWorkError crasp/decide.py::_tested
        experiments/workers.py::start_undisturbed experiments/workers.py::_last core/errors.py::one_line_warnings
        report/influence.py::too_small report/influence.py::LEAST_GAIN""",
}  # fmt: skip


def sources(commit: str | None, endings: tuple[str, ...] = (".py",)) -> dict[str, str]:
    """The source files of a commit or of the working tree, by path below the package."""
    if commit is None:
        paths = [path for path in Path(ROOT).rglob("*") if path.suffix in endings]
        return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    names = _git("ls-tree", "-r", "--name-only", commit, ROOT).split()
    return {name[len(ROOT) :]: _git("show", f"{commit}:{name}") for name in names if name.endswith(endings)}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, check=True, text=True).stdout


def definitions(text: str) -> Counter[str]:
    """Lines of every function, class, method and constant of a file, by name."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(text)):
        lines = (getattr(node, "end_lineno", None) or 0) - getattr(node, "lineno", 0) + 1
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] += lines + len(node.decorator_list)
            if isinstance(node, ast.ClassDef) and isinstance(first := node.body[0], ast.Expr):
                found["(docstring)"] += (first.end_lineno or 0) - first.lineno + 1
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                found[target.id] += lines
    return found


def lines_by_feature(files: dict[str, str]) -> dict[str, Counter[str]]:
    """By feature (and "" for what is compared), the lines of every package."""
    counted: dict[str, Counter[str]] = {name: Counter() for name in (*FEATURES, "")}
    for path, text in files.items():
        package, total = path.partition("/")[0] if "/" in path else "(top)", text.count("\n")
        for feature, places in FEATURES.items():
            for place in places.split():
                file, _, name = place.partition("::")
                if name and file == path:
                    counted[feature][package] += definitions(text)[name]
                    total -= definitions(text)[name]
                elif not name and (path == file or (file.endswith("/") and path.startswith(file))):
                    counted[feature][package] += total
                    total = 0
        counted[""][package] += total
    return counted


def main() -> None:
    """Print the table of packages, then that of features."""
    before: Counter[str] = Counter()
    for path, text in sources(BEFORE).items():
        before[path.partition("/")[0] if "/" in path else "(top)"] += text.count("\n")
    at = sys.argv[1] if len(sys.argv) > 1 else None
    counted = lines_by_feature(sources(at))
    after, new = counted.pop(""), sum(counted.values(), Counter())
    print(f"{'package':<12}{BEFORE:>10}{'now':>8}{'change':>8}{'features':>10}")
    for package in sorted({*before, *after, *new}):
        change = after[package] - before[package]
        print(f"{package:<12}{before[package]:>10,}{after[package]:>8,}{change:>+8,}{new[package]:>10,}")
    change = after.total() - before.total()
    texts = [sum(text.count("\n") for text in sources(commit, TEXTS).values()) for commit in (BEFORE, at)]
    print(f"{'all':<12}{before.total():>10,}{after.total():>8,}{change:>+8,}{new.total():>10,}")
    print(f"{'texts':<12}{texts[0]:>10,}{texts[1]:>8,}{texts[1] - texts[0]:>+8,}   (programs, grammar, pages)\n")
    for feature, lines in counted.items():
        print(f"{lines.total():>7,}  {feature}")


if __name__ == "__main__":
    main()
