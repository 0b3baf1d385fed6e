"""Links between ranks, and the ports behind them."""

from collections.abc import Mapping

from course_lib import arguments
from course_lib.link import Link


class Network:
    """Links, and until when each rank's ports are taken."""

    def __init__(self, ranks, link, links):
        self.link = _checked_link("link", link)
        self.links = {} if links is None else _checked_links(links, ranks)
        self.send_free = [0.0] * ranks
        self.recv_free = [0.0] * ranks


def _checked_link(name, link):
    if not isinstance(link, Link):
        raise TypeError(f"{name} must be a Link(latency, bandwidth); got {link!r}")
    return link


def _checked_links(links, ranks):
    """`links` as a dict of pairs of ranks, or an error that names what is wrong."""
    if not isinstance(links, Mapping):
        raise TypeError(f"links must be a dict of (source, target): Link; got {links!r}")
    checked = {}
    for pair, link in links.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"links must have keys (source, target); got {pair!r}")
        source, target = (arguments.whole_number("links: rank", rank, 0, ranks - 1) for rank in pair)
        if source == target:
            raise ValueError(f"links must join two ranks; got {pair!r}")
        checked[source, target] = _checked_link(f"links[{pair}]", link)
    return checked
