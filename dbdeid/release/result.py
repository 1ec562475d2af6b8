"""What a run gives back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from dbdeid.data.json import JsonObject
from dbdeid.engine.engines import ENGINE, warehouse_of
from dbdeid.engine.expressions import select
from dbdeid.engine.relation import Relation
from dbdeid.record.release_record import ReleaseRecord

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import pyarrow as pa

    from dbdeid.workspace.release_files import Places


@dataclass(frozen=True, slots=True)
class RunResult:
    """One finished release.

    Attributes:
        release: its name.
        trial: whether it was made to look at, and is not for publication.
        method: how it was made.
        source_rows: records of the source.
        source_subjects: people behind them; every record is one where no subject is declared.
        released_rows: records released.
        suppressed_rows: records suppressed.
        suppressed_subjects: people who lose a record.
        counterfeit_rows: records added.
        relocated_rows: records whose quasi-identifiers are not theirs.
        recoding: global, or local where each class has levels of its own.
        padding: of a release with counterfeit records: k, size of padded classes, h, limit,
            catalog, prosecutor risk and the like; None without them.
        synthetic: of synthetic records: k, clusters, strata, response, trial and the like; None
            for others. `classes` are then the clusters that they were drawn from.
        masked: of quasi-identifiers that are means, the groups whose they are.
        policy: of a policy, the released intervals of each quasi-identifier; None for others.
        classes: equivalence classes of the release.
        smallest_class: people in the smallest; None for an empty release.
        null_policy: how NULL in a quasi-identifier formed classes.
        transformation: level of each quasi-identifier; empty where recoding is local.
        loss: mean information loss of a cell, in [0, 1]; None where no value is generalized.
        metrics: utility metrics by name.
        models: the recipient's models on the original and on the release, as
            `utility.model_fit.ModelComparison`; empty where none are declared.
        models_overall: what changed over all of them.
        search: lattice_size, checked, proven_optimal, lower_bound.
        verified: whether an independent look at the written table found every promise kept.
        promises: of each privacy model what was declared and what was found.
        expectations: of each threshold of `expect` its name, what was expected and found.
        remains: what is not promised, as `remains.Remains`: who is singled out by the columns that
            leave as they are, and whose sensitive value is certain.
        useless: sentences on what nobody can use, each with why and what to change; empty where
            there is nothing of that kind. They are the first of the warnings, too.
        warnings: what a reader of the release should know.
        rerelease: what it tells together with each earlier release of its source, as
            `joint.Compared`; newest first.
        together: what it tells together with all of them, as `together.Together`; None where it
            could be compared with none.
        seconds: wall time of each phase.
        table: where the release is, as SQL names it.
    """

    release: str
    trial: bool
    method: str
    source_rows: int
    source_subjects: int
    released_rows: int
    suppressed_rows: int
    suppressed_subjects: int
    counterfeit_rows: int
    relocated_rows: int
    recoding: str
    padding: Mapping[str, Any] | None
    synthetic: Mapping[str, Any] | None
    masked: Mapping[str, Any] | None
    policy: Mapping[str, Any] | None
    classes: int
    smallest_class: int | None
    null_policy: str
    transformation: Mapping[str, int]
    loss: float | None
    metrics: Mapping[str, float]
    models: tuple[Mapping[str, Any], ...]
    models_overall: Mapping[str, Any] | None
    search: Mapping[str, Any]
    verified: bool
    promises: tuple[Mapping[str, Any], ...]
    expectations: tuple[Mapping[str, Any], ...]
    remains: Mapping[str, Any]
    useless: tuple[str, ...]
    warnings: tuple[str, ...]
    rerelease: tuple[Mapping[str, Any], ...]
    together: Mapping[str, Any] | None
    seconds: Mapping[str, float]
    table: str = field(metadata={"json": False})
    _reader: Reader = field(repr=False, metadata={"json": False})
    _record: ReleaseRecord = field(repr=False, metadata={"json": False})

    def to_dict(self) -> JsonObject:
        """The result as JSON shows it."""
        shown = (f.name for f in fields(self) if f.metadata.get("json", True))
        return {name: _plain(getattr(self, name)) for name in shown}

    @property
    def record(self) -> ReleaseRecord:
        """All that is known of the release, as its report takes it; private."""
        return self._record

    def to_df(self) -> pd.DataFrame:
        """The released table as a pandas frame."""
        return self._reader.read()

    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """Altair charts by name, for inside the house: `classes` and `records` by the size of
        their class, `loss` by column, `frontier` of a policy; those that there are figures for."""
        from dbdeid.report.charts.notebook_charts import run_charts

        return run_charts(self._record)

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import run_html

        return run_html(self._record)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Reader:
    """Where a release can be read again after its run.

    Attributes:
        places: the files of the spec.
        release: name of the table.
        table: the table itself, when it was written into no database.
        connection: the caller's connection, when one was given.
    """

    places: Places
    release: str
    connection: Any = None
    table: pa.Table | None = None

    def read(self) -> pd.DataFrame:
        """The table as a pandas frame."""
        if self.table is not None:
            with ENGINE.open(None, read_only=False) as session:
                columns = dict(zip(self.table.column_names, self.table.columns, strict=True))
                return session.frame(session.upload(self.release, columns))
        if (warehouse := warehouse_of(self.connection)) is not None:
            with closing(warehouse), ENGINE.open(None, read_only=False) as session:
                table = warehouse.source(self.release)
                rows = warehouse.arrow(select("*").from_(table.table)).to_reader()
                place = Relation("released", schema="main", catalog="temp")
                return session.frame(session.stage(place, rows, {}))
        path = self.places.target or self.places.database
        if self.places.target is None and self.connection is not None:
            session = ENGINE.over(self.connection, self.places.database, read_only=True)
        else:
            session = ENGINE.open(path, read_only=True)
        with session:
            return session.frame(Relation(self.release, schema="main", catalog=session.catalog))
