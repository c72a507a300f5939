// A flame graph: wide is often, high is deep. A click on a call shows only what it called.
import { card, h, svg, table } from "./dom.js";
import { count, file, percent } from "./format.js";

const WIDTH = 1200;
const ROW = 19;
const CHARACTER = 7;
const MOST_CALLS = 12;
// Which call is shown alone, by the address of the view: news keep it.
const zoomed = new Map();

// Each box with its parent and the names that lead to it. A parent is wider than its children.
function linked(boxes) {
  const rows = [];
  for (const each of boxes) (rows[each.depth] ||= []).push({ ...each, own: each.seen });
  rows.forEach((row, depth) => {
    for (const box of row) {
      box.parent = depth === 0 ? null : rows[depth - 1].find((each) =>
        each.start <= box.start && box.start < each.start + each.seen);
      box.path = `${box.parent ? box.parent.path : ""}\n${box.name}`;
      if (box.parent) box.parent.own -= box.seen;
    }
  });
  return rows.flat();
}

const short = (name) => name.replace(/\((.*)\)$/, (_, site) => `(${file(site)})`);

function picture(boxes, redraw) {
  const here = location.hash;
  const root = boxes.find((each) => each.path === zoomed.get(here)) || boxes[0];
  const isBelow = (each) => each.path === root.path || each.path.startsWith(`${root.path}\n`);
  const isAbove = (each) => root.path.startsWith(`${each.path}\n`);
  const scale = WIDTH / root.seen;
  const shown = boxes.filter((each) => isAbove(each) || (isBelow(each) && each.seen * scale >= 1));
  const tall = (1 + Math.max(...shown.map((each) => each.depth))) * ROW;
  const shapes = shown.map((each) => {
    const x = isAbove(each) ? 0 : (each.start - root.start) * scale;
    const width = isAbove(each) ? WIDTH : each.seen * scale;
    const y = tall - (each.depth + 1) * ROW;
    const text = `${each.name}: ${count(each.seen)} samples, ${percent(each.seen / boxes[0].seen)}`;
    const shade = isAbove(each) ? "above" : [...each.name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 5;
    const letters = Math.floor((width - 6) / CHARACTER);
    const inside = [
      svg("title", null, text),
      svg("rect", { class: `flame-${shade}`, x, y, width: Math.max(0.5, width - 0.5), height: ROW - 1, rx: 2 }),
      letters > 2 ? svg("text", { x: x + 3, y: y + 13 }, short(each.name).slice(0, letters)) : null,
    ];
    const zoom = (event) => {
      event.preventDefault();
      zoomed.set(here, each.path);
      redraw();
    };
    // Calls that are too narrow for a letter are for the mouse alone: there may be thousands.
    return letters > 2 ? svg("a", { href: here, "aria-label": text, onclick: zoom }, inside)
      : svg("g", { onclick: zoom }, inside);
  });
  return svg("svg", { class: "flame", viewBox: `0 0 ${WIDTH} ${tall}`, width: WIDTH, height: tall, role: "group", "aria-label": "Flame graph" }, shapes);
}

export function flameCard(told) {
  if (!told.samples) return null;
  const boxes = linked(told.boxes);
  const place = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture of the samples" });
  const redraw = () => place.replaceChildren(picture(boxes, redraw));
  redraw();
  const owners = new Map();
  for (const each of boxes) owners.set(each.name, (owners.get(each.name) || 0) + each.own);
  const most = [...owners].filter(([name, own]) => own > 0 && name !== "all").sort((a, b) => b[1] - a[1]).slice(0, MOST_CALLS);
  return card(["Where its tasks were ", h("span", { class: "quiet" }, `${count(told.samples)} samples; a click on a call shows it alone, one on what is below it goes back`)],
    place,
    table([
      ["Most often in", ([name]) => name, "wrap"],
      ["Samples", ([, own]) => count(own), "number"],
      ["Share", ([, own]) => percent(own / told.samples), "number"],
    ], most, "Calls that samples found most often"));
}
