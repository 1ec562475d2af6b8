"""Print the results of commands for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dbdeid.cli.text.advice import conversation, questions
from dbdeid.cli.text.layout import flat, grid, left_out
from dbdeid.cli.text.queries import drawn as drawn
from dbdeid.cli.text.queries import share, workload
from dbdeid.cli.text.release import external
from dbdeid.cli.text.release.evaluation import evaluated as evaluated
from dbdeid.cli.text.release.run import released as released
from dbdeid.data.figures import part

if TYPE_CHECKING:
    from dbdeid.commands.demo import Demo, Rows
    from dbdeid.commands.risk import Assessment, RiskQuestion
    from dbdeid.engine.session import Table
    from dbdeid.prepare.fingerprints import SourceChange
    from dbdeid.privacy.risk.disclosure import Block, Disclosure
    from dbdeid.privacy.risk.individual_risk import IndividualRisk
    from dbdeid.privacy.risk.item_sets import ItemRisk
    from dbdeid.privacy.risk.similarity import Similarity
    from dbdeid.privacy.risk.special_uniques import SpecialUniques
    from dbdeid.privacy.risk.uniqueness import PopulationUniqueness
    from dbdeid.verify import Promise, Unique, Verification
    from dbdeid.workspace.standing import Unpublishable


ROWS_SHOWN = 100
ALL = 10  # digits of a number that breaks its promise, perhaps by little


def checked(found: Mapping[str, Any]) -> str:
    """A checked spec in a few lines."""
    if found.get("method") == "external":
        return external.checked(found)
    asked = list(questions(found))
    if found["source_rows"] is None:
        return "\n".join([f"{found['release']}: not ready to run", *asked])
    risk_ = found["risk"]
    size = f"{found['source_rows']:,} records{_of_subjects(found)}{_to_choose(found)}"
    head = f"{found['release']}: the spec fits its data ({size})"
    rows = [(c["name"], c["role"], c["type"], _hierarchy(c)) for c in found["columns"]]
    if asked:
        head = f"  with what is decided so far: {size}"
    lines = [
        *([f"{found['release']}: not ready to run", *asked] if asked else []),
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
    "  note: a file alone shows no more. Verify its spec to check other models, people instead of "
    "rows, and whether the cells are those that were released"
)


def verified(
    found: Verification,
    *,
    alone: bool = False,
    changed: SourceChange | None = None,
    unpublishable: Unpublishable | None = None,
) -> str:
    """A verification: every promise and check once, and each failure with its place.

    Args:
        found: what was found.
        alone: of a file without a specification, of which nobody knows what it promises.
        changed: how the source has changed since; the release was then verified without it.
        unpublishable: why nobody else is to have it all the same.
    """
    promises = [(*_placed(p.model), p) for p in found.promises]
    checks = [(*_placed(c.check), c) for c in found.hygiene]
    places = list(dict.fromkeys(place for _, place, _ in (*promises, *checks) if place))
    where = f" in the table, {', '.join(places)}" if places else ""
    good = "k-anonymity, as asked of this file" if alone else f"every promise holds{where}"
    if changed is not None:
        good = f"the release is as it was when it was verified{where}"
    why = unpublishable
    lines = [f"not for publication: {why.message}. Do not give it away"] if why else []
    lines += [f"{changed.message}: run it again"] if changed is not None else []
    lines += [f"promises verified: {good}" if found.verified else "promises NOT verified"]
    lines += [_unique(found.unique)] if found.unique else []
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
    if changed is not None and changed.not_compared:
        lines.append(f"  not compared with the source: {', '.join(changed.not_compared)}")
    return "\n".join(lines)


def _unique(found: Unique) -> str:
    """Who is unique all the same, beside what was verified."""
    of = f"{found.records:,} of {found.of:,} records ({part(found.records, found.of)})"
    are = "is" if found.records == 1 else "are"
    return f"  {'not promised':<18}  {of} {are} unique over all {found.columns} columns"


def _placed(name: str) -> tuple[str, str]:
    """The name of a check and the file it was made in; without one it is the table."""
    found = re.fullmatch(r"(.*?)(?: \((.*)\))?", name)
    assert found is not None
    return found[1], found[2] or ""


def _kept(promise: Promise, digits: int = 4) -> str:
    declared, found = flat(promise.declared, digits), flat(promise.found, digits)
    if promise.declared == {"promised": False}:
        return f"not promised; found {found}"
    if promise.declared == promise.found:
        return f"as declared: {found}"
    return f"declared {declared}; found {found}"


def demo(done: Demo) -> str:
    """Format what the demo made, where to look, and what to type next."""
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
        "4. Internal use only: adult_preview, a view that follows the table as rows arrive",
        _rows(done.preview),
        "",
        "Look at",
        f"  {place}/report.html          what was released, what it promises, what was lost",
        f"  {place}/adult_public.yml     the release as you declare it, every line explained",
        f"  {place}/adult_public.duckdb  the release with its dictionary, ready to hand out",
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


def risk(found: Assessment, asked: RiskQuestion) -> str:
    """Format the risk of a table, with its unit of counting and its treatment of NULL."""
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
    if found.similar is not None:
        parts.append(_similarity(found.similar))
    if found.items is not None:
        parts.append(_items(found.items, asked.k))
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


def _similarity(found: Similarity) -> str:
    """What is learned of the meanings of a sensitive column, by level of its hierarchy."""
    rows = [
        (
            f"level {level.level}, {level.labels:,} labels",
            f"{_block(level.similar)} of several values and one label",
            f"greatest confidence {share(level.confidence)}",
        )
        for level in found.levels
    ]
    return f"values of {found.sensitive} that mean the same\n" + grid(("", "", ""), rows)


def _items(found: ItemRisk, k: int) -> str:
    """What who knows some items of a list adds to the quasi-identifiers."""
    few = f"{found.rare:,} of {found.combinations:,}, held by {found.records_at_risk:,} records"
    rows = [
        ("fewest records of a class that share them", _number(found.smallest)),
        (f"combinations shared by fewer than {k}", few),
        (f"({k}, {k}^{found.known})-anonymous", "yes" if found.holds else "no"),
    ]
    return f"who knows {found.known} of the {found.items}, too\n" + grid(("", ""), rows)


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


def table(found: Table) -> str:
    """The result of an SQL statement."""
    rows = [["NULL" if cell is None else str(cell) for cell in row] for row in found.rows]
    shown = grid(found.columns, rows[:ROWS_SHOWN])
    return "\n".join([shown, *left_out(len(rows) - ROWS_SHOWN)])
