// What JupyterLab lacks: it shows a figure without the alternative text of its output's metadata, and knows no widget
// of a saved notebook any more. Small enough to be written by hand as what a bundler makes of an extension: a container
// with one module.

(window._JUPYTERLAB ??= {})["sync-sgd-course"] = (() => {
  const VIEW = "application/vnd.jupyter.widget-view+json";
  let shared;

  // The same module that JupyterLab itself uses: a token is known by its identity.
  async function module(name) {
    const [{ get }] = Object.values(shared[name]);
    return (await get())();
  }

  function withAlt(factory) {
    function createRenderer(options) {
      const renderer = factory.createRenderer(options), render = renderer.renderModel.bind(renderer);
      renderer.renderModel = async model => {
        await render(model);
        const alt = model.metadata[options.mimeType]?.alt, image = renderer.node.querySelector("img");
        if (alt && image) image.alt = alt;
      };
      return renderer;
    }
    return { ...factory, createRenderer };
  }

  // A saved widget is its picture and its words (course_lib/saving.py); where its kernel still runs, it moves again.
  async function revive({ context, content }) {
    await context.ready;
    await context.sessionContext.ready;
    const known = await context.sessionContext.session?.kernel?.requestCommInfo({ target_name: "jupyter.widget" });
    for (const { outputs } of known ? content.model.cells : []) {
      for (let place = 0; place < (outputs?.length ?? 0); place++) {
        const output = outputs.get(place).toJSON(), view = output.metadata?.[VIEW];
        if (view?.model_id in known.content.comms) {
          outputs.set(place, { ...output, data: { ...output.data, [VIEW]: view } });
        }
      }
    }
  }

  async function plugins() {
    const { IRenderMimeRegistry } = await module("@jupyterlab/rendermime");
    const { INotebookTracker } = await module("@jupyterlab/notebook");
    return [{
      id: "sync-sgd-course:alt",
      description: "Gives images the alternative text of their output's metadata.",
      autoStart: true,
      requires: [IRenderMimeRegistry],
      activate: (app, registry) => registry.addFactory(withAlt(registry.getFactory("image/png"))),
    }, {
      id: "sync-sgd-course:revive",
      description: "Shows a widget that its kernel still knows, after the page was loaded anew.",
      autoStart: true,
      requires: [INotebookTracker],
      activate: (app, notebooks) => notebooks.widgetAdded.connect((_, panel) => revive(panel)),
    }];
  }

  return {
    init: scope => { shared = scope; },
    get: async () => {
      const made = await plugins();
      return () => made;
    },
  };
})();
