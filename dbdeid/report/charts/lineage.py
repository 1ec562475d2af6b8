"""The lineage of a project as a chart: each release to the right of all that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import escape

# Of more releases the picture would be a tangle; the table says the same.
MOST = 60
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 170, 32, 60, 16
_LETTERS = 22


def lineage(upstream: Mapping[str, Sequence[str]], pages: Mapping[str, str | None]) -> str | None:
    """The picture as SVG; None where nothing rests on anything, or too much is there.

    Args:
        upstream: what each release is made of, by name.
        pages: where the page of each is; None where it has none.
    """
    edges = [(above, name) for name, of in upstream.items() for above in of if above in upstream]
    drawn = [name for name in upstream if any(name in edge for edge in edges)]
    if not edges or len(drawn) > MOST:
        return None
    depth: dict[str, int] = {}

    def placed(name: str, below: tuple[str, ...] = ()) -> int:
        if name not in depth:
            above = [n for n in upstream[name] if n in upstream and n not in below]
            depth[name] = 1 + max((placed(n, (*below, name)) for n in above), default=-1)
        return depth[name]

    rows: dict[int, int] = {}
    at: dict[str, tuple[int, int]] = {}
    for name in sorted(drawn, key=lambda n: (placed(n), n)):
        row = rows.get(placed(name), 0)
        rows[placed(name)] = row + 1
        at[name] = placed(name) * (_WIDTH + _ACROSS), row * (_HEIGHT + _DOWN)
    width = (max(rows) + 1) * (_WIDTH + _ACROSS) - _ACROSS + 4
    height = max(rows.values()) * (_HEIGHT + _DOWN) - _DOWN + 4
    words = "; ".join(
        f"{name} rests on {', '.join(upstream[name])}" for name in drawn if upstream[name]
    )
    lines = "".join(_edge(at[above], at[name]) for above, name in edges)
    boxes = "".join(_box(name, at[name], pages.get(name)) for name in drawn)
    return (
        f'<svg class="lineage" role="group" aria-label="{escape(words)}" width="{width}" '
        f'height="{height}" viewBox="-2 -2 {width} {height}">{lines}{boxes}</svg>'
    )


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    to_x, to_y = end[0], end[1] + _HEIGHT // 2
    middle = (x + to_x) // 2
    return (
        f'<path d="M{x} {y}C{middle} {y} {middle} {to_y} {to_x - 6} {to_y}"/>'
        f'<path class="head" d="M{to_x - 8} {to_y - 4}L{to_x} {to_y}L{to_x - 8} {to_y + 4}Z"/>'
    )


def _box(name: str, place: tuple[int, int], page: str | None) -> str:
    x, y = place
    short = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    box = (
        f'<title>{escape(name)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'rx="5"/><text x="{x + _WIDTH // 2}" y="{y + _HEIGHT // 2 + 4}">{escape(short)}</text>'
    )
    return f"<g>{box}</g>" if page is None else f'<a href="{escape(page)}">{box}</a>'
