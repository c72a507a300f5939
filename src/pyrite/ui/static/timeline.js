// Bars on a time axis: jobs in rows, tasks in lanes of executors.
import { kindOf, svg } from "./dom.js";
import { middle, seconds } from "./format.js";

const WIDTH = 1160;
const LEFT = 10;
const RIGHT = 24;
// The width of a letter, about.
const LETTER = 7;

function ticks(lengthS) {
  const rough = lengthS / 7 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let at = 0; at <= lengthS && found.length < 40; at += step) found.push(at);
  return found;
}

function axis(lengthS, left, height, offsetS) {
  const scale = (WIDTH - left - RIGHT) / (lengthS || 1);
  return ticks(lengthS).map((at) => {
    const x = left + at * scale;
    const isLast = x > WIDTH - 60;
    return [
      svg("line", { class: "axis", x1: x, x2: x, y1: 0, y2: height - 18 }),
      svg("text", { class: "quiet", x: isLast ? x - 3 : x + 3, y: height - 5, "text-anchor": isLast ? "end" : null }, seconds(at + offsetS) || "0"),
    ];
  });
}

// Rows so that bars do not overlap; the ones that are longest alone come first.
function rowsOf(bars, least) {
  const ends = [];
  for (const bar of bars) {
    let row = ends.findIndex((end) => end <= bar.from);
    if (row < 0) row = ends.length < 14 ? ends.length : 13;
    ends[row] = Math.max(bar.to, bar.from + least);
    bar.row = row;
  }
  return Math.max(1, ends.length);
}

// A name stands in its bar, or behind one that is too short for it, or before that at the right edge.
function besideBar(name, x, wide) {
  const long = name.length * LETTER;
  if (long + 10 <= wide) return { x: x + 6 };
  return x + wide + long + 8 <= WIDTH ? { x: x + wide + 4 } : { x: x - 4, "text-anchor": "end" };
}

export function jobTimeline(jobs, lengthS, lost, link) {
  const scale = (WIDTH - LEFT - RIGHT) / (lengthS || 1);
  const bars = jobs.map((job) => ({
    job, from: job.pyrite.began_s, to: job.pyrite.ended_s === null ? lengthS : job.pyrite.ended_s,
  })).sort((a, b) => a.from - b.from);
  // A bar may be short, its name is not.
  const rows = rowsOf(bars, Math.min(lengthS * 0.13, 150 / scale));
  const height = rows * 27 + 30;
  const drawing = svg("svg", {
    class: "wide", viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "Jobs on a time line",
  }, axis(lengthS, LEFT, height, 0));
  for (const { job, from, to, row } of bars) {
    const wide = Math.max(3, (to - from) * scale);
    const x = LEFT + from * scale;
    const name = middle(`${job.jobId}  ${job.description || job.pyrite.action}`, Math.max(12, Math.floor(wide / LETTER)));
    const told = `job ${job.jobId}: ${job.name}, ${job.status.toLowerCase()}, ${seconds(to - from)}`;
    drawing.append(svg("a", { href: link(job.jobId), "aria-label": told },
      svg("title", null, told),
      svg("rect", { class: `fill-${kindOf(job.status)}`, x, y: row * 27 + 4, width: wide, height: 20, rx: 4 }),
      svg("text", { ...besideBar(name, x, wide), y: row * 27 + 18 }, name)));
  }
  for (const each of lost) {
    const x = LEFT + each.at_s * scale;
    drawing.append(svg("g", { role: "img", "aria-label": `executor ${each.id} was lost` },
      svg("title", null, `executor ${each.id} on ${each.node} was lost: ${each.reason}`),
      svg("path", { class: "fill-bad", d: `M${x} ${height - 30}l6 12h-12z` })));
  }
  return drawing;
}

export function taskTimeline(told) {
  const left = 150;
  const scale = (WIDTH - left - RIGHT) / (told.length_s || 1);
  const tall = told.lanes.length > 16 ? 16 : 22;
  const height = told.lanes.length * tall + 26;
  const drawing = svg("svg", {
    class: "wide", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "When each executor ran tasks of this stage",
  }, axis(told.length_s || 0, left, height, 0));
  told.lanes.forEach((lane, index) => {
    const y = index * tall;
    drawing.append(svg("text", { x: 0, y: y + tall - 7 }, middle(`${lane.executor} · ${lane.node}`, 20)));
    if (lane.bars) for (const bar of lane.bars) drawing.append(oneBar(bar, left, scale, y, tall));
    else drawing.append(...slots(lane.slots, left, y, tall));
  });
  return drawing;
}

function oneBar(bar, left, scale, y, tall) {
  const x = left + bar.at_s * scale;
  const wide = Math.max(1.5, bar.s * scale - 0.6);
  const waited = Math.min(wide, bar.fetch_wait_s * scale);
  return svg("g", null,
    svg("title", null, `task ${bar.task}, partition ${bar.index}: ${bar.status.toLowerCase()}, ${seconds(bar.s)}`),
    svg("rect", { class: `fill-${kindOf(bar.status)}`, x, y: y + 3, width: wide, height: tall - 6, rx: 2 }),
    waited > 1 ? svg("rect", { class: "fill-wait", x, y: y + 3, width: waited, height: tall - 6 }) : null);
}

// Many tasks: how busy the executor was, in five shades, one path each.
function slots(shares, left, y, tall) {
  const wide = (WIDTH - left - RIGHT) / shares.length;
  const levels = ["", "", "", "", ""];
  shares.forEach((share, index) => {
    if (share > 0.005) {
      const level = Math.min(4, Math.floor(share * 5));
      levels[level] += `M${(left + index * wide).toFixed(1)} ${y + 3}h${wide.toFixed(2)}v${tall - 6}h-${wide.toFixed(2)}z`;
    }
  });
  return levels.map((d, level) => d && svg("path", { class: `fill-good level-${level + 1}`, d })).filter(Boolean);
}
