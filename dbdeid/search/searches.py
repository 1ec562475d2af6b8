"""The searches a spec may name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dbdeid.search.best_first import best_first
from dbdeid.search.datafly import datafly
from dbdeid.search.exploration import Search
from dbdeid.search.flash import flash
from dbdeid.search.igreedy import igreedy
from dbdeid.search.lbs import lbs
from dbdeid.search.ola import ola
from dbdeid.search.optimal import optimal

# These look at a path or two, and end with the first that satisfies: what they find under a time
# limit is what they find without one, as long as there is time.
GREEDY = frozenset({"datafly", "igreedy"})

SEARCHES: Mapping[str, Search] = MappingProxyType(
    {
        "optimal": optimal,
        "best_first": best_first,
        "flash": flash,
        "ola": ola,
        "lbs": lbs,
        "datafly": datafly,
        "igreedy": igreedy,
    }
)
