// Pools as a map of who lends to whom, and shuffles.
import { get, of } from "./api.js";
import { card, facts, h, legend, scrolled, svg, table, tag } from "./dom.js";
import { bytes, count, middle, percent, seconds } from "./format.js";

export async function poolsView({ app }) {
  const base = `#/${encodeURIComponent(app)}`;
  const told = await get(of(app, "pools"));
  const flows = [
    ...told.lending.map((each) => ({ from: each.borrower, to: each.lender, bytes: each.bytes, kind: "lent" })),
    ...told.fetched.map((each) => ({ from: each.source, to: each.target, bytes: each.bytes, kind: "fetched" })),
  ];
  return h("div", null, h("h1", null, "Pools"),
    card(["Who lends to whom ", h("span", { class: "quiet" }, told.more_nodes ? `${told.more_nodes} more nodes are left out` : "")],
      scrolled("Map of pools", poolMap(told.nodes, flows)),
      legend(["run", "used; arrows: parts of shuffles that were prefetched"], ["kept", "lent; arrows: from the borrower to the lender"])),
    card("Pools in time", h("div", { class: "columns" }, told.nodes.filter((each) => each.series.length).slice(0, 32).map((node) => poolSeries(node, told.length_s))),
      legend(["run", "used"], ["kept", "of these lent to others"], ["wait", "borrowed from others"])),
    card("Nodes", table([
      ["Node", (it) => [it.id, it.storage_only ? [" ", tag("storage only")] : "", it.gone_s === null ? "" : [" ", tag("lost", "bad")]], "whole"],
      ["Executors", (it) => count(it.executors.length), "number"],
      ["Pool", (it) => bytes(it.size_bytes), "number"],
      ["Used", (it) => bytes(it.used_bytes), "number"],
      ["Most", (it) => bytes(it.peak_bytes), "number"],
      ["Lent", (it) => bytes(it.lent_bytes), "number"],
      ["Borrowed", (it) => bytes(it.borrowed_bytes), "number"],
      ["Kept by RDD", (it) => it.rdds.map((rdd) => [h("a", { href: `${base}/rdd/${rdd.id}` }, `${rdd.name || rdd.id}`), ` ${bytes(rdd.bytes)} `]), "wrap"],
    ], told.nodes, "Nodes")),
    h("div", { class: "columns" },
      card("Lent in all", pairs(told.lent, "lender", "borrower", "Lender", "Borrower")),
      card("Prefetched in all", pairs(told.fetched, "source", "target", "From", "To"),
        told.fetches ? h("p", { class: "quiet" }, `${count(told.fetches)} orders, ${count(told.fetches_failed)} failed`) : null)));
}

function pairs(rows, first, second, one, two) {
  return table([[one, (it) => it[first]], [two, (it) => it[second]], ["Bytes", (it) => bytes(it.bytes), "number"]], rows.slice(0, 60), `${one} and ${two}`);
}

