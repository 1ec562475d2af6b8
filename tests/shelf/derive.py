"""Derives the data files of the shelf from public tables; run by hand when a table is newer.

    python tests/shelf/derive.py zip3 us_zcta2010_population.parquet
    python tests/shelf/derive.py countries country-codes.csv

`zip3` sums the people of the Census ZIP code tabulation areas (columns `zcta5`, `population`) by
their first three digits. `countries` takes codes, names and UN M49 regions from the table of
datasets/country-codes (public domain), and adds names that people write.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import duckdb

SHELF = Path(__file__).parents[2] / "dbdeid" / "data" / "shelf"

# Guidance of the HHS Office for Civil Rights on § 164.514(b)(2), by Census 2000.
HHS_2000 = [
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
]

ALIASES = {
    "AE": ["UAE"],
    "BN": ["Brunei"],
    "BO": ["Bolivia"],
    "CD": ["DR Congo", "Democratic Republic of Congo", "Congo (Kinshasa)", "Zaire"],
    "CG": ["Congo (Brazzaville)", "Republic of the Congo"],
    "CI": ["Ivory Coast", "Cote d'Ivoire"],
    "CV": ["Cape Verde"],
    "CZ": ["Czech Republic"],
    "FK": ["Falkland Islands"],
    "FM": ["Micronesia"],
    "GB": [
        *("United Kingdom", "Great Britain", "Britain"),
        *("England", "Scotland", "Wales", "Northern Ireland"),
    ],
    "HK": ["Hong Kong"],
    "IR": ["Iran"],
    "KP": ["North Korea", "Korea, North", "N. Korea"],
    "KR": ["South Korea", "Korea, South", "Korea, Republic of", "S. Korea", "Korea"],
    "LA": ["Laos"],
    "MD": ["Moldova"],
    "MK": ["Macedonia"],
    "MM": ["Burma"],
    "MO": ["Macau", "Macao"],
    "NL": ["Holland"],
    "PS": ["Palestine"],
    "RU": ["Russia"],
    "SY": ["Syria"],
    "SZ": ["Swaziland"],
    "TL": ["East Timor"],
    "TR": ["Turkey", "Türkiye"],
    "TZ": ["Tanzania"],
    "US": ["United States"],
    "VA": ["Vatican", "Vatican City"],
    "VE": ["Venezuela"],
    "VN": ["Vietnam", "Viet Nam"],
}


def zip3(path: str) -> None:
    """The people of each area of three digits, and which areas may not be told."""
    found = duckdb.execute(
        "SELECT left(zcta5, 3) AS zip3, sum(population)::INTEGER FROM read_parquet(?) "
        "GROUP BY zip3 ORDER BY zip3",
        [path],
    ).fetchall()
    rows = [(area, people, "yes" if area in HHS_2000 else "") for area, people in found]
    _write("zip3.csv", ("zip3", "people_2010", "small_2000"), rows)


def countries(path: str) -> None:
    """Codes and names of each country, and its region and subregion."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            code = row["ISO3166-1-Alpha-2"]
            short = row["UNTERM English Short"].removesuffix(" (the)").replace(" (the)", "")
            given = [row["official_name_en"], short, row["CLDR display name"]]
            names = list(dict.fromkeys(n for n in [*given, *ALIASES.get(code, [])] if n))
            region, subregion = row["Region Name"] or names[0], row["Sub-region Name"] or names[0]
            rows.append((code, row["ISO3166-1-Alpha-3"], "|".join(names), subregion, region))
    header = ("alpha2", "alpha3", "names", "subregion", "region")
    _write("countries.csv", header, sorted(rows))


def _write(name: str, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with (SHELF / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{name}: {len(rows)} rows")


if __name__ == "__main__":
    {"zip3": zip3, "countries": countries}[sys.argv[1]](sys.argv[2])
