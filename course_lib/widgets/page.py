"""What the browser gets: one JavaScript module a widget, one style sheet for all."""

import re
from pathlib import Path

from course_lib.pictures.style import PHASE_COLOURS, RANK_COLOURS

SOURCES = Path(__file__).parent / "js"
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|function) (\w+))", re.MULTILINE)
DARK = 'body[data-jp-theme-light="false"] .course-root'


def script(name):
    """js/name.js behind all that it imports, as one module; each import is a function with its own names."""
    return "\n".join([*_imports(name, set()), _body(name)])


def style_sheet():
    """js/style.css and the colours of ranks and phases: pictures.style's, paler in a dark theme."""
    colours = {f"rank-{rank}": colour for rank, colour in enumerate(RANK_COLOURS)}
    colours |= {f"phase-{kind}": colour for kind, colour in PHASE_COLOURS.items()}
    light = [f"--course-{name}: {colour};" for name, colour in colours.items()]
    dark = [
        f"--course-{name}: color-mix(in srgb, {colour} 55%, white);"
        for name, colour in colours.items()
        if name != "phase-wait"
    ]
    dark.append("--course-phase-wait: #666666;")
    rules = [_source("style.css"), f".course-root {{ {' '.join(light)} }}", f"{DARK} {{ {' '.join(dark)} }}"]
    return "\n".join(rules) + "\n"


def _imports(name, seen):
    """What `name` imports, directly or not, each once, as $name = an object with its exports."""
    for _, needed in IMPORT.findall(_source(f"{name}.js")):
        if needed not in seen:
            seen.add(needed)
            yield from _imports(needed, seen)
            body = _body(needed)
            exports = ", ".join(EXPORT.findall(body))
            yield f"const ${needed} = (() => {{\n{EXPORT.sub('', body)}\nreturn {{ {exports} }};\n}})();"


def _body(name):
    return IMPORT.sub(r"const \1 = $\2;", _source(f"{name}.js"))


def _source(name):
    return (SOURCES / name).read_text(encoding="utf-8")
