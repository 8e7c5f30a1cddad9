"""Ask what theory says about a task and a regular language, and why."""

from lengthwise.crasp.decide import decide
from lengthwise.prediction.predict import predict

for verdict in predict("addition", ["ape", "coupled"]).verdicts:
    print(f"addition, {verdict.system}: {verdict.answer} ({verdict.why})")

decision = decide("(aa)*")
for fragment in ("none", "ape"):
    print("(aa)*,", fragment, decision.verdict(fragment, "visible").verdict)
