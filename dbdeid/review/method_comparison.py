"""What another method would give: full-domain and local recoding side by side, on a sample.

Both are planned in memory on the same records of the source, with the same models; nothing is
written. Of each it is told what detail is lost, and how far random counts are from the true ones
when every record may have any of the values that its released ones stand for, each as likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import Select, aliased, count_rows, select, table_named
from dbdeid.engine.relation import MEASURED
from dbdeid.engine.session import Session
from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import OutOfTime
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.objectives import loss_of
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.common.levels import Levels, levels_of
from dbdeid.methods.common.searching import Ground, Remembering, lattice_of
from dbdeid.methods.full_domain.search.costs import best_of
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.methods.local_recoding import recoded_rows
from dbdeid.methods.local_recoding.local_recoding import require_possible
from dbdeid.methods.local_recoding.search.blocks import Demands
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.repair import settle
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import MaxRisk
from dbdeid.query.workload.ranges import Between, ListedDomain, conditions, range_queries

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SAMPLE = 2_000  # records
LARGER = 5_000  # records, where there is more time
SECONDS = 3.0
SEED = 7  # the same sample and the same questions each time
QUESTIONS, DIMENSIONS, SELECTIVITY = 100, 2, 0.05
DRAWN = 1_000  # of which those are asked that count enough
LEAST_COUNT = 0.01  # of the records: the error of rarer ones is of chance alone
LIMIT = 0.05  # of suppression, where the declared method has none
MUCH_BETTER = 0.5  # of what the declared method loses, or errs
LEAST_GAIN = 0.05  # of detail or of error that is worth another method


@dataclass(frozen=True, slots=True)
class Method:
    """What one method gives on the sample.

    Attributes:
        method: its name.
        declared: whether the spec names it.
        loss: mean loss of a cell, suppressed cells counting 1; None where it gives nothing.
        query_error: mean over the questions of how far a count is from the true one, as a share of
            it; None where nothing can be asked.
        questions: how many were asked.
        sample_rows: records that it was tried on.
        why: why it gives nothing.
    """

    method: str
    declared: bool
    loss: float | None
    query_error: float | None
    questions: int
    sample_rows: int
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods side by side.

    Attributes:
        methods: the declared one first; empty where they are not compared.
        left_out: why they are not, in words.
    """

    methods: tuple[Method, ...]
    left_out: str | None = None


def compare(
    prepared: Prepared, session: Session, seconds: float = SECONDS, records: int = SAMPLE
) -> Comparison:
    """What full-domain and local recoding would give.

    Args:
        prepared: a prepared spec, whose source is staged.
        session: where.
        seconds: that local recoding may take, and a third of it for full-domain.
        records: of the sample, at most.
    """
    reason = _not_compared(prepared)
    if reason is not None:
        return Comparison((), reason)
    parameters, units = _on(
        levels_of(prepared.parameters), _sample(_units(prepared, session), records)
    )
    lattice = lattice_of(prepared.quasi_identifiers)
    local = prepared.bound.spec.method.family == "local"
    questions = _questions(prepared, units)
    trial = _Trial(session, lattice, units, parameters, questions, seconds, local)
    declared = prepared.bound.spec.method.name
    tried = {"full_domain": trial.full_domain, "local_recoding": trial.local_recoding}
    names = sorted(tried, key=lambda name: name != declared)
    return Comparison(
        tuple(_tried(name, tried[name], units, trial, declared == name) for name in names)
    )


def _tried(
    name: str,
    give: Callable[[], tuple[float, float | None]],
    units: Tuples,
    trial: _Trial,
    own: bool,
) -> Method:
    asked = len(trial.questions)
    try:
        loss, error = give()
    except Unsatisfiable as reason:
        return Method(name, own, None, None, asked, units.records, _first(reason))
    except OutOfTime:
        why = f"it takes more than {trial.seconds:g} seconds"
        return Method(name, own, None, None, asked, units.records, why)
    return Method(name, own, loss, error, asked, units.records)


def _first(reason: Unsatisfiable) -> str:
    return reason.message.splitlines()[0]


