// Cut each slide to what fits the screen, then show the deck.
// Done here and not when the deck is made, for only a browser knows how high a text is.

const WIDTH = 1280, HEIGHT = 720;
const SMALLEST = 380;  // height of a picture that was shrunk

// --- the pieces of a slide: a paragraph, a list, a picture, a cell's code, one of its outputs

function pieces(cell, number) {
  const found = [...cell.children].flatMap(parts);
  for (const piece of found) {
    const answer = piece.dataset.answer !== undefined;  // comes a step after its cell
    if (!answer && !cell.matches(".fragment")) continue;
    piece.classList.add("fragment");
    piece.dataset.fragmentIndex = 2 * number + answer;
  }
  return found;
}

function parts(child) {
  if (child.matches(".prose")) return [...child.children].map(part => wrapped(part, "prose"));
  if (child.matches(".output") && child.querySelector(":scope > .prose")) return parts(child.firstElementChild);
  if (!child.matches("details.answer")) return [child];
  const outputs = [...child.querySelectorAll(":scope > .output")].flatMap(parts);
  outputs.forEach(output => { output.dataset.answer = ""; });
  return outputs;
}

function wrapped(part, name) {
  const box = document.createElement("div");
  box.className = name;
  box.append(part);
  return box;
}

const prose = piece => piece.matches(".prose") ? piece.firstElementChild : null;
const isHeading = piece => /^H\d$/.test(prose(piece)?.tagName) || piece.matches(".running");
const introduces = piece => prose(piece)?.tagName === "P" && /[:,\p{L}\p{N}]$/u.test(piece.textContent.trim());

// --- pages

function page(stage) {
  const section = document.createElement("section");
  stage.append(section);
  return section;
}

const overflows = section => section.scrollHeight > section.clientHeight;

// The second half of a list or table that is too high alone; null if it cannot be cut.
function halve(piece) {
  const list = piece.querySelector(":scope > ul, :scope > ol, :scope > .table tbody");
  if (!list || list.children.length < 2) return null;
  const rest = piece.cloneNode(true);
  const other = rest.querySelector(":scope > ul, :scope > ol, :scope > .table tbody");
  const kept = Math.ceil(list.children.length / 2);
  [...list.children].slice(kept).forEach(child => child.remove());
  [...other.children].slice(0, kept).forEach(child => child.remove());
  if (other.tagName === "OL") other.start = (list.start || 1) + kept;
  return rest;
}

// A picture may shrink a little rather than leave the code that draws it.
function shrinks(piece, section) {
  const image = piece.querySelector("img");
  if (!image) return false;
  const height = image.clientHeight - (section.scrollHeight - section.clientHeight);
  if (height < SMALLEST) return false;
  image.style.maxHeight = `${height}px`;
  return !overflows(section);
}

// What belongs to `next` goes to its page: a heading, an unfinished sentence, the code of an output.
function carried(section, next) {
  const last = section.lastElementChild;
  const belongs = last && (isHeading(last) || introduces(last) || last.matches(".code, .output") && next.matches(".output"));
  if (!belongs || [...section.children].every(child => child === last || isHeading(child))) return [];
  last.remove();
  return [...carried(section, last), last];
}

// On each page but the first of a slide: where we are.
function running(made) {
  const heading = made.map(one => one.querySelector("h1, h2, h3")).findLast(Boolean);
  const line = document.createElement("p");
  line.className = "running";
  line.textContent = heading?.textContent ?? "";
  return line;
}

function cut(section, stage) {
  const notes = [...section.querySelectorAll(":scope > aside.notes")];
  const queue = [...section.querySelectorAll(":scope > .cell")].flatMap(pieces);
  const made = [page(stage)];
  while (queue.length) {
    const current = made.at(-1), piece = queue.shift();
    current.append(piece);
    if (!overflows(current) || shrinks(piece, current)) continue;
    const alone = [...current.children].every(child => child === piece || isHeading(child));
    const rest = alone ? halve(piece) : null;
    if (rest) {
      piece.remove();
      queue.unshift(piece, rest);
    } else if (alone) {
      piece.classList.add("high");  // scrolls within itself
    } else {
      piece.remove();
      queue.unshift(...carried(current, piece), piece);
      made.push(page(stage));
      made.at(-1).append(running(made));
    }
  }
  made.forEach(one => { first(one); one.append(...notes.map(note => note.cloneNode(true))); });
  section.replaceWith(...made);
}

// A page does not begin empty: its headings and its first piece are there at once.
function first(section) {
  const index = [...section.children].find(piece => !isHeading(piece))?.dataset.fragmentIndex;
  for (const piece of section.children) {
    if (isHeading(piece) || piece.dataset.fragmentIndex === index) piece.classList.remove("fragment");
  }
}

async function start() {
  const reveal = document.querySelector(".reveal"), slides = document.querySelector(".slides");
  document.querySelectorAll("img").forEach(image => { image.loading = "eager"; });
  await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
  await Promise.all([...document.fonts].map(font => font.load()));
  const stage = document.createElement("div");
  stage.className = "stage";
  slides.append(stage);
  document.body.classList.add("cutting");
  for (const section of slides.querySelectorAll("section section")) cut(section, stage);
  stage.remove();
  document.body.classList.remove("cutting");
  await Reveal.initialize({
    width: WIDTH, height: HEIGHT, margin: 0, center: false, hash: true, slideNumber: "c/t",
    transition: "none", plugins: [RevealNotes],
  });
  reach();
  Reveal.on("slidechanged", reach);
}

start();
