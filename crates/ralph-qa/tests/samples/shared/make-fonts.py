#!/usr/bin/env python3
"""Draws the fonts of the sample applications: plain.woff2, plain-bold.woff2 and segments.woff2.

The letters are lines and arcs with a round pen, so that a page looks the same whatever fonts a machine has. They were
drawn for these samples and are licensed as ralph is. What this writes is in the repository; it needs
fonttools, brotli and shapely, and runs by hand only:

    python3 make-fonts.py FOLDER
"""

import math
import sys
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from shapely import affinity
from shapely.geometry import LineString, MultiPolygon, Point, Polygon
from shapely.geometry.polygon import orient
from shapely.ops import unary_union

CAP, X, LOW = 700, 500, -190


def line(*points):
    return list(points)


def arc(cx, cy, rx, ry, start, end):
    """Points of an arc, from and to an angle in degrees."""
    steps = max(6, int(abs(end - start) / 9))
    angles = (math.radians(start + (end - start) * i / steps) for i in range(steps + 1))
    return [(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles]


def oval(cx, cy, rx, ry):
    return arc(cx, cy, rx, ry, 0, 360)


def dot(x, y):
    return [(x, y), (x + 1, y)]


# The lower bowl of small letters, and the stem with a shoulder of n, m, h.
BOWL = oval(190, 250, 190, 250)


def shoulder(x, width, foot=0):
    r = width / 2
    return arc(x + r, X - r, r, r, 180, 0) + [(x + width, foot)]


GLYPHS = {
    " ": (230, []),
    "!": (0, [line((0, CAP), (0, 230)), dot(0, 0)]),
    '"': (150, [line((0, CAP), (0, 530)), line((150, CAP), (150, 530))]),
    "#": (420, [line((130, 0), (190, CAP)), line((290, 0), (350, CAP)), line((20, 460), (420, 460)), line((0, 230), (400, 230))]),
    "$": (370, [arc(185, 510, 180, 150, 20, 270) + arc(185, 180, 185, 180, 90, -160), line((185, 780), (185, -80))]),
    "%": (560, [oval(110, 560, 110, 140), oval(450, 140, 110, 140), line((470, CAP), (90, 0))]),
    "&": (470, [line((470, 0), (110, 470)) + arc(210, 560, 130, 140, 210, -40) + line((120, 330)) + arc(180, 180, 180, 180, 130, 330) + line((440, 320))]),
    "'": (0, [line((0, CAP), (0, 530))]),
    "(": (130, [arc(330, 290, 330, 480, 122, 238)]),
    ")": (130, [arc(-200, 290, 330, 480, 58, -58)]),
    "*": (300, [line((150, CAP), (150, 420)), line((25, 630), (275, 490)), line((275, 630), (25, 490))]),
    "+": (380, [line((190, 480), (190, 100)), line((0, 290), (380, 290))]),
    ",": (60, [line((60, 10), (0, -140))]),
    "-": (240, [line((0, 270), (240, 270))]),
    ".": (0, [dot(0, 0)]),
    "/": (320, [line((0, -90), (320, 760))]),
    "0": (400, [oval(200, 350, 200, 350)]),
    "1": (200, [line((0, 560), (180, CAP), (180, 0))]),
    "2": (370, [arc(185, 510, 180, 190, 165, -25) + line((0, 0), (370, 0))]),
    "3": (370, [arc(175, 525, 165, 175, 150, -90), arc(175, 175, 195, 175, 90, -150)]),
    "4": (420, [line((330, 0), (330, CAP), (0, 180), (420, 180))]),
    "5": (370, [line((340, CAP), (60, CAP), (30, 390)) + arc(175, 220, 195, 220, 125, -150)]),
    "6": (380, [line((290, CAP), (60, 380)), oval(190, 215, 190, 215)]),
    "7": (370, [line((0, CAP), (370, CAP), (120, 0))]),
    "8": (380, [oval(190, 535, 160, 165), oval(190, 185, 190, 185)]),
    "9": (380, [oval(190, 485, 190, 215), line((320, 320), (90, 0))]),
    ":": (0, [dot(0, 0), dot(0, 420)]),
    ";": (60, [line((60, 10), (0, -140)), dot(50, 420)]),
    "<": (330, [line((330, 500), (0, 290), (330, 80))]),
    "=": (360, [line((0, 380), (360, 380)), line((0, 200), (360, 200))]),
    ">": (330, [line((0, 500), (330, 290), (0, 80))]),
    "?": (340, [arc(165, 520, 165, 180, 165, -50) + line((165, 330), (165, 220)), dot(165, 0)]),
    "@": (620, [oval(300, 270, 110, 150), line((410, 420), (410, 200)) + arc(490, 190, 80, 90, 190, 330) + arc(310, 270, 310, 370, -5, 300)]),
    "A": (520, [line((0, 0), (260, CAP), (520, 0)), line((85, 230), (435, 230))]),
    "B": (400, [line((0, 0), (0, CAP), (200, CAP)) + arc(200, 535, 165, 165, 90, -90), line((0, 370), (210, 370)) + arc(210, 185, 190, 185, 90, -90) + line((0, 0))]),
    "C": (470, [arc(310, 350, 310, 350, 50, 310)]),
    "D": (460, [line((0, 0), (0, CAP), (150, CAP)) + arc(150, 350, 310, 350, 90, -90) + line((0, 0))]),
    "E": (370, [line((370, CAP), (0, CAP), (0, 0), (370, 0)), line((0, 370), (320, 370))]),
    "F": (360, [line((360, CAP), (0, CAP), (0, 0)), line((0, 360), (310, 360))]),
    "G": (500, [arc(310, 350, 310, 350, 48, 330) + line((500, 300), (310, 300))]),
    "H": (450, [line((0, 0), (0, CAP)), line((450, 0), (450, CAP)), line((0, 370), (450, 370))]),
    "I": (0, [line((0, 0), (0, CAP))]),
    "J": (300, [line((300, CAP)) + arc(150, 160, 150, 160, 0, -170)]),
    "K": (420, [line((0, 0), (0, CAP)), line((400, CAP), (0, 270)), line((150, 425), (420, 0))]),
    "L": (340, [line((0, CAP), (0, 0), (340, 0))]),
    "M": (560, [line((0, 0), (0, CAP), (280, 180), (560, CAP), (560, 0))]),
    "N": (460, [line((0, 0), (0, CAP), (460, 0), (460, CAP))]),
    "O": (600, [oval(300, 350, 300, 350)]),
    "P": (390, [line((0, 0), (0, CAP), (190, CAP)) + arc(190, 500, 200, 200, 90, -90) + line((0, 300))]),
    "Q": (600, [oval(300, 350, 300, 350), line((370, 170), (590, -60))]),
    "R": (410, [line((0, 0), (0, CAP), (200, CAP)) + arc(200, 505, 195, 195, 90, -90) + line((0, 310)), line((200, 310), (410, 0))]),
    "S": (390, [arc(195, 525, 180, 175, 25, 270) + arc(195, 175, 195, 175, 90, -160)]),
    "T": (440, [line((0, CAP), (440, CAP)), line((220, CAP), (220, 0))]),
    "U": (440, [line((0, CAP)) + arc(220, 220, 220, 220, 180, 360) + line((440, CAP))]),
    "V": (500, [line((0, CAP), (250, 0), (500, CAP))]),
    "W": (720, [line((0, CAP), (180, 0), (360, 560), (540, 0), (720, CAP))]),
    "X": (450, [line((0, 0), (440, CAP)), line((10, CAP), (450, 0))]),
    "Y": (460, [line((0, CAP), (230, 340), (460, CAP)), line((230, 340), (230, 0))]),
    "Z": (420, [line((10, CAP), (410, CAP), (0, 0), (420, 0))]),
    "[": (140, [line((140, 760), (0, 760), (0, -150), (140, -150))]),
    "\\": (320, [line((0, 760), (320, -90))]),
    "]": (140, [line((0, 760), (140, 760), (140, -150), (0, -150))]),
    "^": (300, [line((0, 500), (150, CAP), (300, 500))]),
    "_": (420, [line((0, -120), (420, -120))]),
    "`": (110, [line((0, CAP), (110, 590))]),
    "a": (370, [oval(185, 250, 185, 250), line((370, X), (370, 0))]),
    "b": (380, [line((0, 740), (0, 0)), BOWL]),
    "c": (320, [arc(200, 250, 200, 250, 52, 308)]),
    "d": (380, [line((380, 740), (380, 0)), BOWL]),
    "e": (370, [line((5, 265), (370, 265)) + arc(187, 250, 187, 250, 5, 310)]),
    "f": (230, [arc(230, 600, 140, 140, 95, 180) + line((90, 0)), line((0, 460), (220, 460))]),
    "g": (380, [BOWL, line((380, X), (380, -20)) + arc(195, -30, 185, 160, 0, -150)]),
    "h": (340, [line((0, 740), (0, 0)), line((0, 300)) + shoulder(0, 340)]),
    "i": (0, [line((0, X), (0, 0)), dot(0, 680)]),
    "j": (100, [line((100, X), (100, -70)) + arc(-10, -70, 110, 120, 0, -95), dot(100, 680)]),
    "k": (320, [line((0, 740), (0, 0)), line((300, X), (0, 190)), line((110, 300), (320, 0))]),
    "l": (70, [line((0, 740), (0, 80)) + arc(80, 80, 80, 80, 180, 265)]),
    "m": (560, [line((0, X), (0, 0)), line((0, 300)) + shoulder(0, 280), line((280, 330)) + shoulder(280, 280)]),
    "n": (340, [line((0, X), (0, 0)), line((0, 300)) + shoulder(0, 340)]),
    "o": (390, [oval(195, 250, 195, 250)]),
    "p": (380, [line((0, X), (0, LOW)), BOWL]),
    "q": (380, [line((380, X), (380, LOW)), BOWL]),
    "r": (230, [line((0, X), (0, 0)), line((0, 280)) + arc(190, 300, 190, 200, 180, 80)]),
    "s": (300, [arc(150, 375, 140, 125, 25, 270) + arc(150, 125, 150, 125, 90, -160)]),
    "t": (230, [line((90, 660), (90, 120)) + arc(200, 120, 110, 120, 180, 280), line((0, X - 30), (220, X - 30))]),
    "u": (340, [line((0, X)) + arc(170, 170, 170, 170, 180, 360) + line((340, X)), line((340, X), (340, 0))]),
    "v": (370, [line((0, X), (185, 0), (370, X))]),
    "w": (560, [line((0, X), (140, 0), (280, 400), (420, 0), (560, X))]),
    "x": (340, [line((0, 0), (340, X)), line((0, X), (340, 0))]),
    "y": (360, [line((0, X), (185, 10)), line((360, X), (110, LOW))]),
    "z": (320, [line((10, X), (310, X), (0, 0), (320, 0))]),
    "{": (150, [arc(150, 610, 80, 150, 90, 180) + line((70, 400), (0, 300), (70, 200)) + arc(150, -10, 80, 150, 180, 270)]),
    "|": (0, [line((0, 780), (0, -150))]),
    "}": (150, [arc(0, 610, 80, 150, 90, 0) + line((80, 400), (150, 300), (80, 200)) + arc(0, -10, 80, 150, 0, -90)]),
    "~": (400, [arc(100, 250, 100, 70, 180, 20) + arc(300, 310, 100, 70, 200, 360)]),
    "\u00a3": (370, [line((0, 0), (370, 0)), line((80, 0), (110, 340), (110, 500)) + arc(230, 530, 130, 170, 180, 30), line((0, 340), (280, 340))]),
    "\u00b0": (180, [oval(90, 610, 90, 90)]),
    "\u00b7": (0, [dot(0, 290)]),
    "\u00d7": (300, [line((0, 140), (300, 440)), line((0, 440), (300, 140))]),
    "\u2013": (400, [line((0, 270), (400, 270))]),
    "\u2014": (600, [line((0, 270), (600, 270))]),
    "\u2019": (60, [line((60, CAP), (0, 550))]),
    "\u201c": (200, [line((0, 550), (60, CAP)), line((140, 550), (200, CAP))]),
    "\u201d": (200, [line((60, CAP), (0, 550)), line((200, CAP), (140, 550))]),
    "\u2026": (480, [dot(0, 0), dot(240, 0), dot(480, 0)]),
    "\u20ac": (480, [arc(330, 350, 280, 350, 50, 310), line((0, 430), (400, 430)), line((0, 270), (380, 270))]),
    "\u20aa": (560, [line((0, 0), (0, X), (190, X)) + arc(190, 310, 190, 190, 90, 0) + line((380, 180)), line((180, 320), (180, 0), (370, 0)) + arc(370, 190, 190, 190, -90, 0) + line((560, X))]),
    "\u2190": (460, [line((460, 290), (0, 290)), line((190, 470), (0, 290), (190, 110))]),
    "\u2192": (460, [line((0, 290), (460, 290)), line((270, 470), (460, 290), (270, 110))]),
    "\u2191": (360, [line((180, 0), (180, 560)), line((0, 380), (180, 560), (360, 380))]),
    "\u2193": (360, [line((180, 560), (180, 0)), line((0, 180), (180, 0), (360, 180))]),
    "\u2713": (420, [line((0, 260), (150, 90), (420, 520))]),
    # Hebrew, from the first letter to the last with its final forms.
    "\u05d0": (380, [line((0, X), (380, 0)), line((360, X), (350, 330), (250, 215)), line((130, 335), (30, 200), (20, 0))]),
    "\u05d1": (380, [line((20, X), (200, X)) + arc(200, 380, 120, 120, 90, 0) + line((320, 0)), line((0, 0), (380, 0))]),
    "\u05d2": (240, [line((40, X), (110, X)) + arc(110, 400, 90, 100, 90, 0) + line((240, 0)), line((215, 200), (0, 0))]),
    "\u05d3": (360, [line((0, X), (360, X)), line((300, X), (300, 0))]),
    "\u05d4": (350, [line((0, X), (230, X)) + arc(230, 380, 120, 120, 90, 0) + line((350, 0)), line((40, 300), (40, 0))]),
    "\u05d5": (90, [line((0, X), (90, X), (90, 0))]),
    "\u05d6": (200, [line((0, X), (200, X)), line((110, X), (90, 0))]),
    "\u05d7": (350, [line((20, 0), (20, X), (230, X)) + arc(230, 380, 120, 120, 90, 0) + line((350, 0))]),
    "\u05d8": (380, [line((110, 490), (0, X), (0, 160)) + arc(160, 160, 160, 160, 180, 270) + arc(220, 160, 160, 160, 270, 360) + line((380, 340)) + arc(250, 360, 130, 140, 0, 110)]),
    "\u05d9": (90, [line((0, X), (90, X), (90, 250))]),
    "\u05da": (330, [line((0, X), (330, X), (330, LOW))]),
    "\u05db": (330, [line((0, X), (130, X)) + arc(130, 250, 200, 250, 90, -90) + line((0, 0))]),
    "\u05dc": (310, [line((0, 740), (0, X), (310, X), (300, 350), (110, 0))]),
    "\u05dd": (350, [line((0, X), (350, X), (350, 0), (20, 0), (20, X))]),
    "\u05de": (390, [line((0, X), (60, 330), (0, 0)), line((60, 330)) + arc(230, 320, 160, 180, 180, 0) + line((390, 0), (190, 0))]),
    "\u05df": (90, [line((0, X), (90, X), (90, LOW))]),
    "\u05e0": (210, [line((90, X), (200, X), (200, 0), (0, 0))]),
    "\u05e1": (400, [line((0, X), (210, X)) + arc(205, 270, 190, 230, 90, -90) + arc(205, 240, 190, 240, 270, 180) + line((15, X))]),
    "\u05e2": (360, [line((350, X), (340, 260), (230, 60), (0, -40)), line((40, X), (60, 330), (190, 30))]),
    "\u05e3": (340, [line((150, 270), (20, 290), (20, X), (220, X)) + arc(220, 380, 120, 120, 90, 0) + line((340, LOW))]),
    "\u05e4": (360, [line((150, 270), (20, 290), (20, X), (200, X)) + arc(180, 250, 180, 250, 80, -90) + line((0, 0))]),
    "\u05e5": (330, [line((0, X), (100, 280), (100, LOW)), line((330, X), (310, 330), (100, 240))]),
    "\u05e6": (360, [line((0, X), (350, 0), (0, 0)), line((350, X), (330, 330), (230, 180))]),
    "\u05e7": (350, [line((0, X), (350, X), (345, 320), (200, 30)), line((30, 310), (30, LOW))]),
    "\u05e8": (330, [line((0, X), (200, X)) + arc(200, 370, 130, 130, 90, 0) + line((330, 0))]),
    "\u05e9": (470, [line((0, X), (90, 0), (200, 0)) + arc(200, 300, 270, 300, 270, 360) + line((470, X)), line((235, X), (220, 330), (60, 190))]),
    "\u05ea": (380, [line((20, X), (240, X)) + arc(240, 380, 120, 120, 90, 0) + line((360, 0)), line((90, X), (90, 120), (60, 0), (0, 0))]),
}


def contours(shape, pen):
    """Outlines of a shape, with the direction that fills have in TrueType."""
    parts = shape.geoms if isinstance(shape, MultiPolygon) else [shape]
    for part in parts:
        part = orient(part, -1.0)
        for ring in [part.exterior, *part.interiors]:
            points = [(round(x), round(y)) for x, y in list(ring.coords)[:-1]]
            pen.moveTo(points[0])
            for point in points[1:]:
                pen.lineTo(point)
            pen.closePath()


def stroked(strokes, pen_width):
    shape = unary_union([LineString(s).buffer(pen_width / 2, quad_segs=6) for s in strokes])
    return shape.simplify(2.5)


def font(path, family, style, glyphs, ascent, descent):
    """Writes a font of shapes: a character to its advance and its shape, if it has one."""
    names = {character: f"u{ord(character):04X}" for character in glyphs}
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", *names.values()])
    builder.setupCharacterMap({ord(c): name for c, name in names.items()})
    outlines, metrics = {}, {}
    box = Polygon([(60, 0), (440, 0), (440, 700), (60, 700)]).difference(Polygon([(110, 50), (390, 50), (390, 650), (110, 650)]))
    for name, (advance, shape) in {".notdef": (500, box), **{names[c]: g for c, g in glyphs.items()}}.items():
        pen = TTGlyphPen(None)
        if shape is not None and not shape.is_empty:
            contours(shape, pen)
        outlines[name] = pen.glyph()
        metrics[name] = (advance, 0)
    builder.setupGlyf(outlines)
    metrics = {name: (advance, builder.font["glyf"][name].xMin if outlines[name].numberOfContours else 0) for name, (advance, _) in metrics.items()}
    builder.setupHorizontalMetrics(metrics)
    builder.setupHorizontalHeader(ascent=ascent, descent=descent)
    builder.setupNameTable({"familyName": family, "styleName": style, "licenseDescription": "MIT OR Apache-2.0"})
    builder.setupOS2(sTypoAscender=ascent, sTypoDescender=descent, usWinAscent=ascent, usWinDescent=-descent, sxHeight=X, sCapHeight=CAP, usWeightClass=700 if style == "Bold" else 400)
    builder.setupPost()
    # A fixed time, so that the same shapes make the same file.
    builder.font["head"].created = builder.font["head"].modified = 3800000000
    builder.font.recalcTimestamp = False
    builder.font.flavor = "woff2"
    builder.save(path)


def plain(folder, name, style, pen_width, side):
    glyphs = {}
    for character, (width, strokes) in GLYPHS.items():
        if not strokes:
            glyphs[character] = (width + 40, None)
            continue
        shape = affinity.translate(stroked(strokes, pen_width), side, 0)
        glyphs[character] = (width + 2 * side, shape)
    font(folder / name, "Samples Plain", style, glyphs, 900, -240)


def segments(folder):
    """Digits of seven segments, as on a gauge, and signs of the weather from U+E000."""
    on = {"0": "abcdef", "1": "bc", "2": "abged", "3": "abgcd", "4": "fgbc", "5": "afgcd", "6": "afgedc", "7": "abc", "8": "abcdefg", "9": "abcdfg", "-": "g", "C": "afed"}
    places = {"a": ((60, 700), (340, 700)), "b": ((360, 680), (360, 380)), "c": ((360, 320), (360, 20)), "d": ((60, 0), (340, 0)), "e": ((40, 320), (40, 20)), "f": ((40, 680), (40, 380)), "g": ((60, 350), (340, 350))}
    glyphs = {" ": (480, None), ".": (160, Point(80, 0).buffer(50)), ":": (160, unary_union([Point(80, 200).buffer(45), Point(80, 500).buffer(45)])), "\u00b0": (260, Point(130, 600).buffer(100).difference(Point(130, 600).buffer(45)))}
    for character, names in on.items():
        bars = []
        for name in names:
            (x0, y0), (x1, y1) = places[name]
            across = y0 == y1
            w = 38
            bars.append(Polygon([(x0, y0), (x0 + w, y0 + w), (x1 - w, y0 + w), (x1, y0), (x1 - w, y0 - w), (x0 + w, y0 - w)] if across else [(x0, y0), (x0 + w, y0 - w), (x0 + w, y1 + w), (x0, y1), (x0 - w, y1 + w), (x0 - w, y0 - w)]))
        glyphs[character] = (480, affinity.translate(unary_union(bars), 40, 0))
    cloud = unary_union([Point(230, 250).buffer(170), Point(450, 350).buffer(230), Point(680, 240).buffer(160), Polygon([(230, 80), (680, 80), (680, 250), (230, 250)])])
    rays = [LineString([(450 + 290 * math.cos(a), 350 + 290 * math.sin(a)), (450 + 390 * math.cos(a), 350 + 390 * math.sin(a))]).buffer(32) for a in (math.radians(d) for d in range(0, 360, 45))]
    glyphs["\ue000"] = (900, unary_union([Point(450, 350).buffer(200), *rays]))
    glyphs["\ue001"] = (900, cloud)
    drops = [LineString([(x, 10), (x - 60, -150)]).buffer(32) for x in (270, 460, 650)]
    glyphs["\ue002"] = (900, unary_union([affinity.translate(cloud, 0, 60), *drops]))
    gusts = [arc(560, 500, 130, 130, 150, -90) + [(40, 370)], [(40, 220), (760, 220)], [(40, 70), (520, 70)] + arc(520, -50, 110, 120, 90, -120)]
    glyphs["\ue003"] = (900, stroked(gusts, 70))
    font(folder / "segments.woff2", "Samples Segments", "Regular", glyphs, 900, -240)


def main():
    folder = Path(sys.argv[1])
    plain(folder, "plain.woff2", "Regular", 74, 88)
    plain(folder, "plain-bold.woff2", "Bold", 118, 96)
    segments(folder)


main()
