"""Draft a specification: recognized columns are decided, and the owner is asked about the rest."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdeid.bind.any_table import opened
from dbdeid.data.json import JsonObject
from dbdeid.data.location.file_formats import is_pattern
from dbdeid.engine.expressions import select
from dbdeid.engine.reading import table_parts
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError
from dbdeid.profiling import column_names
from dbdeid.profiling.detect import DetectedColumn, detect
from dbdeid.profiling.suggest.roles import (
    NONE_IS_KNOWN,
    OF_ONE_VALUE,
    Proposal,
    Proposals,
    asking,
    costs_of,
    per_cent,
    propose,
)
from dbdeid.profiling.text_files.foreign_numbers import of_other_countries
from dbdeid.profiling.text_files.future_dates import of_other_centuries
from dbdeid.profiling.text_files.header_row import require_header

NO_QUASI_IDENTIFIER = (
    "No column looked like a quasi-identifier, and a release needs one. Those that others know\n"
    "of a person have the role quasi_identifier and a hierarchy, as in\n"
    "  age: {role: quasi_identifier, hierarchy: suppress}\n"
    "If others know none of them, nothing is to be generalized, and dbdeid is not needed.\n"
)
HEAD = (
    "A draft: read every line. Where a name and its values agree, a column has a role:\n"
    "  identifier        never released\n"
    "  drop              not released\n"
    "  quasi_identifier  may be known to an attacker; generalized along its hierarchy\n"
    "  sensitive         must not be learned of a person\n"
    "  insensitive       released as it is\n"
    "A column that others may know and that is not a quasi_identifier leads to persons: when in\n"
    "doubt, choose quasi_identifier, as in {role: quasi_identifier, hierarchy: suppress}.\n"
    "An empty reason is a question, too: answer it in your own words, which are published.\n"
    "Then: dbdeid check THIS_FILE, dbdeid run THIS_FILE"
)
WIDTH = 88  # characters of a line of names
K = 5
LIMIT = 0.05
SECONDS = 60  # of the search: a first answer, even over many columns


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft of a specification, and what it leaves to the owner.

    Attributes:
        text: of the specification.
        decided: how many columns have a role.
        undecided: names of the columns that have none.
        open_reasons: names of the columns whose reason only the owner can give.
        subject_candidates: columns that may tell whose record a record is; of several none is set.
        doubtful_dates: columns of dates that may lie in another century than meant, and why.
        doubtful_numbers: columns of numbers that may mean others than were read, and why.
        notes: how the source was read, where that was guessed.
    """

    text: str
    decided: int
    undecided: tuple[str, ...]
    open_reasons: tuple[str, ...]
    subject_candidates: tuple[str, ...]
    doubtful_dates: Mapping[str, str]
    doubtful_numbers: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """As commands print it under --json."""
        return {
            "spec": self.text,
            "undecided": list(self.undecided),
            "open_reasons": list(self.open_reasons),
            "subject_candidates": list(self.subject_candidates),
            "doubtful_dates": dict(self.doubtful_dates),
            "doubtful_numbers": dict(self.doubtful_numbers),
            "notes": list(self.notes),
        }

    def told(self, path: Path) -> str:
        """Summarize a draft in one line, with a line for each doubt."""
        reasons = f"{len(self.open_reasons)} reason{'s' * (len(self.open_reasons) != 1)} to give"
        doubtful = (*self.doubtful_dates.items(), *self.doubtful_numbers.items())
        notes = [f"  note: {note}" for note in self.notes]
        notes += [f"  note: {name}: {why}" for name, why in doubtful]
        drafted = (
            f"drafted {path}: {self.decided} column{'s' * (self.decided != 1)} decided, "
            f"{len(self.undecided)} undecided, {reasons}; next: dbdeid check {path}"
        )
        return "\n".join([drafted, *notes])


