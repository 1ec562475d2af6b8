"""The five papers, their tables and figures, and what becomes of each here.

Nothing is computed: a listing must cost nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from dbdeid.data.json import JsonObject
from dbdeid.errors import DataError

Status = Literal["reproduced", "on other data", "not possible", "not of the paper"]


@dataclass(frozen=True, slots=True)
class Item:
    """A table or figure of a paper.

    Attributes:
        name: as it is asked for.
        title: what it shows.
        status: whether the paper's own data are to be had; what is not of the paper goes beyond it.
        why: what differs, or why it is not possible.
        compute: the function that computes it; empty where it is not possible.
        seconds: of a processor, as measured once: `--quick`, and whole (0: not measured).
        files: of `--data` without which it cannot be computed.
        also: other names, of figures that are computed together.
    """

    name: str
    title: str
    status: Status
    why: str
    compute: str = ""
    seconds: tuple[int, int] = (0, 0)
    files: Sequence[str] = ()
    also: Sequence[str] = ()

    @property
    def label(self) -> str:
        """The name as people read it: `Figure 5`, `Figures 5 to 8`, `Against k`."""
        numbered = re.fullmatch(r"(table|figures?)(\d\w*)", self.name)
        words = f"{numbered[1]} {numbered[2]}" if numbered else self.name.replace("_", " ")
        return re.sub(r"(?<=\d)to(?=\d)", " to ", words).capitalize()

    def to_dict(self) -> JsonObject:
        """The item as JSON shows it."""
        quick, whole = self.seconds
        return {
            "name": self.name,
            "title": self.title,
            "status": self.status,
            "why": self.why,
            "quick_seconds": quick or None,
            "seconds": whole or None,
            "files": [*self.files],
        }


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Attributes:
        name: as it is asked for: its module, and its page of the documentation.
        citation: authors, title, journal, year.
        items: its tables and figures.
    """

    name: str
    citation: str
    items: Sequence[Item]

    @property
    def shared(self) -> tuple[str, ...]:
        """Why several items differ, or are not possible, in the same words: a list says it once."""
        often = Counter(item.why for item in self.items)
        return tuple(why for why, number in often.items() if number > 1)

    def remark(self, item: Item) -> str:
        """What a list says of an item after its status: why, or the number of what is shared."""
        shared = self.shared
        return f" ({shared.index(item.why) + 1})" if item.why in shared else f": {item.why}"

    def item(self, name: str) -> Item:
        """An item by its name, `figure5`, or as people write it: `Fig. 5`, `5`.

        Raises:
            DataError: the paper has none of this name.
        """
        for item in self.items:
            names = (item.name, *item.also)
            if _plain(name) in (*names, *(own.removeprefix("figure") for own in names)):
                return item
        known = [item.name for item in self.items]
        raise DataError(f"{self.name} has no {name!r}", hint=_meant(_plain(name), known, "it has "))

    def to_dict(self) -> JsonObject:
        """The paper as JSON shows it."""
        items = [item.to_dict() for item in self.items]
        return {"name": self.name, "citation": self.citation, "items": items}


def paper(name: str) -> Paper:
    """A paper by its name.

    Raises:
        DataError: there is none of this name.
    """
    found = next((one for one in PAPERS if one.name == name.lower()), None)
    if found is None:
        known = [one.name for one in PAPERS]
        raise DataError(f"no paper {name!r}", hint=_meant(name.lower(), known, ""))
    return found


def _plain(name: str) -> str:
    return re.sub(r"^fig(ure)?[.\s]*(?=\d)", "figure", re.sub(r"\s+", "", name.lower()))


def _meant(name: str, known: Sequence[str], before: str) -> str:
    close = get_close_matches(name, known, 1)
    listed = f"{before}{', '.join(known)}"
    return f"did you mean {close[0]!r}? {listed}" if close else listed


