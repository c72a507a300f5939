// The first view of a run, the list of runs, and what happened as sentences.
import { get, of } from "./api.js";
import { card, facts, h, legend, progress, scrolled, siteText, table, tag } from "./dom.js";
import { bytes, count, day, file, seconds } from "./format.js";
import { failure } from "./failures.js";
import { jobTimeline } from "./timeline.js";
import { jobTable } from "./view-jobs.js";

export function runsView(runs) {
  return h("div", null, h("h1", null, "Runs"), card(null, table([
    ["Application", (run) => h("a", { href: `#/${encodeURIComponent(run.id)}/overview` }, run.name), "wrap"],
    ["Id", (run) => h("code", null, run.id)],
    ["State", (run) => tag(run.pyrite.live ? "running" : "ended", run.pyrite.live ? "run" : "")],
    ["Began", (run) => day(run.attempts[0].startTime)],
    ["Took", (run) => seconds(run.attempts[0].duration / 1000), "number"],
    ["Master", (run) => run.pyrite.master],
    ["Story", (run) => h("code", null, run.pyrite.path), "wrap"],
  ], runs, "Runs")), runs.length > 1 ? h("p", null,
    h("a", { href: `#/${encodeURIComponent(runs[1].id)}/compare/${encodeURIComponent(runs[0].id)}` }, "Compare the last two")) : null);
}

export async function overviewView({ app }) {
  const told = await get(of(app, "overview"));
  const base = `#/${encodeURIComponent(app)}`;
  const { tasks, measured } = told;
  const bad = tasks.failed + tasks.lost;
  const view = h("div", null,
    h("h1", null, "Overview"),
    facts([
      ["Time", seconds(told.length_s), told.ended ? "ended" : null],
      ["Jobs", count(told.jobs_total), told.jobs_failed ? `${count(told.jobs_failed)} failed` : `${count(told.jobs_running)} running`],
      ["Stages", count(told.stages_total)],
      ["Tasks", count(tasks.succeeded), `${count(tasks.running)} running${bad ? `, ${count(bad)} failed` : ""}`],
      ["Executors", count(told.executors.living), `${told.executors.nodes} ${told.executors.nodes === 1 ? "node" : "nodes"}${told.executors.lost.length ? `, ${told.executors.lost.length} lost` : ""}`],
      ["Work", seconds(measured.run_s), `${seconds(measured.cpu_s)} of processor`],
      ["Rows read", count(measured.rows_read)],
      ["Shuffled", bytes(measured.shuffle_written_bytes), `${bytes(told.shuffle_read_bytes)} read`],
      measured.spilled_bytes ? ["Spilled", bytes(measured.spilled_bytes)] : null,
    ]),
    told.errors_total ? card(["Errors ", h("span", { class: "quiet" }, count(told.errors_total))],
      told.errors.map((each, index) => failure(each, base, index)),
      told.errors_total > told.errors.length ? h("p", null, h("a", { href: `${base}/told` }, "All errors")) : null) : null,
    card("Jobs in time",
      scrolled("Jobs in time", jobTimeline(told.timeline, told.length_s, told.executors.lost, (id) => `${base}/job/${id}`)),
      legend(["good", "succeeded"], ["run", "running"], ["bad", "failed; ▲ an executor was lost"])),
    told.active_stages.length ? card("Running stages", stagesShort(told.active_stages, base)) : null,
    h("div", { class: "columns" },
      card(["Named and persisted RDDs ", h("span", { class: "quiet" }, count(told.rdds_total))], rddTable(told.rdds, base)),
      card(["What happened ", h("span", { class: "quiet" }, told.happenings_total ? "last" : "")], sentences(told.happenings, base),
        told.happenings_total > told.happenings.length ? h("p", null, h("a", { href: `${base}/told` }, `All ${count(told.happenings_total)}`)) : null)),
    card("Jobs", jobTable(told.timeline.slice(0, 20), base),
      told.jobs_total > 20 ? h("p", null, h("a", { href: `${base}/jobs` }, `All ${count(told.jobs_total)}`)) : null));
  return view;
}

function stagesShort(stages, base) {
  return table([
    ["Stage", (it) => h("a", { href: `${base}/stage/${it.stageId}` }, `${it.stageId}  ${it.name}`), "wrap"],
    ["Tasks", (it) => progress(it.numCompleteTasks, it.numActiveTasks, it.numFailedTasks, it.numTasks), "whole"],
    ["Work", (it) => seconds(it.pyrite.measured.run_s), "number"],
    ["Shuffle read", (it) => bytes(it.shuffleReadBytes), "number"],
    ["Shuffle written", (it) => bytes(it.shuffleWriteBytes), "number"],
  ], stages, "Running stages");
}

// An RDD without an id is found by its operator.
function rddLink({ id, place }, base) {
  return id === null ? `${base}/step/${place.stage}/${place.step}/${place.number}` : `${base}/rdd/${id}`;
}

// All about each RDD, or what the first view has room for.
export function rddTable(rdds, base, isWhole) {
  const made = (it) => (it.operator === it.method ? it.method : `${it.method} (${it.operator})`);
  return table([
    ["RDD", (it) => h("a", { href: rddLink(it, base) }, `${it.id === null ? "" : it.id}  ${it.name}`), "wrap"],
    isWhole ? ["Operator", made, "wrap"] : null,
    ["Made at", (it) => (isWhole ? siteText(it.site) : file(it.site)), isWhole ? "wrap" : "whole"],
    ["Partitions", (it) => count(it.partitions), "number"],
    isWhole ? ["Stages", (it) => it.stages.slice(0, 8).map((id) => [h("a", { href: `${base}/stage/${id}` }, id), " "]), "number"] : null,
    isWhole ? ["Level", (it) => it.level || ""] : null,
    ["Kept", (it) => (it.level === null ? "" : h("span", { class: "tag kept" }, `${it.kept} · ${bytes(it.kept_bytes)}`)), "number"],
  ].filter(Boolean), rdds, "RDDs");
}

function about(it, base) {
  const { stage, job, shuffle } = it.about;
  if (stage !== undefined) return `${base}/stage/${stage}`;
  if (job !== undefined && job !== null) return `${base}/job/${job}`;
  if (shuffle !== undefined) return `${base}/shuffle/${shuffle}`;
  if (it.about.executor !== undefined) return `${base}/executors`;
  return it.about.node !== undefined ? `${base}/pools` : null;
}

export function sentences(told, base) {
  if (!told.length) return h("p", { class: "quiet" }, "No faults, and no decisions to tell of.");
  return h("ol", { class: "told" }, told.map((it) => {
    const link = about(it, base);
    return h("li", null, h("time", null, seconds(it.at_s) || "0"),
      link ? h("span", null, it.sentence, " ", h("a", { href: link, "aria-label": `more on: ${it.sentence}` }, "→")) : h("span", null, it.sentence));
  }));
}

export async function toldView({ app }) {
  const base = `#/${encodeURIComponent(app)}`;
  const [told, errors] = await Promise.all([get(of(app, "happenings?length=1000")), get(of(app, "errors"))]);
  return h("div", null, h("h1", null, "What happened"),
    errors.length ? card("Errors", errors.slice(0, 50).map((each, index) => failure(each, base, index))) : null,
    card("Faults, recoveries and decisions", sentences(told, base)));
}
