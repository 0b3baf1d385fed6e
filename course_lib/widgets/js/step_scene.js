// The class: desks in a ring, the data set in the middle, chunks on the links.

import { put, show, svg } from "./dom.js";
import { ON_DESK, PIECE, colourOf, desk, piece, placeOnDesk } from "./step_parts.js";
import { bytesText, fill } from "./text.js";

const X = 253, WIDE = 186; // the middle of the ring of desks, and how far they are from it
const SEAT = { left: -50, right: 50, top: -46, bottom: 55 }; // what a desk takes, its student and words included
const PILES = 0.4; // of the way from the middle to a desk
const COMING = 17; // the side of a piece on its way

export function scene(story, labels, urls, choose) {
  const ranks = Array.from({ length: story.ranks }, (_, rank) => rank);
  const angle = rank => 2 * Math.PI * rank / story.ranks - Math.PI / 2;
  const zoom = story.ranks <= 4 ? 1.08 : story.ranks <= 6 ? 1 : 0.88;
  const middleY = 174 - 4.5 * zoom, high = 171 - 47.5 * zoom; // the highest and the lowest desk just fit
  const at = (turn, far = 1) => [X + far * WIDE * Math.cos(turn), middleY + far * high * Math.sin(turn)];
  const ends = ranks.map(rank => [leaving(rank, 1), leaving((rank + 1) % story.ranks, -1)]);
  const onLink = (rank, share) => {
    const [after, before] = ends[rank], from = angle(rank) + after;
    return at(from + (2 * Math.PI / story.ranks - after - before) * share);
  };

  // A piece between its pile and its place on the desk: x, y, scale.
  function onItsWay(rank, place, share) {
    const [x, y] = at(angle(rank), PILES), [dx, dy] = at(angle(rank)), [px, py] = placeOnDesk(place);
    const mix = (from, to) => from + (to - from) * share;
    return [mix(x, dx + zoom * px), mix(y, dy + zoom * py), mix(story.ranks > 6 ? 0.9 : 1.4, zoom * ON_DESK / COMING)];
  }

  // How far round one is out of a desk's place; where they are close, halfway leaves a link of some length.
  function leaving(rank, way) {
    const [x, y] = at(angle(rank)), most = 0.82 * Math.PI / story.ranks;
    for (let turn = 0.1; turn < most; turn += 0.02) {
      const [dx, dy] = at(angle(rank) + way * turn).map((place, axis) => (place - [x, y][axis]) / zoom);
      if (dx < SEAT.left || dx > SEAT.right || dy < SEAT.top || dy > SEAT.bottom) return turn;
    }
    return most;
  }

  const pieces = story.samples[0][0].length, large = story.ranks > 6 ? 1 : 1.25;

  const links = ranks.map(rank => {
    const points = Array.from({ length: 25 }, (_, step) => onLink(rank, step / 24).map(x => x.toFixed(1)).join(" "));
    const line = svg("path", { class: "course-wire", d: `M${points.join("L")}` });
    const [x, y] = onLink(rank, 1), [x0, y0] = onLink(rank, 0.9);
    const turn = Math.atan2(y - y0, x - x0) * 180 / Math.PI;
    const arrow = svg("path", { class: "course-wire-head", d: "M-7-5L2 0L-7 5Z",
                                transform: `translate(${x} ${y}) rotate(${turn})` });
    const [tx, ty] = at(angle(rank) + Math.PI / story.ranks, story.ranks > 6 ? 0.54 : story.ranks > 4 ? 0.66 : 0.74);
    const count = svg("text", { class: "course-count", x: tx, y: ty + 4, "text-anchor": "middle" });
    return { node: svg("g", {}, line, arrow), count, line, arrow };
  });
  const seats = ranks.map(rank => {
    const [x, y] = at(angle(rank)), seat = desk(rank, pieces);
    seat.node.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${zoom})`);
    seat.node.addEventListener("click", () => choose(rank));
    return seat;
  });
  const piles = ranks.map(rank => {
    const [x, y] = at(angle(rank), PILES), [start, stop] = story.shards[rank];
    const stack = [2, 1, 0].map(depth => {
      const shape = svg("path", { class: "course-piece", d: PIECE,
                                  transform: `translate(${x + 2 * depth} ${y - 3 * depth}) scale(15)` });
      shape.style.fill = colourOf(rank);
      return shape;
    });
    const count = svg("text", { class: "course-count", x, y: y + 25, "text-anchor": "middle" }, stop - start);
    return svg("g", {}, ...stack, count);
  });
  const coming = ranks.map(rank => piece(COMING, rank));
  const tokens = Array.from({ length: mostAtOnce(story.chunks) }, token);
  const big = svg("text", { class: "course-big", x: X, y: middleY + 2, "text-anchor": "middle" });
  const small = svg("text", { class: "course-small", x: X, y: middleY + 22, "text-anchor": "middle" });
  const node = svg("g", {},
    ...links.map(link => link.node), svg("g", { class: "course-piles" }, ...piles),
    ...seats.map(seat => seat.node), ...coming.map(each => each.node),
    ...tokens.map(each => each.node), svg("g", { class: "course-counts" }, ...links.map(link => link.count)), big, small);

  function draw(state, mode, worker) {
    ranks.forEach(rank => drawSeat(rank, state, mode, worker));
    const busy = new Set(state.flying.map(([number]) => story.chunks[number][0]));
    links.forEach(({ line, arrow, count }, rank) => {
      put(line, "class", busy.has(rank) ? "course-wire course-wire-busy" : "course-wire");
      put(arrow, "class", busy.has(rank) ? "course-wire-head course-wire-head-busy" : "course-wire-head");
      const [arrived, onWay] = state.links[rank];
      if (mode === "pipe") put(count, "text", bytesText(arrived + onWay));
    });
    tokens.forEach((each, index) => drawToken(each, state.flying[index], mode));
    const [first, second] = middle(state, mode);
    put(big, "text", first);
    put(small, "text", second);
  }

  function drawSeat(rank, state, mode, worker) {
    const [kind, step, part, share] = state.doing[rank], seat = seats[rank], late = state.late[rank];
    const chosen = mode === "node" && rank === worker ? " course-seat-chosen" : "";
    put(seat.node, "class", `course-seat course-seat-${kind}${chosen}`);
    show(seat.arm, kind === "wait");
    put(seat.bar, "width", (84 * (kind === "wait" ? 0 : share)).toFixed(1));
    put(seat.words, "text", shortText(labels, kind, part, late));
    seat.replica.show(state.fingerprints[rank]);
    const [lying, flies] = state.desks[rank];
    seat.places.forEach((each, place) => {
      const there = place < lying.length;
      show(each.node, there);
      if (there) each.show(urls[lying[place]]);
    });
    const seen = flies >= 0 && mode === "source";
    show(coming[rank].node, seen);
    if (seen) {
      coming[rank].show(urls[flies]);
      coming[rank].place(...onItsWay(rank, lying.length, ease(share)));
    }
  }

  function drawToken(each, flight, mode) {
    show(each.node, flight);
    if (!flight) return;
    const [number, share] = flight, [source, , , , , , bucket] = story.chunks[number];
    const [x, y] = onLink(source, share);
    const scale = mode === "pipe" ? large : 0.6;
    put(each.node, "transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale})`);
    put(each.shape, "stroke", colourOf(source));
    put(each.text, "text", bucket + 1);
  }

  function middle(state, mode) {
    const sent = state.links.reduce((sum, [arrived, onWay]) => sum + arrived + onWay, 0);
    if (mode === "pipe") return [bytesText(sent), labels.step_player_sent];
    const prints = new Set(state.fingerprints);
    const equal = prints.size === 1;
    if (mode === "terminal") return equal ? ["=", labels.step_player_equal] : ["≠", labels.step_player_unequal];
    return ["", ""];
  }

  return { node, draw };
}

