"""The searches a spec may name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dbdeid.lattice.exploration import Search
from dbdeid.methods.full_domain.baselines.flash import flash
from dbdeid.methods.full_domain.baselines.igreedy import igreedy
from dbdeid.methods.full_domain.baselines.lbs import lbs
from dbdeid.methods.full_domain.baselines.ola import ola
from dbdeid.methods.full_domain.search.best_first import best_first
from dbdeid.methods.full_domain.search.datafly import datafly
from dbdeid.methods.full_domain.search.optimal import optimal

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
