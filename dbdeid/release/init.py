"""Drafting a specification: a plain, commented start for a custodian to correct."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError
from dbdeid.release.bind import TEXT_FILES, file_query
from dbdeid.release.detect import Found, detect, subject_of
from dbdeid.release.propose import Proposal, propose
from dbdeid.release.sources import opened

ACCEPTING = (
    "accept waives it: all records that look alike may share one value, which then is no secret; "
    "l_diversity in its place costs much, for most have one value"
)
NO_QUASI_IDENTIFIER = (
    "TO DO: give at least one column the role quasi_identifier and a hierarchy, as in\n"
    "  age: {role: quasi_identifier, hierarchy: suppress}\n"
    "No column looked like one; without one there is nothing to generalize.\n"
)
HEAD = (
    "A draft: read every line. Roles are guessed from names, types and values.\n"
    "  identifier        never released\n"
    "  drop              not released\n"
    "  quasi_identifier  may be known to an attacker; generalized along its hierarchy\n"
    "  sensitive         must not be learned of a person\n"
    "  insensitive       released as it is\n"
    "A column that others may know and that is not a quasi_identifier leads to persons: when in\n"
    "doubt, choose quasi_identifier.\n"
    "Then: dbdeid check THIS_FILE, dbdeid run THIS_FILE"
)
K = 5
LIMIT = 0.05
SECONDS = 60  # of the search: a first answer, even over many columns


def draft(source: Path, table: str | None, settings: Settings | None = None) -> str:
    """The text of a draft for a table, with a proposed role for every column and the reason.

    Raises:
        DataError: the source cannot be read.
    """
    with opened(source, table, settings) as (session, query):
        staged = session.run(Step("deid_draft", query))
        found = detect(session, staged)
        _require_rows(source, found)
        proposals = propose(session, staged, found)
        named = table or (None if file_query(source) is not None else _only(session))
    return _text(source, named, proposals, subject_of(found))


def _require_rows(source: Path, found: Sequence[Found]) -> None:
    """There is something to draft from.

    Raises:
        DataError: there are no rows, or a line of text was taken for one column.
    """
    if not any(f.records for f in found):
        raise DataError(f"{source.name} has no rows", hint="there is nothing to draft from")
    one = found[0].name
    if len(found) == 1 and source.name.lower().endswith(TEXT_FILES) and re.search("[,;|\t]", one):
        raise DataError(
            f"{source.name} reads as one column: some line has more or fewer cells than the first",
            hint="mend that line, or read the file in `source: {sql: …}` with read_csv's options",
        )


def write_draft(path: Path, text: str) -> None:
    """Write a draft to a new file; what its owner has made of an earlier one is never lost.

    Raises:
        DataError: the file is there, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise DataError(f"{path} is there already", hint="give a new file") from None
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror})", hint="give another file"
        ) from None


def _only(session: Session) -> str:
    return next(name for name in session.tables() if not name.startswith("deid."))


def _text(
    source: Path, table: str | None, proposals: Sequence[Proposal], subject: Found | None
) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    name = re.sub(r"\W+", "_", table or source.name.split(".")[0], flags=re.ASCII)
    release = ("_" if name[:1].isdigit() else "") + f"{name}_release"
    spec = CommentedMap(release=release[:63])
    if table is not None:
        spec["database"] = str(source)
    spec["target"] = f"{release[:55]}.duckdb"
    spec["source"] = table or str(source)
    if subject is not None:
        spec["subject"] = subject.name
    spec["columns"] = columns = CommentedMap()
    for p in proposals:
        columns[p.found.name] = _column(p)
        columns.yaml_add_eol_comment(_about(p), p.found.name)
    models = [{"model": "k_anonymity", "k": K}]
    models += [
        {"model": "l_diversity", "column": p.found.name, "kind": "distinct", "l": 2}
        for p in proposals
        if p.diverse
    ]
    spec["privacy"] = [_flow(model) for model in models]
    method = {"name": "full_domain", "suppression_limit": LIMIT, "time_limit": SECONDS}
    spec["method"] = _flow(method)
    spec["output"] = CommentedMap(export=[f"{release[:55]}.parquet"])
    _comment(spec, proposals, subject)
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 4096  # a comment at the end of a broken line would break the line
    yaml.dump(spec, stream)
    return stream.getvalue()


def _column(proposal: Proposal) -> Any:
    """An entry on one line, unless it lists values."""
    entry = proposal.entry
    hierarchy = entry.get("hierarchy")
    if not isinstance(hierarchy, dict) or "groups" not in hierarchy:
        return _flow(entry)
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    levels = CommentedSeq()
    for mapping in hierarchy["groups"]:
        level = CommentedMap()
        for label, members in mapping.items():
            level[_quoted(label)] = _listed(members)
        levels.append(level)
    return CommentedMap({**entry, "hierarchy": CommentedMap(groups=levels)})


def _listed(members: Sequence[str]) -> Any:
    from ruamel.yaml.comments import CommentedSeq

    some = CommentedSeq([_quoted(member) for member in members])
    some.fa.set_flow_style()
    return some


def _quoted(text: str) -> Any:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    return DoubleQuotedScalarString(text)


def _flow(entry: dict[str, Any]) -> Any:
    from ruamel.yaml.comments import CommentedMap

    made = CommentedMap(entry)
    made.fa.set_flow_style()
    return made


def _about(proposal: Proposal) -> str:
    """What a reader should know to judge a role."""
    found = proposal.found
    parts = [f"{found.column.type.split('(')[0]}, {found.distinct} distinct values", proposal.why]
    if found.placeholder is not None and proposal.role not in ("identifier", "drop"):
        parts.append(_missing(found))
    if "accept" in proposal.entry:
        parts.append(ACCEPTING)
    return "; ".join(parts)


def _missing(found: Found) -> str:
    shown = found.placeholder or "an empty text"
    return f"{shown!r} seems to mean missing: NULLIF in `source: {{sql: …}}` makes it NULL"


def _comment(spec: Any, proposals: Sequence[Proposal], subject: Found | None) -> None:
    known = any(p.role == "quasi_identifier" for p in proposals)
    spec.yaml_set_start_comment(f"{'' if known else NO_QUASI_IDENTIFIER}{HEAD}")
    if subject is not None:
        spec.yaml_set_comment_before_after_key(
            "subject",
            before="whose privacy: k, suppression and risk count its values, not records",
        )
    spec.yaml_set_comment_before_after_key(
        "columns", before="\n".join([*_repeating(proposals, subject), HIERARCHIES])
    )
    spec.yaml_set_comment_before_after_key("privacy", before=MODELS)
    lost = "records that may be left out" if subject is None else "subjects that may lose a record"
    spec.yaml_set_comment_before_after_key(
        "method",
        before=f"suppression_limit: share of {lost}; time_limit: seconds to\n"
        "search: without it, until the best transformation is proven",
    )


HIERARCHIES = "hierarchy: a CSV file, shelf, intervals, dates, prefix, groups, suppress"
MODELS = (
    "each record shares its quasi-identifiers with at least k - 1 others; among them a sensitive\n"
    "column with l_diversity has at least l values, one with accept: homogeneity may have one;\n"
    "to protect it, take its accept away and add a line\n"
    "- {model: l_diversity, column: NAME, kind: distinct, l: 2}"
)


def _repeating(proposals: Sequence[Proposal], subject: Found | None) -> Iterator[str]:
    for p in proposals:
        if subject is None and p.role == "identifier" and p.found.repeats:
            yield f"subject: {p.found.name}    it repeats: say so if it tells whose record it is"
