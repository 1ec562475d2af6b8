"""Warnings that must be answered: what a custodian has to say before a release is made."""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.bind import safe_harbor
from dbdeid.bind.bound import Bound
from dbdeid.bind.privacy_models import targets
from dbdeid.data import shelf
from dbdeid.data.classes import CODED
from dbdeid.engine.catalog import Entry
from dbdeid.engine.expressions import (
    column,
    count_distinct,
    count_rows,
    literal,
    not_null,
    one_of,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Steps
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.lattice.lattice import Lattice
from dbdeid.methods.common.levels import levels_of
from dbdeid.methods.full_domain.search.region import Packing
from dbdeid.methods.registry import method_of
from dbdeid.prepare import spellings
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.subjects import counted_values, repeating
from dbdeid.privacy import AlphaK, KAnonymity
from dbdeid.profiling import column_names
from dbdeid.profiling.text_files.foreign_numbers import of_other_countries
from dbdeid.profiling.text_files.future_dates import of_other_centuries
from dbdeid.review import dependence, exposure
from dbdeid.review.exposure import FEW_ROWS, NEAR_UNIQUE
from dbdeid.review.model_costs import named

# Below this k, or above this share of suppressed records, little is promised or little is left.
LEAST_K = 2
MUCH_SUPPRESSED = 0.2
# A hierarchy file with this many leaves that lists just the values present was made from them.
FEW_LEAVES = 10
# Types of names and numbers that are given to people; measurements are not.
LIKE_IDENTIFIERS = ("text", "integer", "enum")


def require(prepared: Prepared, session: Session) -> tuple[str, ...]:
    """Check that every warning is answered, and give those that a reader should see.

    Raises:
        SpecError: a warning has no answer in the spec; all of them at once.
    """
    mistakes = list(unanswered(prepared, session))
    if mistakes:
        raise SpecError(mistakes, source=prepared.bound.file.label)
    return tuple(_shown(prepared, session))


def foreseen(prepared: Prepared, session: Session) -> tuple[str, ...]:
    """The same where nothing is released yet: who is unique in the source beside that.

    Raises:
        SpecError: a warning has no answer in the spec; all of them at once.
    """
    return (*require(prepared, session), *_unique(prepared, session))


def foretold(prepared: Prepared, session: Session) -> Iterator[str]:
    """What a run would ask before it does anything."""
    for mistake in unanswered(prepared, session):
        yield f"a run will ask, {mistake.place}: {mistake.message}; {mistake.hint}"


def unanswered(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    """What the owner has to answer before a release is made."""
    yield from _homogeneity(prepared.bound)
    yield from _unknown_values(prepared)
    yield from exposure.questions(prepared, session)
    yield from _repeating_identifiers(prepared.bound, session)
    yield from _copied(prepared, session)
    yield from method_of(prepared.bound).unanswered(prepared, session)


def require_of_columns(bound: Bound, steps: Steps) -> None:
    """Refuse a spec whose sensitive columns or repeating identifiers still need an answer.

    Args:
        bound: the whole specification.
        steps: where its source is.

    Raises:
        SpecError: a warning has no answer in the spec; all of them at once.
    """
    mistakes = [*_homogeneity(bound), *_repeating_identifiers(bound, steps)]
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)


def _copied(prepared: Prepared, session: Session) -> Iterator[Mistake]:
    """Columns that counterfeit records cannot copy: a value twice would give one of them away."""
    if not prepared.bound.spec.method.can.counterfeits:
        return
    for c in prepared.bound.columns:
        if c.spec.role in ("insensitive", "sensitive") and exposure.near_unique(
            c, prepared, session
        ):
            yield prepared.bound.file.mistake(
                f"{c.spec.role} column {c.name!r} is nearly unique, and counterfeit records copy "
                "its values: a value that stands twice would give one of them away",
                "columns",
                c.name,
                hint="drop the column, or make it a quasi_identifier",
            )


def _homogeneity(bound: Bound) -> Iterator[Mistake]:
    judged = targets(bound.models)
    for c in bound.columns:
        covered = any(model.diversifies for model in judged.get((c.name,), ()))
        if c.spec.role == "sensitive" and "homogeneity" not in c.spec.accept and not covered:
            vain = ", for those declared promise nothing" if (c.name,) in judged else ""
            yield bound.file.mistake(
                f"sensitive column {c.name!r} has no diversity or closeness model{vain}: a class "
                "whose records all share one value would disclose it",
                "columns",
                c.name,
                hint=f"add `{{model: l_diversity, column: {c.name}, l: 2}}` to `privacy`, or say "
                "`accept: homogeneity` on the column if that is intended",
            )


def _unknown_values(prepared: Prepared) -> Iterator[Mistake]:
    """Values that a model lists and the source does not have: a slip would protect nothing."""
    known = {s.columns: set(s.whole.labels) for s in prepared.parameters.sensitive}
    for number, model in enumerate(prepared.bound.models):
        if not isinstance(model, AlphaK) or model.values is None:
            continue
        for target in model.targets:
            listed = (spellings.meant(prepared.bound, target[0], v) for v in model.values)
            absent = [i for i, v in enumerate(listed, 1) if v not in known[target]]
            if absent:
                yield prepared.bound.file.mistake(
                    f"of {len(model.values)} values not in {' and '.join(target)}: number "
                    f"{', '.join(map(str, absent))}",
                    "privacy",
                    number,
                    "values",
                    hint="write them as the source does, or leave them out",
                )


def _rows_counted(bound: Bound) -> str:
    """That rows are counted, and who said so."""
    spec = bound.spec
    if spec.preset is not None and all(m.smallest_class == 1 for m in spec.privacy):
        return f"preset {spec.preset.name} counts rows, not people: no `subject` is declared"
    return "`accept: rows` in the spec: an identifier may repeat, and k counts rows, not people"


def _repeating_identifiers(bound: Bound, steps: Steps) -> Iterator[Mistake]:
    for name, how_often in repeating(bound, steps):
        yield bound.file.mistake(
            f"{_withheld(bound, name)} {name!r} repeats ({how_often}): one person may "
            "have several rows, and k would count rows",
            "columns",
            name,
            hint=_whose_rows(bound, name),
        )


def _withheld(bound: Bound, name: str) -> str:
    return "identifier" if name in bound.names("identifier") else "dropped column"


def _whose_rows(bound: Bound, name: str) -> str:
    method = bound.spec.method
    if method.can.subjects:
        return (
            f"at the top level, beside `columns`: `subject: {name}` if it tells whose row it is, "
            "or `accept: rows` if k may count rows"
        )
    return (
        f"method {method.name} counts rows: make one row of each {name} in `source: {{sql: …}}`, "
        "or, at the top level, beside `columns`, say `accept: rows` if k may count rows"
    )


def _shown(prepared: Prepared, session: Session) -> Iterator[str]:
    parameters = prepared.parameters
    counts = any(isinstance(m, KAnonymity) for m in parameters.models)
    if parameters.k < LEAST_K and (counts or not prepared.bound.spec.method.can.frontier):
        yield f"k = {parameters.k} promises nothing: a record may be the only one of its kind"
    for model in parameters.models:
        vain = model.vacuous(model.declared)
        if vain and not isinstance(model, KAnonymity):
            yield f"{named(model)} promises nothing: any class keeps it"
    yield from dependence.given_away(prepared, session)
    limit = levels_of(parameters).options.suppression_limit
    if limit > MUCH_SUPPRESSED:
        who = "subjects" if parameters.subject else "records"
        yield f"up to {limit:.0%} of the {who} may be left out"
    reasons: dict[tuple[str, bool], list[str]] = {}
    for c in prepared.bound.columns:
        if c.spec.reason:
            generalized = c.spec.role == "quasi_identifier"
            reasons.setdefault((c.spec.reason, generalized), []).append(c.name)
    for (reason, generalized), names in reasons.items():
        are = " is" if len(names) == 1 else " are"
        what = ": accepted in the specification" if generalized else f"{are} published unchanged"
        yield f"{', '.join(names)}{what}. Your reason: {reason}"
    if prepared.bound.spec.preset is not None:
        columns = [(c.name, c.spec) for c in prepared.bound.columns]
        yield from safe_harbor.notes(prepared.bound.spec.preset, columns)
    if prepared.bound.spec.accept == "rows":
        yield _rows_counted(prepared.bound)
    yield from exposure.together(prepared, session)
    yield from _no_codes(prepared, session)
    yield from _doubtful(prepared.bound, session)
    yield from _shared_identifiers(prepared, session)
    yield from method_of(prepared.bound).cautions(prepared, session)


def _unique(prepared: Prepared, session: Session) -> Iterator[str]:
    """How many records of the source no other equals in what is released."""
    roles = ("sensitive", "insensitive")
    others = [c.name for c in prepared.bound.released if c.spec.role in roles]
    if others:
        names = [c.name for c in prepared.bound.released if not c.spec.pseudonym]
        unique = session.row(step("verify/unique_records", {"rel": CODED}, {"cols": names}))[0]
        share, are = unique / prepared.rows, "is" if unique == 1 else "are"
        yield (
            f"{unique:,} of {prepared.rows:,} source records ({share:.1%}) {are} unique over all "
            f"released columns before generalization; k-anonymity covers the quasi-identifiers "
            f"only, not {', '.join(others)}"
        )


def _no_codes(prepared: Prepared, session: Session) -> Iterator[str]:
    """Records whose value a hierarchy of the shelf does not know.

    Raises:
        DataError: it knows none: the column holds codes of another kind.
    """
    by_name = {c.name: c.spec.hierarchy for c in prepared.bound.quasi_identifiers}
    for q in prepared.quasi_identifiers:
        spec = by_name[q.name]
        if spec is None or spec.shelf is None:
            continue
        labels = q.coding.labels(1)
        unknown = [literal(i) for i, label in enumerate(labels) if label == shelf.OTHER]
        if unknown:
            held = one_of(column(q.name), unknown)
            count = select(count_rows()).from_(CODED.table).where(held)
            what, found = shelf.CODES[spec.shelf].what, session.row(count)[0]
            if found == prepared.rows:
                raise DataError(
                    f"column {q.name!r}: no record holds a {what} (shelf: {spec.shelf})",
                    hint=f"its values are of another kind; the shelf has {', '.join(shelf.CODES)}",
                )
            hold, read = ("holds", "it reads") if found == 1 else ("hold", "they read")
            yield (
                f"{q.name}: {found} of {prepared.rows} records {hold} no {what} (shelf: "
                f"{spec.shelf}); above the raw values {read} '{shelf.OTHER}'"
            )


def _doubtful(bound: Bound, session: Session) -> Iterator[str]:
    """What may mean something else than was read: texts, dates, and numbers that leave or are
    generalized."""
    yield from bound.opened.notes if bound.opened is not None else ()
    columns = [c.column for c in bound.columns if c.spec.role not in ("identifier", "drop")]
    path = bound.opened.read if bound.opened is not None else None
    told = of_other_centuries(session, bound.source, columns, path)
    numbers = of_other_countries(session, columns, path)
    yield from (f"{name}: {why}" for some in (told, numbers) for name, why in some.items())


def _shared_identifiers(prepared: Prepared, session: Session) -> Iterator[str]:
    """Identifiers that several subjects have: one of them may be the subject that was meant."""
    subject = prepared.bound.subject
    if subject is None:
        return
    owners = count_distinct(column(subject.name, "source"))
    for name in prepared.bound.names("identifier"):
        value = column(name, "source")
        shared = (
            select(value)
            .from_(prepared.bound.source.subquery("source"))
            .where(not_null(value))
            .group_by(value.copy())
            .having(owners.copy() > 1)
        )
        counted = select(count_rows()).from_(shared.subquery("shared"))
        if _persons_share(name):
            continue
        if name != subject.name and (count := session.row(counted)[0]):
            yield (
                f"{name}: {count} of its values belong to several values of {subject.name}; if it "
                "tells one person from another, it is the subject"
            )


def _persons_share(name: str) -> bool:
    """Whether a name is of what several persons may have in common, as names and telephones."""
    kinds = ("person_name", "phone", "mail", "address")
    return any(column_names.says(k, name) for k in kinds) or column_names.may_name_persons(name)


def _dropped_subjects(prepared: Prepared, session: Session) -> Iterator[str]:
    """Columns that are dropped and look like whose record it is: many values, some repeated."""
    spec, columns = prepared.bound.spec, prepared.bound.columns
    if spec.subject is not None or spec.accept == "rows":
        return
    dropped = [
        c.name
        for c in columns
        if c.spec.role == "drop"
        and c.column.family in LIKE_IDENTIFIERS
        and not column_names.of_count(c.name)
    ]
    if not dropped or prepared.rows < FEW_ROWS:
        return
    _, counts = counted_values(prepared.bound, session, dropped)
    for name, (known, distinct) in counts.items():
        if NEAR_UNIQUE * known < distinct < known:
            yield (
                f"{name}: dropped, with {distinct:,} values in {known:,} records; if it says whose "
                f"record it is, declare `subject: {name}`: k counts records now"
            )


def beforehand(prepared: Prepared, lattice: Lattice, session: Session) -> Iterator[str]:
    """What an owner should think about before the first run."""
    yield from dependence.beforehand(prepared, session)
    yield from _dropped_subjects(prepared, session)
    yield from many(prepared, lattice)
    yield from method_of(prepared.bound).beforehand(prepared)
    names = [c.name for c in prepared.bound.columns if "homogeneity" in c.spec.accept]
    if names:
        yield (
            f"{', '.join(names)}: you accept homogeneity, so all records of a class may share one "
            "value; a model such as l_diversity rules that out"
        )
    for q in prepared.quasi_identifiers:
        hierarchy, present = q.coding.hierarchy, int((q.coding.leaf >= 0).sum())
        if hierarchy.declared and FEW_LEAVES <= len(hierarchy.leaves) == present:
            yield (
                f"{q.name}: its hierarchy lists just the {present} values that occur, and the "
                "dictionary publishes them; add values that could occur, or accept that"
            )


def many(prepared: Prepared, lattice: Lattice) -> Iterator[str]:
    """Whether there are too many transformations for a proof that one is the best."""
    options = levels_of(prepared.parameters).options
    # levels that differ between classes are no transformation
    fixed = options.transformation is not None or prepared.bound.spec.method.family == "local"
    if not fixed and options.search == "optimal" and not Packing.fits(lattice):
        yield (
            f"{lattice.size:,} transformations are too many for a proof that the best was found; "
            "the search ends when changes near its best no longer help, or by `time_limit`. Fewer "
            "quasi-identifiers, `min_level` and `max_level` would allow one"
        )


def repeated(prepared: Prepared, last: Entry | None) -> Iterator[str]:
    """Whether a release with counterfeit records was made before by another spec."""
    if not prepared.bound.spec.method.can.counterfeits or last is None:
        return
    if last.spec != prepared.bound.file.text:
        yield (
            f"this release was made before, on {last.created:%Y-%m-%d}, by another spec: who has "
            "both sees which records are in both, and these are real; publish one of them only"
        )


def linked(prepared: Prepared, counted: Relation, session: Session) -> Iterator[str]:
    """What a pseudonym reveals beyond the classes it links: how many records a subject has in each.

    Args:
        prepared: the prepared spec.
        counted: the released records with the number of their subject.
        session: where they are.
    """
    subject = prepared.parameters.subject
    if not prepared.parameters.rule.linked or subject is None:
        return
    names, k = [q.name for q in prepared.quasi_identifiers], prepared.parameters.k
    columns = {"qi": names, "subject": [subject]}
    found = session.row(step("review/linked_counts", {"rel": counted}, columns, {"k": k}))[0]
    pseudonyms = ", ".join(c.name for c in prepared.bound.pseudonyms)
    some = "1 subject has" if found == 1 else f"{found} subjects have"
    yield (
        f"{pseudonyms}: links the records of each subject; {some} a number of records in their "
        f"classes that fewer than {k} share, which who knows it could use"
    )
