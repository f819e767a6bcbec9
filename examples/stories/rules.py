"""A rule-based model: reads JSON lines, and echoes the key of each with a label."""

import json
import re
import sys

GOOD = {"good", "great", "loved", "kind"}
BAD = {"awful", "bad", "hated", "rude"}

for line in sys.stdin:
    row = json.loads(line)
    words = set(re.findall(r"\w+", row["statement"]))
    score = len(words & GOOD) - len(words & BAD)
    label = "positive" if score > 0 else "negative" if score < 0 else "neutral"
    print(json.dumps({"uid": row["uid"], "label": label}))
