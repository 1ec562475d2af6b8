"""Make a release of a large table under a time limit, and print what became of it.

    python tests/benchmarks/large.py [--rows 5000000] [--time-limit 60] [--engine numpy]
        [--search optimal] [--folder FOLDER]

The table has ten columns as a hospital's list of stays has them: dates of birth and of admission, a
ZIP code, sex, race, marital status, education, length of stay and a diagnosis. Hierarchies and
limits are those that `dbdeid init` drafts (k = 5, two diagnoses in each class, 5 % suppressed). It
prints the seconds of each phase, the processor's seconds, the memory, and what was found; it fails
where every quasi-identifier is `*`. Five million rows take some minutes and 10 GB.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import duckdb

import dbdeid

MADE = """
COPY (
  SELECT
    i AS record_id,
    DATE '2015-12-31' - (33000 * pow(u(i, 1), .8))::INTEGER AS birth_date,
    printf('%05d', 10000 + 17 * (4000 * pow(u(i, 2), 2))::INTEGER) AS zip,
    CASE WHEN u(i, 3) < .52 THEN 'F' ELSE 'M' END AS sex,
    CASE
      WHEN u(i, 4) < .6 THEN 'White'
      WHEN u(i, 4) < .78 THEN 'Black'
      WHEN u(i, 4) < .9 THEN 'Asian'
      WHEN u(i, 4) < .99 THEN 'Other'
      ELSE 'American Indian'
    END AS race,
    ['Married', 'Never married', 'Divorced', 'Widowed', 'Separated'][
      1 + floor(5 * pow(u(i, 5), 1.7))::INTEGER
    ] AS marital_status,
    [
      'Bachelors', 'HS-grad', 'Masters', '11th', '9th', 'Some-college', 'Assoc-acdm', 'Assoc-voc',
      'Doctorate', '7th-8th'
    ][1 + floor(10 * pow(u(i, 6), 1.4))::INTEGER] AS education,
    DATE '2023-01-01' + floor(730 * u(i, 7))::INTEGER AS admission_date,
    floor(-6 * ln(1 - u(i, 8)))::INTEGER AS length_of_stay,
    printf('D%03d', floor(200 * pow(u(i, 9), 2.5))::INTEGER) AS diagnosis
  FROM range(?) AS t(i)
) TO '{path}' (FORMAT parquet)
"""
EDUCATION = [
    {
        "primary school or less": ["7th-8th"],
        "some high school": ["9th", "11th"],
        "high school": ["HS-grad"],
        "some college": ["Some-college", "Assoc-voc", "Assoc-acdm"],
        "bachelor": ["Bachelors"],
        "graduate degree": ["Masters", "Doctorate"],
    },
    {
        "no more than high school": ["primary school or less", "some high school", "high school"],
        "college": ["some college", "bachelor", "graduate degree"],
    },
]
MARRIAGE = [
    {
        "with a partner": ["Married"],
        "parted": ["Separated", "Divorced", "Widowed"],
        "never married": ["Never married"],
    },
    {"with a partner": ["with a partner"], "without a partner": ["parted", "never married"]},
]
HIERARCHIES = {
    "birth_date": {"hierarchy": {"shelf": "dates"}, "min_level": 1},
    "zip": {"hierarchy": {"shelf": "zip"}, "min_level": 1},
    "sex": {"hierarchy": "suppress"},
    "race": {"hierarchy": "suppress"},
    "marital_status": {"hierarchy": {"groups": MARRIAGE}},
    "education": {"hierarchy": {"groups": EDUCATION}},
    "admission_date": {"hierarchy": {"shelf": "dates"}, "min_level": 1},
    "length_of_stay": {"hierarchy": {"intervals": [2, 4, 8], "lower": 0, "upper": 32}},
}


def make(rows: int, path: Path) -> None:
    """The table as a Parquet file; the same for the same number of rows."""
    with duckdb.connect() as con:
        con.execute("CREATE MACRO u(i, c) AS (hash(i, c) % 1000003) / 1000003")
        con.execute(MADE.format(path=path), [rows])


def spec(source: Path, folder: Path, method: dict[str, object]) -> dict[str, object]:
    """The release, as `dbdeid init` drafts it and as an owner decides it."""
    quasi = {name: {"role": "quasi_identifier", **of} for name, of in HIERARCHIES.items()}
    return {
        "release": "large",
        "target": str(folder / "large.duckdb"),
        "source": str(source),
        "columns": {"record_id": "identifier", **quasi, "diagnosis": "sensitive"},
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "l_diversity", "column": "diagnosis", "kind": "distinct", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.05, **method},
    }


def main() -> None:
    """Make the table and the release, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--engine", default="numpy")
    parser.add_argument("--search", default="optimal")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        folder.mkdir(exist_ok=True)
        source = folder / f"large_{asked.rows}.parquet"
        if not source.exists():
            make(asked.rows, source)
        method = {
            "time_limit": asked.time_limit,
            "engine": asked.engine,
            "search": asked.search,
        }
        cpu, wall = time.process_time(), time.perf_counter()
        made = dbdeid.run(spec(source, folder, method))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    search, top = made.search, {"birth_date": 5, "zip": 3, "sex": 1, "race": 1}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{asked.rows:,} rows, {asked.search}, engine {asked.engine}: {wall:.0f} s, "
          f"{cpu:.0f} s of processors, {peak:.1f} GB")  # fmt: skip
    print("seconds:", made.seconds)
    print("levels:", made.transformation)
    print(f"loss {made.loss:.6f}, {made.suppressed_rows:,} suppressed, checked {search['checked']} "
          f"of {search['lattice_size']:,}, proven {search['proven_optimal']}, gap "
          f"{search['gap']:.4f}, out of time {search['out_of_time']}")  # fmt: skip
    assert any(made.transformation[name] < level for name, level in top.items())


if __name__ == "__main__":
    main()
