"""What is looked at before a lecture: a function a thing, which returns what is fine or raises Trouble."""


class Trouble(Exception):
    """What would embarrass, and the way out."""


class Remark(Trouble):
    """What should be known, and need not be mended."""
