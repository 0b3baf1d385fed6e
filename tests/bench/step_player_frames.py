"""What a frame of the puzzle class costs in script, in JupyterLab in a real browser.

    python tests/bench/step_player_frames.py

Plays each mode with 8 workers for some seconds and prints how many frames there were, and within how many
milliseconds half and 95 % of them were drawn; then how long Python takes to tell another story. Fails if a
frame takes longer than its limit, or another story longer than its.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "browser"))

import lab
from live import kernel

from course_lib.widgets.step_player import MODES

COSTS = "return document.querySelectorAll('.course')[args[0]].frameCosts.splice(0)"
SECONDS, MOST_MS, MOST_STORY_MS = 6, 8, 150
CELL = "from course_lib.widgets import step_player\np = step_player('eight')\np"
STORY = """import time
def tell(bandwidth):
    begun = time.perf_counter()
    p.bandwidth = bandwidth
    return time.perf_counter() - begun
print(1e3 * sorted(tell(1e6 * number) for number in range(1, 10))[4])"""


def main():
    path = lab.find_browser() or sys.exit("no Chromium: install one, or name it in CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        lab.write_notebook(folder, "class", [CELL])
        with lab.jupyter_lab(Path(folder)) as server, lab.chromium(path) as browser:
            with lab.opened(browser, server, "class") as notebook:
                notebook.run_all()
                results = [(mode, *frames(notebook, mode)) for mode in MODES]
                story = float(kernel(notebook, STORY))
    print(f"{'K = 8':12} {'frames a second':>16} {'half within':>14} {'95 % within':>14}")
    for mode, count, half, most in results:
        print(f"{mode:12} {count / SECONDS:16.0f} {half:11.1f} ms {most:11.1f} ms")
    print(f"another story, told in {story:.0f} ms")
    return int(any(most > MOST_MS for *_, most in results) or story > MOST_STORY_MS)


def frames(notebook, mode):
    """(how many frames, milliseconds of script within which half and 95 % of them were drawn)."""
    kernel(notebook, f"p.mode, p.frame, p.playing = {mode!r}, 0, True")
    notebook.page.wait_for_timeout(1000)
    notebook.ask(COSTS, 0)
    notebook.page.wait_for_timeout(1000 * SECONDS)
    costs = notebook.ask(COSTS, 0)
    kernel(notebook, "p.playing = False")
    twentieths = statistics.quantiles(costs, n=20)
    return len(costs), twentieths[9], twentieths[18]


if __name__ == "__main__":
    sys.exit(main())
