"""Why counterfeit records make no release under a ceiling and a budget, and what would make one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dbdeid.errors import Unsatisfiable
from dbdeid.methods.common.searching import Ground
from dbdeid.methods.counterfeit.draws import ALLOWED_RISK
from dbdeid.methods.counterfeit.options import Padding, padding_of
from dbdeid.methods.counterfeit.search.ceiling import Ceiled
from dbdeid.prepare.problem import Parameters


def unsatisfiable(
    ground: Ground, parameters: Parameters[object], found: Ceiled, limit: int
) -> Unsatisfiable:
    """Why there is no release, and what would make one.

    Args:
        ground: the staged source.
        parameters: what must hold.
        found: by the first search; its fewest counterfeits may be those of a later try.
        limit: most counterfeit records.
    """
    padding, records = padding_of(parameters), ground.tuples.records
    budget = f"{limit} counterfeit records (max_counterfeits: {padding.budget})"
    under = "" if padding.h is None else f" under h = {padding.h}"
    if found.best is not None and padding.catalog == "paper":
        return Unsatisfiable(
            f"no draw of sensitive values{under} with at most {budget} can be covered by real "
            "records and holds the declared models: `catalog: paper` takes them as they are drawn",
            hint="use `catalog: pool`, which exchanges drawn values until they do, or raise h",
        )
    if found.best is not None:
        bound = "1/k" if padding.strict else f"{ALLOWED_RISK}/k"
        drop = f", or drop {' and '.join(padding.others)}: copies tell" if padding.others else ""
        fewer = ", or declare fewer combinations as `impossible`" if padding.impossible else ""
        return Unsatisfiable(
            f"no placement of counterfeit records{under} with at most {budget} keeps the "
            f"prosecutor risk within {bound} and the declared models, with values that can stand "
            "beside the quasi-identifiers",
            hint="raise max_counterfeits or h, or use a sensitive column of fewer, more frequent "
            f"values{drop}{fewer}",
        )
    advice = list(_advice(found, padding, records, parameters))
    return Unsatisfiable(
        f"no transformation{under} reaches k = {parameters.k} with at most {budget} of "
        f"{records} records",
        hint=", or ".join(advice) or "weaker models of the sensitive column, or a smaller k",
    )


def _advice(
    found: Ceiled, padding: Padding, records: int, parameters: Parameters[object]
) -> Iterator[str]:
    if found.smallest_h is not None and padding.h is not None:
        least = math.ceil(found.smallest_h * 10_000) / 10_000
        yield f"the smallest feasible h with this budget is {least}"
    if found.fewest is not None and found.fewest <= records:
        share = math.ceil(found.fewest / records * 10_000) / 10_000
        at = "" if padding.h is None else f" under h = {padding.h}"
        yield f"the fewest counterfeit records{at} are {found.fewest}: max_counterfeits: {share}"
