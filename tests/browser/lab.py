"""A notebook in JupyterLab in a real Chromium: run it, look for what went wrong, take pictures.

    python tests/browser/lab.py NAME [--out DIR]

NAME is a chapter's name or number, or the path of a notebook. The pictures: all cells in the light
and in the dark theme (NAME-light-01.png …), and screen by screen as a projector shows them.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from waiting import limit, until  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"
ARTIFACTS = ROOT / "tests" / "artifacts"

START, OPEN, RUN = 300, 300, 1500  # starts allowed to the server, to a page, to all cells of a notebook
PROJECTOR = (1280, 720)
TALL = (1280, 3000)
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

BROWSERS = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]
# No window, and no traffic but the page's own. Playwright gives each start a fresh profile.
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# All cells stay in the page (else those out of sight are dropped), and nothing pops up over them.
OVERRIDES = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "scrollPastEnd": False}}
PAGE_CONFIG = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}


def find_browser():
    """The path of a Chromium, or None; the environment variable CHROMIUM goes first.

    Where BROWSER is "required", as in CI, there must be one, so that no test is skipped for lack of it.
    """
    found = next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *BROWSERS])), None)
    if not found and os.environ.get("BROWSER") == "required":
        raise RuntimeError("a browser is required here, and there is no Chromium")
    return found


class Server(NamedTuple):
    """A JupyterLab that listens."""

    url: str
    token: str
    log: Path
    served: Path  # the folder of its notebooks
    page_config: Path  # read again for each page


@contextmanager
def jupyter_lab(notebooks=NOTEBOOKS):
    """Serve a copy of `notebooks`, so that those in the repository stay as they are; gives a Server."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        served, settings, runtime = folder / "notebooks", folder / "settings", folder / "runtime"
        shutil.copytree(notebooks, served, ignore=shutil.ignore_patterns("source", ".ipynb_checkpoints"))
        settings.mkdir()
        (settings / "overrides.json").write_text(json.dumps(OVERRIDES))
        page_config = settings / "page_config.json"
        page_config.write_text(json.dumps(PAGE_CONFIG))
        # Own folders: neither the settings nor the kernels of who runs this may show in a test.
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "share",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython",
        }
        environment = {**os.environ, **{name: str(folder / value) for name, value in own.items()}}
        environment["COURSE_PROGRESS"] = "off"
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ip=127.0.0.1",
            "--port=0",
            f"--ServerApp.root_dir={served}",
            f"--LabApp.app_settings_dir={settings}",
            "--LabApp.expose_app_in_browser=True",
            f"--LabApp.extra_labextensions_path={ROOT / 'course_lib' / 'labextensions'}",
            "--ContentsManager.pre_save_hook=course_lib.saving.before_saving",
        ]
        log = folder / "log"
        with log.open("w") as out:
            server = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            yield Server(*address(server, runtime, log), log, served, page_config)
        finally:
            stop(server)


@contextmanager
def without(server, extensions):
    """Pages opened meanwhile come without these extensions of JupyterLab."""
    usual = server.page_config.read_text()
    disabled = PAGE_CONFIG["disabledExtensions"] | dict.fromkeys(extensions, True)
    server.page_config.write_text(json.dumps({"disabledExtensions": disabled}))
    try:
        yield
    finally:
        server.page_config.write_text(usual)


def address(server, runtime, log):
    """(url, token), which the server writes down shortly before it listens."""

    def listens():
        with suppress(json.JSONDecodeError):  # half written
            about = [json.loads(path.read_text()) for path in runtime.glob("jpserver-*.json")]
            found[:] = [each for each in about if connects(each["port"])]
        return found or server.poll() is not None

    found = []
    if until(listens, START) and found:
        return found[0]["url"], found[0]["token"]
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