// Nodes on a circle, each a box that is filled as its pool is; flows bend through the middle.
function poolMap(nodes, flows) {
  if (!nodes.length) return h("p", { class: "quiet" }, "No node has joined yet.");
  const many = nodes.length > 8;
  const [wide, tall] = many ? [96, 44] : [168, 70];
  const radiusX = nodes.length === 1 ? 0 : many ? 470 : 380;
  const radiusY = nodes.length < 3 ? 40 : many ? 240 : 150;
  const [cx, cy] = [580, radiusY + tall / 2 + 20];
  const at = new Map(nodes.map((node, index) => {
    const angle = (2 * Math.PI * index) / nodes.length - Math.PI;
    return [node.id, [cx + radiusX * Math.cos(angle), cy + radiusY * Math.sin(angle)]];
  }));
  const most = Math.max(1, ...flows.map((each) => each.bytes));
  const arrows = flows.filter((each) => each.from !== each.to && at.has(each.from) && at.has(each.to)).map((flow) => {
    const [x1, y1] = at.get(flow.from);
    const [x2, y2] = at.get(flow.to);
    // Each direction bends to its own side, loans more than fetches.
    const off = (flow.kind === "lent" ? 130 : 66) / (Math.hypot(x2 - x1, y2 - y1) || 1);
    const [mx, my] = [(x1 + x2) / 2 - (y2 - y1) * off, (y1 + y2) / 2 + (x2 - x1) * off];
    const told = flow.kind === "lent" ? `${flow.to} lends ${bytes(flow.bytes)} to ${flow.from}` : `${bytes(flow.bytes)} were prefetched from ${flow.from} to ${flow.to}`;
    return svg("g", null, svg("title", null, told),
      svg("path", { class: `flow ${flow.kind}`, d: `M${x1} ${y1}Q${mx} ${my} ${x2} ${y2}`, "stroke-width": 1.5 + 7 * (flow.bytes / most) }),
      nodes.length <= 8 ? svg("text", { x: (x1 + 2 * mx + x2) / 4, y: (y1 + 2 * my + y2) / 4 + 4, "text-anchor": "middle", class: "on-flow" },
        Math.abs(x2 - x1) < 9 ? `${bytes(flow.bytes)} ${y2 > y1 ? "↓" : "↑"}` : x2 > x1 ? `${bytes(flow.bytes)} →` : `← ${bytes(flow.bytes)}`) : null);
  });
  const boxes = nodes.map((node) => {
    const [x, y] = [at.get(node.id)[0] - wide / 2, at.get(node.id)[1] - tall / 2];
    const part = (size) => (node.size_bytes ? Math.min(1, size / node.size_bytes) * (wide - 16) : 0);
    const told = `${node.id}: ${bytes(node.used_bytes)} of ${bytes(node.size_bytes)} used, ${bytes(node.lent_bytes)} lent, ${bytes(node.borrowed_bytes)} borrowed`;
    return svg("g", { role: "img", "aria-label": told }, svg("title", null, told),
      svg("rect", { class: `stage-box ${node.gone_s === null ? "" : "bad"}`, x, y, width: wide, height: tall, rx: 9 }),
      svg("text", { x: x + 8, y: y + 18, "font-weight": 600 }, middle(node.id, many ? 12 : 20)),
      svg("rect", { class: "fill-soft", x: x + 8, y: y + 26, width: wide - 16, height: 10, rx: 3 }),
      svg("rect", { class: "fill-run", x: x + 8, y: y + 26, width: part(node.used_bytes), height: 10, rx: 3 }),
      svg("rect", { class: "fill-kept", x: x + 8, y: y + 26, width: part(node.lent_bytes), height: 10, rx: 3 }),
      many ? null : svg("text", { class: "quiet", x: x + 8, y: y + 54 }, `${bytes(node.used_bytes)} of ${bytes(node.size_bytes)}`));
  });
  const height = 2 * radiusY + tall + 44;
  return svg("svg", { class: "wide", viewBox: `0 0 1160 ${height}`, role: "group", "aria-label": "Map of pools" }, arrows, boxes);
}

function poolSeries(node, lengthS) {
  const [wide, tall] = [520, 82];
  const most = Math.max(node.size_bytes, node.peak_bytes, 1);
  const x = (at) => (lengthS ? (at / lengthS) * wide : 0).toFixed(1);
  const y = (size) => (tall - 4 - (size / most) * (tall - 8)).toFixed(1);
  const steps = (field) => {
    let d = "";
    node.series.forEach((point, index) => { d += index ? `H${x(point[0])}V${y(point[field])}` : `M${x(point[0])} ${y(point[field])}`; });
    return `${d}H${wide}`;
  };
  const told = `${node.id}: ${bytes(node.used_bytes)} of ${bytes(node.size_bytes)} used, ${bytes(node.peak_bytes)} at most`;
  return h("div", null, h("div", null, told), svg("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": told },
    svg("line", { class: "axis", x1: 0, x2: wide, y1: y(node.size_bytes), y2: y(node.size_bytes) }),
    svg("line", { class: "axis", x1: 0, x2: wide, y1: tall - 4, y2: tall - 4 }),
    svg("path", { class: "area-used", d: `${steps(1)}V${tall - 4}H${x(node.series[0][0])}z` }),
    svg("path", { class: "line-used", d: steps(1) }),
    node.series.some((each) => each[2]) ? svg("path", { class: "line-lent", d: steps(2) }) : null,
    node.series.some((each) => each[3]) ? svg("path", { class: "line-borrowed", d: steps(3) }) : null));
}

