"""What a reader types to verify a release: at the shell, with the macros, in any SQL."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from dbdeid.engine.file_names import is_folder, names_file
from dbdeid.record.public_record import Shown


def commands(record: Shown) -> dict[str, str] | None:
    """How a reader repeats the verification: at the shell, with the macros, in any SQL."""
    names = [c.name for c in record.columns if c.role == "quasi_identifier"]
    k = k_of(record)
    made_elsewhere = record.method == "external"
    released = _foreign(record) if made_elsewhere else record.release
    if not names or k is None or released is None:
        return None
    exports = [n for n in record.exports if names_file(n) and not is_folder(PurePath(n))]
    if made_elsewhere and released.endswith(_FILES):
        exports = [released]
    table, listed = sql_text(released), ", ".join(sql_text(name) for name in names)
    file = next((name for name in exports if name.endswith(_FILES)), None)
    relation = sql_text(file) if file else sql_name(released)
    policy, subject = record.null_policy or "own_category", pseudonym_of(record)
    options = [f"--qi {shlex.quote(name)}" for name in names]
    more = ""
    if subject is not None:
        options.append(f"--subject {shlex.quote(subject)}")
        more += f", subject := {sql_text(subject)}"
    if policy != "own_category":
        options.append(f"--null-policy {policy}")
        more += f", null_policy := {sql_text(policy)}"
    found = {}
    if not made_elsewhere:  # which brings no macros along
        found["macros"] = (
            f"SELECT deid.k({table}, [{listed}]{more});\n"
            f"FROM deid.risk({table}, [{listed}], k := {k}{more});\n"
            f"SELECT deid.check({table}, [{listed}], {k}{more});"
        )
    if policy != "wildcard":
        found["sql"] = _plain(relation, [sql_name(name) for name in names], policy, subject)
    if exports:
        words = ["dbdeid verify", shlex.quote(exports[0]), *options, f"--k {k}"]
        found["shell"] = _fill(words, "", "  ", end=" \\")
    return found


_FILES = (".parquet", ".csv")


def _foreign(record: Shown) -> str | None:
    """The table or file of a release made elsewhere; None: it is not named, or has a schema."""
    name = (record.method_parameters or {}).get("table")
    return (
        None if not isinstance(name, str) or ("." in name and not name.endswith(_FILES)) else name
    )


def _plain(relation: str, names: list[str], policy: str, subject: str | None) -> str:
    """The smallest class in SQL that every database speaks."""
    grouped = _fill(names, ",", "    ")
    size = "count(*)" if subject is None else f"count(DISTINCT {sql_name(subject)})"
    if policy == "exclude":  # a row with a NULL would be a class of 0
        missing = _fill([f"{name} IS NULL" for name in names], " OR", "    ")
        size = f"CASE WHEN\n    {missing}\n  THEN 0 ELSE {size} END"
    return (
        f"SELECT min(class_size) AS k\nFROM (\n  SELECT {size} AS class_size\n"
        f"  FROM {relation}\n  GROUP BY\n    {grouped}\n) AS classes;"
    )


def pseudonym_of(record: Shown) -> str | None:
    """The released column that stands for the subject, if there is one."""
    return next((c.name for c in record.columns if c.pseudonym), None)


def k_of(record: Shown) -> int | None:
    """The k of k-anonymity that a record declares."""
    models = (model for model in record.privacy or () if model.get("model") == "k_anonymity")
    return next((k for model in models if isinstance(k := model.get("k"), int)), None)


def _fill(parts: list[str], separator: str, indent: str, end: str = "") -> str:
    """Parts in lines of about 64 characters; no part is broken."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) < 64:
            lines[-1] += f"{separator} {part}"
        else:
            lines[-1] += separator + end
            lines.append(indent + part)
    return "\n".join(lines)


def sql_text(value: str) -> str:
    """A SQL text literal."""
    return "'" + value.replace("'", "''") + "'"


def sql_name(value: str) -> str:
    """A quoted SQL name."""
    return '"' + value.replace('"', '""') + '"'
