// What tasks raised, and the command that leads to the record.

import { get, of } from "./api.js";
import { h } from "./dom.js";
import { seconds } from "./format.js";

export function failure(each, base, index) {
  return h("div", { class: "failure" },
    h("h3", null, each.message || each.error, each.times > 1 ? ` (${each.times} times)` : ""),
    h("p", { class: "quiet" }, `${seconds(each.at_s) || "0"} after the start, on executor ${each.executor}, `,
      h("a", { href: `${base}/stage/${each.stage}` }, `stage ${each.stage}`), `, partition ${each.partition}: ${each.stage_name}`),
    each.user_traceback ? h("pre", { tabindex: "0" }, each.user_traceback) : null,
    each.traceback && each.traceback.trim() !== each.user_traceback.trim()
      ? h("details", { id: `traceback-${index}` }, h("summary", null, "Whole traceback, with Pyrite's frames"), h("pre", { tabindex: "0" }, each.traceback)) : null,
    replayed(each));
}

export function replayed(each) {
  return each.replay ? h("p", null, "Run it again under a debugger: ", h("code", null, each.replay)) : null;
}

// The newest failures in these stages, alike ones together.
export async function failuresOf(app, stages) {
  const found = await get(of(app, "errors"));
  return found.filter((each) => stages.includes(each.stage)).slice(0, 5);
}