def _not_compared(prepared: Prepared) -> str | None:
    """Why the methods are not compared, if so."""
    spec = prepared.bound.spec
    if not spec.method.can.compared:
        return f"method {spec.method.name} promises something else"
    if spec.method.given_levels is not None:
        return "`transformation` in the spec names the levels"
    if prepared.bound.free:
        return "`hierarchy: free` goes with local_recoding only"
    if spec.null_policy != "own_category":
        return f"local_recoding does not take null_policy: {spec.null_policy}"
    if spec.linked:
        return "local_recoding does not go with a released pseudonym"
    if prepared.parameters.populations:
        return "a sample says nothing of a model over a population"
    return None


def advice(found: Comparison, lost: float | None = None) -> Iterator[tuple[str, str]]:
    """Whether another method is much better than the declared one: its name, and a sentence.

    Args:
        found: the methods on the sample.
        lost: by the declared method on the whole source, where that is known: where it is little,
            what a sample loses is of its small classes alone.
    """
    if not found.methods or found.methods[0].loss is None:
        return
    if lost is not None and lost < LEAST_GAIN:
        return
    own = found.methods[0]
    for other in found.methods[1:]:
        if other.loss is not None and _much_better(own, other):
            error = ""
            if own.query_error is not None and other.query_error is not None:
                error = (
                    f", and its counts are {other.query_error:.0%} from the true ones on average, "
                    f"not {own.query_error:.0%}"
                )
            text = (
                f"`method: {other.method}` loses {other.loss:.2f} of the detail where "
                f"{own.method} loses {own.loss:.2f}{error} (tried on {own.sample_rows:,} records)"
            )
            yield other.method, text


