"""What the command line says to people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbdeid.report.padding import counted
from dbdeid.report.policies import briefly, pieces
from dbdeid.words import external
from dbdeid.words.advice import conversation
from dbdeid.words.layout import grid
from dbdeid.words.models import compared
from dbdeid.words.project import expected
from dbdeid.words.queries import drawn as drawn
from dbdeid.words.queries import share, workload
from dbdeid.words.search import how
from dbdeid.words.synthetic import synthesized

if TYPE_CHECKING:
    from dbdeid.engine.catalog import Entry
    from dbdeid.engine.console import Table
    from dbdeid.privacy.disclosure import Block, Disclosure
    from dbdeid.privacy.individual_risk import IndividualRisk
    from dbdeid.privacy.special_uniques import SpecialUniques
    from dbdeid.privacy.uniqueness import PopulationUniqueness
    from dbdeid.release.demo import Demo, Rows
    from dbdeid.release.result import RunResult
    from dbdeid.release.risk import Asked, Assessment
    from dbdeid.verify import Promise, Verification


ROWS_SHOWN = 100
ALL = 10  # digits of a number that breaks its promise, perhaps by little
MOST_PAIRS = 5  # of columns whose association changed


def released(result: RunResult) -> str:
    """A finished run in a few lines, and what became of the recipient's models."""
    made = result.synthetic
    text = _released(result) if made is None else synthesized(result, made)
    if result.expectations:
        text += f"\n  expected      {expected(result.expectations)}"
    if result.models_overall is None:
        return text
    return f"{text}\n\n{compared(result.models, result.models_overall)}"


def _released(result: RunResult) -> str:
    by_subject = result.source_subjects < result.source_rows
    share = result.suppressed_rows / result.source_rows
    levels = ", ".join(f"{name} {level}" for name, level in result.transformation.items() if level)
    raw = ", ".join(name for name, level in result.transformation.items() if not level)
    what = "nothing" if result.transformation else "class by class"
    made = result.counterfeit_rows
    added = f", and {made:,} counterfeit ones" if made else ""
    of_source = result.released_rows - result.counterfeit_rows
    lines = [
        f"{result.release}: {of_source:,} of {result.source_rows:,} records released, "
        f"{result.suppressed_rows:,} suppressed ({share:.1%}){added}",
        f"  classes       {result.classes:,}, the smallest of {result.smallest_class} "
        f"{'subjects' if by_subject else 'records'} (NULL: {result.null_policy})",
        *_padded(result),
        *_lost(result),
        *_intervals(result),
        f"  generalized   {levels or what}" + (" (levels of its hierarchy)" if levels else ""),
        f"  as it was     {raw}",
        f"  {_made(result)}",
        *_promised(result),
        f"  verified      {'yes' if result.verified else 'no: internal preview'}",
        f"  written       {result.table}",
        f"  seconds       {result.seconds['total']:.2f}",
    ]
    if result.policy is not None or result.masked is not None:
        lines = [line for line in lines if not line.startswith("  generalized ")]
    if not raw:
        lines = [line for line in lines if not line.startswith("  as it was ")]
    if by_subject:
        lines.insert(
            1,
            f"  subjects      {result.source_subjects:,}, {result.suppressed_subjects:,} of them "
            "lose a record",
        )
    return "\n".join([*lines, *(f"  note          {text}" for text in result.warnings)])


def _lost(result: RunResult) -> Iterator[str]:
    """What generalization took from a cell, or means from the numbers that they replace."""
    if result.loss is not None:
        yield f"  loss          {result.loss:.4f} of a cell's detail on average (0 none, 1 all)"
    elif "information_loss" in result.metrics:
        lost = result.metrics["information_loss"]
        yield f"  loss          {lost:.2f} % of the numbers' variance (SSE/SST)"


def _intervals(result: RunResult) -> Iterator[str]:
    """The intervals of a policy."""
    for name, labels in (result.policy or {}).items():
        if result.transformation[name]:
            yield f"  intervals     {name}: {briefly(pieces(labels))}"


