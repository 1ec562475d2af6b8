"""Print recorded runs: published, trials, withdrawn."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dbdeid.cli.text.layout import grid
from dbdeid.record.border import record_of
from dbdeid.report.content.padding import counted

if TYPE_CHECKING:
    from dbdeid.commands.handout import Handout
    from dbdeid.engine.catalog import Entry
    from dbdeid.release.result import RunResult
    from dbdeid.workspace.remembered_runs import Remembered


def of_trial(result: RunResult) -> str:
    """The first line of a run that was made to look at."""
    return (
        f"trial: not for publication. Do not give {result.table} away; what was published is as it "
        "was. Look at it with `dbdeid report --trial`; run it without --trial to publish"
    )


def remembered(found: Sequence[Remembered]) -> str:
    """List the runs of one or more catalogs, and why some of them no longer count."""
    if not found:
        return "no releases yet"
    untrue = any(text for one in found for text in _untrue(one.entry))
    rows = [
        (
            one.entry.run,
            one.entry.release,
            one.state,
            f"{one.entry.created:%Y-%m-%d %H:%M}",
            str(one.entry.record.get("source") or ""),
            f"{one.entry.record.get('smallest_class')}",
            f"{one.entry.metrics['loss']:.4f}" if "loss" in one.entry.metrics else "",
            ", ".join(_from_here(one, one.files)),
            *(_untrue(one.entry) if untrue else ()),
        )
        for one in found
    ]
    head = ("run", "release", "state", "at (UTC)", "source", "k", "loss", "written to")
    lines = [grid((*head, *([""] if untrue else [])), rows)]
    for one in found:
        if (gone := one.withdrawal) is not None:
            lines.append(
                f"  {gone.run} was withdrawn by {gone.withdrawn_by} on "
                f"{gone.withdrawn:%Y-%m-%d %H:%M} UTC: {gone.reason}"
            )
    return "\n".join(lines)


LEFT = "Did a file of it ever leave the house? Whoever has it can still compare. [y/N] "


def withdrawn(found: Sequence[Remembered]) -> str:
    """What was withdrawn, and what that cannot do."""
    lines = [
        f"withdrawn: {one.entry.release}, run {one.entry.run} of "
        f"{one.entry.created:%Y-%m-%d %H:%M} UTC"
        for one in found
    ]
    files = list(dict.fromkeys(name for one in found for name in _from_here(one, one.written)))
    return "\n".join(
        [
            *lines,
            "  Later runs are not compared with it any more, and `check` does not name it.",
            "  note: withdrawing cannot take back a file that somebody has. If one ever left, what "
            "it tells together with later releases is not looked at now.",
            f"  note: what was written still lies there: {', '.join(files)}. Remove it, or run the "
            "spec again.",
        ]
    )


def handed_out(given: Handout) -> str:
    """The files of a folder that may be given away, with their sizes and digests."""
    rows = [(file.name, f"{file.size:,}", file.sha256) for file in given.files]
    lines = [
        f"{given.folder} may be given away as it is: {len(rows)} files of {given.release}, each "
        "verified",
        grid(("file", "bytes", "SHA-256"), rows),
        *([f"  note: {given.note}"] if given.note else []),
    ]
    return "\n".join(lines)


def _from_here(one: Remembered, names: Sequence[str]) -> list[str]:
    """What a run wrote, as it is called from here.

    A book of a project lies in a folder of its own, and calls files from there.
    """
    here = Path.cwd()
    found = []
    for name in names:
        if name.startswith(".."):
            path = Path(os.path.normpath(here / one.book.parent / name))
            name = str(path.relative_to(here) if path.is_relative_to(here) else path)
        found.append(name)
    return found


def _untrue(entry: Entry) -> tuple[str]:
    """That not all records of a release are true, and what its k means then."""
    if entry.record.get("padding"):
        padding = record_of(entry).padding
        return (counted(padding) if padding is not None else "",)
    moved = entry.record.get("method") == "relocation"
    return ("untruthful: records were moved" if moved else "",)