def drafted(source: str | Path, table: str | None, settings: Settings | None = None) -> Draft:
    """A draft for a table: a role for every column that is known, questions about the others.

    Raises:
        DataError: the source cannot be read.
    """
    with opened(source, table, settings) as opened_table:
        session, staged = opened_table.session, opened_table.staged("deid_draft")
        if opened_table.path is not None:
            require_header(session, staged, opened_table.path)
        found = detect(session, staged)
        _require_rows(str(source), found)
        proposals = asking(propose(session, staged, found))
        path = opened_table.opened.read
        rows = select("*").from_(staged.table)
        columns = [f.column for f in found]
        dates = of_other_centuries(session, rows, columns, path)
        numbers = of_other_countries(session, columns, path)
    notes = opened_table.opened.notes
    return Draft(
        _text(opened_table.keys, proposals, {**dates, **numbers}, notes),
        len(proposals.columns) - len(proposals.undecided),
        proposals.undecided,
        proposals.unexplained,
        tuple(f.name for f in proposals.subjects),
        dates,
        numbers,
        notes,
    )


def _require_rows(source: str, found: Sequence[DetectedColumn]) -> None:
    """There is something to draft from.

    Raises:
        DataError: there are no rows.
    """
    if not any(f.records for f in found):
        raise DataError(f"{Path(source).name} has no rows", hint="there is nothing to draft from")


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


def _text(
    keys: Mapping[str, object],
    proposals: Proposals,
    doubtful: Mapping[str, str],
    notes: Sequence[str],
) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    source = str(keys["source"])
    whole = [part for part in Path(source).parts if not is_pattern(part)] or ["files"]
    last = whole[-1].split(".")[0] if keys.keys() == {"source"} else table_parts(source)[-1]
    name = re.sub(r"\W+", "_", last, flags=re.ASCII)
    release = ("_" if name[:1].isdigit() else "") + f"{name}_release"
    spec = CommentedMap(release=release[:63])
    if "database" in keys:
        spec["database"] = keys["database"]
    if "attach" in keys:
        spec["attach"] = keys["attach"]
    spec["target"] = f"{release[:55]}.duckdb"
    spec["source"] = source
    if proposals.subjects:
        spec["subject"] = proposals.subject.name if proposals.subject else _quoted("")
    spec["columns"] = columns = CommentedMap()
    for p in proposals.columns:
        columns[p.found.name] = _column(p)
        about = [_about(p, proposals), *filter(None, [doubtful.get(p.found.name)])]
        columns.yaml_add_eol_comment("; ".join(about), p.found.name)
    models = [{"model": "k_anonymity", "k": K}]
    models += [
        {"model": "l_diversity", "column": p.found.name, "kind": "distinct", "l": 2}
        for p in proposals.columns
        if p.diverse
    ]
    spec["privacy"] = [_flow(model) for model in models]
    method = {"name": "full_domain", "suppression_limit": LIMIT, "time_limit": SECONDS}
    spec["method"] = _flow(method)
    spec["output"] = CommentedMap(export=[f"{release[:55]}.parquet"])
    _comment(spec, proposals, notes)
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


def _flow(entry: Mapping[str, object]) -> Any:
    from ruamel.yaml.comments import CommentedMap

    made = CommentedMap({k: v if v != "" else _quoted("") for k, v in entry.items()})
    if isinstance(domain := made.get("domain"), list):
        made["domain"] = _listed(domain)
    made.fa.set_flow_style()
    return made


def _about(proposal: Proposal, proposals: Proposals) -> str:
    """What a reader should know to judge a role, or to choose one."""
    found = proposal.found
    values = f"{found.distinct} distinct value{'s' * (found.distinct != 1)}"
    parts = [f"{found.column.type.split('(')[0]}, {values}", proposal.why]
    if found.placeholder is not None and proposal.role not in ("identifier", "drop"):
        parts.append(_missing(found, told=proposal.role == "quasi_identifier"))
    parts += [f"reason? {question}" for question in proposal.questions]
    if proposal.role == "undecided":
        parts.append(costs_of(proposal, proposals.uniqueness))
    return "; ".join(parts)