_ADULT_SAMPLES = "UCI Adult as in the paper; its samples and hierarchies are not named"
_TENNESSEE = (
    "the paper's sample of a state is not published: two Tennessees of --data, or Adult alone"
)
_STATE = "the paper's sample of a state is not published: Tennessees of --data"
_PEOPLE = ("population/tn_modelled_population.parquet", "population/adult_tn_modelled.parquet")
_BENCHMARKS = "Adult; CUP, FARS, ATUS, IHIS and ACS where --data has your copy, else stand-ins"
_SEVEN = (
    "UCI Adult as in the paper, with and without unknown values; its seven quasi-identifiers and "
    "their hierarchies are not named, nor are its figures numbered here"
)
_REGISTRIES = "the paper's are private: two simulated ones, and SUPPORT2 of --data"

PAPERS = (
    Paper(
        "gal2014",
        "Gal, Tucker, Gangopadhyay & Chen: A data recipient centered de-identification method to "
        "retain statistical attributes. J Biomed Inform, 2014",
        (
            Item(
                "table1",
                "two anonymous versions of one small table, asked the same",
                "not possible",
                "its cells are not at hand; a test asks two versions that were made in its manner",
            ),
            Item(
                "models",
                "which coefficients of the recipient's models change, by method",
                "on other data",
                _REGISTRIES,
                "gal2014.models",
                seconds=(12, 0),
            ),
            Item(
                "commercial",
                "the same of full-domain generalization",
                "on other data",
                f"the paper's commercial tool is not named; {_REGISTRIES}",
                "gal2014.commercial",
                seconds=(11, 0),
            ),
            Item(
                "privacy",
                "conditional privacy and a membership attack",
                "on other data",
                _REGISTRIES,
                "gal2014.privacy",
                seconds=(3, 0),
            ),
            Item(
                "sizes",
                "models and privacy against the size of clusters",
                "on other data",
                _REGISTRIES,
                "gal2014.sizes",
                seconds=(3, 0),
            ),
            Item(
                "figures5to8",
                "seconds against records, by phase, against cluster size and columns",
                "on other data",
                f"another machine; {_REGISTRIES}",
                "gal2014_runtime.runtime",
                also=("figure5", "figure6", "figure7", "figure8"),
                seconds=(7, 0),
            ),
        ),
    ),
    Paper(
        "lee2017",
        "Lee, Kim, Kim & Chung: Utility-preserving anonymization for health data publishing. "
        "BMC Med Inform Decis Mak 17:104, 2017",
        (
            Item(
                "against_k",
                "counterfeits, information loss and reconstruction error against k",
                "reproduced",
                _SEVEN,
                "lee2017.against_k",
                seconds=(20, 0),
            ),
            Item(
                "against_h",
                "the same against the ceiling h",
                "reproduced",
                _SEVEN,
                "lee2017.against_h",
                seconds=(17, 0),
            ),
            Item(
                "least_error",
                "the ceiling h of least reconstruction error over all transformations",
                "reproduced",
                _SEVEN,
                "lee2017.least_error",
                seconds=(9, 0),
            ),
            Item(
                "per_attribute",
                "query error by the attribute that groups",
                "reproduced",
                _SEVEN,
                "lee2017_queries.per_attribute",
                seconds=(7, 0),
            ),
            Item(
                "per_number",
                "query error by the number of attributes that group",
                "reproduced",
                _SEVEN,
                "lee2017_queries.per_number",
                seconds=(9, 0),
            ),
            Item(
                "hospital",
                "patients and length of stay by age group and sex, Q1 to Q4",
                "on other data",
                "the paper's sample of Korean inpatients is not public; Diabetes 130 of --data",
                "lee2017_queries.hospital_queries",
                files=("ehr/diabetes130.parquet",),
                seconds=(19, 0),
            ),
            Item(
                "figure11",
                "ages of inpatients as the paper groups them",
                "not possible",
                "they are of its sample of Korean inpatients, which is not public",
            ),
            Item(
                "repeated",
                "one seed at 1 and 4 threads",
                "not of the paper",
                "the same bytes of release and catalog",
                "lee2017.repeated",
                seconds=(5, 0),
            ),
        ),
    ),
    Paper(
        "prasser2016",
        "Prasser, Kohlmayer & Kuhn: Efficient and effective pruning strategies for health data "
        "de-identification. BMC Med Inform Decis Mak 16:49, 2016",
        (
            Item(
                "table1",
                "four ways to keep predictions",
                "on other data",
                _BENCHMARKS,
                "prasser2016.stores",
                seconds=(5, 0),
            ),
            Item(
                "table2",
                "the searches: checks, predictions, seconds",
                "on other data",
                _BENCHMARKS,
                "prasser2016.searches",
                seconds=(5, 0),
            ),
            Item(
                "table3",
                "best-first search with and without prediction",
                "on other data",
                _BENCHMARKS,
                "prasser2016.prediction",
                seconds=(1, 0),
            ),
            Item(
                "table4",
                "the searches: what antichains hold",
                "on other data",
                _BENCHMARKS,
                "prasser2016.searches",
                seconds=(5, 0),
            ),
            Item(
                "table5",
                "quality in the time of a heuristic",
                "on other data",
                _BENCHMARKS,
                "prasser2016.heuristics",
                seconds=(1, 78),
            ),
            Item(
                "figure5",
                "explicit and implicit storage",
                "on other data",
                _BENCHMARKS,
                "prasser2016.memory",
                seconds=(1, 0),
            ),
            Item(
                "figure7",
                "quality over time",
                "on other data",
                _BENCHMARKS,
                "prasser2016.over_time",
                seconds=(1, 0),
            ),
        ),
    ),
    Paper(
        "xia2013",
        "Xia, Heatherly, Ding, Li & Malin: Efficient discovery of de-identification policies "
        "through a risk-utility frontier. CODASPY 2013, 59-70",
        (
            Item(
                "figure5",
                "area under the frontier against the policies evaluated",
                "on other data",
                _TENNESSEE,
                "xia2013.area",
                seconds=(3, 0),
            ),
            Item(
                "figure6",
                "what a sublattice promises (H) against what it keeps",
                "on other data",
                _TENNESSEE,
                "xia2013.improvement",
                seconds=(2, 88),
            ),
            Item(
                "figure7",
                "the frontiers of the searches",
                "on other data",
                _TENNESSEE,
                "xia2013.frontiers",
                seconds=(2, 0),
            ),
            Item(
                "figure8a",
                "the frontiers beside Safe Harbor",
                "on other data",
                _STATE,
                "xia2013.safe_harbor",
                files=_PEOPLE,
                seconds=(12, 0),
            ),
            Item(
                "figure8b",
                "the frontiers beside bisection",
                "on other data",
                _STATE,
                "xia2013.bisection",
                files=_PEOPLE,
                seconds=(15, 189),
            ),
            Item(
                "figure9",
                "two policies that dominate Safe Harbor",
                "on other data",
                _STATE,
                "xia2013.policies",
                files=_PEOPLE,
                seconds=(4, 13),
            ),
            Item(
                "cost",
                "what evaluating a policy costs in each of four ways",
                "not of the paper",
                "as the search does it, and as a database would",
                "xia2013.cost",
                seconds=(1, 0),
            ),
        ),
    ),
    Paper(
        "yoo2012",
        "Yoo, Shin & Lee: An approach to reducing information loss and achieving diversity of "
        "sensitive attributes in k-anonymity methods. Interact J Med Res 1(2):e14, 2012",
        (
            Item(
                "figure4",
                "information loss against the number of records",
                "reproduced",
                _ADULT_SAMPLES,
                "yoo2012.loss",
                seconds=(6, 0),
            ),
            Item(
                "figure5",
                "blocks with one, two and more sensitive values",
                "reproduced",
                _ADULT_SAMPLES,
                "yoo2012.diversity",
                seconds=(6, 0),
            ),
            Item(
                "figure6",
                "seconds against the number of records",
                "reproduced",
                f"{_ADULT_SAMPLES}; another machine",
                "yoo2012.seconds",
                seconds=(6, 0),
            ),
            Item(
                "mondrian",
                "dealing beside Mondrian",
                "not of the paper",
                "its blocks beside those of a common method",
                "yoo2012.mondrian",
                seconds=(25, 0),
            ),
        ),
    ),
)
