"""The files of a spec: those that it may write, and what a trial writes in their stead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdeid.bind.source import databases
from dbdeid.data.location.file_formats import files_at, is_remote, names_file
from dbdeid.engine.file_names import beside
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.privacy import population_of
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located, relative
from dbdeid.spec.release_spec import ReleaseSpec, published

PRIVATE, TRIAL = ".private.duckdb", ".trial.duckdb"


@dataclass(frozen=True, slots=True)
class Places:
    """The files of a spec, resolved.

    Attributes:
        database: the owner's database; None for in-memory or the caller's own.
        target: the file of the release; None: the release is written into the database.
        exports: files to export.
        tables: of attached databases to export to, as the spec names them.
        private: the private file of a target.
        shelf: the folder where the project has its private files; None outside of projects.
        published: of a trial, the places of what the spec publishes; None of these themselves.
    """

    database: Path | None
    target: Path | None
    exports: tuple[Path, ...]
    private: Path | None = None
    shelf: Path | None = None
    published: Places | None = None
    tables: tuple[str, ...] = ()

    @property
    def shelves(self) -> tuple[Path, ...]:
        """The folders in which private files of other releases may lie, each once."""
        beside = (p.parent for p in (self.private, self.target) if p is not None)
        every = (*beside, *([self.shelf] if self.shelf else []))
        every += self.published.shelves if self.published else ()
        return tuple(dict.fromkeys(folder.resolve() for folder in every))


def private_of(target: Path) -> Path:
    """The private book-keeping file beside a target file.

    >>> private_of(Path("adult_public.duckdb")).name
    'adult_public.private.duckdb'
    """
    target = _followed(target)
    return target.with_name(f"{target.stem}{PRIVATE}")


def places(file: SpecFile, database: Path | None = None) -> Places:
    """Resolve the files of a spec and refuse to write over one of its inputs.

    Raises:
        SpecError: a target or export is an input, or listed twice.
    """
    spec = file.spec
    target = _followed(relative(file, spec.target, "target")) if spec.target else None
    shelf = file.project.place("private") if file.project is not None else None
    found = Places(
        database or (relative(file, spec.database, "database") if spec.database else None),
        target,
        tuple(_followed(relative(file, path, "output", "export")) for path in spec.exported_files),
        _private(target, spec.release, shelf) if target is not None else None,
        shelf,
        tables=spec.exported_tables,
    )
    if file.trial:
        found = of_trial(found, file)
    _check(file, found)
    return found


def of_trial(given: Places, file: SpecFile) -> Places:
    """Where a trial is made: in a file of its own, with a private file of its own, beside what is
    private of the release; nothing of it lies where others look for what is published."""
    if given.private is not None:
        folder, name = given.private.parent, given.private.name.removesuffix(PRIVATE)
    else:
        first = next(filter(None, (given.database, *given.exports)), None)
        folder = given.shelf or (first.parent if first else file.folder)
        name = file.spec.release
    target = folder / f"{name}{TRIAL}"
    return Places(given.database, target, (), private_of(target), given.shelf, given)


def _private(target: Path, release: str, shelf: Path | None) -> Path:
    """The private file of a target: in the project's folder for them, else beside the target.

    One that an earlier version wrote beside the target of a project stays in use where it is: what
    it remembers is relative to its place.
    """
    beside = private_of(target)
    if shelf is None:
        return beside
    own = shelf / f"{release}{PRIVATE}"
    return beside if beside.exists() and not own.exists() else own


def _followed(path: Path) -> Path:
    """Where a symbolic link leads: a rename would replace the link itself."""
    return path.resolve() if path.is_symlink() else path


def require_lasting(file: SpecFile, label: str, database: Path | None, *, hint: str) -> None:
    """Refuse a run that writes nothing, and that nobody can ask when it has ended.

    Raises:
        SpecError, DataError: nothing would remain of it, or its places are wrong.
    """
    found = places(file, database)
    if not (found.database or found.target or found.exports or found.tables):
        raise DataError(f"{label}: nothing would remain of this release", hint=hint)


def _identity(path: Path) -> tuple[int, int] | Path:
    """The identity of a file, however its path is spelled or linked."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()
    return found.st_dev, found.st_ino


def _check(file: SpecFile, found: Places) -> None:
    read = {_identity(path) for path in inputs(file, found)}
    written = [("target", p) for p in (found.target, found.private) if p]
    written += [("output.export", p) for e in found.exports for p in companions(e, file.spec)]
    mistakes, seen = [], set()
    if found.target is not None and found.target.name.endswith(TRIAL) and not file.trial:
        message = f"{found.target.name} has the name of a trial, which the next trial may replace"
        mistakes.append(Mistake(message, "target", hint="choose another file name"))
    for place, path in written:
        if _identity(path) in read:
            message = f"{path.name} is an input of this spec and would be overwritten"
            mistakes.append(Mistake(message, place, hint="choose another file name"))
        elif _identity(path) in seen:
            message = f"{path.name} would be written twice"
            mistakes.append(Mistake(message, place, hint="choose another file name"))
        elif not path.parent.is_dir() and not _is_made(path, place, file, found):
            message = f"the folder {path.parent} does not exist"
            mistakes.append(Mistake(message, place, hint="create it first"))
        seen.add(_identity(path))
    if mistakes:  # each once, however many files lie in a folder
        raise SpecError(list(dict.fromkeys(mistakes)), source=file.label)


def _is_made(path: Path, place: str, file: SpecFile, found: Places) -> bool:
    """Whether the first run makes the folder of a file, as of those of a project."""
    return path.parent == found.shelf or (place == "target" and place in file.shared)


def inputs(file: SpecFile, found: Places) -> Iterator[Path]:
    """The files that a run of a spec reads, there or not; the spec itself first."""
    spec = file.spec
    if file.path is not None:
        yield file.path
    if found.database is not None:
        yield found.database
    if file.source_kind == "file" and isinstance(spec.source, str):
        yield from source_files(file, spec.source)
    yield from (d.path for d in databases(file) if d.path is not None)
    for name, column in spec.columns.items():
        if column.hierarchy is not None and column.hierarchy.path is not None:
            yield located(file, column.hierarchy.path, "columns", name, "hierarchy")
    for number, model in enumerate(spec.privacy):
        population = population_of(model)
        if population is not None and names_file(population):
            yield located(file, population, "privacy", number, "population")


def source_files(file: SpecFile, source: str) -> tuple[Path, ...]:
    """The files of a source, there or not; none of those on the network."""
    if is_remote(source):
        return ()
    path = located(file, source, "source")
    try:
        return files_at(path)
    except DataError:  # to read it tells why
        return (path,)


def companions(export: Path, spec: ReleaseSpec) -> tuple[Path, ...]:
    """The files of one export: a .duckdb holds all its tables, others have one file for each.

    A folder of files counts as one.
    """
    if export.suffix == ".duckdb":
        return (export,)
    return export, *(beside(export, what) for what in published(spec))
