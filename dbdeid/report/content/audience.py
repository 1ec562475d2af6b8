"""What the public may see of a record: a new record, built from named parts only.

Nothing is passed through because it was not thought of: each part below is either contained in
the release itself, declared by its owner, or rounded. The exact number of source or suppressed
records can be computed from an exact loss, discernibility or average class size, so these are
left out or taken over the released records alone.
"""

from __future__ import annotations

from math import ceil
from pathlib import PurePath
from typing import Literal, TypeAlias, TypeVar

from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.file_names import names_file
from dbdeid.record.comparison import Content
from dbdeid.record.findings import Promise, Remains, Singled, Verification
from dbdeid.record.making import Padding
from dbdeid.record.part import Part
from dbdeid.record.public_record import (
    PublicAsItIs,
    PublicCertain,
    PublicCheck,
    PublicColumn,
    PublicContent,
    PublicPadding,
    PublicPromise,
    PublicRecord,
    PublicRemains,
    PublicRisk,
    PublicRiskChange,
    PublicSynthetic,
    PublicVerification,
)
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.content.model_terms import model_called
from dbdeid.report.content.padding import CATALOGUED

Audience: TypeAlias = Literal["internal", "public"]
_Public = TypeVar("_Public", bound=Part)

FEW = 100
LOSS_STEP = 0.05

_PARAMETERS = (
    *("suppression_limit", "suppressed", "limit", "truthful"),
    *("h", "max_counterfeits", "catalog", "recoding", "strict"),
)
# Of counterfeit records, what the published catalog and its release tell.
_TOLD_BY_CATALOG = ("counterfeits", "size", "candidates", "groups", "risk")
_METRICS = ("height",)
# Found in a release and its catalog, without the source.
_FOUND_IN_CATALOG = (
    *("catalog", "lemma_1", "candidates", "prosecutor_risk", "possible_counterfeits"),
)


def public(record: ReleaseRecord) -> PublicRecord:
    """The part of a record that may be published.

    Loss is taken over the released records alone and rounded to the nearest 0.05, because the
    range of a column without a declared domain can be computed from an exact one; that of such a
    column alone is left out, unless all its cells are `*`. Of a release with counterfeit records
    loss is left out, for it is taken over the real ones, and how many they are is told only where
    a catalog tells.
    """
    synthetic, people = record.synthetic, record.by_subject
    classes, smallest = record.classes, record.smallest_class
    if people:
        smallest = _least_declared(record)
    if synthetic is not None:
        # how many clusters there are, and what was found of them, tells of the source
        classes, smallest = None, synthetic.k
    parameters, declared = record.method_parameters, _declared_domains(record)
    emptied = {column.name for column in record.columns if column.labels == ("*",)}  # 1 for all
    after = record.risk.after if record.risk is not None and not people else None
    return PublicRecord(
        release=record.release,
        method=record.method,
        recoding=record.recoding,
        version=record.version,
        released_rows=record.released_rows,
        classes=classes,
        smallest_class=smallest,
        verified=record.verified,
        null_policy=record.null_policy,
        accept=record.accept,
        histogram=() if people else record.histogram,
        created=record.created[:10],
        by_subject=people,
        privacy=tuple(_model(str(model.get("model")), model) for model in record.privacy or ()),
        columns=tuple(_told(PublicColumn, column) for column in record.columns),
        metrics={name: value for name, value in record.metrics.items() if name in _METRICS},
        loss=_released_loss(record, record.loss),
        exports=tuple(PurePath(name).name for name in record.exports if names_file(name)),
        remains=_remains(record.remains) if record.remains is not None else None,
        method_parameters=None if parameters is None else _only(parameters, _PARAMETERS),
        synthetic=None if synthetic is None else _told(PublicSynthetic, synthetic),
        content=_content(record.content) if record.content is not None else None,
        padding=_padding(record.padding, record) if record.padding is not None else None,
        column_loss={
            name: _released_loss(record, loss)
            for name, loss in record.column_loss.items()
            if name in declared or name in emptied
        },
        verification=_verification(record.verification, record) if record.verification else None,
        publisher=record.publisher,
        risk=None if after is None else PublicRiskChange(after=_told(PublicRisk, after)),
    )


def _told(kind: type[_Public], part: Part) -> _Public:
    """The public form of a part: its fields, as far as the public one has a place for them."""
    return kind.model_validate({name: getattr(part, name) for name in part.model_fields_set})


def _content(content: Content) -> PublicContent | None:
    """Digests of what is published, which reveal no more than that does; of nothing else."""
    if content.release is None:  # once it was a sum of hashes, and forgeable
        return None
    return _told(PublicContent, content)


def _remains(left: Remains) -> PublicRemains:
    """What anyone can count in the release, which does not say whose its records are."""

    def singled(found: Singled | None) -> Singled | None:
        return None if found is None else Singled(records=found.records, people=None)

    shown = PublicRemains(
        records=left.records,
        quasi_identifiers=left.quasi_identifiers,
        columns=left.columns,
        pseudonyms=left.pseudonyms,
        covered=singled(left.covered),
        people=None,
        subject=None,
        as_they_are=tuple(
            PublicAsItIs(column=c.column, role=c.role, alone=singled(c.alone))
            for c in left.as_they_are
        ),
        together=singled(left.together),
        everything=Singled(records=left.everything.records, people=None),
        certain=tuple(
            PublicCertain(column=c.column, records=c.records, people=None) for c in left.certain
        ),
    )
    told = "bounds" in left.model_fields_set
    return shown.model_copy(update={"bounds": left.bounds}) if told else shown


