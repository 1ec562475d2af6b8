"""A release on a cluster of several processes, of which one is lost in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from spark_here import NO_SPARK, has_spark

pytestmark = pytest.mark.full

HERE = Path(__file__).parent
TABLES = ["visits", "visits_public", "visits_public_dictionary"]


def test_a_lost_worker_changes_nothing(tmp_path: Path) -> None:
    if not has_spark():
        pytest.skip(NO_SPARK)
    if not Path("/proc/self/task").is_dir():
        pytest.skip("NOT TRIED: whose process is whose is read in /proc")
    script = "import sys; sys.path[:0] = sys.argv[2:]; import cluster_run; from pathlib import Path"
    script += "; cluster_run.main(Path(sys.argv[1]))"
    support = [str(HERE), str(HERE.parent / "support")]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), *support],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    whole = told.pop("undisturbed")
    assert whole["verified"]
    assert set(told) == {"write", "verify"}
    for phase, found in told.items():
        assert found["active"] > 0, phase  # tasks ran when it was lost
        assert found["workers"] == 1, phase
        assert found["verified"], phase
        assert found["same"], phase
        assert found["rows"] == whole["rows"], phase
        assert found["tables"] == TABLES, phase
