// JupyterLab shows a figure without the alternative text of its output's metadata; this puts it into the page.
// Small enough to be written by hand as what a bundler makes of an extension: a container with one module.

(window._JUPYTERLAB ??= {})["sync-sgd-course"] = (() => {
  let shared;

  // The same module that JupyterLab itself uses: a token is known by its identity.
  async function rendermime() {
    const [{ get }] = Object.values(shared["@jupyterlab/rendermime"]);
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

  async function plugin() {
    const { IRenderMimeRegistry } = await rendermime();
    return {
      id: "sync-sgd-course:alt",
      description: "Gives images the alternative text of their output's metadata.",
      autoStart: true,
      requires: [IRenderMimeRegistry],
      activate: (app, registry) => registry.addFactory(withAlt(registry.getFactory("image/png"))),
    };
  }

  return {
    init: scope => { shared = scope; },
    get: async () => {
      const made = await plugin();
      return () => made;
    },
  };
})();