def _much_better(own: Method, other: Method) -> bool:
    """Whether it halves the loss or the error, and makes neither greater."""
    pairs = [(own.loss, other.loss), (own.query_error, other.query_error)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    halves = any(b <= MUCH_BETTER * a and a - b >= LEAST_GAIN for a, b in known)
    return halves and all(b <= a for a, b in known)


# -- the sample ---------------------------------------------------------------------------------


def _units(prepared: Prepared, session: Session) -> Tuples:
    """All records by unit: quasi-identifiers, subject, sensitive values."""
    parameters = prepared.parameters
    targets = tuple(s.columns for s in parameters.sensitive)
    names = recoded_rows.Names(prepared.quasi_identifiers, targets, (), parameters.subject)
    keys = names.codes
    rows = recoded_rows.records_step(names).query
    counted = aliased(count_rows(), "records")
    query = select(*keys, counted).from_(rows.subquery("rows")).group_by(*keys)
    found = session.arrays(query.order_by(*keys))
    weights = np.asarray(found["records"], np.int64)
    place = np.arange(len(weights))
    codes = tuple(
        np.asarray(found[f"q{i}"], np.uint32) for i in range(len(prepared.quasi_identifiers))
    )
    values = tuple(
        Values(place, np.asarray(found[f"v{i}"], np.int64), weights, len(s.whole.counts))
        for i, s in enumerate(parameters.sensitive)
    )
    return Tuples(codes, weights, found.get("subject"), values)


def _sample(units: Tuples, records: int) -> Tuples:
    """Some of the records, of some subjects all: the same of the same source."""
    rng = np.random.default_rng(SEED)
    if units.records <= records:
        weights = units.weights
    elif units.subjects is None:
        weights = rng.multivariate_hypergeometric(units.weights, records, method="marginals")
    else:
        own = np.bincount(units.subjects, units.weights, units.people)
        order = rng.permutation(units.people)
        fits = np.cumsum(own[order]) <= records
        fits[0] = True
        chosen = np.zeros(units.people, np.bool_)
        chosen[order[fits]] = True
        weights = np.where(chosen[units.subjects], units.weights, 0)
    row = np.flatnonzero(weights)
    subjects = None
    if units.subjects is not None:
        subjects = np.unique(units.subjects[row], return_inverse=True)[1].ravel()
    place, kept = np.arange(len(row)), weights[row].astype(np.int64)
    values = tuple(Values(place, v.value[row], kept, v.cardinality) for v in units.values)
    return Tuples(tuple(codes[row] for codes in units.codes), kept, subjects, values)


def _on(parameters: Parameters[Levels], units: Tuples) -> tuple[Parameters[Levels], Tuples]:
    """Parameters and units as if the sample were the source: values that it lacks are unknown."""
    found = [
        _of_sample(s, values, units)
        for s, values in zip(parameters.sensitive, units.values, strict=True)
    ]
    rule = replace(parameters.rule, conditions=tuple(sensitive for sensitive, _ in found))
    options = replace(parameters.options, engine="numpy", objective="loss")
    told = replace(parameters, rule=rule, options=options)
    return told, replace(units, values=tuple(values for _, values in found))


def _of_sample(sensitive: Sensitive, values: Values, units: Tuples) -> tuple[Sensitive, Values]:
    whole = sensitive.whole
    present, value = np.unique(values.value, return_inverse=True)
    value, number = value.ravel(), len(present)
    if units.subjects is None:
        counts = np.rint(np.bincount(value, units.weights, number)).astype(np.int64)
    else:
        pairs = np.unique(value * units.people + units.subjects)
        counts = np.bincount(pairs // units.people, minlength=number)
    groups = tuple(
        np.unique(level[present], return_inverse=True)[1].ravel() for level in whole.groups
    )
    labels = tuple(whole.labels[i] for i in present)
    missing = None if whole.missing is None else whole.missing[present]
    told = replace(
        whole,
        counts=counts,
        people=units.people,
        labels=labels,
        groups=groups,
        missing=missing if missing is not None and missing.any() else None,
    )
    return replace(sensitive, whole=told), Values(values.row, value, values.count, number)


def _tuples(units: Tuples) -> tuple[Tuples, Ints]:
    """The units by quasi-identifiers and subject alone, and which of these each is."""
    keys = [*units.codes, *([] if units.subjects is None else [units.subjects])]
    rows = np.stack([np.asarray(key, np.int64) for key in keys])
    distinct, place = np.unique(rows, axis=1, return_inverse=True)
    place = place.ravel()
    weights = np.rint(np.bincount(place, units.weights)).astype(np.int64)
    values = []
    for own in units.values:
        key, at = np.unique(place * own.cardinality + own.value, return_inverse=True)
        count = np.rint(np.bincount(at.ravel(), units.weights)).astype(np.int64)
        values.append(Values(key // own.cardinality, key % own.cardinality, count, own.cardinality))
    codes = tuple(own.astype(np.uint32) for own in distinct[: len(units.codes)])
    subjects = None if units.subjects is None else distinct[-1]
    return Tuples(codes, weights, subjects, tuple(values)), place


# -- the questions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Question:
    """How many records have one of some values in each of some quasi-identifiers.

    Attributes:
        asked: of each attribute that is asked about, which value codes.
    """

    asked: dict[int, NDArray[np.bool_]]

    def counted(self, units: Tuples) -> int:
        """How many records of the sample it counts."""
        found = np.ones(len(units.weights), np.bool_)
        for i, chosen in self.asked.items():
            found &= chosen[units.codes[i]]
        return int(units.weights[found].sum())


def _questions(prepared: Prepared, units: Tuples) -> list[_Question]:
    """Random counts, over the values that occur, each of enough records; NULL is not asked for."""
    columns = {c.name: c for c in prepared.bound.quasi_identifiers}
    domains = []
    for i, q in enumerate(prepared.quasi_identifiers):
        known = int((q.coding.leaf >= 0).sum())
        own = columns[q.name]
        ordered = own.spec.type is None and own.column.family in MEASURED
        if known > 1:
            domains.append(ListedDomain(f"q{i}", range(known), ordered))
    if not domains:
        return []
    drawn = range_queries(
        table_named("sample"),
        domains,
        count=DRAWN,
        dimensions=min(DIMENSIONS, len(domains)),
        selectivity=SELECTIVITY,
        seed=SEED,
    )
    sizes = [len(q.coding.leaf) for q in prepared.quasi_identifiers]
    asked = (_question(one.query, sizes) for one in drawn)
    enough = (one for one in asked if one.counted(units) >= LEAST_COUNT * units.records)
    return list(islice(enough, QUESTIONS))


def _question(query: Select, sizes: Sequence[int]) -> _Question:
    asked: dict[int, NDArray[np.bool_]] = {}
    for name, wanted in conditions(query):
        number = int(name.removeprefix("q"))
        chosen = np.zeros(sizes[number], np.bool_)
        if isinstance(wanted, Between):
            chosen[int(wanted.low) : int(wanted.high) + 1] = True
        else:
            chosen[[int(value) for value in wanted]] = True
        asked[number] = chosen
    return _Question(asked)


# -- the methods --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Trial:
    """One sample, tried by each method.

    Attributes:
        session: of the source; nothing of the trial is there.
        lattice: the hierarchies.
        units: the sample.
        parameters: what must hold, with the sensitive attributes as the sample has them.
        questions: to be answered.
        seconds: for local recoding; a third of it for full-domain.
        local: whether the declared method is local recoding.
    """

    session: Session
    lattice: Lattice
    units: Tuples
    parameters: Parameters[Levels]
    questions: Sequence[_Question]
    seconds: float
    local: bool

    def full_domain(self) -> tuple[float, float | None]:
        """Loss and query error under the best transformation that is found.

        Raises:
            Unsatisfiable: none was found.
        """
        found = self.parameters
        if self.local:
            k = max(model.smallest_class for model in found.models)
            rule = replace(found.rule, k=k)
            found = replace(found, rule=rule, options=Levels(suppression_limit=LIMIT))
        tuples, place = _tuples(self.units)
        ground = Ground(self.session, self.lattice, tuples)
        checker = NumpyChecker(self.lattice, tuples, found.rule)
        problem = ground.problem(found, Remembering(checker))
        best = best_of(problem, SEARCHES["optimal"], self.seconds / 6)
        if best is None or best.node is None or best.check is None:
            raise Unsatisfiable("no transformation of the sample that holds was found")
        loss = loss_of(self.lattice, problem.marginals, best.check)
        kept = checker.kept(best.node)[place]
        return loss, self._error(self._levels(best.node, kept, found.keep), kept | found.keep)

    def _levels(self, node: Node, kept: NDArray[np.bool_], keep: bool) -> Ints:
        """The level of each unit on each attribute: `*` where it is suppressed and kept."""
        levels = np.repeat(np.array(node)[:, None], len(kept), axis=1)
        heights = np.array([attribute.height for attribute in self.lattice.attributes])
        return np.where(kept | (not keep), levels, heights[:, None])

    def local_recoding(self) -> tuple[float, float | None]:
        """Loss and query error of the blocks that dealing gives.

        Raises:
            Unsatisfiable: the sample as one block does not hold.
            OutOfTime: it takes too long.
        """
        units, found = self.units, self.parameters
        means = [m.fewest for m in found.models if isinstance(m, MaxRisk) and m.of_table]
        demands = Demands(units, max([found.k, *means]), found.sensitive)
        require_possible(self.lattice, demands, found)
        # of this thread: a busy machine does not decide what is told
        deadline = thread_time() + self.seconds

        def watch(_: int) -> None:
            if thread_time() > deadline:
                raise OutOfTime

        taxonomy = Taxonomy(self.lattice, units)
        dealt = deal(taxonomy, demands, settled=watch)
        blocks = settle(taxonomy, demands, dealt, settled=watch)
        regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
        loss = float(taxonomy.losses(regions) @ blocks.sizes / max(units.records, 1))
        levels = regions.levels[:, blocks.block]
        whole = np.ones(len(blocks.row), np.bool_)
        return loss, self._error(levels, whole, blocks.row, blocks.records)

    def _error(
        self,
        levels: Ints,
        released: NDArray[np.bool_],
        row: Ints | None = None,
        records: Ints | None = None,
    ) -> float | None:
        """The mean over the questions of |estimate - truth| / truth, which is at least 1.

        Args:
            levels: of each piece on each attribute (attributes, pieces).
            released: whether each piece is.
            row: the unit of each piece; None: units are the pieces.
            records: of each piece.
        """
        if not self.questions:
            return None
        units = self.units
        row = np.arange(len(units.weights)) if row is None else row
        records = units.weights if records is None else records
        errors = []
        for question in self.questions:
            truth, estimate = records.astype(np.float64), records * released.astype(np.float64)
            for i, chosen in question.asked.items():
                codes = units.codes[i][row]
                truth = truth * chosen[codes]
                estimate = estimate * self._chances(i, chosen)[levels[i], codes]
            errors.append(abs(estimate.sum() - truth.sum()) / max(truth.sum(), 1.0))
        return float(np.mean(errors))

    def _chances(self, attribute: int, chosen: NDArray[np.bool_]) -> Floats:
        """The share of chosen values in the group of each value code, at each level."""
        found = []
        for groups in self.lattice.attributes[attribute].groups:
            inside, all_ = np.bincount(groups, chosen), np.bincount(groups)
            found.append((inside / np.maximum(all_, 1))[groups])
        return np.stack(found)
