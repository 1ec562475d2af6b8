"""What the forms of the pages do: each an edit of the specification, or work that begins."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dbdeid.bind.read import read
from dbdeid.errors import DataError, DbdeidError, SpecError
from dbdeid.ui.rooms import Room
from dbdeid.ui.sheet import decisions, hierarchy_edits, questions
from dbdeid.ui.sheet.desk import Sheet, Stale
from dbdeid.ui.views import columns_page

LONGEST_QUERY = 20_000  # characters
MOST_COMPARED = 12  # of k, and of shares
# What a button may begin, and what it takes.
BEGUN = (
    *("check", "search", "around", "frontier", "workload", "run", "trial", "report", "verify"),
    *("releases", "hand_out", "query"),
)

Form = list[tuple[str, str]]
Deed = Callable[[Room, Sheet, "Fields"], None]


class Fields:
    """What a form says."""

    def __init__(self, pairs: Form) -> None:
        self._pairs = pairs

    def one(self, name: str, default: str = "") -> str:
        """The first value of a field."""
        return next((value for key, value in self._pairs if key == name), default)

    def all(self, name: str) -> list[str]:
        """All its values."""
        return [value for key, value in self._pairs if key == name]


def done(room: Room, deed: Deed, fields: Fields) -> int:
    """Do what a form says; what went wrong is said on the page."""
    try:
        deed(room, room.desk.sheet(), fields)
    except Stale as error:
        room.notices.append(("bad", str(error)))
        return 409
    except DbdeidError as error:
        room.notices.append(("bad", str(error)))
        return 422
    return 200


def _chosen(room: Room, sheet: Sheet, fields: Fields) -> list[str]:
    names = columns_page.names_of(sheet, room.looked)
    found = [room.number(text, names) for text in fields.all("column")]
    if not found:
        raise DataError("no column is chosen", hint="tick those that are meant")
    return found


def _role(room: Room, sheet: Sheet, fields: Fields) -> None:
    names, role = _chosen(room, sheet, fields), fields.one("role")
    proposed = columns_page.proposals(room.looked, role)
    room.desk.edit(
        fields.one("version"), lambda data: decisions.give_role(data, names, role, proposed)
    )


def _adopt(room: Room, sheet: Sheet, fields: Fields) -> None:
    names = _chosen(room, sheet, fields)
    agreed = columns_page.agreed(room.looked, names)

    def make(data: decisions.Data) -> None:
        for role, some in agreed.items():
            proposed = columns_page.proposals(room.looked, role)
            decisions.give_role(data, some, role, proposed)

    if not any(agreed.values()):
        raise DataError("nothing is proposed for these columns", hint="give them a role yourself")
    room.desk.edit(fields.one("version"), make)


def _reason(room: Room, sheet: Sheet, fields: Fields) -> None:
    names = _chosen(room, sheet, fields)
    room.desk.edit(
        fields.one("version"), lambda data: decisions.give_reason(data, names, fields.one("reason"))
    )


def _protect(room: Room, sheet: Sheet, fields: Fields) -> None:
    names, least = _chosen(room, sheet, fields), _whole(fields.one("l", "2"), 2, 1000)
    room.desk.edit(
        fields.one("version"),
        lambda data: decisions.protect(data, names, least),
    )


def _accept(room: Room, sheet: Sheet, fields: Fields) -> None:
    names, reason = _chosen(room, sheet, fields), fields.one("reason")
    room.desk.edit(
        fields.one("version"),
        lambda data: decisions.accept_homogeneity(data, names, reason),
    )


def _subject(room: Room, sheet: Sheet, fields: Fields) -> None:
    given = fields.one("subject")
    names = columns_page.names_of(sheet, room.looked)
    name = room.number(given, names) if given not in ("", "rows") else ""
    make = (
        decisions.count_rows
        if given == "rows"
        else functools.partial(decisions.name_subject, name=name)
    )
    room.desk.edit(fields.one("version"), make)


def _promise(room: Room, sheet: Sheet, fields: Fields) -> None:
    k = _whole(fields.one("k"), 1, 1_000_000)
    percent = _number(fields.one("limit"), 0.0, 100.0)
    limit = round(percent / 100, 6)
    room.desk.edit(fields.one("version"), lambda data: decisions.promise(data, k, limit))


def _method(room: Room, sheet: Sheet, fields: Fields) -> None:
    name = fields.one("method")
    proposed = columns_page.proposals(room.looked, "quasi_identifier")

    def make(data: decisions.Data) -> None:
        fitted = sheet.file is not None
        decisions.choose_method(data, name, proposed)
        try:
            if fitted:
                read({**data})
        except SpecError as error:
            first = str(error.mistakes[0]) if error.mistakes else str(error)
            raise DataError(f"method {name} does not fit this spec: {first}") from None

    room.desk.edit(fields.one("version"), make)


def _choose(room: Room, sheet: Sheet, fields: Fields) -> None:
    """Choose a policy of the frontier: the point itself, or the least loss at its risk."""
    if fields.one("by") == "risk":
        choice: Mapping[str, Any] = {"max_risk": _number(fields.one("risk"), 0.0, 1.0)}
    else:
        choice = {"point": _whole(fields.one("point"), 1, 10_000_000)}
    room.desk.edit(fields.one("version"), lambda data: decisions.choose_policy(data, choice))


def _level(room: Room, sheet: Sheet, fields: Fields) -> None:
    (name,) = _chosen(room, sheet, fields)
    level, which = _whole(fields.one("level"), 0, 1000), fields.one("which")
    room.desk.edit(
        fields.one("version"), lambda data: hierarchy_edits.allow(data, name, level, which)
    )


def _hierarchy(room: Room, sheet: Sheet, fields: Fields) -> None:
    (name,) = _chosen(room, sheet, fields)
    kind = fields.one("kind")
    text = fields.one({"shelf": "shelf", "file": "file"}.get(kind, "text"))
    files = hierarchy_edits.files_beside(sheet.file) if sheet.file is not None else []
    made = hierarchy_edits.told(kind, text, fields.one("lower"), fields.one("upper"), files)
    room.desk.edit(fields.one("version"), lambda data: hierarchy_edits.replace(data, name, made))


def _merge(room: Room, sheet: Sheet, fields: Fields) -> None:
    (name,) = _chosen(room, sheet, fields)
    values = [str(v) for v, _ in (room.looked or {}).get("values", {}).get(name, ())]
    level = _whole(fields.one("level"), 0, 1000)
    into, labels = fields.one("into"), fields.all("label")
    room.desk.edit(
        fields.one("version"),
        lambda data: hierarchy_edits.merge(data, name, level, labels, into, values),
    )


def _keep(room: Room, sheet: Sheet, fields: Fields) -> None:
    """Keep a question for the workload: its file, and the pattern that finds it."""
    given = fields.one("sql")[:LONGEST_QUERY]
    _fresh(sheet, fields)
    pattern = questions.keep(room.desk.folder, sheet.data or {}, fields.one("name"), given)
    room.desk.edit(fields.one("version"), lambda data: questions.name_files(data, pattern))


def _undo(room: Room, sheet: Sheet, fields: Fields) -> None:
    room.desk.undo(fields.one("version"))


def _begin(room: Room, sheet: Sheet, fields: Fields) -> None:
    what = fields.one("what")
    if what not in BEGUN:
        raise DataError("there is no such work", hint=", ".join(BEGUN))
    _fresh(sheet, fields)
    given: dict[str, Any] = {}
    if what == "report":
        given["audience"] = "public" if fields.one("audience") == "public" else "internal"
    if what == "hand_out":
        given["folder"] = str(room.inside(fields.one("folder")))
    if what == "search":
        given |= {"ks": fields.one("ks").strip(), "limits": _shares(fields.one("limits"))}
        if any(text.count(",") >= MOST_COMPARED for text in given.values()):
            raise DataError("these are too many to compare", hint=f"{MOST_COMPARED} at most")
    if what == "workload":
        given["trial"] = fields.one("trial") == "yes"
    if what == "query":
        given |= {"sql": fields.one("sql")[:LONGEST_QUERY], "trial": fields.one("trial") == "yes"}
    if what == "trial":
        what, given["trial"] = "run", True
    room.jobs.begin(room.task(what, **given), sheet.version)


def _fresh(sheet: Sheet, fields: Fields) -> None:
    """Refuse what was meant for another text of the specification."""
    if fields.one("version") != sheet.version:
        raise Stale(
            "the file has changed since this page was shown, and nothing was begun",
            hint="this is how it is now: look at it, and begin again",
        )


def _cancel(room: Room, sheet: Sheet, fields: Fields) -> None:
    room.jobs.cancel()


def _shares(text: str) -> str:
    """Shares from percentages, as `0, 2, 5`."""
    words = [word for word in text.replace(";", ",").split(",") if word.strip()]
    return ",".join(f"{_number(word.strip().rstrip('%'), 0.0, 100.0) / 100:g}" for word in words)


def _whole(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise DataError("this is no number that fits here", hint=f"{least} to {most:,}")
    return int(text)


def _number(text: str, least: float, most: float) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not least <= found <= most:
        raise DataError("this is no number that fits here", hint=f"{least:g} to {most:g}")
    return found


DEEDS: Mapping[str, Deed] = {
    "role": _role,
    "adopt": _adopt,
    "reason": _reason,
    "protect": _protect,
    "accept": _accept,
    "subject": _subject,
    "promise": _promise,
    "method": _method,
    "choose": _choose,
    "keep": _keep,
    "level": _level,
    "hierarchy": _hierarchy,
    "merge": _merge,
    "undo": _undo,
    "begin": _begin,
    "cancel": _cancel,
}
