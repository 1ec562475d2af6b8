"""Ways to get past the gate of dbt what was not planned, and what the gate says to each.

The plan is of `stays`, which has no records of patients from P0550 on: ward and age are
generalized; diagnosis, admitted and days leave as they are; patient and zip are withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STAYS = (
    "{{ config(materialized='table') }}\n"
    "SELECT patient, age, ward, zip, diagnosis, admitted, LENGTH(diagnosis) AS days,\n"
    "  CAST(age * 1.5 AS NUMERIC) AS cost\n"
    "FROM {{ ref('visits') }} WHERE patient < 'P0550'"
)
SPEC: dict[str, Any] = {
    "release": "stays_public",
    "source": "stays",
    "columns": {
        "patient": "identifier",
        "zip": "drop",
        "ward": {
            "role": "quasi_identifier",
            "hierarchy": {"groups": [{"surgery": ["A1", "A2"], "medicine": ["B1", "B2", "B3"]}]},
        },
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [20, 40], "lower": 0, "upper": 100},
        },
        "diagnosis": "sensitive",
        "admitted": {"role": "insensitive", "reason": "of no one"},
        "days": {"role": "insensitive", "reason": "of no one"},
        "cost": {"role": "insensitive", "reason": "of no one"},
    },
    "privacy": [
        {"model": "k_anonymity", "k": 10},
        {"model": "l_diversity", "column": "diagnosis", "l": 2},
    ],
    "method": {
        "name": "full_domain",
        "suppression_limit": 0.1,
        "transformation": {"ward": 1, "age": 1},
    },
}

GATE = "'policy': 'stays_policy', 'source': 'stays'"
RULE = "{{ deid.generalize('%s', ref('stays_policy')) }}"
WARD, AGE = RULE % "ward", RULE % "age"
AS_IS = "diagnosis, admitted, days, cost"
ALL = f"ward, age, {AS_IS}"
# generalized records, with all that is withheld, and those of them that the plan lets go
SOURCE = f"""
WITH g AS (
  SELECT {WARD} AS ward, {AGE} AS age, {AS_IS},
    patient, zip, ward AS raw_ward, age AS raw_age
  FROM {{{{ ref('stays') }}}}
),
kept AS ({{{{ deid.suppress('g', ref('stays_policy')) }}}})
"""
ODD = "CASE patient WHEN 'P0007' THEN 'FLU' ELSE diagnosis END"
NOT_ITS = "are not those of stays as the plan generalizes them, or are there more often"


@dataclass(frozen=True)
class Attempt:
    """A model, and what is said of it.

    Attributes:
        query: after SOURCE, or, where `whole` is true, all of it.
        told: in the message.
        adapters: where it can be tried.
        gate: what the model declares.
        config: what else it is configured with.
    """

    query: str
    told: str
    adapters: tuple[str, ...] = ("duckdb", "postgres")
    gate: str = GATE
    config: str = ""
    whole: bool = False

    @property
    def model(self) -> str:
        """The text of the model."""
        more = f", {self.config}" if self.config else ""
        config = f"materialized='deid_release', meta={{'deid': {{{self.gate}}}}}{more}"
        return f"{{{{ config({config}) }}}}\n{'' if self.whole else SOURCE}{self.query}\n"


def replaced(column: str, value: str, table: str = "kept") -> str:
    """A query with one column made otherwise."""
    names = [f"{value} AS {name}" if name == column else name for name in ALL.split(", ")]
    return f"SELECT {', '.join(names)} FROM {table}"


def added(value: str, table: str = "kept") -> str:
    """A query with one column more."""
    return f"SELECT {ALL}, {value} FROM {table}"


def hooked(*hooks: str, adapters: tuple[str, ...] = ("duckdb", "postgres")) -> Attempt:
    """Records as planned, and what is done to the table after they were measured."""
    return Attempt(
        f"SELECT {ALL} FROM kept",
        "A post-hook changed the table after it was measured",
        adapters,
        config=f"post_hook={list(hooks)!r}",
    )


COLUMNS = {
    "identifier": Attempt(added("patient", "g"), "column patient is withheld by the plan"),
    "renamed_identifier": Attempt(added("patient AS dm", "g"), "column dm is not in the plan"),
    "withheld": Attempt(added("zip", "g"), "column zip is withheld by the plan"),
    "raw_value": Attempt(added("raw_age", "g"), "column raw_age is not in the plan"),
    "computed": Attempt(added("days * 2 AS twice"), "column twice is not in the plan"),
    "constant": Attempt(added("'May' AS batch"), "column batch is not in the plan"),
    "number_of_row": Attempt(
        added("ROW_NUMBER() OVER () AS row_id"), "column row_id is not in the plan"
    ),
    "size_of_class": Attempt(
        added("COUNT(*) OVER (PARTITION BY ward, age) AS deid_size"),
        "column deid_size is not in the plan",
    ),
    "missing": Attempt(
        "SELECT ward, age, diagnosis, admitted, cost FROM kept", "there is no column days"
    ),
    "renamed": Attempt(
        f"SELECT ward, age AS years, {AS_IS} FROM kept",
        "column years is not in the plan: leave it out, or give it a role and plan again. "
        "there is no column age",
    ),
    "spelled_otherwise": Attempt(
        added('raw_age AS "AGE"', "g"), "there are two columns", ("postgres",)
    ),
    "identifier_as_planned": Attempt(replaced("diagnosis", "patient", "g"), NOT_ITS),
    "withheld_as_planned": Attempt(replaced("diagnosis", "zip", "g"), NOT_ITS),
    "packed": Attempt(replaced("diagnosis", "diagnosis || patient", "g"), NOT_ITS),
    "hidden_in_a_case": Attempt(
        replaced("diagnosis", ODD, "g"),
        f"1 of 550 records {NOT_ITS}",
    ),
    "raw_in_place": Attempt(replaced("age", "CAST(raw_age AS VARCHAR)", "g"), NOT_ITS),
    "finer_in_place": Attempt(
        replaced("ward", "CASE WHEN ward = 'surgery' THEN raw_ward ELSE ward END", "g"), NOT_ITS
    ),
    "exchanged": Attempt(
        "SELECT diagnosis AS ward, age, ward AS diagnosis, admitted, days, cost FROM kept", NOT_ITS
    ),
}
TYPES = {
    "enum": Attempt(
        replaced("ward", "CAST(ward AS ward_kind)"),
        "column ward is an ENUM, whose type lists all original values",
    ),
    "sensitive_enum": Attempt(
        replaced("diagnosis", "CAST(diagnosis AS diagnosis_kind)"), "column diagnosis is an ENUM"
    ),
    "enum_in_a_list": Attempt(
        replaced("ward", "CAST([ward] AS ward_kind[])"), "column ward is an ENUM", ("duckdb",)
    ),
    "enum_in_an_array": Attempt(
        replaced("ward", "CAST(ARRAY[ward] AS ward_kind[])"),
        "column ward is an ENUM",
        ("postgres",),
    ),
    "list": Attempt(
        replaced("diagnosis", "[diagnosis, patient]", "g"), "column diagnosis is", ("duckdb",)
    ),
    "array": Attempt(
        replaced("diagnosis", "ARRAY[diagnosis, patient]", "g"),
        "column diagnosis is",
        ("postgres",),
    ),
    "struct": Attempt(
        replaced("diagnosis", "{'a': diagnosis, 'b': patient}", "g"),
        "column diagnosis is STRUCT here, and text in the plan",
        ("duckdb",),
    ),
    "json": Attempt(
        replaced("diagnosis", "JSONB_BUILD_OBJECT(patient, diagnosis)", "g"),
        "column diagnosis is jsonb here, and text in the plan",
        ("postgres",),
    ),
    "bytes": Attempt(
        replaced("diagnosis", "CAST(diagnosis AS BLOB)"),
        "column diagnosis is BLOB here",
        ("duckdb",),
    ),
    "domain": Attempt(
        replaced("ward", "CAST(ward AS ward_domain)"),
        "column ward is a domain here, and text in the plan",
        ("postgres",),
    ),
    "collation": Attempt(
        replaced("diagnosis", 'diagnosis COLLATE "loose"'),
        "column diagnosis is text of a loose collation here",
        ("postgres",),
    ),
    "collation_in_a_file": Attempt(
        replaced("diagnosis", f"({ODD}) COLLATE NOCASE", "g"),
        "column diagnosis is text beside one of a loose collation here",
        ("duckdb",),
    ),
    "blanks": Attempt(
        replaced("diagnosis", f"CAST({ODD} || ' ' AS BPCHAR)", "g"),
        "column diagnosis is character here",
        ("postgres",),
    ),
    "zeros": Attempt(
        replaced("cost", "CASE patient WHEN 'P0007' THEN cost + 0.00000 ELSE cost END", "g"),
        f"1 of 550 records {NOT_ITS}",
        ("postgres",),
    ),
    "text_for_number": Attempt(
        replaced("days", "CAST(days AS VARCHAR)"),
        "column days is text here, and integer in the plan",
    ),
    "fraction_for_number": Attempt(
        replaced("days", "CAST(days AS DOUBLE PRECISION)"), "column days is float here"
    ),
    "number_for_text": Attempt(
        replaced("ward", "CAST(LENGTH(ward) AS INTEGER)"), "column ward is integer here"
    ),
    "moment_for_day": Attempt(
        replaced("admitted", "CAST(admitted AS TIMESTAMP)"),
        "column admitted is timestamp here, and date in the plan",
    ),
}
RECORDS = {
    "all": Attempt(f"SELECT {ALL} FROM g", "k-anonymity: the smallest class has"),
    "copies": Attempt(
        f"SELECT {ALL} FROM g CROSS JOIN (VALUES (1), (2), (3), (4), (5)) AS copies(i)", NOT_ITS
    ),
    "one_copy": Attempt(
        f"SELECT {ALL} FROM kept UNION ALL SELECT * FROM (SELECT {ALL} FROM kept LIMIT 1) AS one",
        f"1 of 543 records {NOT_ITS}",
    ),
    "invented": Attempt(
        f"SELECT {ALL} FROM g UNION ALL SELECT 'surgery', '[0, 20)', {AS_IS} "
        "FROM g WHERE ward = 'medicine' AND age = '[20, 40)'",
        NOT_ITS,
    ),
    "shuffled": Attempt(
        replaced("diagnosis", "LAG(diagnosis, 1, diagnosis) OVER (ORDER BY patient)", "g"), NOT_ITS
    ),
    "moved": Attempt(
        replaced("age", "CASE WHEN age = '[0, 20)' THEN '[20, 40)' ELSE age END", "g"), NOT_ITS
    ),
    "of_others": Attempt(
        f"SELECT {WARD} AS ward, {AGE} AS age, diagnosis, admitted, LENGTH(diagnosis) AS days, "
        "CAST(age * 1.5 AS NUMERIC) AS cost "
        "FROM {{ ref('visits') }} -- {{ ref('stays') }}",
        NOT_ITS,
        whole=True,
    ),
    "left_out": Attempt(
        f"SELECT {ALL} FROM kept WHERE diagnosis <> 'flu'", "records are left out, and the plan"
    ),
    "nothing": Attempt(f"SELECT {ALL} FROM kept WHERE ward = 'none'", "the table is empty"),
    "unmapped": Attempt(
        replaced("ward", "CASE WHEN patient = 'P0007' THEN '(unmapped)' ELSE ward END", "g"),
        "column ward: 1 records have a value that the policy does not map",
    ),
    "hook_with_a_column": Attempt(
        f"SELECT {ALL} FROM kept",
        "A post-hook changed the table after it was measured",
        config="post_hook='ALTER TABLE {{ this }} ADD COLUMN note TEXT'",
    ),
    "hook_with_a_record": Attempt(
        f"SELECT {ALL} FROM kept",
        "A post-hook changed the table after it was measured",
        config="post_hook='INSERT INTO {{ this }} SELECT * FROM {{ this }} LIMIT 1'",
    ),
    "hook_with_a_value": Attempt(
        f"SELECT {ALL} FROM kept",
        "A post-hook changed the table after it was measured",
        config="post_hook='UPDATE {{ this }} SET days = days + 1'",
    ),
    "hook_behind_the_gate": Attempt(
        f"SELECT {ALL} FROM kept",
        "a post-hook outside of the transaction",
        config="post_hook={'sql': 'INSERT INTO {{ this }} TABLE {{ this }}', 'transaction': false}",
    ),
    "hook_with_a_view": hooked(
        "CREATE TABLE seen_by_all AS SELECT * FROM {{ this }}",
        "DROP TABLE {{ this }}",
        "CREATE VIEW {{ this }} AS SELECT * FROM seen_by_all",
    ),
    "hook_with_a_comment": hooked("COMMENT ON TABLE {{ this }} IS 'of P0007 and others'"),
    "hook_with_a_comment_on_a_column": hooked(
        "COMMENT ON COLUMN {{ this }}.age IS 'P0007 is 7 years old'"
    ),
    "hook_with_a_default": hooked(
        "ALTER TABLE {{ this }} ALTER COLUMN diagnosis SET DEFAULT 'P0007'"
    ),
    "hook_with_a_condition": hooked(
        "ALTER TABLE {{ this }} ADD CHECK (diagnosis IN "
        "('asthma', 'flu', 'fracture', 'migraine', 'P0007'))",
        adapters=("postgres",),
    ),
    "hook_with_an_index_of_some": hooked(
        "CREATE INDEX ON {{ this }} (age) WHERE diagnosis <> 'P0007'", adapters=("postgres",)
    ),
    "hook_with_an_index": hooked("CREATE INDEX of_age ON {{ this }} (age)", adapters=("duckdb",)),
    "hook_with_a_child": hooked(
        "CREATE TABLE child () INHERITS ({{ this }})", adapters=("postgres",)
    ),
    "hook_with_a_trigger": hooked(
        "CREATE FUNCTION nothing() RETURNS TRIGGER LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
        "CREATE TRIGGER later BEFORE INSERT ON {{ this }} EXECUTE FUNCTION nothing()",
        adapters=("postgres",),
    ),
    "hook_with_another_order": hooked(
        "CREATE TABLE turned AS SELECT * FROM {{ this }} ORDER BY ward DESC, age DESC",
        "DELETE FROM {{ this }}",
        "INSERT INTO {{ this }} SELECT * FROM turned",
    ),
    "plan_that_is_a_model": Attempt(
        f"SELECT {ALL} FROM kept -- {{{{ ref('own_policy') }}}}",
        "own_policy is no seed",
        gate="'policy': 'own_policy', 'source': 'stays'",
    ),
    "contract": Attempt(
        f"SELECT {ALL} FROM kept",
        "a contract writes constraints into the table",
        config="contract={'enforced': true}",
    ),
}
ATTEMPTS = COLUMNS | TYPES | RECORDS
