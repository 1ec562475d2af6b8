"""A release to be asked, a server of it, and connections of a real client."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from dbdeid.serve.server import Server, serving

PASSWORD = "of the tests"

VISITS = """
CREATE TABLE visits AS
SELECT
  'person ' || i AS name,
  (20 + (i * 7) % 60)::INTEGER AS age,
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  DATE '2020-01-01' + (i * 13 % 400)::INTEGER AS admitted,
  ['asthma', 'flu', 'none'][1 + i % 3] AS illness,
  (i * 37 % 1000 / 10)::DECIMAL(8, 2) AS cost,
  TIMESTAMP '2021-05-01 08:00:00' + INTERVAL (i * 17) MINUTE AS seen,
  i % 5 = 0 AS smoker
FROM range(120) AS t(i);
CREATE TABLE secrets AS SELECT 'person 1' AS name, 'never' AS told;
"""
KNOWN = {"role": "insensitive", "reason": "drawn by the tests"}
COLUMNS = {
    "name": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "admitted": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
    "cost": KNOWN,
    "seen": KNOWN,
    "smoker": KNOWN,
}

Connection = psycopg.Connection[tuple[Any, ...]]


def connected(server: Server, password: str, **given: Any) -> Connection:
    """A connection; each statement is a transaction of its own."""
    place = {"host": "127.0.0.1", "port": server.port, "user": "analyst", "dbname": "releases"}
    given = {"autocommit": True, "connect_timeout": 20, **given}
    return psycopg.connect(**{**place, "password": password, **given})


@contextlib.contextmanager
def answering(*sources: Path, bounds: bool = True) -> Iterator[Server]:
    """A server that answers, in a thread of its own."""
    with serving(sources, port=0, password=PASSWORD, bounds=bounds) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
