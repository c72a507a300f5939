// Two runs side by side.
import { get, of } from "./api.js";
import { card, h, table, tag } from "./dom.js";
import { bytes, count, day, seconds } from "./format.js";

const TEXT = { s: (value) => seconds(value) || "0", bytes, "": count };

function ratio(left, right, isNeutral) {
  if (!left || !right) return "";
  const factor = right / left;
  const kind = isNeutral ? "quiet" : factor > 1.1 ? "slower" : factor < 0.9 ? "faster" : "quiet";
  return h("span", { class: kind }, `${factor >= 10 ? factor.toFixed(0) : factor.toFixed(2)}×`);
}

export async function compareView({ app, rest }) {
  const base = `#/${encodeURIComponent(app)}`;
  const runs = await get("applications");
  const others = runs.filter((run) => run.id !== app);
  const title = h("h1", null, "Two runs side by side");
  if (!others.length) {
    return h("div", null, title, card(null, h("p", null, "There is only one run here. Serve two, or a folder of them: "),
      h("pre", null, "pyrite ui before.story after.story")));
  }
  const other = rest[0] || others[0].id;
  const told = await get(of(app, `compare/${encodeURIComponent(other)}`));
  const named = (run) => `${run.name}, ${day(run.attempts[0].startTime)} (${run.id})`;
  const mine = runs.find((run) => run.id === app);
  const choose = h("select", { id: "other", "aria-label": "The other run", onchange: (event) => { location.hash = `${base}/compare/${encodeURIComponent(event.target.value)}`; } },
    others.map((run) => h("option", { value: run.id, selected: run.id === other }, named(run))));
  const side = (each, kind) => (each ? h("a", { href: `#/${encodeURIComponent(kind === "left" ? app : other)}/${each.tasks === undefined ? "stage" : "job"}/${each.id}` }, seconds(each.s) || "0") : h("span", { class: "quiet" }, "not there"));
  return h("div", null, title,
    h("p", null, h("b", null, "Left: "), mine ? named(mine) : app, "   ", h("b", null, "right: "), choose),
    card("In all", table([
      ["What", (it) => it.name], ["Left", (it) => TEXT[it.unit](it.left), "number"],
      ["Right", (it) => TEXT[it.unit](it.right), "number"], ["Right to left", (it) => ratio(it.left, it.right, it.unit === ""), "number"],
    ], told.numbers, "Numbers of both runs")),
    card("Jobs", table([
      ["Job", (it) => it.name, "wrap"], ["Left", (it) => side(it.left, "left"), "number"], ["Right", (it) => side(it.right, "right"), "number"],
      ["Right to left", (it) => (it.left && it.right ? ratio(it.left.s, it.right.s) : ""), "number"],
      ["Status", (it) => [it.left ? tag(it.left.status) : "", " ", it.right ? tag(it.right.status) : ""]],
    ], told.jobs, "Jobs of both runs")),
    card("Stages", table([
      ["Stage", (it) => it.name, "wrap"], ["Left", (it) => side(it.left, "left"), "number"], ["Right", (it) => side(it.right, "right"), "number"],
      ["Right to left", (it) => (it.left && it.right ? ratio(it.left.s, it.right.s) : ""), "number"],
      ["Work", (it) => [it.left ? seconds(it.left.run_s) : "", " / ", it.right ? seconds(it.right.run_s) : ""], "number"],
      ["Shuffle read", (it) => [it.left ? bytes(it.left.shuffle_read_bytes) : "", " / ", it.right ? bytes(it.right.shuffle_read_bytes) : ""], "number"],
      ["Failed", (it) => `${it.left ? it.left.failed : ""} / ${it.right ? it.right.failed : ""}`, "number"],
    ], told.stages, "Stages of both runs")),
    told.settings.length ? card("Settings that differ", table([
      ["Setting", (it) => h("code", null, it.name)], ["Left", (it) => it.left ?? "", "wrap"], ["Right", (it) => it.right ?? "", "wrap"],
    ], told.settings, "Settings that differ")) : null);
}
