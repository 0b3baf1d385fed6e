// The four panels beside the class: source, pipe, node, terminal. Each is {node, draw(state, worker)}.

import { put, show, svg } from "./dom.js";
import { bar, playhead } from "./step_lanes.js";
import { doingText } from "./step_scene.js";
import { PIECE, colourOf, piece, replicaPicture } from "./step_parts.js";
import { linearTicks } from "./chart.js";
import { bytesText, fill, numberText } from "./text.js";

const X = 520, WIDTH = 425, TOP = 20;
const text = (x, y, words, attributes = {}) => svg("text", { x, y, ...attributes }, words);
const title = words => text(X, TOP + 2, words, { class: "course-title course-strong" });

export const panels = { source, pipe, node, terminal };

function source(story, labels, urls) {
  const shares = story.shards.map(([start, stop]) => stop - start), all = shares.reduce((a, b) => a + b);
  const row = Math.min(62, 268 / story.ranks), size = Math.min(36, row - 9);
  let from = X;
  const shelf = shares.flatMap((share, rank) => {
    const width = WIDTH * share / all, box = svg("rect", { class: "course-shard", x: from, y: 34, width, height: 18 });
    const used = svg("rect", { class: "course-used", x: from, y: 54, width: 0, height: 5 });
    box.style.fill = colourOf(rank);
    from += width;
    return { nodes: [box, used], used, wide: width / share };
  });
  const rows = story.samples.map((steps, rank) => {
    const y = 100 + row * (rank + 0.5), first = X + 44;
    const slots = steps[0].map((_, place) => {
      const [x, filled] = [first + (size + 12) * place, piece(size, rank)];
      filled.place(x, y);
      const empty = svg("path", { class: "course-slot", d: PIECE, transform: `translate(${x} ${y}) scale(${size})` });
      return { filled, nodes: [empty, filled.node] };
    });
    const words = text(first + (size + 12) * steps[0].length - 4, y + 5, "");
    const name = text(X, y + 5, rank, { class: "course-number" });
    name.style.fontSize = "15px";
    return { slots, words, nodes: [name, dot(X + 18, y, rank), ...slots.flatMap(slot => slot.nodes), words] };
  });
  function draw(state) {
    rows.forEach(({ slots, words }, rank) => {
      const [lying] = state.desks[rank], step = state.doing[rank][1], samples = story.samples[rank][step];
      put(shelf[rank].used, "width", ((step * samples.length + lying.length) * shelf[rank].wide).toFixed(1));
      slots.forEach(({ filled }, place) => {
        show(filled.node, place < lying.length);
        if (place < lying.length) filled.show(urls[lying[place]]);
      });
      put(words, "text", fill(labels.step_player_samples, { first: samples[0], last: samples.at(-1) }));
    });
  }
  const about = fill(labels.step_player_shards, { samples: all.toLocaleString("en"), ranks: story.ranks, shard: shares[0] });
  const parts = [title(labels.step_player_title_source), ...shelf.flatMap(each => each.nodes), text(X, 78, about), ...rows.flatMap(each => each.nodes)];
  return { node: svg("g", {}, ...parts), draw };
}

function dot(x, y, rank) {
  const mark = svg("circle", { cx: x, cy: y, r: 6 });
  mark.style.fill = colourOf(rank);
  return mark;
}

function pipe(story, labels) {
  const total = story.chunks.filter(([rank]) => rank === 0).reduce((sum, chunk) => sum + chunk[2], 0) || 1;
  const row = Math.min(34, 176 / story.ranks), left = X + 52, width = 250, buckets = story.bucketBytes;
  const bars = story.phases.map((_, rank) => {
    const y = 40 + row * rank, height = Math.min(16, row - 6);
    const back = svg("rect", { class: "course-track", x: left, y, width, height, rx: 2 });
    const front = svg("rect", { x: left, y, width: 0, height, rx: 2 });
    put(front, "fill", colourOf(rank));
    const words = text(left + width + 8, y + height - 2, "");
    return { front, words, nodes: [text(X, y + height - 2, `${rank} → ${(rank + 1) % story.ranks}`), back, front, words] };
  });
  const middle = 40 + row * story.ranks + 26, cell = 250 / story.ranks;
  const grid = buckets.map((nbytes, bucket) => {
    const y = middle + 16 + 36 * bucket;
    const cells = story.phases.map((_, rank) => {
      const back = svg("rect", { class: "course-slot", x: left + cell * rank, y, width: cell - 4, height: 24, rx: 3 });
      const front = svg("rect", { x: left + cell * rank, y, width: cell - 4, height: 24, rx: 3 });
      put(front, "fill", colourOf(rank));
      const mark = text(left + cell * (rank + 0.5) - 2, y + 17, "", { class: "course-halo course-strong", "text-anchor": "middle" });
      return { back, front, mark, y };
    });
    const name = text(X, y + 17, `${bucket + 1}`, { class: "course-number" });
    return { cells, nodes: [name, ...cells.flatMap(({ back, front, mark }) => [back, front, mark]),
                            text(left + 258, y + 17, bytesText(nbytes))] };
  });
  function draw(state) {
    bars.forEach(({ front, words }, rank) => {
      const sent = state.links[rank][0] + state.links[rank][1];
      put(front, "width", (width * Math.min(1, sent / total)).toFixed(1));
      put(words, "text", fill(labels.step_player_of, { sent: bytesText(sent), total: bytesText(total) }));
    });
    grid.forEach(({ cells }, bucket) => cells.forEach(({ front, mark, y }, rank) => {
      const received = state.buckets[rank][bucket], share = Math.max(0, received) / (2 * (story.ranks - 1));
      put(front, "height", (24 * share).toFixed(1));
      put(front, "y", (y + 24 * (1 - share)).toFixed(1));
      put(front, "fill", share === 1 ? "var(--course-mean)" : colourOf(rank));
      put(mark, "text", received < 0 ? "" : share === 1 ? "✓" : `${received}`);
    }));
  }
  const heading = text(X, middle, fill(labels.step_player_buckets, { chunks: 2 * (story.ranks - 1) }));
  return { node: svg("g", {}, title(labels.step_player_title_pipe), heading,
                     ...bars.flatMap(each => each.nodes), ...grid.flatMap(each => each.nodes)), draw };
}

