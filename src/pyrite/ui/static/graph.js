// Boxes and arrows in layers: parents to the left of what reads them.
import { svg } from "./dom.js";
import { bytes, count, file, middle, seconds } from "./format.js";

const GAP_X = 74;
const GAP_Y = 20;

// The layer of each box: one behind the last of its parents. The lists are small, and bounded.
function layersOf(nodes, edges) {
  const layer = new Map(nodes.map((each) => [each.key, 0]));
  for (let round = 0; round < nodes.length; round += 1) {
    let moved = false;
    for (const { from, to } of edges) {
      if (layer.get(to) < layer.get(from) + 1) { layer.set(to, layer.get(from) + 1); moved = true; }
    }
    if (!moved) break;
  }
  // A source stands right before its first reader.
  for (const node of nodes) {
    const readers = edges.filter((each) => each.from === node.key).map((each) => layer.get(each.to));
    if (readers.length && !edges.some((each) => each.to === node.key)) layer.set(node.key, Math.min(...readers) - 1);
  }
  return layer;
}

function place(nodes, edges, width) {
  const layer = layersOf(nodes, edges);
  const columns = [];
  for (const node of nodes) (columns[layer.get(node.key)] ||= []).push(node);
  const tallest = Math.max(...columns.map((each) => (each || []).reduce((sum, node) => sum + node.height + GAP_Y, 0)));
  const at = new Map();
  columns.forEach((column, index) => {
    const height = column.reduce((sum, node) => sum + node.height + GAP_Y, 0);
    const rank = (node) => {
      const parents = edges.filter((each) => each.to === node.key && at.has(each.from)).map((each) => at.get(each.from).y);
      return parents.length ? parents.reduce((a, b) => a + b, 0) / parents.length : 0;
    };
    column.sort((a, b) => rank(a) - rank(b));
    let y = (tallest - height) / 2 + GAP_Y / 2;
    for (const node of column) {
      at.set(node.key, { x: 4 + index * (width + GAP_X), y, node });
      y += node.height + GAP_Y;
    }
  });
  return { at, wide: columns.length * (width + GAP_X) - GAP_X + 8, tall: tallest + 4 };
}

function arrows(at, edges, width) {
  return edges.filter((each) => at.has(each.from) && at.has(each.to)).map((edge) => {
    const a = at.get(edge.from);
    const b = at.get(edge.to);
    const [x1, y1] = [a.x + width, a.y + a.node.height / 2];
    const [x2, y2] = [b.x, b.y + b.node.height / 2];
    const bend = Math.max(24, (x2 - x1) / 2);
    return svg("g", null,
      svg("path", { class: `edge ${edge.narrow ? "narrow" : ""}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 7} ${y2}` }),
      svg("path", { class: "arrow", d: `M${x2 - 8} ${y2 - 4}L${x2} ${y2}l-8 4z` }),
      edge.label ? svg("text", { class: "quiet on-flow", x: x1 + 6, y: y1 - 6 }, edge.label) : null);
  });
}

function picture(label, wide, tall, ...children) {
  const drawing = svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "group", "aria-label": label }, children);
  return drawing;
}

const STATUS = { SKIPPED: "skip", PENDING: "skip", FAILED: "bad", ACTIVE: "run" };

export function stageGraph(told, stageLink, rddLink) {
  const width = 262;
  const nodes = told.nodes.map((stage) => {
    const rdds = stage.rdds.filter((each) => each.operators.length);
    const height = 62 + (stage.found_kept ? 16 : 0) + rdds.reduce((sum, each) => sum + 10 + 16 * shownOperators(each).length, 0);
    return { key: stage.id, stage, rdds, height };
  });
  const edges = told.edges.map((each) => ({ ...each, label: each.bytes ? bytes(each.bytes) : "" }));
  const { at, wide, tall } = place(nodes, edges, width);
  return picture("Stages of this job", wide, tall, arrows(at, edges, width),
    [...at.values()].map(({ x, y, node }) => stageBox(node, x, y, width, stageLink, rddLink)));
}

function shownOperators(rdd) {
  const all = rdd.operators;
  if (all.length <= 4) return all.map((each) => `${each.method}${each.site ? `  ${file(each.site)}` : ""}`);
  const middleOnes = `… ${all.length - 2} more`;
  return [all[0].method, middleOnes, `${all[all.length - 1].method}  ${file(all[all.length - 1].site)}`];
}