def _missing(found: DetectedColumn, *, told: bool) -> str:
    """The note that a text stands for a missing value; `told`: whether the text may be shown."""
    text = repr(found.placeholder or "an empty text") if told else "one of its texts, as '?' is,"
    return f"{text} seems to mean missing: NULLIF in `source: {{sql: …}}` makes it NULL"


def _comment(spec: Any, proposals: Proposals, notes: Sequence[str]) -> None:
    known = not any(NONE_IS_KNOWN in p.why for p in proposals.columns)
    open_ones = UNDECIDED if proposals.undecided else ""
    open_ones += "".join(f"{line}\n" for note in notes for line in textwrap.wrap(note, WIDTH))
    spec.yaml_set_start_comment(f"{open_ones}{'' if known else NO_QUASI_IDENTIFIER}{HEAD}")
    subject = proposals.subject
    if proposals.subjects:
        whose = "whose privacy: k, suppression and risk count its values, not records"
        spec.yaml_set_comment_before_after_key(
            "subject", before=whose if subject else _which(proposals.subjects)
        )
    before = [*_repeating(proposals), HIERARCHIES]
    spec.yaml_set_comment_before_after_key("columns", before="\n".join(before))
    models = MODELS + (
        ACCEPTED if any(OF_ONE_VALUE in p.questions for p in proposals.columns) else ""
    )
    spec.yaml_set_comment_before_after_key("privacy", before=models)
    lost = "records that may be left out" if subject is None else "subjects that may lose a record"
    spec.yaml_set_comment_before_after_key(
        "method",
        before=f"suppression_limit: share of {lost}; time_limit: seconds to\n"
        "search: without it, until the best transformation is proven",
    )


UNDECIDED = (
    "Columns of role undecided are yours to decide: `dbdeid check` lists them, and run refuses\n"
    "until none is left. Beside each stand what was found and what each role costs.\n"
    "Those that you do not need: drop.\n"
)


def _which(candidates: Sequence[DetectedColumn]) -> str:
    """The question whose record a record is."""
    listed = ", ".join(f"{f.name} ({f.distinct:,} values)" for f in candidates)
    return (
        f"whose privacy? Name the column that tells one person from another: {listed};\n"
        "k, suppression and risk count its values, not records. run refuses until it is named"
    )


HIERARCHIES = "hierarchy: a CSV file, shelf, intervals, dates, prefix, groups, suppress"
MODELS = (
    "each record shares its quasi-identifiers with at least k - 1 others; among them a sensitive\n"
    "column with l_diversity has at least l values"
)
ACCEPTED = (
    ", one with accept: homogeneity may have one;\n"
    "to protect it, take its accept away and add a line\n"
    "- {model: l_diversity, column: NAME, kind: distinct, l: 2}"
)


def _repeating(proposals: Proposals) -> Iterator[str]:
    """The question whose the records are, where no column says so: what repeats, and what to do."""
    if proposals.subjects:
        return
    yield "Can a person have more than one row? If so, name the column that tells whose row it is:"
    own = any(
        p.found.distinct == p.found.records and column_names.of_person_number(p.found.name)
        for p in proposals.columns
    )
    repeating = [
        p
        for p in proposals.columns
        if p.role == "identifier" and p.found.repeats
        if not (own and p.found.kind == "person_name")  # shared by chance
    ]
    for p in repeating:
        yield f"subject: {p.found.name}    it repeats: say so if it tells whose record it is"
    if not repeating:
        yield "subject: NAME    no identifier repeats; k counts rows until you do"
    if proposals.uniqueness is not None:
        alike = per_cent(1 - proposals.uniqueness.now)
        yield f"{alike} of the rows have the same quasi-identifiers as another row"
