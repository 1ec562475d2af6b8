"""The searches a spec may name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dbdeid.search.exploration import Search
from dbdeid.search.optimal import optimal

SEARCHES: Mapping[str, Search] = MappingProxyType({"optimal": optimal})