def _made(result: RunResult) -> str:
    """How the levels were found."""
    search = result.search
    if "bits" in search:
        return (
            f"policy        point {search['point']:,} of the frontier, with risk "
            f"{search['risk']:.4g} and loss {search['loss']:.4f}; {search['checked']:,} evaluated "
            f"by {search['name']}, of {search['bits']:,} bits"
        )
    if result.masked is not None:
        groups = result.masked
        return (
            f"means         of {groups['groups']:,} groups by {groups['algorithm']}, of "
            f"{groups['smallest']:,} to {groups['largest']:,} records"
        )
    if "blocks" not in search:
        return f"search        {how(search)}"
    after = search["placed_afterwards"]
    rest = f", {after:,} records placed in them afterwards" if after else ""
    return f"blocks        {search['blocks']:,} by {search['name']}{rest}"


def _padded(result: RunResult) -> Iterator[str]:
    """What was added or moved, and what k means then."""
    padding = result.padding
    if padding is not None:
        yield (
            f"  counterfeits  {result.counterfeit_rows:,} of at most {padding['limit']:,}; no "
            f"record is generalized beyond h = {padding['h']:.4g}"
        )
        yield f"  protection    {counted(padding)}"
    if result.method == "relocation":
        yield f"  UNTRUTHFUL    {result.relocated_rows:,} records have quasi-identifiers of others"


def _promised(result: RunResult) -> Iterator[str]:
    """What was found of each model, where there are more than the classes above tell of."""
    if any(promise["model"] != "k_anonymity" for promise in result.promises):
        for promise in result.promises:
            declared, found = _flat(promise["declared"]), _flat(promise["found"])
            yield f"  promise       {promise['model']}: declared {declared}; found {found}"


def checked(found: Mapping[str, Any]) -> str:
    """A checked spec in a few lines."""
    if found.get("method") == "external":
        return external.checked(found)
    risk_ = found["risk"]
    head = (
        f"{found['release']}: the spec fits its data ({found['source_rows']:,} records"
        f"{_of_subjects(found)}{_to_choose(found)})"
    )
    rows = [(c["name"], c["role"], c["type"], _hierarchy(c)) for c in found["columns"]]
    lines = [
        head,
        *([_as_it_is(risk_)] if risk_ else []),
        grid(("column", "role", "type", "hierarchy"), rows),
        *conversation(found),
    ]
    return "\n".join([*lines, *(f"  note: {text}" for text in found["warnings"])])


def _as_it_is(found: Mapping[str, Any]) -> str:
    return (
        f"  as it is: k = {found['k']}, {found['unique_records']:,} unique records, "
        f"{found['records_at_risk']:,} at risk (NULL: {found['null_policy']})"
    )


def _to_choose(found: Mapping[str, Any]) -> str:
    if "bits" in found:
        return f", policies of {found['bits']:,} bits to choose from"
    if found["lattice_size"] is None:
        return ""
    return f", {found['lattice_size']:,} transformations to choose from"


def _of_subjects(found: Mapping[str, Any]) -> str:
    people = found["source_subjects"]
    return f" of {people:,} subjects" if people < found["source_rows"] else ""


def _hierarchy(column: Mapping[str, Any]) -> str:
    if column["hierarchy"] is None:
        return f"{column['values']} values" if column["values"] is not None else ""
    if column["levels"] is None:
        return f"{column['values']} values ({column['hierarchy']})"
    return f"{column['levels']} levels, {column['values']} values ({column['hierarchy']})"


OF_A_FILE = (
    "  note: nothing else is known of a file alone: other models, whose records they are, and "
    "whether its cells are those that were released; verify its spec for these"
)


