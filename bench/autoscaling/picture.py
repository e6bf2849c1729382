"""The traces as a picture: for each, what came, the pods that each contender had, and the age of the oldest message.

Small multiples, in SVG. Knows lines and scales. Does not know what they mean.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from xml.sax.saxutils import escape

from bench.autoscaling.measures import Outcome, Sample
from bench.autoscaling.traces import TRACES, Trace

SVG = "http://www.w3.org/2000/svg"
COLUMNS = 3
WIDTH, LEFT, RIGHT = 400, 52, 12
"""Of one trace, and what its scales take of it."""
TITLE, GAP = 46, 12
HEIGHTS = (44, 92, 70)
"""Of load, pods and lag, one below the other."""
HEAD = 62
COLOURS = ("#00796b", "#e65100", "#5e35b1")
INK, PALE, GRID = "#263238", "#78909c", "#e0e6ea"
FINEST = 350
"""So many points are told apart in a line."""
LAGS = (1, 10, 100, 1000)
"""Seconds that the scale of lag has lines for; it is logarithmic."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle, and what it shows of two scales."""

    left: float
    top: float
    height: float
    seconds: float
    most: float
    least: float = 0.0
    scale: Callable[[float], float] = lambda value: value

    def x(self, at: float) -> float:
        return self.left + at / self.seconds * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        least, most = self.scale(self.least), self.scale(self.most)
        share = (self.scale(min(max(value, self.least), self.most)) - least) / (most - least)
        return self.top + self.height * (1 - share)

    def line(self, points: Sequence[Point], colour: str) -> str:
        path = " ".join(f"{self.x(at):.1f},{self.y(value):.1f}" for at, value in thinned(coarser(points)))
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.3" stroke-linejoin="round"/>'

    def area(self, points: Sequence[Point], colour: str) -> str:
        path = " ".join(f"{self.x(at):.1f},{self.y(value):.1f}" for at, value in points)
        base = self.top + self.height
        return f'<polygon points="{self.left},{base} {path} {self.x(self.seconds):.1f},{base}" fill="{colour}"/>'

    def ruled(self, value: float, text: str) -> str:
        y = self.y(value)
        end = self.left + WIDTH - LEFT - RIGHT
        rule = f'<line x1="{self.left}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
        return rule + _text(self.left - 5, y + 3.5, text, size=10, colour=PALE, anchor="end")


def picture(found: Mapping[str, Sequence[Outcome]], titles: Sequence[str]) -> str:
    """Draw each trace with its contenders, in the order of their titles."""
    cell = TITLE + sum(HEIGHTS) + 2 * GAP + 34
    rows = math.ceil(len(found) / COLUMNS)
    width, height = COLUMNS * WIDTH + 20, HEAD + rows * cell
    parts = [
        f'<svg xmlns="{SVG}" viewBox="0 0 {width} {height}" width="{width}" font-family="Helvetica, sans-serif">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_legend(titles),
    ]
    for number, (name, outcomes) in zip(count(), found.items(), strict=False):
        left, top = 10 + number % COLUMNS * WIDTH, HEAD + number // COLUMNS * cell
        parts += _trace(TRACES[name], outcomes, left, top)
    return "\n".join([*parts, "</svg>\n"])


def _legend(titles: Sequence[str]) -> list[str]:
    parts = [_text(20, 24, "Messages a second, pods, and the age of the oldest message", size=16, weight="bold")]
    for number, (title, colour) in enumerate(zip(titles, COLOURS, strict=True)):
        left = 20 + number * 190
        parts.append(f'<line x1="{left}" x2="{left + 22}" y1="43" y2="43" stroke="{colour}" stroke-width="3"/>')
        parts.append(_text(left + 28, 47, title, size=13))
    return parts


def _trace(trace: Trace, outcomes: Sequence[Outcome], left: float, top: float) -> list[str]:
    parts = [
        _text(left + LEFT, top + 16, trace.name, size=14, weight="bold"),
        _text(left + LEFT, top + 32, _short(trace.about), size=10, colour=PALE),
    ]
    load_height, pods_height, lag_height = HEIGHTS
    top += TITLE
    step = max(1.0, trace.seconds / 600)
    load = [(at, trace.rate(at)) for at in _times(trace.seconds, step)]
    highest = max(value for _, value in load)
    panel = Panel(left + LEFT, top, load_height, trace.seconds, highest)
    parts += [panel.ruled(0, "0"), panel.ruled(highest, _number(highest)), panel.area(load, "#b0bec5")]
    top += load_height + GAP
    most = max(sample.workers for outcome in outcomes for sample in outcome.samples)
    panel = Panel(left + LEFT, top, pods_height, trace.seconds, max(1, most))
    parts += [panel.ruled(0, "0"), panel.ruled(most / 2, f"{most / 2:g}"), panel.ruled(most, f"{most} pods")]
    parts += _lines(panel, outcomes, lambda sample: sample.workers)
    top += pods_height + GAP
    panel = Panel(left + LEFT, top, lag_height, trace.seconds, LAGS[-1], LAGS[0], math.log10)
    parts += [panel.ruled(lag, f"{lag:,} s".replace(",", " ")) for lag in LAGS]
    parts += _lines(panel, outcomes, lambda sample: sample.lag_seconds)
    return parts + _hours(panel, top + lag_height)


def _lines(panel: Panel, outcomes: Sequence[Outcome], value: Callable[[Sample], float]) -> list[str]:
    """Draw them, ours last: it lies on top."""
    drawn = [
        panel.line([(sample.at, value(sample)) for sample in outcome.samples], colour)
        for outcome, colour in zip(outcomes, COLOURS, strict=True)
    ]
    return drawn[::-1]


def _hours(panel: Panel, bottom: float) -> list[str]:
    step = 1800 if panel.seconds <= 3 * 3600 else 3600
    return [
        _text(panel.x(at), bottom + 14, f"{at / 60:g} min" if at else "0", size=10, colour=PALE, anchor="middle")
        for at in _times(panel.seconds, step)
    ]


def coarser(points: Sequence[Point]) -> list[Point]:
    """Take the highest of what lies too close together to be seen."""
    each = math.ceil(len(points) / FINEST)
    return [max(points[index : index + each], key=lambda point: point[1]) for index in range(0, len(points), each)]


def thinned(points: Sequence[Point]) -> list[Point]:
    """Leave out what lies on a level line."""
    return [
        point
        for index, point in enumerate(points)
        if index in (0, len(points) - 1) or not points[index - 1][1] == point[1] == points[index + 1][1]
    ]


def _times(seconds: float, step: float) -> list[float]:
    return [number * step for number in range(int(seconds / step) + 1)]


def _number(value: float) -> str:
    thousand = 1000
    return f"{round(value / thousand):,} k" if value >= thousand else f"{value:g}"


def _short(text: str) -> str:
    most = 62
    return text if len(text) <= most else text[: text.rfind(" ", 0, most)] + " …"


def _text(
    x: float, y: float, text: str, *, size: int, colour: str = INK, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
