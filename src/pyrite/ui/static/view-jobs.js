// Jobs: a list, and one job with its stages as a graph.
import { get, of } from "./api.js";
import { card, facts, h, legend, pager, progress, scrolled, table, tag } from "./dom.js";
import { count, day, file, seconds } from "./format.js";
import { failuresOf, replayed } from "./failures.js";
import { flameCard } from "./flame.js";
import { stageGraph } from "./graph.js";
import { stageTable } from "./view-stages.js";

const LENGTH = 100;

const took = (job) => (job.pyrite.ended_s === null ? "" : seconds(job.pyrite.ended_s - job.pyrite.began_s) || "0");

export function jobTable(jobs, base) {
  return table([
    ["Job", (it) => h("a", { href: `${base}/job/${it.jobId}` }, `${it.jobId}  ${it.description || `${it.pyrite.action} at ${file(it.pyrite.site)}`}`), "wrap"],
    ["Status", (it) => tag(it.status)],
    ["Began", (it) => seconds(it.pyrite.began_s) || "0", "number"],
    ["Took", took, "number"],
    ["Stages", (it) => `${it.numCompletedStages}${it.numFailedStages ? ` + ${it.numFailedStages} failed` : ""}${it.numSkippedStages ? ` + ${it.numSkippedStages} skipped` : ""}`, "number"],
    ["Tasks", (it) => progress(it.numCompletedTasks, it.numActiveTasks, it.numFailedTasks, it.numTasks - it.numSkippedTasks), "whole"],
    ["Error", (it) => (it.pyrite.error ? h("span", { class: "slower" }, it.pyrite.message.split("\n")[0] || it.pyrite.error) : ""), "wrap"],
  ], jobs, "Jobs");
}

export async function jobsView({ app, query }) {
  const base = `#/${encodeURIComponent(app)}`;
  const offset = Number(query.get("offset")) || 0;
  const [jobs, total] = await get(of(app, `jobs?offset=${offset}&length=${LENGTH}`), true);
  return h("div", null, h("h1", null, "Jobs"), card(null, jobTable(jobs, base),
    pager(offset, LENGTH, total, (to) => { location.hash = `${base}/jobs?offset=${to}`; })));
}

export async function jobView({ app, rest }) {
  const base = `#/${encodeURIComponent(app)}`;
  const id = encodeURIComponent(rest[0]);
  const [job, graph, flame] = await Promise.all(["", "/graph", "/flame"].map((each) => get(of(app, `jobs/${id}${each}`))));
  const ids = job.stageIds.slice(-60);
  const stages = await Promise.all(ids.map((stage) => get(of(app, `stages/${stage}/0`))));
  for (const stage of stages) {
    const box = graph.nodes.find((each) => each.id === stage.stageId);
    if (box) Object.assign(stage, { status: box.status, isSkipped: box.status === "SKIPPED" });
  }
  const [again] = job.pyrite.error ? await failuresOf(app, job.stageIds) : [];
  return h("div", null,
    h("h1", null, `Job ${job.jobId} `, tag(job.status)),
    facts([
      ["Action", job.description || job.pyrite.action, job.pyrite.site],
      ["Began", seconds(job.pyrite.began_s) || "0", day(job.submissionTime)],
      ["Took", took(job) || "…"],
      ["Tasks", `${count(job.numCompletedTasks)} of ${count(job.numTasks - job.numSkippedTasks)}`, job.numSkippedTasks ? `${count(job.numSkippedTasks)} skipped` : null],
      job.jobGroup ? ["Group", job.jobGroup] : null,
    ]),
    job.pyrite.error ? card("Why it failed", h("div", { class: "failure" }, h("h3", null, job.pyrite.error), h("pre", { tabindex: "0" }, job.pyrite.message), again ? replayed(again) : null)) : null,
    card(["Stages ", h("span", { class: "quiet" }, graph.left_out ? `the last ${graph.nodes.length}, ${graph.left_out} before them are left out` : "")],
      scrolled("Graph of stages",
        stageGraph(graph, (stage) => `${base}/stage/${stage}`, (rdd) => `${base}/rdd/${rdd}`)),
      legend(["good", "done"], ["run", "running"], ["skipped", "skipped or waiting"], ["bad", "failed"], ["kept", "persisted RDD"])),
    card("Stages in numbers", stageTable(stages, base)),
    flameCard(flame));
}
