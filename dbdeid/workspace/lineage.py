"""What a release reads and what it writes, by name only: nothing is opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dbdeid.bind.source import attached_place, databases
from dbdeid.data.location.file_formats import names_file
from dbdeid.engine.reading import NotSql, common_names, tables_in
from dbdeid.engine.sqltext import statements
from dbdeid.privacy import population_of
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located, relative
from dbdeid.spec.names import objects_of
from dbdeid.spec.release_spec import SourceQuery, published
from dbdeid.workspace.release_files import companions

# A file, and the table in it; no table where the file is one.
Thing = tuple[str, str]


def written(file: SpecFile, database: Path | None = None) -> dict[Thing, str]:
    """The tables and files that a run of a spec writes, each with the key that says so.

    Args:
        file: the spec.
        database: in place of the spec's `database`.
    """
    spec = file.spec
    if spec.method.foreign_table is not None:
        return {}
    home = relative(file, spec.target, "target") if spec.target else _database(file, database)
    tables = objects_of(spec.release, spec)
    found = dict.fromkeys(_in(home, tables), "release")
    if spec.target is not None:
        found[_file(relative(file, spec.target, "target"))] = "target"
    for name in spec.exported_tables:
        attached, text = attached_place(file, name)[0], _in_attached(name)
        names = (text, *(f"{text}_{what}" for what in published(spec)))
        found |= dict.fromkeys(((attached.place.rstrip("|"), n) for n in names), "output.export")
    for export in spec.exported_files:
        path = relative(file, export, "output", "export")
        found |= {_file(companion): "output.export" for companion in companions(path, spec)}
        if path.suffix == ".duckdb":
            found |= dict.fromkeys(_in(path, tables), "output.export")
    return found


def read(file: SpecFile, database: Path | None = None) -> frozenset[Thing]:
    """The tables and files that a spec is about, as far as their names can be read from it.

    Args:
        file: the spec.
        database: in place of the spec's `database`.
    """
    spec, home = file.spec, _database(file, database)
    found: set[Thing] = set()
    if isinstance(spec.source, SourceQuery):
        found |= _in(home, _tables(spec.source.sql))
    names = [spec.source] if isinstance(spec.source, str) else []
    names += [name for model in spec.privacy if (name := population_of(model)) is not None]
    beside = (spec.method.people, spec.method.foreign_table)
    names += [name for name in beside if name is not None]
    for name in names:
        if names_file(name):
            found.add(_file(located(file, name, "source")))
        elif (alias := spec.attached_as(name)) is not None:
            attached = next(d for d in databases(file) if d.alias == alias)
            found.add((attached.place.rstrip("|"), _in_attached(name)))
        else:
            found |= _in(home, [name.removeprefix("main.")])
    return frozenset(found)


def _in_attached(name: str) -> str:
    """A table of an attached database without the name of that."""
    return name.partition(".")[2].removeprefix("main.").lower()


def _database(file: SpecFile, database: Path | None) -> Path | None:
    if database is not None:
        return database
    return relative(file, file.spec.database, "database") if file.spec.database else None


def _file(path: Path) -> Thing:
    return str(path.resolve()), ""


def _in(home: Path | None, tables: tuple[str, ...] | list[str] | Iterator[str]) -> set[Thing]:
    """Tables in a file; none of a database in memory, which nobody else reads."""
    return set() if home is None else {(str(home.resolve()), table.lower()) for table in tables}


def _tables(sql: str) -> Iterator[str]:
    """The tables of the main schema that a query names; none where it is no SQL."""
    try:
        trees = statements(sql)
    except NotSql:
        return  # a run tells
    for tree in (tree for tree in trees if tree is not None):
        own = common_names(tree)
        for table in tables_in(tree):
            if table.schema.lower() in ("", "main") and table.name.lower() not in own:
                yield table.name
