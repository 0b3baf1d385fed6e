"""The pieces of the puzzle class for matplotlib, as widgets/js/step_parts.js draws them."""

import colorsys

import numpy as np

from course_lib.pictures.style import rank_colour

EDGE = "#444444"


def replica_image(fingerprint):
    """A fingerprint's 5 x 5 fields, alike left and right, as colours (5, 5, 3).

    By a hexadecimal digit each: 0 to 4 white, 5 to 9 pale, a to f full.
    """
    hue = int(fingerprint[:4], 16) % 360
    colour = np.array(colorsys.hls_to_rgb(hue / 360, 0.45, 0.62))
    shades = np.array([(0.0, 0.4, 1.0)[min(2, int(digit, 16) // 5)] for digit in fingerprint[:15]])
    left = shades.reshape(5, 3)
    share = np.hstack([left, left[:, 1::-1]])[..., None]
    return 1 - share * (1 - colour)


def paler(colour, share):
    """`colour` mixed with white: 1 leaves it as it is. Unlike transparency, it hides what is behind."""
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return tuple(1 - share * (1 - rgb))


def draw_replica(axes, x, y, size, fingerprint):
    """The picture of a replica in a square of side `size` whose lower left corner is (x, y)."""
    from matplotlib.patches import Rectangle

    extent = (x, x + size, y, y + size)
    axes.imshow(replica_image(fingerprint), extent=extent, interpolation="nearest", zorder=4)
    frame = Rectangle((x, y), size, size, fill=False, edgecolor=EDGE, linewidth=0.6, zorder=5)
    axes.add_artist(frame)


def draw_piece(axes, x, y, size, rank, image=None):
    """A jigsaw piece in the colour of `rank` around (x, y), with a digit's image (64,) on it."""
    from matplotlib.patches import PathPatch

    look = {"facecolor": rank_colour(rank), "edgecolor": EDGE, "linewidth": 0.5, "zorder": 5}
    axes.add_artist(PathPatch(_jigsaw(x, y, size), **look))
    if image is not None:
        inner = 0.36 * size
        extent = (x - inner, x + inner, y - inner, y + inner)
        pixels = image.reshape(8, 8)
        axes.imshow(pixels, cmap="gray_r", vmin=0, vmax=1, extent=extent, interpolation="nearest", zorder=6)


def _jigsaw(x, y, size):
    """Its outline: a knob at the right and at the top, a hollow at the left and below."""
    from matplotlib.path import Path

    points, codes = [(-0.5, -0.5)], [Path.MOVETO]
    for turn, hollow in ((0, True), (1, False), (2, False), (3, True)):  # below, right, top, left
        side = [(-0.13, 0.5), (-0.2, 0.62), (-0.16, 0.74), (0, 0.74), (0.16, 0.74), (0.2, 0.62), (0.13, 0.5)]
        if hollow:
            side = [(along, 1 - out) for along, out in side]
        for along, out in [*side, (0.5, 0.5)]:
            across, up = along, -out  # of the side below
            for _ in range(turn):
                across, up = -up, across
            points.append((across, up))
        codes += [Path.LINETO] + 6 * [Path.CURVE4] + [Path.LINETO]
    return Path(np.array(points) * size + (x, y), codes)


def place_on_desk(place):
    """Where a piece lies, in the widget's pixels from the middle of the desk's place, upwards."""
    row, column = divmod(place, 2)
    return 18 + 15 * column, -3 - 15 * row


def draw_student(axes, x, y, rank, fingerprint, images, *, waits=False, scale=1.0):
    """A student behind a desk with its replica, its number and its pieces; an arm is up while it waits."""
    from matplotlib.patches import Circle, FancyBboxPatch, PathPatch
    from matplotlib.path import Path

    colour, unit = rank_colour(rank), 0.01 * scale  # of the widget's pixels

    def at(points):
        return np.array(points) * unit + (x, y)

    paint = paler(colour, 0.6 if waits else 1.0)
    look = {"facecolor": paint, "linewidth": 0, "zorder": 2}
    if waits:
        arm = Path(at([(13, 16), (18, 20), (20, 28), (20, 37)]), [Path.MOVETO] + 3 * [Path.CURVE4])
        axes.add_artist(
            PathPatch(arm, fill=False, edgecolor=paint, linewidth=4 * scale, capstyle="round", zorder=2)
        )
    curves = [(-19, 6), (-19, 24), (-9, 25), (0, 25), (9, 25), (19, 24), (19, 6)]
    axes.add_artist(PathPatch(Path(at(curves), [Path.MOVETO] + 6 * [Path.CURVE4]), **look))
    axes.add_artist(Circle((x, y + 33 * unit), 9.5 * unit, **look))
    shape = f"round,pad=0,rounding_size={5 * unit}"
    desk = FancyBboxPatch(at((-42, -28)), 84 * unit, 36 * unit, boxstyle=shape, facecolor="white", zorder=3)
    desk.set(edgecolor=EDGE, linewidth=1)
    axes.add_artist(desk)
    edge = {"edgecolor": colour, "linewidth": 2.6 * scale, "capstyle": "round", "zorder": 3.5}
    axes.add_artist(PathPatch(Path(at([(-40, 6.5), (40, 6.5)])), fill=False, **edge))
    draw_replica(axes, x - 37 * unit, y - 24 * unit, 26 * unit, fingerprint)
    number = {"fontsize": 10 * scale, "weight": "bold", "zorder": 5}
    axes.text(x, y - 11 * unit, str(rank), ha="center", va="center", **number)
    for place, image in enumerate(images):
        across, up = place_on_desk(place)
        draw_piece(axes, x + across * unit, y + up * unit, 12.5 * unit, rank, image)
