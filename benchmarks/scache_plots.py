"""Plots of the scache suite: a few named lines over marked places, as SVG."""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple

from pyrite.forecast.chart import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, grid, polyline, text, y_of

COLORS = ("#1f6fb2", "#b2631f", "#3a8f4d", "#8a4fb0", "#b03a48", "#555555")
LEGEND_WIDTH = 190


class Plot(NamedTuple):
    """Lines over the same places; each has a value for every one of them."""

    title: str
    subtitle: str
    across: str
    places: Sequence[str]
    lines: Mapping[str, Sequence[float]]
    unit: str = "s"


def svg(plot: Plot) -> str:
    """The picture."""
    top = top_of(max(max(values) for values in plot.lines.values()))
    body = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(LEFT, 26, plot.title, size=17, weight="bold"),
        text(LEFT, 46, plot.subtitle, size=12),
        *grid(top, 1.0, plot.unit),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, plot.across, "middle"),
    ]
    for index, place in enumerate(plot.places):
        body.append(text(x_of(index, len(plot.places)), HEIGHT - BOTTOM + 20, place, "middle"))
    for number, (name, values) in enumerate(plot.lines.items()):
        color = COLORS[number % len(COLORS)]
        points = [
            (x_of(index, len(values)), y_of(value, top)) for index, value in enumerate(values)
        ]
        body.append(polyline(points, color))
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>' for x, y in points]
        # Names stand on the right, where no line goes: ends of lines may lie on each other.
        y = 80 + 20 * number
        x = WIDTH - RIGHT - LEGEND_WIDTH + 14
        body.append(f'<line x1="{x}" y1="{y}" x2="{x + 18}" y2="{y}" stroke="{color}"/>')
        body.append(text(x + 24, y + 4, name, size=11))
    inner = "\n".join(f"  {each}" for each in body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">\n'
        f"  <title>{escape(plot.title)}</title>\n{inner}\n</svg>\n"
    )


def x_of(index: int, count: int) -> float:
    # Evenly by place, as most of them double from one to the next; names are to the right.
    width = WIDTH - LEFT - RIGHT - LEGEND_WIDTH - 30
    return LEFT + 30 + (width * index / (count - 1) if count > 1 else width / 2)


def top_of(most: float) -> float:
    """The end of an axis with few digits, a little above the highest value.

    >>> top_of(73.0), top_of(0.31)
    (80.0, 0.4)
    """
    wanted = max(most * 1.02, 1e-3)
    power = 10.0 ** floor(log10(wanted))
    return next(n * power for n in (1, 2, 4, 6, 8, 10) if n * power >= wanted)
