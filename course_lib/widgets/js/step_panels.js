// The four panels beside the class: source, pipe, node, terminal. Each is {node, draw(state, worker)}.

import { put, show, svg } from "./dom.js";
import { nodePanel } from "./step_node.js";
import { PANEL, PIECE, colourOf, panelTitle, piece, replicaPicture, text } from "./step_parts.js";
import { linearTicks } from "./chart.js";
import { bytesText, fill, numberText } from "./text.js";

const X = PANEL.x, WIDTH = PANEL.width;

export const panels = { source, pipe, node: nodePanel, terminal };

function source(story, labels, urls) {
  const shares = story.shards.map(([start, stop]) => stop - start), all = shares.reduce((a, b) => a + b);
  const row = Math.min(60, 244 / story.ranks), size = Math.min(36, row - 9);
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
  const parts = [panelTitle(labels.step_player_title_source), ...shelf.flatMap(each => each.nodes), text(X, 78, about), ...rows.flatMap(each => each.nodes)];
  return { node: svg("g", {}, ...parts), draw };
}

function dot(x, y, rank) {
  const mark = svg("circle", { cx: x, cy: y, r: 6 });
  mark.style.fill = colourOf(rank);
  return mark;
}

function pipe(story, labels) {
  const total = story.chunks.filter(([rank]) => rank === 0).reduce((sum, chunk) => sum + chunk[2], 0) || 1;
  const row = Math.min(30, 150 / story.ranks), left = X + 52, width = 250, buckets = story.bucketBytes;
  const bars = story.phases.map((_, rank) => {
    const y = 40 + row * rank, height = Math.min(16, row - 6);
    const back = svg("rect", { class: "course-track", x: left, y, width, height, rx: 2 });
    const front = svg("rect", { x: left, y, width: 0, height, rx: 2 });
    put(front, "fill", colourOf(rank));
    const words = text(left + width + 8, y + height - 2, "");
    return { front, words, nodes: [text(X, y + height - 2, `${rank} → ${(rank + 1) % story.ranks}`), back, front, words] };
  });
  const middle = 40 + row * story.ranks + 22, cell = 250 / story.ranks;
  const grid = buckets.map((nbytes, bucket) => {
    const y = middle + 30 + 32 * bucket;
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
      put(words, "text", bytesText(sent));
    });
    grid.forEach(({ cells }, bucket) => cells.forEach(({ front, mark, y }, rank) => {
      const received = state.buckets[rank][bucket], share = Math.max(0, received) / (2 * (story.ranks - 1));
      put(front, "height", (24 * share).toFixed(1));
      put(front, "y", (y + 24 * (1 - share)).toFixed(1));
      put(front, "fill", share === 1 ? "var(--course-mean)" : colourOf(rank));
      put(mark, "text", received < 0 ? "" : share === 1 ? "✓" : `${received}`);
    }));
  }
  const heads = story.phases.map((_, rank) =>
    text(left + cell * (rank + 0.5) - 2, middle + 22, rank, { class: "course-strong", "text-anchor": "middle" }));
  const heading = text(X, middle, fill(labels.step_player_buckets, { chunks: 2 * (story.ranks - 1) }));
  return { node: svg("g", {}, panelTitle(labels.step_player_title_pipe), heading, ...heads,
                     ...bars.flatMap(each => each.nodes), ...grid.flatMap(each => each.nodes)), draw };
}

function terminal(story, labels) {
  const columns = story.ranks > 4 ? Math.ceil(story.ranks / 2) : story.ranks, pitch = WIDTH / columns;
  const size = story.ranks > 4 ? 50 : 72, rows = Math.ceil(story.ranks / columns);
  const boards = story.phases.map((_, rank) => {
    const x = X + pitch * (rank % columns), y = 34 + (size + 30) * Math.floor(rank / columns), replica = replicaPicture(size);
    const print = text(x + size / 2, y + size + 18, "", { class: "course-print", "text-anchor": "middle" });
    replica.node.setAttribute("transform", `translate(${x} ${y})`);
    return { replica, print, nodes: [replica.node, dot(x + size + 10, y + 7, rank), text(x + size + 5, y + 28, rank, { class: "course-number" }), print] };
  });
  const verdict = text(X, 34 + rows * (size + 30) + 8, "", { class: "course-strong" });
  const top = 34 + rows * (size + 30) + 38, bottom = 312, left = X + 44;
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
  return { node: svg("g", {}, panelTitle(labels.step_player_title_terminal), ...boards.flatMap(each => each.nodes), verdict,
                     ...ticks, ...steps, text(X, top - 9, labels.step_player_loss, { class: "course-tiny" }),
                     text(X + WIDTH - 10, bottom + 30, labels.step_player_steps, { class: "course-tiny", "text-anchor": "end" }), line, ...marks), draw };
}
