"""A plot with two logarithmic axes, as SVG: lines with their names at the right end. No library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10

Point = tuple[float, float]

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 30, 50
COLOURS = ("#1b6ca8", "#c8553d", "#2e8b57", "#8e5ea2", "#b8860b", "#4d4d4d", "#d6518f", "#008b8b")
APART = 15  # pixels between two names


def plot(
    title: str, x_name: str, lines: Mapping[str, Sequence[Point]], x_text: Callable[[float], str],
    y_text: Callable[[float], str],
) -> str:  # fmt: skip
    """The picture. Both axes go from one power of ten to another; `x_text` and `y_text` say what stands at one."""
    points = [point for line in lines.values() for point in line]
    columns, rows = (_powers([point[axis] for point in points]) for axis in (0, 1))

    def x(value: float) -> float:
        return LEFT + (log10(value) - columns[0]) / (columns[-1] - columns[0]) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (log10(value) - rows[0]) / (rows[-1] - rows[0]) * (HEIGHT - TOP - BOTTOM)

    parts = [_text(LEFT, 18, title, "start", "bold"), _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_name)]
    for power in columns:
        parts += [_rule(x(10**power), TOP, x(10**power), HEIGHT - BOTTOM)]
        parts += [_text(x(10**power), HEIGHT - BOTTOM + 18, x_text(10**power))]
    for power in rows:
        parts += [_rule(LEFT, y(10**power), WIDTH - RIGHT, y(10**power))]
        parts += [_text(LEFT - 8, y(10**power) + 4, y_text(10**power), "end")]
    places = _apart({name: y(line[-1][1]) for name, line in lines.items()})
    for number, (name, line) in enumerate(lines.items()):
        parts += _line([(x(a), y(b)) for a, b in line], name, places[name], COLOURS[number % len(COLOURS)])
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *parts, "</svg>", "",
    ])  # fmt: skip


def _powers(values: Sequence[float]) -> list[int]:
    low, high = floor(log10(min(values)) + 1e-9), ceil(log10(max(values)) - 1e-9)
    return list(range(low, max(high, low + 1) + 1))


def _apart(wanted: Mapping[str, float]) -> dict[str, float]:
    """Heights as wanted, but none nearer to another than can be read."""
    placed: dict[str, float] = {}
    below = 0.0
    for name, height in sorted(wanted.items(), key=lambda item: item[1]):
        below = placed[name] = max(height, below + APART)
    return placed


def _line(points: Sequence[Point], name: str, name_y: float, colour: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    label = f'<text x="{WIDTH - RIGHT + 12}" y="{name_y + 4:.1f}" fill="{colour}">{name}</text>'
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots, label]


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="#333">{text}</text>'
