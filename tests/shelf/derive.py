"""Derives the data files of the shelf from public tables; run by hand when a table is newer.

    python tests/shelf/derive.py zip3 us_zcta2010_population.parquet
    python tests/shelf/derive.py countries country-codes.csv
    python tests/shelf/derive.py person_names names/
    python tests/shelf/derive.py lookalikes confusables.json

`zip3` sums the people of the Census ZIP code tabulation areas (columns `zcta5`, `population`) by
their first three digits. `countries` takes codes, names and UN M49 regions from the table of
datasets/country-codes (public domain), and adds names that people write. `person_names` takes those
of all of Faker's languages (MIT licence), and of the Census Bureau's frequent names of 1990 (public
domain), as the files `dist.*` of the package `names` hold them; it leaves out what is a category,
a country, a colour or a small word, too. `lookalikes` takes letters from Unicode's confusables.txt
(UTS #39, Unicode licence), as `confusables.json` of the package `confusable_homoglyphs` holds it.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import unicodedata
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb
from faker.providers import person

from dbdeid.data.shelf import tables
from dbdeid.profiling import persons

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


FREQUENT = 6000  # family names of the Census Bureau, the most frequent first
NO_NAMES = frozenset(
    (
        *("red", "green", "blue", "yellow", "black", "white", "brown", "grey", "gray", "violet"),
        *("purple", "orange", "pink", "silver", "gold", "beige", "olive", "rose", "amber"),
        *("scarlet", "ruby", "jade", "the", "and", "not", "with", "will", "can", "has", "had"),
        *("his", "her", "was", "are", "for", "from", "our", "out", "all", "any", "new", "old"),
        *("one", "two", "day", "days", "week", "year", "san", "santa", "saint", "fort", "lake"),
        *("art", "bill", "case", "general", "major", "long", "day", "good", "low", "high", "home"),
    )
)
BOTH = frozenset(("jan", "christian"))  # names as well as categories


def person_names(folder: str) -> None:
    """Given and family names in small letters without accents, by their first letter."""
    given, family = set[str](), set[str]()
    for path in sorted(Path(person.__file__).parent.glob("*/__init__.py")):
        provider = import_module(f"faker.providers.person.{path.parent.name}").Provider
        for kind in dir(provider):
            values = getattr(provider, kind)
            if re.search("names?", kind) and isinstance(values, (tuple, list, dict)):
                of = given if re.search("first|given", kind) else family
                if re.search("first|given|last|sur", kind):
                    of |= {word for value in values for word in words(str(value))}
    for sex in ("male", "female"):
        given |= set(words(Path(folder, f"dist.{sex}.first").read_text(encoding="ascii")))
    frequent = Path(folder, "dist.all.last").read_text(encoding="ascii").splitlines()
    family |= set(words("\n".join(frequent[:FREQUENT])))
    categories = {row["value"].lower() for row in tables.read("categories.csv")}
    categories |= {
        word
        for row in tables.read("categories.csv")
        if row["list"] == "us_states"
        for word in words(row["value"])
    }
    for row in tables.read("countries.csv"):
        categories |= {name.lower() for name in row["names"].split("|")}
    none = (categories | NO_NAMES) - BOTH
    rows = []
    for part, some, shortest in (("given", given, 3), ("family", family, 2)):
        kept = sorted(name for name in some - none if len(name) >= shortest)
        rows += [(part, i, "|".join(of)) for i, of in groupby(kept, key=itemgetter(0))]
    _write("person_names.csv", ("part", "initial", "names"), rows)


def lookalikes(path: str) -> None:
    """Write `lookalikes.csv`: Greek, Cyrillic and Armenian letters that look like a Latin one.

    A small letter needs a capital that looks Latin too, so that both cases of a word stay one,
    except for those that are known from forged names.
    """
    looks: dict[str, str] = {}
    for letter, others in json.loads(Path(path).read_text(encoding="utf-8")).items():
        latin = [o["c"] for o in others if o["c"].isascii() and o["c"].isalpha()]
        latin = [one for one in latin if len(one) == 1]
        if len(letter) > 1 or not latin or not "\u0370" <= letter <= "\u058f":
            continue
        plain = unicodedata.normalize("NFKC", letter) == letter
        if plain and unicodedata.category(letter) in ("Lu", "Ll"):
            capital = letter.isupper() and latin[0] == "l"  # confusables has no capital I
            looks[letter] = "I" if capital else latin[0]
    rows = [
        (letter, look)
        for letter, look in sorted(looks.items())
        if letter.isupper() == look.isupper()
        and (letter.isupper() or letter.upper() in looks or letter in "\u0501\u051b\u051d\u04bb")
    ]
    _write("lookalikes.csv", ("letter", "look"), list(rows))


def words(text: str) -> list[str]:
    """The words of the Latin alphabet in a text, in small letters without accents."""
    return [word for word in persons.words(text) if word.isascii()]


def _write(name: str, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with (SHELF / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{name}: {len(rows)} rows")


if __name__ == "__main__":
    derive = {
        "zip3": zip3,
        "countries": countries,
        "person_names": person_names,
        "lookalikes": lookalikes,
    }
    derive[sys.argv[1]](sys.argv[2])
