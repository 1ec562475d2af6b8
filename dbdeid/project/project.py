"""A folder of releases that is run, tested and documented as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dbdeid.engine.file_names import given_path
from dbdeid.engine.scratch import sweep
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError
from dbdeid.project import results, site, state
from dbdeid.project.checking import check_release
from dbdeid.project.releases import Release, load
from dbdeid.project.results import Results
from dbdeid.project.runner import Attempt, Done, Runner, attempt
from dbdeid.project.selection import Selector
from dbdeid.release.run import run as run_release
from dbdeid.report.content.audience import Audience
from dbdeid.spec.project_file import NAME, ProjectFile, find, read_project
from dbdeid.workspace.progress import Notify, Offer
from dbdeid.workspace.release_files import require_lasting

# What a run tells of a release, besides its name; the rest is in its report.
_TOLD = (
    *("method", "source_rows", "source_subjects", "released_rows", "suppressed_rows"),
    *("suppressed_subjects", "counterfeit_rows", "relocated_rows", "classes", "smallest_class"),
    *("loss", "verified", "remains", "expectations", "warnings", "trial"),
)


def project(
    path: str | Path = ".", *, database: str | Path | None = None, settings: Settings | None = None
) -> Project:
    """The project around a folder: its `dbdeid.yml` lies in it, or in the nearest folder above.

    Args:
        path: a folder, or the file itself.
        database: in place of the `database` of every spec.
        settings: engine limits.

    Raises:
        SpecError: its file has mistakes.
        DataError: there is none.
    """
    database = given_path(database)
    start = Path(path)
    found = start if start.is_file() else find(start) if start.is_dir() else None
    if found is None:
        raise DataError(
            f"{start}: no {NAME} in this folder, or in one above it",
            hint=f"put a {NAME} beside the folder `releases`; an empty one will do",
        )
    opened = Project(read_project(found), database, settings)
    sweep(opened.results_file.parent)  # what a killed run left of its results
    return opened


@dataclass(frozen=True)
class Project:
    """A project, opened.

    Attributes:
        file: what it declares.
        database: in place of the `database` of every spec.
        settings: engine limits.
    """

    file: ProjectFile
    database: Path | None = None
    settings: Settings | None = None

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """All its releases, each after those that it rests on.

        Raises:
            SpecError, DataError: specs have mistakes, or do not go together.
        """
        return load(self.file, self.database)

    @property
    def results_file(self) -> Path:
        """Where the results of the last run are."""
        return self.file.place("results") / "run_results.json"

    @property
    def trials_file(self) -> Path:
        """Where the results of the last trials are; they say nothing about what is published."""
        return self.file.place("results") / "trial_results.json"

    @property
    def tests_file(self) -> Path:
        """Where the results of the last test are."""
        return self.file.place("results") / "test_results.json"

    def select(self, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> list[Release]:
        """The releases that are meant, in their order.

        Args:
            select: as in `["tag:weekly+", "state:modified"]`; empty: all.
            exclude: those that are not meant.

        Raises:
            DataError: a word means nothing here.
        """
        selector = Selector(self.releases, self.file.folder, self._modified, self._statuses)
        return selector.select(_words(select), _words(exclude))

    def run(
        self,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        notify: Notify | None = None,
        offer: Offer | None = None,
        trial: bool = False,
    ) -> Results:
        """Run releases, and keep the results; one that fails stops only those that rest on it.

        Args:
            select: which; empty: all.
            exclude: which not.
            notify: called with each phase, and with the progress of searches.
            offer: asked, when a search is interrupted, whether to release the best found so far.
            trial: make them to look at, not to publish.

        Raises:
            SpecError, DataError: the project has mistakes; nothing was run.
            KeyboardInterrupt: Ctrl-C came; the results are kept.
        """

        def make(release: Release) -> Done:
            return self.make(release, notify, offer, trial=trial)

        found = self.runner(self.select(select, exclude), make, trial=trial).go()
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def make(
        self,
        release: Release,
        notify: Notify | None,
        offer: Offer | None,
        *,
        reuse: bool = False,
        trial: bool = False,
    ) -> Done:
        """Run one release, with the levels of its last run where it is to reuse them."""
        result = run_release(
            release.path,
            database=self.database,
            settings=self.settings,
            notify=notify,
            offer=offer,
            reuse=reuse,
            trial=trial,
        ).to_dict()
        return Done({key: result[key] for key in _TOLD})

    def runner(
        self,
        chosen: Sequence[Release],
        make: Callable[[Release], Done],
        attempt: Attempt = attempt,
        *,
        trial: bool = False,
    ) -> Runner:
        """What runs releases; those made elsewhere are left out, and previews of which a trial is
        meant.

        Raises:
            SpecError, DataError: nothing would remain of a release, or it cannot be written.
        """
        runnable = [r for r in chosen if r.made_here and (r.verifiable or not trial)]
        for release in runnable:  # a mistake in the last is told before the first is run
            require_lasting(
                replace(release.file, trial=trial),
                release.label,
                self.database,
                hint="give the spec or the project a `target` or a `database`",
            )

        def keep(found: Results) -> None:
            found.write(self.trials_file if trial else self.results_file)

        return Runner("run", runnable, make, attempt, keep)

    def test(self, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> Results:
        """Verify releases again, and hold what was measured against what their specs expect.

        Raises:
            SpecError, DataError: the project has mistakes.
            KeyboardInterrupt: Ctrl-C came; the results are kept.
        """
        found = self.tester(self.select(select, exclude)).go()
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def tester(self, chosen: Sequence[Release], attempt: Attempt = attempt) -> Runner:
        """What tests releases; previews, which promise nothing, are left out."""

        def check(release: Release) -> Done:
            return check_release(release.path, database=self.database, settings=self.settings)

        def keep(found: Results) -> None:
            found.write(self.tests_file)

        promising = [release for release in chosen if release.verifiable]
        return Runner("test", promising, check, attempt, keep)

    def docs(
        self,
        audience: Audience = "internal",
        output: Path | None = None,
        *,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Path:
        """Write a static site of the reports, and give its first page.

        Args:
            audience: `internal`, or `public`: of what was verified, what the public may know.
            output: the folder; by default one for each audience in that of `paths.docs`.
            select: which releases; empty: all.
            exclude: which not.

        Raises:
            SpecError, DataError: the project has mistakes, or the site cannot be written.
        """
        return site.write(
            output or self.file.place("docs") / audience,
            self.select(select, exclude),
            results.last(self.results_file),
            results.last(self.tests_file, "test"),
            audience,
            database=self.database,
            settings=self.settings,
        )

    def _modified(self, release: Release) -> bool:
        return state.modified(release, database=self.database, settings=self.settings)

    def _statuses(self) -> Mapping[str, str]:
        found = results.last(self.results_file)
        if not found:
            raise DataError(
                f"{self.results_file}: there are no results of a run", hint="run the project first"
            )
        return {name: str(result["status"]) for name, result in found.items()}


def _words(given: Iterable[str]) -> list[str]:
    """Words of a selection; one text is one, not its letters."""
    return [given] if isinstance(given, str) else list(given)
