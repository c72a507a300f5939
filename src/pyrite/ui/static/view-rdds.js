// RDDs by name, and the lineage of one as a picture.
import { get, of } from "./api.js";
import { card, facts, h, legend, pager, scrolled, table } from "./dom.js";
import { bytes, count, file } from "./format.js";
import { lineageGraph } from "./graph.js";
import { rddTable } from "./view-overview.js";

const LENGTH = 100;

export async function rddsView({ app, query }) {
  const base = `#/${encodeURIComponent(app)}`;
  const offset = Number(query.get("offset")) || 0;
  const [rdds, total] = await get(of(app, `rdds?offset=${offset}&length=${LENGTH}`), true);
  return h("div", null, h("h1", null, "RDDs"), card(null, rddTable(rdds, base, true),
    pager(offset, LENGTH, total, (to) => { location.hash = `${base}/rdds?offset=${to}`; })));
}

export async function lineageView({ app, rest }) {
  const base = `#/${encodeURIComponent(app)}`;
  const id = encodeURIComponent(rest[0]);
  const [told, kept] = await Promise.all([get(of(app, `rdds/${id}/lineage`)), get(of(app, `storage/rdd/${id}`))]);
  return h("div", null, h("h1", null, `RDD ${kept.id}: ${kept.name}`),
    facts([
      ["Made at", file(kept.pyrite.site) || "not known", kept.pyrite.site],
      ["Partitions", count(kept.numPartitions)],
      ["Kept", `${count(kept.numCachedPartitions)}`, `${bytes(kept.memoryUsed)} in memory, ${bytes(kept.diskUsed)} on disk`],
    ]),
    card(["Lineage ", h("span", { class: "quiet" }, told.cut ? "only its nearest part: it is long" : "")],
      told.nodes.length ? scrolled("Picture of the lineage",
        lineageGraph(told, (rdd) => `${base}/rdd/${rdd}`)) : h("p", { class: "quiet" }, "No stage has computed it yet."),
      legend(["kept", "persisted"])),
    kept.partitions.length ? card("Kept partitions", partitions(kept)) : null);
}

// An RDD without an id: a step of a stage's program, the last one if no place is named, and an
// operator in it.
export async function stepView({ app, rest }) {
  const base = `#/${encodeURIComponent(app)}`;
  const place = rest[1] === undefined ? "" : `?place=${encodeURIComponent(rest[1])}`;
  const number = rest[2] === undefined ? "" : `&number=${encodeURIComponent(rest[2])}`;
  const told = await get(of(app, `stages/${encodeURIComponent(rest[0])}/0/lineage${place}${number}`));
  const here = told.nodes.find((each) => each.key === told.start);
  const last = here && here.operators[here.operators.length - 1];
  return h("div", null, h("h1", null, (here && here.name) || (last && last.method) || "Lineage", " ", h("span", { class: "quiet" }, `in stage ${rest[0]}`)),
    last ? facts([["Made by", last.method, last.site], ["Partitions", count(here.partitions)]]) : null,
    card(["Lineage ", h("span", { class: "quiet" }, told.cut ? "only its nearest part: it is long" : "")],
      scrolled("Picture of the lineage",
        lineageGraph(told, (rdd) => `${base}/rdd/${rdd}`)),
      legend(["kept", "persisted"])));
}

function partitions(kept) {
  return table([
    ["Partition", (it) => it.pyrite.partition, "number"],
    ["Where", (it) => `${it.pyrite.place} on ${it.pyrite.nodes.join(", ")}`],
    ["Executor", (it) => it.executors.join(", ")],
    ["Size", (it) => bytes(it.memoryUsed + it.diskUsed), "number"],
  ], kept.partitions.slice(0, 300), "Kept partitions");
}
