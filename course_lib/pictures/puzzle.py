"""The pieces of the puzzle class for matplotlib, as widgets/js/step_parts.js draws them."""

import colorsys

from course_lib.pictures.style import rank_colour

EDGE = "#444444"


def replica_fields(fingerprint):
    """(colour, [(column, row, shade)]) of a fingerprint's 5 x 5 fields, alike left and right.

    shade, by a hexadecimal digit each: 0 to 4 white (0), 5 to 9 pale (1), a to f full (2).
    """
    hue = int(fingerprint[:4], 16) % 360
    fields = []
    for place, digit in enumerate(fingerprint[:15]):
        row, column = divmod(place, 3)
        shade = min(2, int(digit, 16) // 5)
        fields += [(each, row, shade) for each in sorted({column, 4 - column})]
    return colorsys.hls_to_rgb(hue / 360, 0.45, 0.62), fields


def draw_replica(axes, x, y, size, fingerprint):
    """The picture of a replica in a square of side `size` whose lower left corner is (x, y)."""
    from matplotlib.patches import Rectangle

    colour, fields = replica_fields(fingerprint)
    axes.add_patch(Rectangle((x, y), size, size, facecolor="white", edgecolor=EDGE, linewidth=0.6, zorder=4))
    side = size / 5
    for column, row, shade in fields:
        if shade:
            corner = x + column * side, y + size - (row + 1) * side
            axes.add_patch(
                Rectangle(
                    corner, side, side, facecolor=colour, alpha=(0.4, 1.0)[shade - 1], linewidth=0, zorder=5
                )
            )


def draw_piece(axes, x, y, size, rank, image=None):
    """A jigsaw piece in the colour of `rank` around (x, y), with a digit's image (64,) on it."""
    from matplotlib.patches import Circle, Rectangle

    colour, half, knob = rank_colour(rank), size / 2, 0.2 * size
    for dx, dy in ((half + 0.5 * knob, 0), (0, half + 0.5 * knob)):
        axes.add_patch(
            Circle((x + dx, y + dy), knob, facecolor=colour, edgecolor=EDGE, linewidth=0.5, zorder=5)
        )
    axes.add_patch(
        Rectangle((x - half, y - half), size, size, facecolor=colour, edgecolor=EDGE, linewidth=0.5, zorder=5)
    )
    if image is not None:
        inner = 0.39 * size
        extent = (x - inner, x + inner, y - inner, y + inner)
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1, extent=extent, zorder=6)


def draw_student(axes, x, y, rank, fingerprint, images, *, waits=False, scale=1.0):
    """A student behind a desk with its replica, its number and its pieces; an arm is up while it waits."""
    from matplotlib.patches import Circle, FancyBboxPatch, Wedge

    colour, unit = rank_colour(rank), 0.01 * scale  # of the widget's pixels
    pale = {"facecolor": colour, "alpha": 0.6 if waits else 1.0, "linewidth": 0, "zorder": 2}
    if waits:
        line = {"color": colour, "linewidth": 4 * scale, "solid_capstyle": "round", "zorder": 2}
        axes.plot([x + 14 * unit, x + 20 * unit], [y + 16 * unit, y + 37 * unit], label="_arm", **line)
    axes.add_patch(Wedge((x, y + 4 * unit), 20 * unit, 0, 180, **pale))
    axes.add_patch(Circle((x, y + 33 * unit), 10 * unit, **pale))
    box = FancyBboxPatch(
        (x - 40 * unit, y - 28 * unit),
        80 * unit,
        34 * unit,
        boxstyle=f"round,pad=0,rounding_size={5 * unit}",
        facecolor="white",
        edgecolor=colour,
        linewidth=1.8,
        zorder=3,
    )
    axes.add_patch(box)
    draw_replica(axes, x - 36 * unit, y - 24 * unit, 26 * unit, fingerprint)
    axes.text(
        x - 1 * unit,
        y - 11 * unit,
        str(rank),
        ha="center",
        va="center",
        fontsize=10 * scale,
        weight="bold",
        zorder=5,
    )
    for place, image in enumerate(images):
        column, row = place % 2, place // 2
        draw_piece(axes, x + (16 + 14 * column) * unit, y - (4.5 + 14 * row) * unit, 11 * unit, rank, image)
