// Cut each slide to what fits the screen, then show the deck.
// Done here and not when the deck is made, for only a browser knows how high a text is.

const WIDTH = 1280, HEIGHT = 720;
const SMALLEST = 330, LEAST_SHARE = .8;  // height of a picture that was shrunk; of what it would have

// --- the pieces of a slide: a paragraph, a list, a picture, a cell's code, one of its outputs

// A cell of class `fragment` is an answer: it waits for a click, and so does what follows it on its slide.
function pieces(section) {
  let step = -1, answers = false;
  return [...section.querySelectorAll(":scope > .cell")].flatMap((cell, number) => {
    if (cell.matches(".fragment") && !answers) step += 1;
    answers = cell.matches(".fragment");
    const found = [...cell.children].flatMap(parts);
    for (const piece of found) {
      piece.dataset.cell = number;
      if (step < 0) continue;
      piece.classList.add("fragment");
      piece.dataset.fragmentIndex = step;
    }
    return found;
  });
}

function parts(child) {
  if (child.matches(".prose")) return [...child.children].map(part => wrapped(part, "prose"));
  if (child.matches("details.folded")) return [];
  if (child.matches("details.answer")) return [...child.querySelectorAll(":scope > .output")].flatMap(parts);
  const text = child.matches(".output") && child.querySelector(":scope > .prose");
  return text ? [...text.children].map(part => wrapped(part, "prose output")) : [child];
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

// A picture may shrink a little rather than leave the code that draws it, or its caption.
function shrinks(piece, section) {
  const image = [...section.querySelectorAll("img")].at(-1);
  if (!image || !piece.matches(".output, :has(img)")) return false;
  image.dataset.whole ??= image.clientHeight;
  const height = image.clientHeight - (section.scrollHeight - section.clientHeight);
  if (height < Math.max(SMALLEST, LEAST_SHARE * image.dataset.whole)) return false;
  image.style.maxHeight = `${height}px`;
  return !overflows(section);
}

// What belongs to `next` goes to its page: a heading, an unfinished sentence, what a question or a list is about,
// the code of an output, an output with its caption.
function belongs(last, next) {
  if (isHeading(last) || introduces(last)) return true;
  if (next.matches(".question, :has(> ul, > ol)")) return prose(last)?.tagName === "P";
  return last.dataset.cell === next.dataset.cell && next.matches(".output") && last.matches(".code, .output:not(.prose)");
}

function carried(section, next) {
  const last = section.lastElementChild;
  if (!last || !belongs(last, next) || [...section.children].every(child => child === last || isHeading(child))) return [];
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
  const queue = pieces(section);
  const made = [page(stage)], company = new Map();  // what was carried with a piece
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
    } else if (company.has(piece)) {  // a page of their own is too small for them, too: it is the piece's alone
      made.at(-2).append(...company.get(piece));
      queue.unshift(piece);
    } else {
      piece.remove();
      const before = carried(current, piece);
      if (before.length) company.set(piece, before);
      queue.unshift(...before, piece);
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
}

start();