function node(story, labels) {
  const layers = story.bucketBytes.length, wide = 104, pitch = (WIDTH - wide) / (layers - 1), whole = 2 * (story.ranks - 1);
  const heading = title("");
  const blocks = story.bucketBytes.map((_, layer) => {
    const x = X + pitch * layer, bucket = layers - 1 - layer;
    const box = svg("rect", { x, y: 40, width: wide, height: 46, rx: 8 });
    const glow = svg("rect", { class: "course-glow", x, y: 40, width: 0, height: 46, rx: 8 });
    const pail = svg("path", { class: "course-pail", d: `M${x + 22} 122h60l-6 38h-48z` });
    const level = svg("path", { class: "course-level" });
    const words = text(x + wide / 2, 178, "", { "text-anchor": "middle" });
    const drop = svg("path", { class: "course-flow", d: `M${x + wide / 2} 90v26m-5-7l5 7l5-7` });
    const names = [text(x + wide / 2, 68, fill(labels.step_player_layer, { layer: layer + 1 }), { "text-anchor": "middle" }),
                   text(x + wide / 2, 150, bucket + 1, { class: "course-number course-halo", "text-anchor": "middle" })];
    return { x, box, glow, level, words, drop, bucket, nodes: [box, glow, drop, pail, level, ...names, words] };
  });
  const arrows = blocks.slice(1).map(({ x }) => svg("path", { class: "course-flow", d: "" }));
  const lanes = svg("g", {}), head = playhead(0, 0), left = X + 62, width = WIDTH - 70;
  let shown;

  // The lanes of one step of one rank: its work above, its buckets' all-reduces below.
  function lay(worker, step) {
    if (shown === `${worker} ${step}`) return;
    shown = `${worker} ${step}`;
    const phases = story.phases[worker].filter(phase => phase[1] === step), begin = phases[0][3];
    const across = time => left + width * (time - begin) / (phases.at(-1)[4] - begin), y = 214;
    const rings = story.ready[worker][step].map((ready, bucket, all) => {
      const start = Math.max(ready, bucket ? story.reduced[worker][step][bucket - 1] : ready);
      const [from, to] = [across(start), across(story.reduced[worker][step][bucket])], top = y + 30 + 30 * bucket;
      return [svg("path", { class: "course-ready", d: `M${across(ready)} ${top - 2}v26` }),
              svg("rect", { class: "course-ringing", x: from, y: top + 2, width: Math.max(1, to - from), height: 18, rx: 3 }),
              text(X, top + 16, fill(labels.step_player_bucket, { bucket: bucket + 1 }))];
    });
    const gate = across(story.gates[step][0]);
    lanes.replaceChildren(text(X, y + 14, labels.step_player_work),
      ...phases.map(phase => bar(phase, across, y, 20)), ...rings.flat(),
      svg("path", { class: "course-gate", d: `M${gate} ${y - 6}v126` }),
      text(Math.min(gate, X + WIDTH - 60), y + 136, labels.step_player_gate, { class: "course-tiny", "text-anchor": "middle" }));
    lanes.across = across;
  }

  function draw(state, worker) {
    const [kind, step, part, share] = state.doing[worker];
    const doing = doingText(labels, kind, part, state.late[worker]);
    put(heading, "text", fill(labels.step_player_title_node, { rank: worker, doing }));
    lay(worker, step);
    const x = lanes.across(state.time).toFixed(1);
    put(head, "d", `M${x} 206V334`);
    const reach = kind === "forward" ? share * layers : 0;
    blocks.forEach(({ x, box, glow, level, words, drop, bucket }, layer) => {
      const here = kind === "forward" ? Math.min(1, Math.max(0, reach - layer)) : kind === "backward" && part === layer ? share : 0;
      put(box, "class", `course-layer${kind === "update" ? " course-layer-update" : ""}`);
      put(glow, "width", (104 * here).toFixed(1));
      put(glow, "x", kind === "backward" ? (x + 104 * (1 - here)).toFixed(1) : x);
      put(glow, "fill", colourOf(worker));
      const received = state.buckets[worker][bucket], filling = received < 0 ? here * (kind === "backward") : 1;
      const depth = 34 * filling, slant = 6 * (1 - depth / 38);
      put(level, "d", `M${x + 28} 160h48l${6 - slant} ${-depth}h${-60 + 2 * slant}z`);
      put(level, "fill", received === whole ? "var(--course-mean)" : colourOf(worker));
      show(level, filling);
      put(drop, "opacity", kind === "backward" && part === layer ? 1 : 0.2);
      put(words, "text", bucketText(labels, received, whole));
    });
    arrows.forEach((arrow, index) => {
      const from = X + pitch * index + wide + 6, to = X + pitch * (index + 1) - 6, back = kind === "backward";
      put(arrow, "d", back ? `M${to} 63H${from}m7-5l-7 5l7 5` : `M${from} 63H${to}m-7-5l7 5l-7 5`);
      put(arrow, "opacity", kind === "forward" || back ? 1 : 0.25);
    });
  }
  return { node: svg("g", {}, heading, ...blocks.flatMap(each => each.nodes), ...arrows, lanes, head), draw };
}

