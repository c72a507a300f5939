"""A plot of times by cluster size: as a picture (SVG) and as bars in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 64, 60
INK, FAINT, LINE, BAND, IDEAL = "#222", "#ddd", "#1f6fb2", "#cfe3f3", "#b2631f"
BAR = 40
UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (0.001, "ms"))


class Point(NamedTuple):
    """The times of one cluster size: of the median run, the best and the worst."""

    nodes: int
    seconds: float
    least_s: float
    most_s: float


def seconds_text(seconds: float) -> str:
    """A duration to read.

    >>> seconds_text(0.0421), seconds_text(75.2), seconds_text(7260)
    ('42.1 ms', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def bars(points: Sequence[Point]) -> str:
    """A bar for each size, as long as the jobs took."""
    longest = max(point.seconds for point in points) or 1.0
    width = max(len(str(point.nodes)) for point in points)
    return "\n".join(
        f"{point.nodes:>{width}} | {'#' * max(1, round(BAR * point.seconds / longest)):<{BAR}} "
        f"{seconds_text(point.seconds)}"
        for point in points
    )


def svg(points: Sequence[Point], title: str, subtitle: str) -> str:
    """Plots the times by nodes, and those of a perfect speed-up."""
    top_s, unit_s, unit = scale_for(max(point.most_s for point in points))
    ideal = [points[0].seconds * points[0].nodes / point.nodes for point in points]
    middle = [(x_of(i, points), y_of(point.seconds, top_s)) for i, point in enumerate(points)]
    best = [(x_of(i, points), y_of(s, top_s)) for i, s in enumerate(ideal)]
    body = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(LEFT, 26, title, size=17, weight="bold"),
        text(LEFT, 46, subtitle, size=12),
        *grid(top_s, unit_s, unit),
        *(text(x, HEIGHT - BOTTOM + 20, str(p.nodes), "middle")
          for (x, _), p in zip(middle, points, strict=True)),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "nodes", "middle"),
        band(points, top_s),
        polyline(best, IDEAL, dashed=True),
        polyline(middle, LINE),
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{LINE}"/>' for x, y in middle),
        *(text(x + 8, y - 8, seconds_text(p.seconds), size=11)
          for (x, y), p in zip(middle, points, strict=True)),
        *legend(points),
    ]  # fmt: skip
    lines = "\n".join(f"  {each}" for each in body if each)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">\n{lines}\n</svg>\n'
    )


def x_of(place: int, points: Sequence[Point]) -> float:
    # Evenly spaced: sizes mostly double from one to the next.
    inner = WIDTH - LEFT - RIGHT - 100
    return LEFT + 30 + (inner * place / (len(points) - 1) if len(points) > 1 else inner / 2)


def y_of(seconds: float, top_s: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / top_s


def scale_for(most_s: float) -> tuple[float, float, str]:
    """The top of an axis in seconds, and the unit that its marks are written in.

    >>> scale_for(73.0), scale_for(0.31), scale_for(1700)
    ((80.0, 1.0, 's'), (0.4, 0.001, 'ms'), (2400.0, 60.0, 'min'))
    """
    unit_s, unit = next((each for each in UNITS if most_s >= 2 * each[0]), UNITS[-1])
    # Four marks with few digits; a little air above the highest point.
    wanted = max(most_s / unit_s * 1.05, 1e-3)
    power = 10.0 ** floor(log10(wanted))
    top = next(n * power for n in (1, 2, 4, 6, 8, 10) if n * power >= wanted)
    return top * unit_s, unit_s, unit


def grid(top_s: float, unit_s: float, unit: str) -> list[str]:
    lines = []
    for step in range(5):
        seconds = top_s * step / 4
        y = y_of(seconds, top_s)
        color = INK if step == 0 else FAINT
        lines.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{color}"/>'
        )
        mark = f"{seconds / unit_s:.4g} {unit}" if step else "0"
        lines.append(text(LEFT - 8, y + 4, mark, "end"))
    return lines


def band(points: Sequence[Point], top_s: float) -> str:
    """The area from the best to the worst run; empty if all runs are equal."""
    if not varies(points):
        return ""
    upper = [(x_of(i, points), y_of(point.most_s, top_s)) for i, point in enumerate(points)]
    lower = [(x_of(i, points), y_of(point.least_s, top_s)) for i, point in enumerate(points)]
    return f'<polygon points="{path(upper + lower[::-1])}" fill="{BAND}"/>'


def varies(points: Sequence[Point]) -> bool:
    """Whether runs of one size have different times."""
    return any(point.least_s != point.most_s for point in points)


def polyline(places: Sequence[tuple[float, float]], color: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="5 5"' if dashed else ""
    width = 1.5 if dashed else 2.5
    return (
        f'<polyline points="{path(places)}" fill="none" stroke="{color}" '
        f'stroke-width="{width}"{dashes}/>'
    )


def path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def legend(points: Sequence[Point]) -> list[str]:
    x, y = WIDTH - RIGHT - 190, TOP + 12
    drawn = [
        polyline([(x, y), (x + 26, y)], LINE),
        text(x + 34, y + 4, "simulated"),
        polyline([(x, y + 20), (x + 26, y + 20)], IDEAL, dashed=True),
        text(x + 34, y + 24, "with a perfect speed-up"),
    ]
    if varies(points):
        drawn.append(f'<rect x="{x}" y="{y + 34}" width="26" height="12" fill="{BAND}"/>')
        drawn.append(text(x + 34, y + 44, "best and worst run"))
    return drawn


def text(
    x: float, y: float, label: str, anchor: str = "start", size: int = 12, weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{INK}">{escape(label)}</text>'
    )
