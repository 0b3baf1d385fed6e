// The pieces of the puzzle class: jigsaw pieces, students, and the picture that a replica's fingerprint makes.

import { put, svg } from "./dom.js";

export const colourOf = rank => `var(--course-rank-${rank % 8})`;

// Where the panel beside the class is, and its texts.
export const PANEL = { x: 520, width: 425 };
export const text = (x, y, words, attributes = {}) => svg("text", { x, y, ...attributes }, words);
export const panelTitle = words => text(PANEL.x, 22, words, { class: "course-title course-strong" });

// A jigsaw piece of side 1 around (0, 0): a knob at the right and at the top, a hollow at the left and below.
export const PIECE = "M-.5-.5H-.13C-.2-.62-.16-.74 0-.74S.2-.62.13-.5H.5V-.13C.62-.2.74-.16.74 0S.62.2.5.13V.5"
  + "H.13C.2.38.16.26 0 .26S-.2.38-.13.5H-.5V.13C-.38.2-.26.16-.26 0S-.38-.2-.5-.13Z";

// A piece with a digit on it, of side `size`; `place` moves it, scaled by `scale`.
export function piece(size, rank) {
  const shape = svg("path", { class: "course-piece", d: PIECE, transform: `scale(${size})` });
  shape.style.fill = colourOf(rank);
  const picture = svg("image", { x: -0.36 * size, y: -0.36 * size, width: 0.72 * size, height: 0.72 * size });
  const node = svg("g", {}, shape, picture);
  return {
    node,
    show(url) {
      put(picture, "href", url);
    },
    place(x, y, scale = 1) {
      put(node, "transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale})`);
    },
  };
}

// Addresses of the story's digits, drawn once: 64 hexadecimal pixels, 0 paper to f ink.
export function digitPictures(images) {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), zoom = 6;
  canvas.width = canvas.height = 8 * zoom;
  return Object.fromEntries(Object.entries(images).map(([sample, pixels]) => {
    [...pixels].forEach((pixel, place) => {
      const grey = 255 - 15 * parseInt(pixel, 16);
      context.fillStyle = `rgb(${grey} ${grey} ${grey})`;
      context.fillRect(place % 8 * zoom, Math.floor(place / 8) * zoom, zoom, zoom);
    });
    return [sample, canvas.toDataURL()];
  }));
}

// The replica as a picture of 5 x 5 fields, alike left and right: equal pictures are equal fingerprints.
export function replicaPicture(size) {
  const field = size / 5;
  const back = svg("rect", { class: "course-replica", width: size, height: size, rx: size / 10 });
  const pale = svg("path", { opacity: 0.4 }), full = svg("path", {}), node = svg("g", {}, back, pale, full);
  let shown;
  function show(print) {
    if (print === shown) return;
    shown = print;
    [pale, full].forEach((shape, index) => {
      const fields = cellsOf(print).filter(([, , shade]) => shade === index + 1);
      shape.setAttribute("d", fields.map(([column, row]) =>
        `M${column * field} ${row * field}h${field}v${field}h${-field}z`).join(""));
      shape.style.fill = `hsl(${hueOf(print)} 62% 45%)`;
    });
  }
  return { node, show };
}

export const hueOf = print => parseInt(print.slice(0, 4), 16) % 360;

// [column, row, shade] of the fields, by the first fifteen digits: 0 to 4 leave white, 5 to 9 pale (1), a to f full (2).
export function cellsOf(print) {
  return [...print].slice(0, 15).flatMap((digit, place) => {
    const row = Math.floor(place / 3), column = place % 3, shade = Math.floor(parseInt(digit, 16) / 5);
    const field = [column, row, Math.min(2, shade)];
    return column < 2 ? [field, [4 - column, ...field.slice(1)]] : [field];
  });
}

// Where a piece lies on a desk, seen from the desk's place, and its side there.
export const placeOnDesk = place => [18 + 15 * (place % 2), 3 + 15 * Math.floor(place / 2)];
export const ON_DESK = 12.5;

// A student behind a desk, which has its replica, its pieces and its number on it.
export function desk(rank, pieces) {
  const colour = colourOf(rank);
  const arm = svg("path", { class: "course-arm", d: "M13-16C18-20 20-28 20-37" });
  const body = svg("path", { d: "M-19-6C-19-24-9-25 0-25S19-24 19-6Z" });
  const head = svg("circle", { cx: 0, cy: -33, r: 9.5 });
  arm.style.stroke = body.style.fill = head.style.fill = colour;
  const top = svg("rect", { class: "course-desk", x: -42, y: -8, width: 84, height: 36, rx: 5 });
  const edge = svg("path", { class: "course-desk-edge", d: "M-40-6.5H40" });
  edge.style.stroke = colour;
  const replica = replicaPicture(26);
  replica.node.setAttribute("transform", "translate(-37 -2)");
  const number = svg("text", { class: "course-number", x: 0, y: 16, "text-anchor": "middle" }, String(rank));
  const places = Array.from({ length: pieces }, (_, place) => piece(ON_DESK, rank));
  places.forEach((each, place) => each.place(...placeOnDesk(place)));
  const track = svg("rect", { class: "course-track", x: -42, y: 31, width: 84, height: 4, rx: 2 });
  const bar = svg("rect", { x: -42, y: 31, width: 0, height: 4, rx: 2 });
  bar.style.fill = colour;
  const words = svg("text", { class: "course-doing", x: 0, y: 48, "text-anchor": "middle" });
  const student = svg("g", { class: "course-student" }, arm, body, head);
  const node = svg("g", { class: "course-seat" }, student, top, edge, replica.node, number,
                   ...places.map(each => each.node), track, bar, words);
  return { node, arm, bar, words, replica, places };
}
