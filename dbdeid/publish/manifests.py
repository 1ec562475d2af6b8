"""A public manifest read back: what a release was said to be, as the verifier takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dbdeid.engine import file_names, regular
from dbdeid.engine.relation import Column
from dbdeid.errors import DataError
from dbdeid.privacy import MODELS, MaxRisk, Model
from dbdeid.privacy.common.counting import NullPolicy
from dbdeid.report.manifest import SCHEMA
from dbdeid.spec.method_spec import capabilities_of
from dbdeid.verify import Content, Declared
from dbdeid.verify.base.declaration import Synthesized
from dbdeid.verify.base.hygiene import PLAIN

_TYPE = re.compile(r"[A-Z][A-Z_ ]*(\(\d+(,\s?\d+)?\))?|TIMESTAMP_\w+")
_DIGEST = r"^[0-9a-f]{64}$"
# A plain file name: of no other folder, and of no characters that a terminal acts on.
_CHARACTER = r"[^/\\\x00-\x1f\x7f-\x9f]"
_FILE = rf"^{_CHARACTER}*[^./\\\x00-\x1f\x7f-\x9f]{_CHARACTER}*$"
_PAGE = ".html"
_Digest = Annotated[str, Field(pattern=_DIGEST)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Typed(_Part):
    name: str
    type: str


class _Table(_Part):
    rows: int = Field(ge=0)
    sha256: _Digest


class _Content(_Part):
    columns: list[_Typed] | None = None
    release: _Table
    dictionary: _Table | None = None
    catalog: _Table | None = None
    files: dict[Annotated[str, Field(pattern=_FILE)], _Digest] | None = None


class _Column(_Part):
    name: str
    role: str
    pseudonym: bool = False
    released_type: str | None = None
    level: int | None = None
    height: int | None = None
    values: Literal["normalized", "as_written"] = "normalized"


class _Promise(_Part):
    model: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]


class _Parameters(_Part):
    limit: float | None = None
    suppressed: str | None = None


class _Verification(_Part):
    promises: list[_Promise] = []


class _Manifest(_Part):
    audience: Literal["public", "internal"]
    release: str
    method: str
    trial: bool = False
    verified: bool = False
    columns: list[_Column]
    privacy: list[dict[str, object]]
    null_policy: NullPolicy = "own_category"
    recoding: str = "global"
    method_parameters: _Parameters = _Parameters()
    verification: _Verification = _Verification()
    content: _Content | None = None
    counted: Literal["records", "subjects"] = "records"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a public manifest says of a release.

    Attributes:
        path: where it is.
        text: its bytes, which are what is signed.
        declared: shape and models of the release; what the public is not told is left open.
        content: the digests of its tables.
        promised: the name of each of its promises, as often as it was made.
        people: whether its promises are of people, whom the files may not tell.
        files: SHA-256 of each file that was handed out with it; None: it tells none.
    """

    path: Path
    text: bytes
    declared: Declared
    content: Content
    promised: tuple[str, ...]
    people: bool
    files: Mapping[str, str] | None

    def beside(self, table: str) -> frozenset[str]:
        """The names of the files that hold `dictionary` or `catalog` of other files."""
        if getattr(self.content, table) is None or self.files is None:
            return frozenset()
        explaining = {file_names.beside(Path(name), table).name for name in self.files}
        return frozenset(name for name in self.files if name in explaining)

    @property
    def releases(self) -> tuple[str, ...]:
        """The names of the files that hold the release."""
        others = self.beside("dictionary") | self.beside("catalog")
        names = sorted((self.files or {}).keys() - others)
        return tuple(name for name in names if not name.endswith(_PAGE))

    @property
    def digests(self) -> Mapping[str, frozenset[str]] | None:
        """SHA-256 of the files of each table; None where the manifest lists none."""
        if (files := self.files) is None:
            return None
        names = {table: self.beside(table) for table in ("dictionary", "catalog")}
        names["release"] = frozenset(self.releases)
        return {table: frozenset(files[name] for name in every) for table, every in names.items()}


