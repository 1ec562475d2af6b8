"""Tables of the reference data to plan releases of, each with another kind of hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CountedTable:
    """A table that is released: which columns of which file, and what is promised of them."""

    file: str
    columns: dict[str, dict[str, Any]]
    models: tuple[dict[str, Any], ...]
    hierarchies: str | None = None

    def extract(self, shared: Path) -> str:
        """A query of DuckDB for the columns."""
        names = ", ".join(self.columns)
        return f"SELECT {names} FROM '{shared / 'data' / self.file}'"

    def spec(self, name: str, shared: Path, **more: Any) -> dict[str, Any]:
        """The specification; its source has the name of the table."""
        columns = {column: dict(keys) for column, keys in self.columns.items()}
        for keys in columns.values():
            file = keys.get("hierarchy")
            if isinstance(file, str) and file != "suppress":
                keys["hierarchy"] = str(shared / "data" / "hierarchies" / file)
        return {
            "release": f"{name}_public",
            "source": name,
            "columns": columns,
            "privacy": [{"model": "k_anonymity", "k": 5}, *self.models],
            "method": {"name": "full_domain", "suppression_limit": 0.05},
            **more,
        }


def _qi(hierarchy: Any, **more: Any) -> dict[str, Any]:
    return {"role": "quasi_identifier", "hierarchy": hierarchy, **more}


def _adult(name: str, **more: Any) -> dict[str, Any]:
    return _qi(f"adult/adult_hierarchy_{name}.csv", **more)


SENSITIVE = {"role": "sensitive", "accept": "homogeneity", "reason": "of a public file"}
OPEN = {"role": "insensitive", "reason": "of a public file"}

TABLES = {
    # files of hierarchies; a level that the query makes
    "adult": CountedTable(
        "adult_arx.parquet",
        {
            "age": _adult("age", min_level=1),
            "education": _adult("education", min_level=1),
            "marital_status": _adult("marital-status"),
            "race": _adult("race"),
            "sex": _adult("sex"),
            "salary_class": SENSITIVE,
        },
        ({"model": "l_diversity", "column": "salary_class", "l": 2},),
    ),
    # days by units of the calendar, and a model that compares with the whole table
    "colon": CountedTable(
        "survival/biostat3_colon.parquet",
        {
            "dx": _qi(
                {"dates": ["quarter", "year", "decade"], "lower": "1975-01-01"}
                | {"upper": "1995-01-01"},
                min_level=1,
            ),
            "age": _qi({"intervals": [5, 10, 20], "lower": 0, "upper": 100}, min_level=1),
            "sex": _qi("suppress"),
            "subsite": _qi("suppress"),
            "stage": SENSITIVE,
            "surv_mm": OPEN,
        },
        ({"model": "l_diversity", "column": "stage", "l": 1.5, "kind": "entropy"},),
    ),
    # groups, of values with brackets and commas
    "diabetes": CountedTable(
        "ehr/diabetes130.parquet",
        {
            "race": _qi("suppress"),
            "gender": _qi("suppress"),
            "age": _qi(
                {
                    "groups": [
                        {
                            "under 40": ["[0-10)", "[10-20)", "[20-30)", "[30-40)"],
                            "40 to 69": ["[40-50)", "[50-60)", "[60-70)"],
                            "70 or older": ["[70-80)", "[80-90)", "[90-100)"],
                        }
                    ]
                },
            ),
            "time_in_hospital": _qi({"intervals": [2, 4, 8], "lower": 0, "upper": 16}, min_level=1),
            "admission_type_id": _qi("suppress"),
            "readmitted": SENSITIVE,
        },
        ({"model": "l_diversity", "column": "readmitted", "l": 2},),
    ),
    # fractions in intervals, and values that are missing
    "support": CountedTable(
        "survival/support2.parquet",
        {
            "age": _qi({"intervals": [5, 10, 20], "lower": 20, "upper": 100}, min_level=1),
            "sex": _qi("suppress"),
            "race": _qi("suppress"),
            "income": _qi("suppress"),
            "num_co": _qi({"intervals": [2, 4], "lower": 0, "upper": 12}),
            "dzclass": SENSITIVE,
            "charges": OPEN,
        },
        ({"model": "t_closeness", "column": "dzclass", "t": 0.6},),
    ),
    # the first digits of a code
    "tennessee": CountedTable(
        "population/adult_tn_modelled.parquet",
        {
            "zip": _qi({"prefix": [4, 3, 2, 1]}),
            "age": _qi({"intervals": [5, 10, 20, 40], "lower": 0, "upper": 100}),
            "race": _qi("suppress"),
            "sex": _qi("suppress"),
        },
        (),
    ),
}