function stageBox({ stage, rdds, height }, x, y, width, stageLink, rddLink) {
  const status = STATUS[stage.status] || "good";
  const skipped = stage.status === "SKIPPED";
  const line = skipped ? "skipped: its output exists" :
    `${count(stage.done)}/${count(stage.tasks)} tasks · ${seconds(stage.run_s) || "0"}${stage.failed ? ` · ${stage.failed} failed` : ""}`;
  let top = y + 52;
  const boxes = rdds.map((rdd) => {
    const lines = shownOperators(rdd);
    const tall = 4 + 16 * lines.length;
    const named = rdd.name ? `${rdd.name} (${lines.length === 1 ? lines[0] : rdd.operators.length + " steps"})` : null;
    const shape = svg("g", null,
      svg("rect", { class: `rdd-box ${rdd.level !== null ? "kept" : ""}`, x: x + 8, y: top, width: width - 16, height: tall, rx: 5 }),
      lines.map((each, index) => svg("text", { x: x + 15, y: top + 14 + 16 * index },
        middle(index === 0 && named ? named : each, 36))));
    const told = rdd.level !== null ? `persisted, ${rdd.kept} of ${rdd.partitions} partitions kept` : "";
    top += tall + 6;
    return rdd.id === null ? shape : svg("a", { href: rddLink(rdd.id), "aria-label": `RDD ${rdd.id} ${rdd.name || ""} ${told}` },
      svg("title", null, `RDD ${rdd.id}${rdd.name ? ` ${rdd.name}` : ""}${told ? `: ${told}` : ""}`), shape);
  });
  return svg("g", null,
    svg("rect", { class: `stage-box ${status}`, x, y, width, height, rx: 9 }),
    svg("a", { href: stageLink(stage.id), "aria-label": `stage ${stage.id}: ${stage.name}` },
      svg("title", null, stage.name),
      svg("text", { x: x + 10, y: y + 19, "font-weight": 600 }, middle(`Stage ${stage.id} · ${stage.name}`, 33))),
    svg("text", { class: "quiet", x: x + 10, y: y + 37 }, line),
    boxes,
    stage.found_kept ? svg("text", { class: "quiet", x: x + 10, y: y + height - 7 }, `${count(stage.found_kept)} kept partitions read`) : null);
}

export function lineageGraph(told, rddLink) {
  const width = 220;
  const nodes = told.nodes.map((rdd) => ({ key: rdd.key, rdd, height: 44 + 16 * shownOperators(rdd).length }));
  const edges = told.edges.map((each) => ({
    ...each, narrow: each.shuffle === null, label: each.shuffle === null ? "" : `shuffle ${each.shuffle}`,
  }));
  const { at, wide, tall } = place(nodes, edges, width);
  return picture("Lineage of this RDD", wide, tall, arrows(at, edges, width),
    [...at.values()].map(({ x, y, node: { rdd, height } }) => {
      const here = rdd.key === told.start;
      const name = rdd.id === null ? rdd.name || `a step of stage ${rdd.stages[0]}` : `RDD ${rdd.id}${rdd.name ? ` · ${rdd.name}` : ""}`;
      const state = rdd.level !== null ? `${rdd.kept} of ${rdd.partitions} partitions kept` : `${count(rdd.partitions)} partitions`;
      const shape = [
        svg("rect", { class: `rdd-box ${rdd.level !== null ? "kept" : ""} ${here ? "here" : ""}`, x, y, width, height, rx: 8 }),
        svg("text", { x: x + 10, y: y + 18, "font-weight": 600 }, middle(name, 30)),
        svg("text", { class: "quiet", x: x + 10, y: y + 34 }, state),
        shownOperators(rdd).map((each, index) => svg("text", { x: x + 10, y: y + 52 + 16 * index }, middle(each, 31))),
      ];
      return rdd.id === null ? svg("g", null, shape)
        : svg("a", { href: rddLink(rdd.id), "aria-label": name }, svg("title", null, rdd.operators.map((each) => `${each.method} at ${each.site}`).join("\n")), shape);
    }));
}
