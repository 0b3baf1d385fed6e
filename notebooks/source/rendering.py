"""How Markdown becomes HTML, on pages and on slides: nbconvert's way, with links between them."""

import re
from collections import Counter
from html import escape, unescape

from jinja2 import pass_context
from nbconvert import HTMLExporter, SlidesExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

NOTEBOOK_LINK = re.compile(r"(?:notebooks/)?(\w+)\.ipynb(?:#(.*))?")


class Renderer(IPythonRenderer):
    """nbconvert's, with links between the pages, formulas marked as such, and tables that scroll.

    addresses: {notebook's name: its page here}. A link to another notebook is left out, its text is not.
    seen: counts the headings of the page so far; a repeated one gets a number.
    """

    def __init__(self, addresses, anchor, seen):
        super().__init__(escape=False)
        self.addresses, self.anchor, self.seen = addresses, anchor, seen

    def link(self, text, url, title=None):
        if (found := NOTEBOOK_LINK.fullmatch(url)) is None:
            return super().link(text, url, title)
        if found[1] not in self.addresses:
            return text
        anchor = self.anchor + found[2] if found[2] else ""
        return super().link(text, self.addresses[found[1]] + anchor, title)

    def heading(self, text, level, **attrs):
        """With the id that JupyterLab gives it."""
        name = unescape(re.sub(r"<[^>]+>", "", text)).replace(" ", "-")
        self.seen[name] += 1
        name = name if self.seen[name] == 1 else f"{name}-{self.seen[name]}"
        return f'<h{level} id="{escape(name)}">{text}</h{level}>\n'

    def inline_math(self, body):
        return f'<span class="math">{escape(body)}</span>'

    def block_math(self, body):
        return f'<span class="math display">{escape(body)}</span>'

    def latex_environment(self, name, body):
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")

    def table(self, text):
        return f'<div class="table"><table>{text}</table></div>\n'


class Markdown:
    """What both exporters do alike."""

    addresses, anchor = {}, "#"
    optimistic_validation = True  # once, not after each of nbconvert's dozen steps

    def from_notebook_node(self, *arguments, **options):
        self.seen = Counter()
        return super().from_notebook_node(*arguments, **options)

    @pass_context
    def markdown2html(self, context, source):
        return MarkdownWithMath(renderer=Renderer(self.addresses, self.anchor, self.seen)).render(source)


class Pages(Markdown, HTMLExporter):
    pass


class Decks(Markdown, SlidesExporter):
    anchor = "#/"
