// As much of a page as a widget's render needs, for Node: what is drawn can be read, nothing is shown.
class FakeNode {
  constructor(tag) {
    Object.assign(this, { tag, children: [], attributes: {}, style: {}, listeners: {}, textContent: "" });
    this.classList = { add: () => {} };
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  getAttribute(name) { return this.attributes[name] ?? null; }
  append(...nodes) { this.children.push(...nodes); }
  replaceChildren(...nodes) { this.children = nodes; }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  setCustomValidity(text) { this.validity = text; }
  reportValidity() {}
  getContext() { return { fillRect() {} }; }
  toDataURL() { return "data:"; }
  * all() {
    yield this;
    for (const child of this.children) if (child instanceof FakeNode) yield* child.all();
  }
  // Attributes and texts that a mistake has left: they have NaN, undefined, null or Infinity in them.
  wrong() {
    const bad = text => /NaN|undefined|null|Infinity/.test(text);
    return [...this.all()].flatMap(node => [...Object.values(node.attributes), node.textContent].map(String)).filter(bad);
  }
}

globalThis.document = {
  createElement: tag => new FakeNode(tag), createElementNS: (_, tag) => new FakeNode(tag),
  addEventListener() {}, removeEventListener() {}, activeElement: null,
};
globalThis.window = { matchMedia: () => ({ matches: false }) };
globalThis.SVGElement = FakeNode;
globalThis.requestAnimationFrame = () => 0;
globalThis.cancelAnimationFrame = () => {};
globalThis.IntersectionObserver = class { observe() {} disconnect() {} };

function fakeModel(values) {
  const listeners = [];
  return {
    get: name => values[name],
    set(changes) {
      Object.assign(values, changes);
      listeners.forEach(([names, listener]) => {
        const told = names === "change" || Object.keys(changes).some(name => names === `change:${name}`);
        if (told) listener();
      });
    },
    save_changes() {},
    on(names, listener) { listeners.push([names, listener]); },
    off() {},
  };
}