export async function shufflesView({ app }) {
  const base = `#/${encodeURIComponent(app)}`;
  const shuffles = await get(of(app, "shuffles"));
  return h("div", null, h("h1", null, "Shuffles"), card(null, table([
    ["Shuffle", (it) => h("a", { href: `${base}/shuffle/${it.id}` }, `${it.id}  ${it.name}`), "wrap"],
    ["Maps × parts", (it) => `${count(it.maps)} × ${count(it.parts)}`, "number"],
    ["Written", (it) => bytes(it.written_bytes), "number"],
    ["Read here", (it) => bytes(it.read.local), "number"],
    ["Read remotely", (it) => bytes(it.read.remote), "number"],
    ["Prefetched", (it) => bytes(it.read.prefetched), "number"],
    ["Waited", (it) => seconds(it.fetch_wait_s), "number"],
    ["Foreseen", (it) => (it.foreseen ? `${percent(it.foreseen.mean_error)} off, by ${it.foreseen.how}` : h("span", { class: "quiet" }, "not foreseen: small, or all here")), "wrap"],
    ["Heaviest reducer", (it) => (it.heaviest ? `${bytes(it.heaviest.bytes)}, mean ${bytes(it.heaviest.mean_bytes)}` : ""), "wrap"],
  ], shuffles.slice(0, 300), "Shuffles")));
}

export async function shuffleView({ app, rest }) {
  const base = `#/${encodeURIComponent(app)}`;
  const it = await get(of(app, `shuffles/${encodeURIComponent(rest[0])}`));
  const read = it.read.local + it.read.remote + it.read.prefetched;
  return h("div", null, h("h1", null, `Shuffle ${it.id}: ${it.name}`),
    facts([
      ["Written", bytes(it.written_bytes), `${count(it.maps)} maps, ${count(it.parts)} parts`],
      ["Read", bytes(read), it.shared_with.length ? `with shuffles ${it.shared_with.join(", ")} of the same stage` : null],
      ["Prefetched", read ? percent(it.read.prefetched / read) : "0", bytes(it.read.prefetched)],
      ["Over the network", bytes(it.read.remote)],
      ["Reducers waited", seconds(it.fetch_wait_s)],
      it.heaviest ? ["Heaviest task", bytes(it.heaviest.bytes), `partition ${it.heaviest.partition}; the mean is ${bytes(it.heaviest.mean_bytes)}`] : null,
    ]),
    h("p", null, it.writer === null ? null : [h("a", { href: `${base}/stage/${it.writer}` }, `stage ${it.writer}`), " writes it; "],
      it.readers.map((id) => [h("a", { href: `${base}/stage/${id}` }, `stage ${id}`), " "]), it.readers.length ? "read it" : "nobody has read it"),
    card("Predicted and true sizes", it.foreseen ? [
      h("p", null, `Foreseen by ${it.foreseen.how} after ${it.foreseen.seen} of ${it.foreseen.maps} maps: ${percent(it.foreseen.mean_error)} off in the mean, ${percent(it.foreseen.heaviest_error)} at the heaviest part, ${percent(it.foreseen.total_error)} in all.`),
      scrolled("Sizes of parts", sizes(it.foreseen.parts)), legend(["run", "true"], ["wait", "predicted"]),
    ] : h("p", { class: "quiet" }, "Its sizes were not predicted: it is small, or lies on one node.")));
}

function sizes(parts) {
  const [wide, tall] = [1160, 190];
  const most = Math.max(1, ...parts.map((each) => Math.max(each.predicted, each.true)));
  const step = wide / parts.length;
  const bar = (value) => (value / most) * (tall - 30);
  return svg("svg", { class: "wide", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": "Predicted and true bytes of each part" },
    svg("line", { class: "axis", x1: 0, x2: wide, y1: tall - 18, y2: tall - 18 }),
    parts.map((part, index) => svg("g", null,
      svg("title", null, `part ${part.first}${part.last > part.first ? ` to ${part.last}` : ""}: predicted ${bytes(part.predicted)}, true ${bytes(part.true)}`),
      svg("rect", { class: "fill-wait", x: index * step + step * 0.08, y: tall - 18 - bar(part.predicted), width: step * 0.4, height: bar(part.predicted) }),
      svg("rect", { class: "fill-run", x: index * step + step * 0.5, y: tall - 18 - bar(part.true), width: step * 0.4, height: bar(part.true) }))),
    svg("text", { class: "quiet", x: 2, y: 11 }, bytes(most)),
    svg("text", { class: "quiet", x: 2, y: tall - 4 }, `part ${parts[0].first}`),
    svg("text", { class: "quiet", x: wide - 2, y: tall - 4, "text-anchor": "end" }, `part ${parts[parts.length - 1].last}`));
}