def _declared_domains(record: ReleaseRecord) -> set[str]:
    """Columns whose loss does not reveal how many values the original has, or their range."""
    return {column.name for column in record.columns if column.declared_domain}


def _padding(padding: Padding, record: ReleaseRecord) -> PublicPadding:
    """What the release itself reveals of counterfeit records, and what was declared of them."""
    shown = PublicPadding(
        risk=None,
        k=padding.k,
        catalog=padding.catalog,
        sensitive=padding.sensitive,
        strict=padding.strict,
    )
    if padding.catalog in CATALOGUED:
        told = {name: getattr(padding, name) for name in _TOLD_BY_CATALOG}
        shown = shown.model_copy(update=told)
        if padding.told is not None and padding.risk is not None:
            # what the owner measured by knowing which are counterfeit, no finer than it must be
            rounded = max(padding.risk, min(1.0, ceil(padding.told * 20) / 20))
            shown = shown.model_copy(update={"told": rounded})
    if _degrees_are_known(record):
        shown = shown.model_copy(update={"degree": padding.degree})
    return shown


def _degrees_are_known(record: ReleaseRecord) -> bool:
    """Whether anyone can compute how far a record is generalized: all domains are declared."""
    names = {c.name for c in record.columns if c.role == "quasi_identifier"}
    return bool(names) and names <= _declared_domains(record)


def _least_declared(record: ReleaseRecord) -> int | None:
    """What stands for the smallest class in subjects, which the release does not show."""
    models = record.privacy or ()
    # k people around a value, or of a class; not those of a population
    sizes = [k for m in models if m.get("model") != "k_map" and isinstance(k := m.get("k"), int)]
    return max(sizes, default=None)


def about(suppressed: int, limit: float | None) -> str:
    """Round a number of suppressed records to two significant digits; below 100, say only that.

    >>> about(1346, 0.05), about(7, 0.05), about(0, 0.0)
    ('about 1,300', 'fewer than 100', 'none')
    """
    if suppressed == 0 and limit == 0:
        return "none"
    if suppressed < FEW:
        return f"fewer than {FEW}"
    unit = 10 ** (len(str(suppressed)) - 2)
    return f"about {round(suppressed / unit) * unit:,}"


def roughly(loss: float) -> str:
    """A loss that was rounded to the nearest 0.05, in words.

    >>> roughly(0.0), roughly(0.25)
    ('below 0.03', 'about 0.25')
    """
    return f"about {loss:.2f}" if loss else "below 0.03"


def _released_loss(record: ReleaseRecord, loss: float | None) -> float | None:
    """Loss without the removed records (each counts 1), rounded; None where it is unknown."""
    if loss is None or record.source_rows is None:
        return None
    released, source = record.released_rows, record.source_rows
    removed = source - released
    if released <= 0 or removed < 0:
        return None
    kept = (loss * source - removed) / released
    return round(max(kept, 0.0) / LOSS_STEP) * LOSS_STEP


def _verification(checked: Verification, record: ReleaseRecord) -> PublicVerification:
    """Which promises and checks hold; not that of a policy's risk, which is not public."""
    promises = (p for p in checked.promises if p.model != "policy")
    return PublicVerification(
        verified=checked.verified,
        promises=tuple(_promise(promise, record) for promise in promises),
        hygiene=tuple(
            PublicCheck(check=c.check, holds=c.holds, detail="") for c in checked.hygiene
        ),
    )


def _promise(promise: Promise, record: ReleaseRecord) -> PublicPromise:
    """A promise; what was found only where anyone can find it in the release."""
    declared: Json = None
    found: Json = None
    known, name, given = not record.by_subject, promise.model, promise.declared
    if isinstance(given, dict) and name in {model["model"] for model in record.privacy or ()}:
        declared = _model(name, given)
        known = known and "values" not in given  # would tell which they are
    kind = model_called(name)
    if known and kind is not None and kind.found_in_release:
        found = promise.found
    padding = record.padding
    if padding is not None and name in _FOUND_IN_CATALOG and padding.catalog in CATALOGUED:
        declared, found = promise.declared, promise.found
    if padding is not None and name == "h_ceiling":
        # a ceiling that was found, not declared, tells of the source
        ceiling = (record.method_parameters or {}).get("h")
        declared = declared if ceiling is None else {"h": ceiling}
        found = promise.found if _degrees_are_known(record) else found
    return PublicPromise(declared=declared, found=found, model=name, holds=bool(promise.holds))


def _model(name: str, declared: JsonObject) -> JsonObject:
    """A model; of the values that it is about only how many, for it promises nothing of others."""
    kind = model_called(name)
    shown = _only(declared, ("model", *(kind.public if kind else ())))
    if isinstance(listed := declared.get("values"), list | tuple) and listed:
        shown["values"] = f"{len(listed)} not named here"
    return shown


def _only(values: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return {key: values[key] for key in keys if key in values}
