// Play, pause, step, scrub, speed: for any show that can draw itself at a frame.

import { html, root, say } from "./dom.js";
import { assign, button } from "./controls.js";
import { fill } from "./text.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4];

// draw(frame, time): time in seconds of the run, between this frame's and the next one's while playing.
export function player({ model, el, stage, draw }) {
  const labels = model.get("labels"), times = model.get("times"), pace = model.get("pace");
  const texts = model.get("texts"), last = times.length - 1;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let position = pace[model.get("frame")], before, handle, ours = false;

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
    if (!el.isConnected || !model.get("playing")) return;
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
    if (model.get("playing")) handle = requestAnimationFrame(tick);
  }

  function update() {
    const frame = model.get("frame"), playing = model.get("playing");
    if (!ours) position = pace[frame];
    if (playing && !ours) {
      cancelAnimationFrame(handle);
      before = undefined;
      handle = requestAnimationFrame(tick);
    }
    say(play, playing ? `❚❚ ${labels.player_pause}` : `▶ ${labels.player_play}`);
    scrub.value = frame;
    scrub.setAttribute("aria-valuetext", texts[frame]);
    speed.value = model.get("speed");
    first.disabled = back.disabled = frame === 0;
    next.disabled = frame === last;
    say(count, fill(labels.player_count, { frame, last }));
    status.setAttribute("aria-live", playing ? "off" : "polite"); // while playing, a voice could not keep up
    say(status, texts[frame]);
    draw(frame, playing ? timeAt(frame) : times[frame]);
  }

  root(el, stage,
    html("div", { class: "course-player" }, first, back, play, next,
         html("div", { class: "course-scrub" }, scrub, count),
         html("label", {}, labels.player_speed, speed)),
    status);
  model.on("change", update);
  update();
  return () => {
    model.off("change", update);
    cancelAnimationFrame(handle);
  };
}