// How many chunks are under way at the busiest moment: those for a late rank pile up.
function mostAtOnce(chunks) {
  const edges = chunks.flatMap(([, , , start, stop]) => [[start, 1], [stop, -1]]);
  let now = 0, most = 0;
  for (const [, change] of edges.sort((a, b) => a[0] - b[0] || b[1] - a[1])) most = Math.max(most, now += change);
  return most;
}

const ease = share => share * share * (3 - 2 * share);

function token() {
  const shape = svg("rect", { class: "course-chunk", x: -10, y: -9, width: 20, height: 18, rx: 5 });
  const text = svg("text", { class: "course-chunk-text", y: 4.5, "text-anchor": "middle" });
  return { node: svg("g", {}, shape, text), shape, text };
}

// A phase in two words; whom a waiting rank waits for, where that is known.
function shortText(labels, kind, part, late) {
  const key = kind === "wait" && late.length ? "wait_for" : kind;
  return fill(labels[`step_player_short_${key}`], { ranks: listed(late, 2), layer: part + 1 });
}

export function doingText(labels, kind, part, late) {
  const key = kind === "wait" && late.length ? "wait_for" : kind;
  return fill(labels[`step_player_${key}`], { ranks: listed(late), layer: part + 1 });
}

export const listed = (ranks, most = 3) => ranks.slice(0, most).join(", ") + (ranks.length > most ? ", …" : "");