def connects(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def stop(server):
    server.terminate()  # it shuts its kernels down first
    try:
        server.wait(limit(100))
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextmanager
def chromium(path):
    """A Playwright browser that uses the Chromium at `path`."""
    from playwright.sync_api import sync_playwright  # here, so that a test can skip where it is missing

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


# What the page is asked. `panel` is the notebook in front.
PANEL = "const app = window.jupyterapp, panel = app?.shell.currentWidget;"
READY = PANEL + "return panel?.context?.isReady && panel.sessionContext?.session?.kernel?.status === 'idle'"
EXECUTE = PANEL + "app.commands.execute(args[0], args[1])"  # not awaited: Run All ends when it ends
CELLS = (
    PANEL
    + """
    const tags = cell => cell.model.getMetadata('tags') ?? [];
    const code = panel.content.widgets.filter(cell =>
        cell.model.type === 'code' && cell.model.sharedModel.getSource().trim());
    return code.map(cell => {
        const outputs = cell.model.outputs.toJSON();
        const widget = '.jp-OutputArea-output > .lm-Widget';
        const seen = [...cell.outputArea.node.querySelectorAll('img, canvas, svg, ' + widget)];
        return {
            index: panel.content.widgets.indexOf(cell),
            first_line: cell.model.sharedModel.getSource().trim().split('\\n')[0],
            done: cell.model.executionCount !== null,
            expected_error: tags(cell).includes('raises-exception'),
            errors: outputs.filter(o => o.output_type === 'error').map(o => `${o.ename}: ${o.evalue}`),
            has_picture: outputs.some(o => o.data && 'image/png' in o.data),
            shows_picture: seen.some(e => e.getBoundingClientRect().height > 0),
            broken: seen.some(e => e.tagName === 'IMG' && e.complete && !e.naturalWidth
                                   || e.innerText?.startsWith('Error displaying widget')),
        };
    })"""
)
FINISHED = (
    """
    const cells = (() => {"""
    + CELLS
    + """})();
    const failed = cells.some(cell => cell.errors.length && !cell.expected_error);
    const idle = window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle';
    return idle && (failed || cells.every(cell => cell.done))"""
)
SCROLLER = PANEL + "return panel.node.querySelector('.jp-WindowedPanel-outer')"
HEIGHTS = "const s = (() => {" + SCROLLER + "})(); return [s.scrollHeight, s.clientHeight]"
TOPS = (
    PANEL
    + """
    const s = panel.node.querySelector('.jp-WindowedPanel-outer'), start = s.getBoundingClientRect().top;
    return panel.content.widgets.map(cell => cell.node.getBoundingClientRect().top - start + s.scrollTop)"""
)
SCROLL = "(() => {" + SCROLLER + "})().scrollTop = args[0]"
UNMOVED = "!document.getAnimations().some(one => one.effect.target.closest('.jp-Notebook'))"
SAVE = PANEL + "return panel.context.save()"
SHUT_DOWN = PANEL + "return panel.sessionContext.shutdown()"
# [cell's index, text] of what stands in place of folded code, and of a folded output.
FOLDED = (
    PANEL
    + """
    return panel.content.widgets.flatMap((cell, index) =>
        [...cell.node.querySelectorAll('.jp-PlaceholderText')].filter(text => text.checkVisibility())
            .map(text => [index, text.textContent]))"""
)
POPUPS = """return [...document.querySelectorAll('.jp-Dialog, .Toastify__toast')].map(e => e.innerText)"""


@dataclass
class Notebook:
    """A notebook open in a browser."""

    page: object
    log: Path  # JupyterLab's
    complaints: list = field(default_factory=list)  # errors on the browser's console

    def ask(self, script, *args):
        return self.page.evaluate(f"args => {{ {script} }}", list(args))

    def wait_for(self, script, starts=OPEN):
        self.page.wait_for_function(f"() => {{ {script} }}", timeout=1000 * limit(starts), polling=200)

    def run_all(self, starts=RUN):
        """Run All in a fresh kernel; returns what every code cell shows afterwards."""
        self.ask(EXECUTE, "notebook:clear-all-cell-outputs", {})  # else the stored counts look like ours
        self.wait_for("return !(() => {" + FINISHED + "})()")
        self.ask(EXECUTE, "notebook:run-all-cells", {})
        deadline = time.monotonic() + limit(starts)
        while not self.ask(FINISHED) and time.monotonic() < deadline:  # too late: the cells say which
            self.page.wait_for_timeout(500)  # to ask lays out the whole page
        self.settle()
        return self.cells()

    def cells(self):
        return self.ask(CELLS)

    def popups(self):
        return self.ask(POPUPS)

    def keep(self, name):
        """Leave JupyterLab's log, and a picture of what shows now, in the artefacts: something has failed."""
        from playwright.sync_api import Error

        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        kept = ARTIFACTS / f"failed-{re.sub(r'[^0-9A-Za-z]+', '-', name).strip('-')}"
        shutil.copy(self.log, f"{kept}.log")
        with suppress(Error):  # it may be the browser that has failed
            self.page.screenshot(path=f"{kept}.png", timeout=10_000)

    def change_theme(self, theme):
        """To "light" or "dark", for all pages opened from now on; until the last colour has faded over."""
        self.ask(EXECUTE, "apputils:change-theme", {"theme": THEMES[theme]})
        self.wait_for(f"return document.body.dataset.jpThemeName === '{THEMES[theme]}' && {UNMOVED}")

    def settle(self):
        """Wait until the notebook no longer grows: formulas, pictures and widgets draw late."""
        last = None
        for _ in range(20):
            self.page.wait_for_timeout(400)
            last, before = self.ask(HEIGHTS), last
            if last == before:
                return

    def pictures(self, folder, name):
        """Save all screenshots, the dark ones last; returns their paths."""
        shots = [("light", PROJECTOR), ("light", TALL), ("dark", TALL)]
        Path(folder).mkdir(parents=True, exist_ok=True)
        for old in Path(folder).glob(f"{name}-*.png"):
            old.unlink()
        return [path for theme, size in shots for path in self.scroll_through(folder, name, theme, size)]

    def scroll_through(self, folder, name, theme, size):
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.change_theme(theme)
        self.settle()
        kind = "projected" if size == PROJECTOR else theme
        paths = []
        for number, top in enumerate(stops(self.ask(TOPS), *self.ask(HEIGHTS)), 1):
            self.ask(SCROLL, top)
            self.page.wait_for_timeout(100)
            paths.append(Path(folder) / f"{name}-{kind}-{number:02}.png")
            self.page.screenshot(path=paths[-1])
        return paths


def stops(tops, height, visible):
    """Where to scroll to, so that no cell is cut which fits on a screen."""
    at = 0
    yield at
    while at + visible < height:
        at = max([top for top in tops if at < top <= at + visible], default=at + visible)
        yield at


def write_notebook(folder, name, cells):
    """A notebook of these code cells, to be served by jupyter_lab(folder)."""
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, Path(folder) / f"{name}.ipynb")


