"""What the tests of live widgets share: the kernel, waiting, and what a page is asked about its widgets."""

import lab
import waiting

KERNEL = (
    lab.PANEL
    + """
    const future = panel.sessionContext.session.kernel.requestExecute({ code: args[0] });
    let printed = '';
    future.onIOPub = ({ header, content }) => {
        if (header.msg_type === 'stream') printed += content.text;
        if (header.msg_type === 'error') printed += `${content.ename}: ${content.evalue}`;
    };
    await future.done;
    return printed.trim()"""
)

# Each text in a widget with its contrast to what is behind it, translucent colours blended.
CONTRASTS = """
    const parse = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const rgba = text => text.startsWith('color(srgb')
        ? parse(text.slice(10)).map((part, place) => place < 3 ? 255 * part : part) : parse(text);
    const over = (top, under) => {
        const alpha = top[3] ?? 1;
        return [0, 1, 2].map(place => alpha * top[place] + (1 - alpha) * under[place]);
    };
    const behind = node => {
        const own = rgba(getComputedStyle(node).backgroundColor);
        if (own[3] === 0 || !own.length) return behind(node.parentElement);
        return (own[3] ?? 1) < 1 ? over(own, behind(node.parentElement)) : own;
    };
    const light = colour => {
        const [r, g, b] = colour.map(part => part / 255)
            .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    return [...document.querySelectorAll('.course-root *')].filter(node =>
        [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())
        && !node.disabled && node.ariaDisabled !== 'true'
        && node.getBoundingClientRect().height).map(node => {
            const style = getComputedStyle(node);
            const back = behind(node.closest('svg') ? node.closest('.course-root') : node);
            const front = over(rgba(node instanceof SVGElement ? style.fill : style.color), back);
            const [dark, bright] = [light(front), light(back)].sort((a, b) => a - b);
            return [node.textContent.trim(), (bright + 0.05) / (dark + 0.05)];
        })"""

NAMELESS = """
    return [...document.querySelectorAll('.course-root :is(input, select, button, summary)')].filter(node =>
        !node.getAttribute('aria-label') && !(node.labels?.length && node.labels[0].textContent.trim())
        && !(/BUTTON|SUMMARY/.test(node.tagName) && node.textContent.trim())).map(node => node.outerHTML)"""

# Where Tab has to stop, in this order; at one radio of each group. HERE: at which it is, and if one sees it;
# null at JupyterLab's own buttons on a cell.
STOPS = """
    const firsts = {}, first = node => firsts[node.name] ??= node, at = document.activeElement;
    const controls = '.course-root :is(input, select, button, summary, textarea, a)';
    const stops = [...document.querySelectorAll(controls)].filter(node =>
        !node.disabled && node.checkVisibility() && (node.type !== 'radio' || first(node) === node));"""
COUNT = STOPS + "return stops.length"
HERE = (
    STOPS
    + """
    const seen = getComputedStyle(at).opacity === '0' ? at.closest('label') : at;
    const marked = getComputedStyle(seen).outlineWidth === '3px' && at.getBoundingClientRect().top >= 0;
    if (!at.closest('.course-root')) return at.closest('.jp-Cell') ? null : 'beyond';
    return [stops.indexOf(at.type === 'radio' ? first(at) : at), marked]"""
)

# In the page, for it draws faster than we can ask.
GATHER_PICTURES = """chart => {
    window.pictures = new Set();
    new MutationObserver(() => window.pictures.add(chart.innerHTML)).observe(
        chart, {childList: true, subtree: true, attributes: true, characterData: true});
}"""
# Whether nothing has been drawn for as many of the browser's frames.
STILL = """async frames => {
    const drawn = window.pictures.size;
    while (frames--) await new Promise(requestAnimationFrame);
    return window.pictures.size === drawn;
}"""


def kernel(notebook, code):
    """What `code` prints in the notebook's kernel."""
    return notebook.page.evaluate(f"async args => {{ {KERNEL} }}", [code])


def until(condition, starts=100):
    """Wait for `condition()`: what the kernel was told comes back a little later."""
    assert waiting.until(condition, starts)


def drawn(notebook):
    """How many pictures there were since GATHER_PICTURES."""
    return notebook.page.evaluate("pictures.size")


def stands_still(notebook):
    return notebook.page.evaluate(STILL, 30)


def tab_through(notebook):
    """Tab comes to each control, shows it, and goes on; in none does JupyterLab take `d d` for itself."""
    cells, count, stops = len(notebook.cells()), notebook.ask(COUNT), []
    notebook.page.locator(".jp-CodeCell").first.focus()
    for _ in range(2 * count + 20):
        notebook.page.keyboard.press("Tab")
        here = notebook.ask(HERE)
        if stops and here == "beyond":
            break
        if isinstance(here, list):
            stops.append(here)
            notebook.page.keyboard.type("dd")
    assert stops == [[number, True] for number in range(count)]
    assert here == "beyond" and len(notebook.cells()) == cells


def faint(notebook):
    """Texts that are hard to read on what is behind them, and how many texts there are."""
    contrasts = notebook.ask(CONTRASTS)
    return [(text, ratio) for text, ratio in contrasts if not ratio >= 4.5], len(contrasts)
