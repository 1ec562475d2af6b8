"""The preview view: an internal, live look at a release; never exported, never called verified.

It joins the source with `deid.hierarchies` and withholds classes below k as rows arrive. A row with
a value that the hierarchies did not know at the time of the run is withheld too.
"""

from __future__ import annotations

from dbdeid.data.hierarchy import TOP
from dbdeid.engine.catalog import Book
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    any_of,
    case,
    cast,
    column,
    count_of,
    creation,
    each_once,
    every_column,
    literal,
    not_null,
    over,
    same_value,
    select,
)
from dbdeid.engine.relation import Relation, free_name
from dbdeid.engine.session import Step
from dbdeid.evaluation import measurement
from dbdeid.methods.common.levels import levels_of
from dbdeid.methods.common.method import Planned
from dbdeid.methods.common.outcome import Written
from dbdeid.methods.full_domain import full_domain
from dbdeid.methods.full_domain.full_domain import FullDomainPlan
from dbdeid.prepare.prepare import Prepared, upload_hierarchies
from dbdeid.release import record
from dbdeid.release.result import Reader, RunResult
from dbdeid.review import exposure
from dbdeid.workspace.progress import Clock
from dbdeid.workspace.workplace import Workplace, previous_objects, require_unchanged


def publish(
    work: Workplace, planned: Planned[FullDomainPlan], warnings: tuple[str, ...], clock: Clock
) -> RunResult:
    """Write the view and book it, all or nothing."""
    prepared, plan, session = planned.prepared, planned.plan, work.session
    spec = prepared.bound.spec
    view = Relation(spec.release, schema="main", catalog=session.catalog)
    with clock.phase("write"):
        hierarchies, book = upload_hierarchies(prepared, session), work.book
        assert book is not None  # a view lives in the owner's database, as the book then does
        with session.transaction():
            require_unchanged(work, spec)
            book.create()
            book.keep_hierarchies(spec.release, hierarchies)
            for name in reversed(previous_objects(work, spec.release)):
                session.drop(Relation(name, schema="main", catalog=session.catalog))
            query = view_query(book, prepared, plan)
            session.execute(creation(view.table, "VIEW", query))
            released = counted = session.relation(spec.release)
            if prepared.parameters.subject is not None:
                people = view_query(book, prepared, plan, with_subject=True)
                counted = session.run(Step("deid_counted", people))
            exposure.require_unnamed(prepared.bound, session, released)
            exposure.require_hidden(prepared, session, counted)
            outcome = full_domain.outcome(
                prepared.quasi_identifiers, plan, levels_of(prepared.parameters)
            )
            written = Written(released, released, counted, outcome, released)
            kept = record.record_of(
                prepared,
                written,
                measurement.of_view(prepared, written, session),
                (*warnings, "a preview view is internal: it is neither verified nor exported"),
                clock.seconds,
                verification=None,
                engine=None,
                content=None,
                rerelease=None,
                proven=None,
                frontier=None,
            )
            book.add(record.entry_of(work, prepared, kept))
    return record.result_of(
        kept, clock.seconds, spec.release, Reader(work.places, spec.release, work.connection)
    )


def view_query(
    book: Book, prepared: Prepared, plan: FullDomainPlan, *, with_subject: bool = False
) -> Select:
    """The query of the view: plain SQL over the source and the stored hierarchies.

    `with_subject` adds the subject of each record, for measuring only.
    """
    numbers = {q.name: i for i, q in enumerate(prepared.quasi_identifiers)}
    keep, k = prepared.parameters.keep, literal(prepared.parameters.k)
    labels: list[Expr] = [column("label", f"h{i}") for i in range(len(numbers))]
    kept = _kept(prepared, labels, k)
    picked: list[Expr] = []
    for c in prepared.released:
        value = cast(column(c.name, "source"), c.type)
        number = numbers.get(c.name)
        if number is None or (plan.node[number] == 0 and not keep):
            picked.append(aliased(value, c.name))
            continue
        label: Expr = column("label", f"h{number}")
        if keep:
            label = case((kept.copy(), label), otherwise=literal(TOP))
        picked.append(aliased(label, c.name))
    names = [c.name for c in prepared.released]
    flag = free_name("deid_stays", (c.name for c in prepared.released))
    picked.append(aliased(kept, flag))
    subject = prepared.bound.subject
    if subject is not None:
        number_of = str(prepared.parameters.subject)
        picked.append(aliased(column(subject.name, "source"), number_of))
        if with_subject:
            names.append(number_of)
    query = select(*picked).from_(prepared.bound.source.copy().subquery("source"))
    if subject is not None:  # whose record it is must be known, as in a run
        query = query.where(not_null(column(subject.name, "source")))
    hierarchies = book.table("hierarchies")
    for q, level in zip(prepared.quasi_identifiers, plan.node, strict=True):
        alias = f"h{numbers[q.name]}"
        known = all_of(
            column("release", alias).eq(literal(prepared.bound.spec.release)),
            column("hierarchy", alias).eq(literal(q.name)),
            column("level", alias).eq(literal(level)),
            same_value(column("value", alias), cast(column(q.name, "source"), "VARCHAR")),
        )
        query = query.join(hierarchies.aliased(alias), on=known)
    stays: Expr = column(flag, "shown")
    rows = select(*(column(name, "shown") for name in names))
    rows = rows.from_(query.subquery("shown"))
    if not keep:
        return rows.where(stays)
    # the suppressed form a class themselves, which must hold the models as the rows are now
    counted = prepared.parameters.subject
    others = over(count_of(_people(counted, "shown")), by=[stays.copy()])
    return rows.qualify(any_of(stays.copy(), others >= k.copy()))


def _people(subject: str | None, table: str) -> Expr:
    """What is counted: distinct subjects, or rows."""
    if subject is None:
        return every_column()
    return each_once(column(subject, table))


def _kept(prepared: Prepared, labels: list[Expr], k: Expr) -> Expr:
    """Whether a row's class holds the models as the rows are now."""
    subject = prepared.bound.subject
    counted = _people(subject.name if subject else None, "source")
    size = over(count_of(counted), by=[x.copy() for x in labels])
    kept: Expr = size >= k
    if prepared.counting.null_policy == "exclude":
        kept = all_of(kept, *(not_null(label) for label in labels))
    return kept
