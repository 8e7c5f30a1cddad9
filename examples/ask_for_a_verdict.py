"""Ask what theory has on a task and a regular language, and why."""

import lengthwise as lw

for verdict in lw.predict("addition", ["ape", "coupled"]).verdicts:
    print(f"addition, {verdict.system}: {verdict.answer} ({verdict.why})")

decision = lw.decide("(aa)*")
for encoding in ("nope", "ape"):
    print("(aa)*,", encoding, decision.answer(encoding))
