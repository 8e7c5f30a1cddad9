"""Published accuracies (percent) on 51–100 and 101–150 or their counterparts (Huang et al. 2025, repository files).

Facts to stand beside ours; nothing computes from them. For the languages the published bins differ from language to
language, and the published pipeline has defects: see studies/huang/README.md.
"""

from __future__ import annotations

import json
from pathlib import Path

PUBLISHED: dict[str, dict[str, list[float]]] = json.loads(
    Path(__file__).with_name("huang_published.json").read_text(encoding="utf-8")
)["accuracies"]
