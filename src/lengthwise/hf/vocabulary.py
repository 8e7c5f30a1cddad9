"""A tokenizer that knows the words of a task, so that a model of `lengthwise.hf.dataset` can be asked in text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from lengthwise.audit.questions import FILLER, FORMS, MARK, SHOWN_SEP, PromptForm, form_named, instruction
from lengthwise.core.vocab import BOS, EOS, PAD, SEP
from lengthwise.tasks import TASKS, Task

CHAT = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""The chat template of a task's tokenizer, which servers need: the prompt as it is."""


def task_tokenizer(
    task: str | Task | dict[str, Any], forms: Sequence[str | PromptForm] = tuple(FORMS)
) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are the words of a task, to be saved beside a model that was trained on it.

    The ids of a problem in the form ``bare`` are those of `dataset`, ``<bos>`` in front. Words of the forms and of
    filler have ids behind those of the task. Every other word is ``<unk>``, natural numbers are, too, and an audit asks
    no prompt with one.

    Arguments:
        task: the task, or what `lengthwise.task` takes.
        forms: whose words the tokenizer knows; with none, filler is unknown, too, and the tokens are the task's.

    Returns:
        The tokenizer; ``len()`` of it is the ``vocab_size`` that a model needs.

    Raises:
        LengthwiseError: for an unknown task or form.
    """
    built = TASKS.build(task)
    shapes = [form_named(form) if isinstance(form, str) else form for form in forms]
    texts = [shape.prompt(instruction(built), (), "") for shape in shapes] + [MARK, *FILLER] * bool(shapes)
    words = [SHOWN_SEP if token == SEP else token for token in built.vocab.tokens]
    words += [word for text in texts for word in text.split()] + ["<unk>"]
    known = {word: index for index, word in enumerate(dict.fromkeys(words))}
    inner = Tokenizer(models.WordLevel(known, "<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, known[BOS])])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=BOS, eos_token=EOS, pad_token=PAD, unk_token="<unk>",
        clean_up_tokenization_spaces=False, chat_template=CHAT,
    )  # fmt: skip
