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
    from matplotlib.patches import Circle, Rectangle

    half, knob = size / 2, 0.2 * size
    look = {"facecolor": rank_colour(rank), "edgecolor": EDGE, "linewidth": 0.5, "zorder": 5}
    for dx, dy in ((half + 0.5 * knob, 0), (0, half + 0.5 * knob)):
        axes.add_artist(Circle((x + dx, y + dy), knob, **look))
    axes.add_artist(Rectangle((x - half, y - half), size, size, **look))
    if image is not None:
        inner = 0.39 * size
        extent = (x - inner, x + inner, y - inner, y + inner)
        pixels = image.reshape(8, 8)
        axes.imshow(pixels, cmap="gray_r", vmin=0, vmax=1, extent=extent, interpolation="nearest", zorder=6)


def draw_student(axes, x, y, rank, fingerprint, images, *, waits=False, scale=1.0):
    """A student behind a desk with its replica, its number and its pieces; an arm is up while it waits."""
    from matplotlib.patches import Circle, FancyBboxPatch, Wedge

    colour, unit = rank_colour(rank), 0.01 * scale  # of the widget's pixels
    look = {"facecolor": paler(colour, 0.6 if waits else 1.0), "linewidth": 0, "zorder": 2}
    if waits:
        arm = f"round,pad=0,rounding_size={3 * unit}"
        axes.add_artist(
            FancyBboxPatch((x + 14 * unit, y + 8 * unit), 6 * unit, 32 * unit, boxstyle=arm, **look)
        )
    axes.add_artist(Wedge((x, y + 4 * unit), 20 * unit, 0, 180, **look))
    axes.add_artist(Circle((x, y + 33 * unit), 10 * unit, **look))
    shape = f"round,pad=0,rounding_size={5 * unit}"
    corner, size = (x - 40 * unit, y - 28 * unit), (80 * unit, 34 * unit)
    desk = {"facecolor": "white", "edgecolor": colour, "linewidth": 1.8, "zorder": 3}
    axes.add_artist(FancyBboxPatch(corner, *size, boxstyle=shape, **desk))
    draw_replica(axes, x - 36 * unit, y - 24 * unit, 26 * unit, fingerprint)
    number = {"fontsize": 10 * scale, "weight": "bold", "zorder": 5}
    axes.text(x - 1 * unit, y - 11 * unit, str(rank), ha="center", va="center", **number)
    for place, image in enumerate(images):
        row, column = divmod(place, 2)
        draw_piece(axes, x + (16 + 14 * column) * unit, y - (4.5 + 14 * row) * unit, 11 * unit, rank, image)
