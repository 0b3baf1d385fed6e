"""What is not saved with a notebook: what nobody typed, and what shows nothing without its kernel.

`make lab` has Jupyter's server call `before_saving`. So a chapter that was only opened stays as it was built,
byte by byte, and where no kernel knows a widget any more, its picture or words stand in its place.
"""

# Without versions: an upgrade of Python must not change twelve files.
LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
    "codemirror_mode": {"name": "ipython"},
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def before_saving(model, **_):
    """A `pre_save_hook` of Jupyter's contents manager."""
    if model["type"] != "notebook":
        return
    notebook = model["content"]
    notebook["metadata"].pop("widgets", None)  # the state of views that are left out
    if notebook["metadata"].get("language_info", {}).get("name") == LANGUAGE["name"]:
        notebook["metadata"]["language_info"] = LANGUAGE
    for cell in notebook["cells"]:
        about = cell["metadata"]
        if about.get("collapsed") == about.get("jupyter", {}).get("outputs_hidden"):
            about.pop("collapsed", None)  # JupyterLab says it twice
        for output in cell.get("outputs", []):
            if view := pop_view(output):  # aside, for labextensions/ where the kernel still runs
                output.setdefault("metadata", {})[WIDGET_VIEW] = view


def pop_view(output):
    """A view without its kernel is an error message in some readers; the widget's picture and text stay."""
    return output.get("data", {}).pop(WIDGET_VIEW, None)
