"""Counts what was planted and searched, and prints it at the end of a run of these tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from canaries.planting import Canary
from canaries.releases import KEY, METHODS, Release, release
from canaries.scanner import Scanner

# Two originals that generalize to the same release.
SEEDS = (1, 4)
# Datasets that are cut from the reference tables; the others need nothing but the checkout.
OF_REFERENCE = ("diabetes", "support2")


class Tally:
    """What the tests of this folder did."""

    def __init__(self) -> None:
        self.sources: dict[tuple[str, int], int] = {}
        self.releases = self.identical = self.told = self.caught = self.searched = 0


TALLY = Tally()


@pytest.fixture
def tally() -> Tally:
    return TALLY


@pytest.fixture(scope="session")
def scan() -> Iterator[Callable[[Sequence[Canary]], Scanner]]:
    """Scanners for canaries; their bytes are counted."""
    made: list[Scanner] = []

    def make(canaries: Sequence[Canary]) -> Scanner:
        known = next((scanner for scanner in made if scanner.canaries is canaries), None)
        if known is None:
            known = Scanner(canaries)
            made.append(known)
        return known

    yield make
    TALLY.searched += sum(scanner.searched for scanner in made)


@pytest.fixture(scope="session")
def released(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[str, str, int], Release]:
    """Releases by dataset, method and seed, each made once."""
    made: dict[tuple[str, str, int], Release] = {}
    methods = {method.name: method for method in METHODS}

    def make(dataset: str, method: str, seed: int) -> Release:
        key = (dataset, method, seed)
        if key not in made:
            cut = dataset in OF_REFERENCE
            shared = request.getfixturevalue("shared") if cut else Path()
            folder = tmp_path_factory.mktemp("release") / f"{dataset}_{seed}"
            with pytest.MonkeyPatch.context() as environment:
                environment.setenv("DBDEID_PSEUDONYM_KEY", KEY)
                made[key] = release(dataset, methods[method], seed, folder, shared)
            TALLY.sources[dataset, seed] = len(made[key].dataset.canaries)
            TALLY.releases += 1
        return made[key]

    return make


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not TALLY.searched:
        return
    terminalreporter.section("canaries")
    terminalreporter.write_line(
        f"{sum(TALLY.sources.values()):,} canaries planted in {len(TALLY.sources)} sources; "
        f"{TALLY.searched:,} bytes searched: {TALLY.releases} releases, "
        f"{TALLY.told} commands and errors, {TALLY.caught} mutants caught; "
        f"{TALLY.identical} published files identical for two originals"
    )
