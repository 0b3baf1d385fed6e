"""axe-core on a page: what keeps out readers with a screen reader, with a keyboard alone, with weak eyes.

axe-core lies in vendor/; notebooks/source/web/vendor.py fetches another version.
"""

from pathlib import Path

SCRIPT = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]  # the rules that WCAG asks for
COLOURS = ["color-contrast"]  # the rules that see a theme
# In a notebook: what cells show, and not JupyterLab around them.
OUTPUTS = [".jp-Notebook .jp-RenderedMarkdown", ".jp-Notebook .jp-OutputArea-output"]

# Formulas are KaTeX's and MathJax's; the colours of code have a test of their own. Each is many elements.
LEFT_OUT = [".katex", "mjx-container", ".highlight span"]

# {rule: where it breaks by what is not ours}
NOT_OURS = {
    "link-in-text-block": ".jp-RenderedHTMLCommon",  # JupyterLab underlines no links in text
}

# JupyterLab's body has no height and cuts off what is beyond: axe would take all for hidden.
RUN = """async ([include, exclude, rules, notOurs]) => {
    const overflow = document.body.style.overflow;
    document.body.style.overflow = 'visible';
    const context = { include: include.map(part => [part]), exclude: exclude.map(part => [part]) };
    const found = await axe.run(context, {
        resultTypes: ['violations'], elementRef: true, preload: false, runOnly: rules });
    document.body.style.overflow = overflow;
    const seen = !found.inapplicable.some(rule => rule.id === 'color-contrast');
    const broken = found.violations.filter(rule => ['serious', 'critical'].includes(rule.impact));
    return [...(seen ? [] : ['axe saw no text']), ...broken.flatMap(rule => rule.nodes
        .filter(({ element }) => !(rule.id in notOurs && element.closest(notOurs[rule.id])))
        .map(node => `${rule.id}: ${node.html.slice(0, 160)}`))];
}"""


def violations(page, parts=("body",), rules=STANDARD):
    """The serious and critical ones within the elements that match `parts`, by rules or their tags."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    there = [[one for one in some if page.locator(one).count()] for some in (parts, LEFT_OUT)]
    return page.evaluate(RUN, [*there, rules, NOT_OURS])  # axe wants each selector to match
