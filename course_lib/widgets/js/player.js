// Play, pause, step, scrub, speed: for any show that can draw itself at a frame.

import { html, root, say } from "./dom.js";
import { assign, button, disable } from "./controls.js";
import { fill } from "./text.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4], MOST_COSTS = 2000;

// draw(frame, time): time in seconds of the run, between this frame's and the next one's while playing.
// textOf(frame, moving): a frame in words; while it moves, without what changes between frames. below: a node under the player's row. Nothing moves while it cannot be seen.
// Returns how to end it; el.frameCosts holds the milliseconds of script that the last frames took.
export function player({ model, el, stage, draw, textOf = frame => model.get("texts")[frame], below = "" }) {
  const labels = model.get("labels");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let times, pace, last, before, handle, ours = false, seen = true;
  reread();
  let position = pace[model.get("frame")];
  el.frameCosts = [];

  function reread() {
    [times, pace] = [model.get("times"), model.get("pace")];
    last = times.length - 1;
  }

  const go = frame => assign(model, { frame: Math.min(last, Math.max(0, frame)), playing: false });
  const step = by => go(model.get("frame") + by);
  const first = button("|◀", () => go(0), labels.player_first);
  const back = button("◀", () => step(-1), labels.player_back);
  const play = button("", toggle);
  const next = button("▶|", () => step(1), labels.player_next);
  const scrub = html("input", {
    type: "range", min: 0, max: last, step: 1, "aria-label": labels.player_scrub,
    oninput: () => go(Number(scrub.value)),
  });
  const count = html("span", { "aria-hidden": "true" });
  const speed = html("select", { onchange: () => assign(model, { speed: Number(speed.value) }) },
                     ...SPEEDS.map(value => html("option", { value }, `${value}×`)));
  const status = html("p", { class: "course-result", role: "status" });

  function toggle() {
    if (model.get("playing")) return assign(model, { playing: false });
    const frame = model.get("frame") === last ? 0 : model.get("frame");
    assign(model, { frame, playing: true });
  }

  function frameAt(place) {
    let frame = 0;
    while (frame < last && pace[frame + 1] <= place) frame++;
    return frame;
  }

  function timeAt(frame) {
    if (frame === last || calm.matches) return times[frame];
    const part = (position - pace[frame]) / (pace[frame + 1] - pace[frame]);
    return times[frame] + Math.min(1, Math.max(0, part)) * (times[frame + 1] - times[frame]);
  }

  function tick(now) {
    if (!el.isConnected || !model.get("playing") || !seen) return;
    const begun = performance.now();
    position += (now - (before ?? now)) / 1000 * model.get("speed");
    before = now;
    const frame = frameAt(position);
    if (frame !== model.get("frame")) {
      ours = true;
      assign(model, { frame, playing: frame < last });
      ours = false;
    } else if (!calm.matches) {
      draw(frame, timeAt(frame));
    }
    if (el.frameCosts.push(performance.now() - begun) > MOST_COSTS) el.frameCosts.shift();
    if (model.get("playing")) handle = requestAnimationFrame(tick);
  }

  function start() {
    cancelAnimationFrame(handle);
    before = undefined;
    handle = requestAnimationFrame(tick);
  }

  // Out of sight it stands still, and goes on from there; a hidden tab gets no animation frames anyway.
  const sight = new IntersectionObserver(entries => {
    seen = entries.at(-1).isIntersecting;
    if (seen && model.get("playing")) start();
  });
  const onShow = () => { before = undefined; };

  function update() {
    reread();
    const frame = Math.min(last, model.get("frame")), playing = model.get("playing");
    if (!ours) position = pace[frame];
    if (playing && !ours) start();
    scrub.max = last;
    say(play, playing ? `❚❚ ${labels.player_pause}` : `▶ ${labels.player_play}`);
    scrub.value = frame;
    const words = textOf(frame, playing);
    scrub.setAttribute("aria-valuetext", words);
    speed.value = model.get("speed");
    [first, back].forEach(node => disable(node, frame === 0));
    disable(next, frame === last);
    say(count, fill(labels.player_count, { frame, last }));
    status.setAttribute("aria-live", playing ? "off" : "polite"); // while playing, a voice could not keep up
    say(status, words);
    draw(frame, playing ? timeAt(frame) : times[frame]);
  }

  root(el, stage,
    html("div", { class: "course-player" }, first, back, play, next,
         html("div", { class: "course-scrub" }, scrub, count),
         html("label", {}, labels.player_speed, speed)),
    status, below);
  model.on("change", update);
  document.addEventListener("visibilitychange", onShow);
  sight.observe(el);
  update();
  return () => {
    model.off("change", update);
    document.removeEventListener("visibilitychange", onShow);
    sight.disconnect();
    cancelAnimationFrame(handle);
  };
}
