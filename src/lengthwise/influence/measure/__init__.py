"""The measurement of influential tokens: selection rules, losses under masks, and their summary."""
