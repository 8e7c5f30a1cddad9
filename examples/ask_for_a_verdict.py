"""Ask what theory has on a task and a regular language, and why."""

import lengthwise as lw

for verdict in lw.predict("addition", encoding=["ape", "coupled"]).theory.verdicts:
    print(f"addition, {verdict.system}: {verdict.answer} ({verdict.why})")

decision = lw.decide("(aa)*")
for encoding in ("nope", "ape"):
    print("(aa)*,", encoding, decision.answer(encoding))
