"""The names of the tables and files that a release makes beside its target."""

from __future__ import annotations

from dbdeid.errors import DataError
from dbdeid.spec.file import SpecFile
from dbdeid.spec.release_spec import ReleaseSpec, beside

# The private tables of a frontier of policies, by what follows the release's name.
FRONTIER, EVALUATIONS = "frontier", "evaluations"


def dictionary_name(release: str) -> str:
    """The name of the public companion that explains released values."""
    return f"{release}_dictionary"


def frontier_of(spec: ReleaseSpec) -> tuple[str, ...]:
    """The names of the private tables that keep a frontier of policies; other methods have none."""
    if not spec.method.can.frontier:
        return ()
    return tuple(f"{spec.release}_{what}" for what in (FRONTIER, EVALUATIONS))


def catalog_name(release: str) -> str:
    """The name of the public companion that counts counterfeit records."""
    return f"{release}_catalog"


def objects_of(release: str, spec: ReleaseSpec) -> tuple[str, ...]:
    """The names of a release and of all that is public beside it: tables, then views."""
    if spec.output.kind == "view":
        return (release,)
    return release, *(f"{release}_{what}" for what in beside(spec))


def is_external(file: SpecFile) -> bool:
    """Whether a spec declares a release made elsewhere."""
    return file.spec.method.foreign_table is not None


def refuse(file: SpecFile, what: str, instead: str) -> None:
    """Refuse what needs a release of our own.

    Raises:
        DataError: the release of the spec was made elsewhere.
    """
    if (table := file.spec.method.foreign_table) is not None:
        raise DataError(
            f"release {file.spec.release!r} was made elsewhere (table {table!r}), and {what}",
            hint=instead,
        )
