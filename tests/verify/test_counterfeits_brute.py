"""The catalog's promises against an attack in numpy, on random releases with any groups."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from attack import attack
from counterfeited import DECLARED, Padded
from handmade import failed

from dbdeid.engine.relation import Column
from dbdeid.verify import Verification
from dbdeid.verify.base.declaration import Padding

# Names of our own tables' columns, and some that need quotes.
NAMES = [
    ("age", "sex", "dx"),
    ("class", "value", "records"),
    ("k0", "k1", "k2"),
    ("grp", "counterfeits", "class_ids"),
    ('a "b" c', "level", "shown"),
    ("record", "c0", "c1"),
    ("name", "loss", "sensitive_value"),
]


def release_of(
    records: list[tuple[str | None, str | None, str | None]],
    groups: list[tuple[list[int], str | None, int]],
    *,
    size: int = 3,
    names: tuple[str, str, str] = NAMES[0],
) -> Padded:
    """A release at level 0 of both quasi-identifiers, without hierarchies."""
    release = Padded(
        duckdb.connect(),
        replace(
            DECLARED,
            columns=(Column("class_id", "BIGINT"), *(Column(n, "VARCHAR") for n in names)),
            quasi_identifiers=names[:2],
            models=(),
            transformation=dict.fromkeys(names[:2], 0),
            tops=dict.fromkeys(names[:2], 1),
            source_rows=max(len(records) - sum(n for *_, n in groups), 0),
            domains=(),
            padding=Padding(
                k=size,
                size=size,
                h=0.0,
                limit=1000,
                catalog="pool",
                sensitive=names[2],
                strict=False,
                weights={},
            ),
        ),
    )
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    release.sql(
        f"CREATE TABLE raw ({', '.join(f'{name} VARCHAR' for name in quoted)})",
        "CREATE TABLE ward_catalog"
        " (class_ids BIGINT[], sensitive_value VARCHAR, counterfeits BIGINT)",
    )
    for row in records:
        release.con.execute("INSERT INTO raw VALUES (?, ?, ?)", row)
    for group in groups:
        release.con.execute("INSERT INTO ward_catalog VALUES (?, ?, ?)", group)
    release.sql(
        f"CREATE TABLE ward AS SELECT dense_rank() OVER (ORDER BY {quoted[0]}, {quoted[1]}) "
        "AS class_id, * FROM raw ORDER BY ALL",
        "CREATE OR REPLACE TABLE ward_catalog AS FROM ward_catalog ORDER BY ALL",
        """CREATE TABLE ward_dictionary ("column" VARCHAR, released_value VARCHAR, "level" INTEGER,
        lower VARCHAR, upper VARCHAR, leaves VARCHAR[])""",
    )
    for name, place in zip(names[:2], quoted, strict=False):
        release.con.execute(
            "INSERT INTO ward_dictionary "
            f"SELECT DISTINCT ?, {place}, 0, NULL::VARCHAR, NULL::VARCHAR, NULL FROM raw",
            [name],
        )
    release.sql("CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary ORDER BY ALL")
    return release


def drawn(seed: int) -> tuple[list[tuple[str | None, str | None, str | None]], int]:
    """Random records in classes, half of them of three records; and how many classes there are."""
    rng = random.Random(seed)
    keys = [(a, b) for a in ("x", "y", None) for b in ("1", "2", None)]
    chosen = rng.sample(keys, rng.randint(1, 9))
    values = ["flu", "gout", "\x02", "", None][: rng.randint(1, 5)]
    records = [
        (*key, rng.choice(values)) for key in chosen for _ in range(rng.choice([3, 3, 4, 7]))
    ]
    return records, len(chosen)


def promised(verification: Verification) -> dict[str, object]:
    return {p.model: p.found for p in verification.promises}


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(30))
def test_verifier_and_attack_agree(seed: int) -> None:
    records, classes = drawn(seed)
    rng = random.Random(1000 + seed)
    numbers = list(range(1, classes + 1))
    rng.shuffle(numbers)
    cut = rng.randint(1, classes)
    groups = []
    for ids in filter(None, (sorted(numbers[:cut]), sorted(numbers[cut:]))):
        probe = release_of(records, [])
        held = dict(
            probe.con.execute(
                "SELECT dx, count(*) FROM ward WHERE class_id IN (SELECT unnest(?)) GROUP BY dx",
                [ids],
            ).fetchall()
        )
        groups += [
            (ids, value, rng.randint(1, max(1, number // 2)))
            for value, number in held.items()
            if rng.random() < 0.7
        ]
    release = release_of(records, groups)
    verification = release.verify(source=False, flagged=False)
    found = promised(verification)
    assert "catalog" not in failed(verification)
    table, catalog = (release.con.sql(f"FROM {name}").df() for name in ("ward", "ward_catalog"))
    attacked = attack(table, catalog, ["age", "sex"], "dx", 3)
    assert found["lemma_1"] == {"violations": attacked.lemma_violations}
    told = found["candidates"]
    assert isinstance(told, dict)
    assert bool(told["certain"]) <= bool(attacked.certain)
    assert told["known_clean"] == attacked.clean_classes
    assert found["prosecutor_risk"] == pytest.approx(attacked.risk)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("names", NAMES, ids=["-".join(names) for names in NAMES])
def test_columns_may_have_any_names(names: tuple[str, str, str], tmp_path: Path) -> None:
    records = [(a, b, dx) for a in "xyz" for b in ("1", None) for dx in ("flu", "gout", None)]
    classes = list(range(1, 7))
    release = release_of(records, [(classes, dx, 1) for dx in ("flu", "gout", None)], names=names)
    verification = release.verify(source=False, flagged=False)
    assert verification.verified, verification.failures
    verification = release.publish(tmp_path / "ward.duckdb")
    assert verification.verified, verification.failures


def test_a_release_without_records() -> None:
    verification = release_of([], []).verify(source=False, flagged=False)
    assert verification.verified, verification.failures


def test_a_release_of_one_record() -> None:
    verification = release_of([("x", None, "flu")], [], size=1).verify(source=False, flagged=False)
    assert verification.verified, verification.failures