def read_bytes(path: Path, what: str) -> bytes:
    """What a file holds.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return regular.content(path)
    except OSError as error:
        raise DataError(
            f"the {what} {path} cannot be read ({error.strerror})", hint="check the path"
        ) from None


def read(path: Path, text: bytes) -> Manifest:
    """The manifest that a file holds.

    Raises:
        DataError: it is no public manifest of a verified release, or tells no digests.
    """
    try:
        found = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise DataError(
            f"{path} is no manifest of dbdeid",
            hint="it is the .json file beside the public report: dbdeid export SPEC DIR/",
        )
    try:
        told = _Manifest.model_validate(found)
    except ValidationError:
        raise DataError(f"{path} is a damaged manifest", hint="ask for it again") from None
    if told.content is None or told.content.columns is None:
        raise DataError(
            f"{path} tells no digests of the release, so that no file can be held against it",
            hint="a release of dbdeid has them from this version on: run its spec again",
        )
    if told.audience != "public" or told.trial or not told.verified:
        what = "of a trial" if told.trial else "for its owner only"
        raise DataError(
            f"{path} is {what if told.verified else 'of a release that was not verified'}",
            hint="dbdeid export SPEC DIR/ writes the public one, of a verified release",
        )
    unmeasured = [c for c in told.columns if c.role == "quasi_identifier" and c.height is None]
    nothing = not any(c.height is not None for c in told.columns)
    drawn = capabilities_of(told.method).values == "drawn"
    if unmeasured or (nothing and told.privacy and not drawn):
        # models would be measured over fewer columns than were declared, or over none
        raise DataError(f"{path} is a damaged manifest", hint="ask for it again")
    columns = tuple(Column(c.name, c.type) for c in told.content.columns)
    if not all(map(_plain, columns)):
        raise DataError(f"{path} names types that no release has", hint="ask for it again")
    return Manifest(
        path,
        text,
        _declared(told, columns, next((c.name for c in told.columns if c.pseudonym), None)),
        Content.of_dict(found["content"]),
        tuple(p.model for p in told.verification.promises),
        told.counted == "subjects",
        told.content.files,
    )


def _plain(column: Column) -> bool:
    return column.family in PLAIN and _TYPE.fullmatch(column.type) is not None


def _declared(told: _Manifest, columns: tuple[Column, ...], pseudonym: str | None) -> Declared:
    """The shape and the models; what only the owner knows is left open: any domain is taken for
    declared, and no promise is made of the number of records or of counterfeits."""
    assert told.content is not None
    can = capabilities_of(told.method)
    leveled = {c.name: c for c in told.columns if c.height is not None}
    own = {c.name for c in told.columns}
    limit = told.method_parameters.limit
    keeps = told.method_parameters.suppressed == "keep"
    return Declared(
        release=told.release,
        columns=columns,
        quasi_identifiers=tuple(leveled),
        bounds=tuple(c.name for c in columns if c.name not in own and _is_bound(c, leveled)),
        withheld=tuple(c.name for c in told.columns if c.released_type is None),
        models=tuple(filter(None, map(_model, told.privacy))),
        transformation={n: c.level for n, c in leveled.items() if c.level is not None},
        tops={n: c.height for n, c in leveled.items() if c.height is not None},
        source_rows=0,
        suppression_limit=1.0,
        keeps_suppressed=keeps,
        domains=tuple(leveled),
        limited=tuple(leveled),
        null_policy=told.null_policy,
        # without a pseudonym the files do not tell whose a record is
        subject=pseudonym or ("people" if told.counted == "subjects" else None),
        pseudonyms=tuple(filter(None, [pseudonym])),
        local=bool(leveled) and told.recoding == "local",
        relocated=float(limit or 0.0) if can.moves else None,
        explained=told.content.dictionary is not None,
        as_written=tuple(c.name for c in told.columns if c.values == "as_written"),
        synthesized=_SYNTHETIC if can.values == "drawn" else None,
    )


_SYNTHETIC = Synthesized(1, (), False, "", False, False, False, ())


def _is_bound(column: Column, leveled: Mapping[str, object]) -> bool:
    return any(column.name == f"{name}_{side}" for name in leveled for side in ("lower", "upper"))


def _model(told: Mapping[str, object]) -> Model | None:
    """A declared model; None where too little of it is published to measure it."""
    kind = MODELS.get(str(told.get("model")))
    if kind is None:
        return None
    try:
        found = kind.model_validate(dict(told))
    except ValidationError:
        return None
    # which population others are compared with is not told
    return None if isinstance(found, MaxRisk) and found.attacker != "prosecutor" else found
