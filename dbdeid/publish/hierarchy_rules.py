"""The hierarchies of a bound spec, as the verifier builds them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dbdeid.bind.bound import Bound, BoundColumn, bounds_of
from dbdeid.data import hierarchy_file
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, HierarchyError, SpecError
from dbdeid.prepare import fingerprints, populations
from dbdeid.prepare.domains import with_domains
from dbdeid.prepare.hierarchies import table_rows
from dbdeid.privacy import TCloseness
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.spec.files import located
from dbdeid.verify import Check, Declared, rebuilt
from dbdeid.verify.hierarchies.levels import Rule


def checks(
    bound: Bound,
    session: Session,
    declared: Declared,
    record: ReleaseRecord,
    hierarchies: Relation,
    dictionary: Relation,
) -> tuple[Check, ...]:
    """Hold the book and the dictionary of a release against its spec and the files of that.

    Under method policy only the order of the values is declared; which neighbours are merged is
    what the book says.

    Args:
        bound: the spec.
        session: sees the tables.
        declared: the shape of the release.
        record: of the run that made it, with the fingerprints of then.
        hierarchies: what the book keeps of it.
        dictionary: what is published beside it.
    """
    try:
        if bound.spec.method.can.ordered:
            bound = with_domains(bound, session, populations.population_tables(bound, session))
        found = tuple(_rules(bound, session, record.fingerprints or {}))
    except (DataError, HierarchyError) as error:
        return (Check("hierarchies", False, f"no longer to be read: {error.message}"),)
    except SpecError as error:
        told = "; ".join(mistake.message for mistake in error.mistakes)
        return (Check("hierarchies", False, f"no longer to be read: {told}"),)
    return rebuilt(session, declared, found, hierarchies, dictionary)


def _rules(bound: Bound, session: Session, then: Mapping[str, str]) -> Iterator[Rule]:
    now = fingerprints.of_hierarchies(bound.file, session)
    compared = {
        name
        for model in bound.models
        if isinstance(model, TCloseness) and model.distance == "hierarchical"
        for name in model.columns
    }
    sensitive = [c for c in bound.columns if c.name in compared]
    for c in (*bound.quasi_identifiers, *sensitive):
        key = fingerprints.hierarchy_of(bound.file, c.name)
        rule = _rule(bound, session, c)
        changed = key in now and now[key] != then.get(key, now[key])
        yield replace(rule, changed=changed, listed=c.name not in compared)


def _rule(bound: Bound, session: Session, c: BoundColumn) -> Rule:
    spec, domain = c.spec.hierarchy, c.spec.domain
    plain = Rule(c.name, c.released_type or "VARCHAR", c.column.family, bounds_of(c), "suppress")
    if c.domain is not None:
        own, place = c.domain, f"its domain ({c.domain.kind})"
        return replace(plain, kind="neighbours", domain=own.values, style=own.style, place=place)
    if spec is None:
        return plain
    if spec.path is not None:
        path = located(bound.file, spec.path, "columns", c.name, "hierarchy")
        rows = hierarchy_file.read(c.name, path)
        return replace(plain, kind="rows", rows=rows, place=f"the hierarchy file {path.name}")
    if spec.table is not None:
        rows = [[str(cell) for cell in row] for row in table_rows(session, c.name, spec.table)]
        return replace(plain, kind="rows", rows=rows, place=f"the hierarchy table {spec.table}")
    if spec.groups is not None:
        return replace(plain, kind="groups", groups=spec.groups)
    limited = replace(plain, lower=spec.lower, upper=spec.upper)
    leaves = domain if isinstance(domain, tuple) and domain else None
    if spec.free:
        return replace(limited, kind="free", domain=leaves)
    if spec.intervals is not None:
        origin = plain.origin if spec.origin is None else spec.origin
        return replace(limited, kind="intervals", widths=spec.intervals, origin=origin)
    if spec.dates is not None:
        return replace(limited, kind="dates", units=spec.dates)
    if spec.shelf is not None:
        return replace(plain, kind="codes", codes=spec.shelf, domain=leaves)
    if spec.prefix is not None:
        return replace(plain, kind="prefix", lengths=spec.prefix, domain=leaves)
    return replace(plain, domain=leaves)