def verified(found: Verification, *, alone: bool = False) -> str:
    """A verification: every promise and check once, and each failure with its place.

    Args:
        found: what was found.
        alone: of a file without a specification, of which nobody knows what it promises.
    """
    promises = [(*_placed(p.model), p) for p in found.promises]
    checks = [(*_placed(c.check), c) for c in found.hygiene]
    places = list(dict.fromkeys(place for _, place, _ in (*promises, *checks) if place))
    where = f" in the table, {', '.join(places)}" if places else ""
    good = "k-anonymity, as asked of this file" if alone else f"every promise holds{where}"
    lines = [f"verified: {good}" if found.verified else "NOT verified"]
    for name in dict.fromkeys(name for name, _, _ in promises):
        kept = [(place, p) for n, place, p in promises if n == name and p.holds]
        lines += [f"  {name:<18}  {_kept(p)}" for place, p in kept if place == kept[0][0]]
    passed = dict.fromkeys(name for name, _, c in checks if c.holds)
    if passed:
        lines.append(f"  {'also in order':<18}  {', '.join(passed)}")
    lines += [f"  note: {c.check}: {c.detail}" for c in found.hygiene if c.holds and c.detail]
    lines += [f"  FAIL  {p.model}: {_kept(p, ALL)}" for p in found.promises if not p.holds]
    lines += [f"  FAIL  {c.check}: {c.detail}" for c in found.hygiene if not c.holds]
    lines += [OF_A_FILE] if alone else []
    return "\n".join(lines)


def _placed(name: str) -> tuple[str, str]:
    """The name of a check and the file it was made in; without one it is the table."""
    found = re.fullmatch(r"(.*?)(?: \((.*)\))?", name)
    assert found is not None
    return found[1], found[2] or ""


def _kept(promise: Promise, digits: int = 4) -> str:
    declared, found = _flat(promise.declared, digits), _flat(promise.found, digits)
    if promise.declared == {"promised": False}:
        return f"not promised; found {found}"
    if promise.declared == promise.found:
        return f"as declared: {found}"
    return f"declared {declared}; found {found}"


