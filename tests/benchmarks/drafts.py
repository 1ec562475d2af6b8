"""The bench of drafts: what `init` decides on tables that were reviewed, and what then leaves.

    python tests/benchmarks/drafts.py [TABLE …]

Prints, by language, kind, role and table, how many columns a draft decides and how many of those
rightly, then each wrong role and each column that leaves by running the draft unedited. What is
printed is what `tests/drafts/test_drafts.py` judges.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from drafts.judge import judge, shown
from drafts.tables import reviews, write

SHARED = Path(__file__).resolve().parents[3] / "shared"


def main(names: list[str]) -> None:
    judged, spent = [], time.process_time()
    for table, review in reviews().items():
        if names and table not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            judged.append(judge(review, write(review, SHARED, Path(folder))))
        print(f"{time.process_time() - spent:6.1f} s  {table}", file=sys.stderr)
    print(shown(judged))


if __name__ == "__main__":
    main(sys.argv[1:])
