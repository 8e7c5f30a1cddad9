"""Train a tiny model on short additions with coupled ids and measure it on longer ones; takes a few seconds."""

import lengthwise as lw

experiment = lw.Experiment(
    lw.task("addition", base=2),
    "coupled",
    max_length=4,
    test_lengths=[4, 8],
    steps=30,  # far too few to learn it: an example, not a result
    model={"layers": 1, "heads": 4, "width": 32},
    evaluation={"samples": 20, "fit_samples": 40, "unfitted_too": True},
)
result = experiment.run(progress=False)
for score in result.runs[0].scores:
    print(f"length {score.length}: {score.correct['exact_match']} of {score.n} right")