def _flat(value: Any, digits: int = 4) -> str:
    if isinstance(value, Mapping):
        if not value:
            return "none"
        return ", ".join(f"{key} {_flat(item, digits)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        if not value:
            return "none"
        return " and ".join(_flat(item, digits) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def evaluated(found: Mapping[str, Any]) -> str:
    """The utility of a release."""
    metrics = found["metrics"]
    changed = sorted(
        (name for name in metrics if name.startswith("association.")), key=metrics.__getitem__
    )
    left_out = set(changed[:-MOST_PAIRS])
    rows = [(name, f"{value:.6g}") for name, value in metrics.items() if name not in left_out]
    lines = [grid(("metric", "value"), rows)]
    if left_out:
        lines.append(f"  associations of {len(left_out)} more pairs, which changed less: --json")
    if found.get("not_measured"):
        names = ", ".join(found["not_measured"])
        lines.append(f"  not measured: {names}; a value has no meaning or no original to compare")
    if found["recoding"] == "local":
        lines += ["  local recoding: levels differ between classes"]
    if found["queries"]:
        lines += ["", workload(found["queries"])]
    if found["models"]:
        lines += ["", compared(found["models"], found["models_overall"])]
    return "\n".join(lines)


def demo(done: Demo) -> str:
    """What the demo made, where to look, what to type next."""
    place, result = done.directory, done.result
    parts = [
        "1. A release of the UCI Adult sample, made from adult_public.yml",
        released(result),
        "",
        "2. What analysts ask, answered from the release alone: how far its counts lie from the",
        "   true ones; groups of the true answer that are lost, and groups that it does not have",
        workload(done.utility["queries"]),
        "",
        "3. The risk of both tables, in plain SQL: FROM deid.risk(table, columns). Records alike",
        "   in these columns form a class; k is the size of the smallest, 1 is a unique record",
        _rows(done.risks),
        "",
        "4. For inside the house: adult_preview, a view that follows the table as rows arrive",
        _rows(done.preview),
        "",
        "Look at",
        f"  {place}/report.html          what was released, what it promises, what was lost",
        f"  {place}/adult_public.yml     the release as you declare it, every line explained",
        f"  {place}/adult_public.duckdb  the release with its dictionary, fit to be given away",
        f"  {place}/adult_public.parquet the same for people without DuckDB",
        "",
        "Type next",
        f"  dbdeid query {place}/adult_public.duckdb "
        '"SELECT sex, AVG(age) AS age FROM adult WHERE age < 60 GROUP BY sex"',
        f"  dbdeid verify {place}/adult_public.yml",
        f"  dbdeid run {place}/adult_public.yml          after changing k, roles or hierarchies",
        f"  dbdeid sql {place}/adult.duckdb -c \"FROM deid.risk('adult', ['age', 'sex'])\"",
        "  dbdeid init YOUR_DATA.parquet > release.yml   to start with your own table",
    ]
    return "\n".join(parts)


def _rows(found: Rows) -> str:
    return grid(found.columns, [[_cell(cell) for cell in row] for row in found.rows])


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:,}" if isinstance(value, int) else str(value)


_NULLS = {
    "own_category": "NULL is a value of its own",
    "wildcard": "NULL equals every value",
    "exclude": "records with a NULL have no class",
}


def risk(found: Assessment, asked: Asked) -> str:
    """The risk of a table, with what counts and what a NULL equals."""
    seen, subject = found.risk, asked.counting.subject
    people = [] if subject is None else [(f"subjects ({subject})", f"{seen.subjects:,}")]
    rows = [
        ("records", f"{seen.records:,}"),
        *people,
        ("classes", f"{seen.classes:,}"),
        ("k (smallest class)", str(seen.k)),
        ("highest risk", share(seen.highest_risk)),
        ("average risk", share(seen.average_risk)),
        ("unique records", f"{seen.unique_records:,}"),
        (f"records in classes below {asked.k}", f"{seen.records_at_risk:,}"),
    ]
    if found.histogram:
        few = [f"{size.classes:,} of {size.class_size:,}" for size in found.histogram[:SIZES_SHOWN]]
        more = len(found.histogram) - len(few)
        few += [f"{more:,} greater sizes"] if more else []
        rows.append(("smallest classes", ", ".join(few)))
    told = f"null_policy {seen.null_policy}: {_NULLS[seen.null_policy]}"
    head = f"risk over {', '.join(asked.quasi_identifiers)} ({told})"
    parts = [head + "\n" + grid(("", ""), rows)]
    if found.smallest:
        cells = [
            (str(c.class_size), *("NULL" if v is None else v for v in c.values.values()))
            for c in found.smallest
        ]
        parts.append(grid(("class size", *found.smallest[0].values), cells))
    parts += [_disclosure(told) for told in found.disclosures]
    if found.population is not None:
        parts.append(_population(found.population))
    if found.individual is not None:
        parts.append(_individual(found.individual, str(asked.weight)))
    if found.special is not None:
        parts.append(_special(found.special, len(asked.quasi_identifiers)))
    return "\n\n".join(parts)


SIZES_SHOWN = 5


def _disclosure(found: Disclosure) -> str:
    """What is learned of a sensitive column, under the names of the models."""
    delta = f"{_number(found.delta_present)} bits"
    if found.classes_lacking_a_value:
        lacking = f"{found.classes_lacking_a_value:,} classes lack a value"
        delta = f"infinite: {lacking} ({delta} over the values they have)"
    enhanced = _number(found.enhanced_beta)
    if found.enhanced_beta is None and found.basic_beta is not None:
        enhanced = "none will do"
    rows = [
        ("distinct l", _number(found.distinct_l)),
        ("entropy l", _number(found.entropy_l)),
        (f"recursive c (l = {found.distinct_l})", f"above {_number(found.recursive_c)}"),
        (f"t ({found.t_distance})", _number(found.t)),
        ("alpha (greatest confidence)", share(found.alpha)),
        ("basic beta", _number(found.basic_beta)),
        ("enhanced beta", enhanced),
        ("delta", delta),
        ("homogeneous, l = 1", _block(found.homogeneous)),
        ("open to background knowledge, l = 2", _block(found.background)),
        ("diverse, l > 2", _block(found.diverse)),
    ]
    return f"what is learned of {found.sensitive}\n" + grid(("", ""), rows)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _block(block: Block) -> str:
    return f"{block.classes:,} classes, {block.records:,} records"


_MODELS = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB"}


def _population(found: PopulationUniqueness) -> str:
    """How much of a population is unique, by each model."""

    def chosen(value: float, model: str | None) -> str:
        return share(value) + (f" ({_MODELS[model]})" if model else "")

    rows = [
        ("of the sample", share(found.sample_uniqueness)),
        *((name, share(getattr(found, key)) or "does not fit") for key, name in _MODELS.items()),
        ("Dankar's choice, as ARX", chosen(found.dankar, found.model)),
    ]
    if found.model_solved != found.model or found.dankar_solved != found.dankar:
        rows.append(("the same with SNB solved", chosen(found.dankar_solved, found.model_solved)))
    head = f"estimated to be unique in the population of {found.population:,}"
    return head + "\n" + grid(("", ""), rows)


def _individual(found: IndividualRisk, weight: str) -> str:
    """The individual risks of a weighted sample."""
    rows = [
        ("highest", share(found.highest)),
        ("mean", share(found.mean)),
        ("expected re-identifications", f"{found.expected_reidentifications:,.2f}"),
    ]
    return f"individual risk, weights {weight}\n" + grid(("", ""), rows)


def _special(found: SpecialUniques, width: int) -> str:
    """The special uniques of a table."""
    sizes = [
        f"{count:,} of {size}"
        for size, count in enumerate(found.minimal_sample_uniques, start=1)
        if count
    ]
    rows = [
        ("records with one", f"{found.records:,}"),
        ("minimal sample uniques", ", ".join(sizes) or "none"),
        ("highest score", f"{found.highest_score:,.6g}"),
        (f"highest DIS, at {found.sampling_fraction:.4g}", share(found.highest_dis_score)),
    ]
    head = f"special uniques by {found.largest_set} of {width} quasi-identifiers or fewer"
    return head + "\n" + grid(("", ""), rows)


def entry(found: Entry) -> dict[str, Any]:
    """One run for JSON."""
    return {
        "release": found.release,
        "object": found.object,
        "kind": found.kind,
        "exports": list(found.exports),
        "transformation": dict(found.transformation),
        "metrics": dict(found.metrics),
        "spec_hash": found.spec_hash,
        "version": found.version,
        "created": found.created.isoformat(timespec="seconds"),
    }


def entries(found: Sequence[Entry]) -> str:
    """The runs of a database."""
    if not found:
        return "no releases yet"
    untrue = any(text for e in found for text in _untrue(e.record))
    rows = [
        (
            e.release,
            e.kind,
            e.object,
            f"{e.created:%Y-%m-%d %H:%M}",
            f"k={e.record['smallest_class']}",
            f"loss {e.metrics['loss']:.4f}" if "loss" in e.metrics else "",
            *(_untrue(e.record) if untrue else ()),
        )
        for e in found
    ]
    head = ("release", "kind", "written to", "at (UTC)", "", "", *([""] if untrue else []))
    return grid(head, rows)


def _untrue(record: Mapping[str, Any]) -> tuple[str]:
    """That not all records of a release are true, and what its k means then."""
    if record.get("padding"):
        return (counted(record["padding"]),)
    return ("untruthful: records were moved" if record["method"] == "relocation" else "",)


def table(found: Table) -> str:
    """The result of an SQL statement."""
    rows = [["NULL" if cell is None else str(cell) for cell in row] for row in found.rows]
    more = len(rows) - ROWS_SHOWN
    rest = f"\n  … {more:,} more rows; --json prints all" if more > 0 else ""
    return grid(found.columns, rows[:ROWS_SHOWN]) + rest