@contextmanager
def ran(browser, server, name, cells):
    """A notebook of these code cells, run without a problem; quiet to the end."""
    write_notebook(server.served, name, cells)
    with opened(browser, server, name) as notebook:
        assert not list(problems(notebook, notebook.run_all()))
        yield notebook
        assert not notebook.complaints and not notebook.popups()


@contextmanager
def opened(browser, server, name):
    """`name` (without suffix) in a new window, its kernel ready, the side bar closed."""
    page = browser.new_page(viewport={"width": PROJECTOR[0], "height": PROJECTOR[1]})
    notebook = Notebook(page, server.log)
    page.on("console", lambda message: message.type == "error" and notebook.complaints.append(message.text))
    page.on("pageerror", lambda error: notebook.complaints.append(str(error)))
    try:
        page.goto(
            f"{server.url}lab/workspaces/{quote(name)}/tree/{quote(name)}.ipynb?reset&token={server.token}"
        )
        notebook.wait_for(READY)
        notebook.ask(PANEL + "app.shell.collapseLeft()")
        yield notebook
        notebook.ask(SHUT_DOWN)  # twelve kernels would add up
    except Exception:
        notebook.keep(name)
        raise
    finally:
        page.close()


def problems(notebook, cells):
    """What a reader would call broken, as text."""
    for cell in cells:
        where = f"cell {cell['index']} ({cell['first_line']})"
        if cell["errors"] and not cell["expected_error"]:
            yield f"{where}: {cell['errors'][0]}"
        elif not cell["done"]:
            yield f"{where}: did not run"
        if cell["has_picture"] and not cell["shows_picture"] or cell["broken"]:
            yield f"{where}: a picture does not show"
    yield from (f"pop-up: {text}" for text in notebook.popups())
    yield from (f"browser console: {text}" for text in notebook.complaints)


def path_of(name):
    """The notebook that an author means by a path, a name or a number."""
    if Path(name).suffix == ".ipynb" and Path(name).exists():
        return Path(name).resolve()
    name = Path(name).stem.zfill(2)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if name in (path.stem, path.stem[:2]):
            return path
    sys.exit(f"no notebook {name!r}")


def main():
    as_is = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_is)
    parser.add_argument("name", metavar="NAME", help="a chapter's name or number, or a path")
    parser.add_argument("--out", default=ARTIFACTS, metavar="DIR", help="where the pictures go (%(default)s)")
    options = parser.parse_args()
    path = path_of(options.name)
    browser_path = find_browser() or sys.exit("no Chromium: install one, or name it in CHROMIUM")
    with jupyter_lab(path.parent) as server, chromium(browser_path) as browser:
        with opened(browser, server, path.stem) as notebook:
            found = list(problems(notebook, notebook.run_all()))
            pictures = notebook.pictures(options.out, path.stem)
    print(*pictures, sep="\n")
    return "\n".join(found) or 0


if __name__ == "__main__":
    sys.exit(main())