function bucketText(labels, received, whole) {
  if (received < 0) return labels.step_player_empty;
  if (received === whole) return labels.step_player_mean;
  return received ? fill(labels.step_player_chunks, { received, whole }) : labels.step_player_ready;
}

function terminal(story, labels) {
  const columns = story.ranks > 4 ? Math.ceil(story.ranks / 2) : story.ranks, pitch = WIDTH / columns;
  const size = story.ranks > 4 ? 50 : 72, rows = Math.ceil(story.ranks / columns);
  const boards = story.phases.map((_, rank) => {
    const x = X + pitch * (rank % columns), y = 40 + (size + 34) * Math.floor(rank / columns), replica = replicaPicture(size);
    const print = text(x + size / 2, y + size + 18, "", { class: "course-print", "text-anchor": "middle" });
    replica.node.setAttribute("transform", `translate(${x} ${y})`);
    return { replica, print, nodes: [replica.node, dot(x + size + 10, y + 7, rank), text(x + size + 5, y + 28, rank, { class: "course-number" }), print] };
  });
  const verdict = text(X, 40 + rows * (size + 34) + 8, "", { class: "course-strong" });
  const top = 40 + rows * (size + 34) + 40, bottom = 334, left = X + 44;
  const low = Math.min(...story.losses), high = Math.max(...story.losses), pad = 0.15 * (high - low) || 0.1;
  const up = loss => bottom - (bottom - top) * (loss - low + pad) / (high - low + 2 * pad);
  const along = step => left + (WIDTH - 64) * step / story.steps;
  const ticks = linearTicks(low - pad, high + pad, 3).filter(tick => tick >= low - pad && tick <= high + pad).flatMap(tick => [
    svg("line", { class: "course-grid", x1: left, x2: X + WIDTH - 10, y1: up(tick), y2: up(tick) }),
    text(left - 6, up(tick) + 4, numberText(tick), { class: "course-tiny", "text-anchor": "end" }),
  ]);
  const steps = Array.from({ length: story.steps + 1 }, (_, step) => text(along(step), bottom + 16, step, { class: "course-tiny", "text-anchor": "middle" }));
  const line = svg("path", { class: "course-line course-loss" });
  const marks = story.losses.map((loss, step) => svg("circle", { class: "course-mark", cx: along(step), cy: up(loss), r: 4.5 }));
  function draw(state) {
    boards.forEach(({ replica, print }, rank) => {
      replica.show(state.fingerprints[rank]);
      put(print, "text", state.fingerprints[rank].slice(0, story.ranks > 4 ? 6 : 8));
    });
    const different = new Set(state.fingerprints).size, updated = state.fingerprints.filter((print, rank) =>
      print === story.fingerprints[rank][state.losses.length]).length;
    put(verdict, "text", fill(different === 1 ? labels.step_player_all_equal : labels.step_player_updated, { ranks: story.ranks, updated }));
    put(line, "d", `M${state.losses.map((loss, step) => `${along(step)} ${up(loss)}`).join("L")}`);
    marks.forEach((mark, step) => show(mark, step < state.losses.length));
  }
  return { node: svg("g", {}, title(labels.step_player_title_terminal), ...boards.flatMap(each => each.nodes), verdict,
                     ...ticks, ...steps, text(X, top - 9, labels.step_player_loss, { class: "course-tiny" }),
                     text(X + WIDTH - 10, bottom + 30, labels.step_player_steps, { class: "course-tiny", "text-anchor": "end" }), line, ...marks), draw };
}
