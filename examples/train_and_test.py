"""Train a tiny model on short additions with coupled ids and measure it on longer ones; takes a few seconds."""

from pathlib import Path

import torch

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec
from lengthwise.positions.schemes import Coupled
from lengthwise.tasks.addition import Addition
from lengthwise.training.config import TrainingConfig

torch.set_num_threads(1)  # more gain nothing with a tiny model, and lose much beside other busy processes
experiment = RunConfig(
    task=Addition(base=2),
    scheme=Coupled(max_position=64, draw="pose"),
    encoding=LearnedSpec(),
    model=ModelConfig(layers=1, heads=4, width=32),
    training=TrainingConfig(max_length=4, steps=30),  # far too few to learn it: an example, not a result
    evaluation=EvaluationConfig(lengths=(4, 8), samples=20, fit_samples=40, unfitted_too=True),
)
result = run_seed(experiment, 0, Path("runs/example"), recipe="example", system="coupled")
for score in result.scores:
    print(f"length {score.length}: {score.correct['exact_match']} of {score.n} right")
