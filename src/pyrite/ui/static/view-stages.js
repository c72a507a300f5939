// Stages: a list, and one stage with its time line, quantiles and tasks.
import { get, of } from "./api.js";
import { card, facts, h, legend, pager, progress, scrolled, table, tag } from "./dom.js";
import { bytes, count, file, ms, seconds } from "./format.js";
import { failure, failuresOf } from "./failures.js";
import { flameCard } from "./flame.js";
import { taskTimeline } from "./timeline.js";

const LENGTH = 100;
const TASKS = 50;

const took = (it) => (it.pyrite.began_s === null ? "" : it.pyrite.ended_s === null ? "…" : seconds(it.pyrite.ended_s - it.pyrite.began_s) || "0");

export function stageTable(stages, base) {
  // What a skipped stage did, it did in another job.
  const ran = (cell) => (it) => (it.isSkipped ? "" : cell(it));
  return table([
    ["Stage", (it) => h("a", { href: `${base}/stage/${it.stageId}` }, `${it.stageId}  ${it.name}`), "wrap"],
    ["Status", (it) => tag(it.status)],
    ["Began", ran((it) => seconds(it.pyrite.began_s)), "number"],
    ["Took", ran(took), "number"],
    ["Tasks", (it) => (it.status === "SKIPPED" ? "" : progress(it.numCompleteTasks, it.numActiveTasks, it.numFailedTasks, it.numTasks)), "whole"],
    ["Work", ran((it) => seconds(it.pyrite.measured.run_s)), "number"],
    ["Rows in", ran((it) => count(it.inputRecords)), "number"],
    ["Shuffle read", ran((it) => bytes(it.shuffleReadBytes)), "number"],
    ["Shuffle written", ran((it) => bytes(it.shuffleWriteBytes)), "number"],
    ["Spilled", ran((it) => bytes(it.diskBytesSpilled)), "number"],
  ], stages, "Stages");
}

export async function stagesView({ app, query }) {
  const base = `#/${encodeURIComponent(app)}`;
  const offset = Number(query.get("offset")) || 0;
  const [stages, total] = await get(of(app, `stages?offset=${offset}&length=${LENGTH}`), true);
  return h("div", null, h("h1", null, "Stages"), card(null, stageTable(stages, base),
    pager(offset, LENGTH, total, (to) => { location.hash = `${base}/stages?offset=${to}`; })));
}

export async function stageView({ app, rest, query }) {
  const base = `#/${encodeURIComponent(app)}`;
  const path = `stages/${encodeURIComponent(rest[0])}/0`;
  const order = query.get("sort") || "-runtime";
  const offset = Number(query.get("offset")) || 0;
  const wanted = `taskList?offset=${offset}&length=${TASKS}&sortBy=${encodeURIComponent(order)}`;
  const [stage, summary, timeline, flame, [tasks, total]] = await Promise.all([
    get(of(app, path)), get(of(app, `${path}/taskSummary?quantiles=0,0.25,0.5,0.75,0.95,1`)),
    get(of(app, `${path}/timeline`)), get(of(app, `${path}/flame`)), get(of(app, `${path}/${wanted}`), true),
  ]);
  const failed = stage.numFailedTasks ? await failuresOf(app, [stage.stageId]) : [];
  const { measured } = stage.pyrite;
  const kept = measured.kept_live + measured.kept_pool + measured.kept_remote + measured.kept_disk;
  const median = summary.duration[2];
  const go = (sort, to) => { location.hash = `${base}/stage/${stage.stageId}?sort=${encodeURIComponent(sort)}&offset=${to}`; };
  return h("div", null,
    h("h1", null, `Stage ${stage.stageId}: ${stage.name} `, tag(stage.status)),
    facts([
      ["Took", took(stage), `began after ${seconds(stage.pyrite.began_s) || "0"}`],
      ["Tasks", `${count(stage.numCompleteTasks)} of ${count(stage.numTasks)}`, stage.numFailedTasks ? `${count(stage.numFailedTasks)} ${stage.numFailedTasks === 1 ? "attempt" : "attempts"} failed` : `${count(stage.numActiveTasks)} running`],
      ["Work", seconds(measured.run_s), `${seconds(measured.cpu_s)} of processor`],
      ["Stragglers", count(summary.pyrite.stragglers), `over ${summary.pyrite.straggler_factor} medians`],
      ["Rows", count(measured.rows_read), `${count(measured.rows_written)} out`],
      stage.shuffleReadBytes ? ["Shuffle read", bytes(stage.shuffleReadBytes), `${bytes(measured.shuffle_remote_bytes)} remote, ${bytes(measured.shuffle_prefetched_bytes)} prefetched`] : null,
      stage.shuffleWriteBytes ? ["Shuffle written", bytes(stage.shuffleWriteBytes)] : null,
      kept ? ["Kept partitions read", count(kept), `${measured.kept_live} live, ${measured.kept_pool} in the pool, ${measured.kept_remote} remote, ${measured.kept_disk} on disk`] : null,
    ]),
    h("p", null, "Jobs: ", stage.pyrite.jobs.slice(0, 20).map((id) => [h("a", { href: `${base}/job/${id}` }, `job ${id}`), " "]),
      stage.pyrite.reads_shuffles.map((id) => [" · reads ", h("a", { href: `${base}/shuffle/${id}` }, `shuffle ${id}`)]),
      stage.pyrite.writes_shuffle === null ? null : [" · writes ", h("a", { href: `${base}/shuffle/${stage.pyrite.writes_shuffle}` }, `shuffle ${stage.pyrite.writes_shuffle}`)],
      stage.rddIds.slice(0, 20).map((id) => [" · ", h("a", { href: `${base}/rdd/${id}` }, `RDD ${id}`)]),
      [" · ", h("a", { href: `${base}/step/${stage.stageId}` }, "lineage of its rows")]),
    failed.length ? card("What its tasks raised", failed.map((each, index) => failure(each, base, index))) : null,
    stage.failureReason && !failed.length ? card("Why it failed", h("div", { class: "failure" }, h("h3", null, stage.failureReason.split("\n")[0]))) : null,
    card(["Executors in time ", h("span", { class: "quiet" }, timeline.more_lanes ? `${timeline.more_lanes} more executors are left out` : "")],
      timeline.lanes.length ? scrolled("Executors in time", taskTimeline(timeline)) : h("p", { class: "quiet" }, "No task ran."),
      legend(["good", timeline.lanes.length && timeline.lanes[0].slots ? "busy (darker: more of the time)" : "succeeded"], ["run", "running"], ["bad", "failed"], ["wait", "waited for map outputs"])),
    flameCard(flame),
    card(["Quantiles ", h("span", { class: "quiet" }, `of ${count(summary.pyrite.tasks)} tasks that succeeded`)], quantiles(summary)),
    card(["Tasks ", h("span", { class: "quiet" }, count(total))], taskTable(tasks, order, median, go), pager(offset, TASKS, total, (to) => go(order, to))),
    stage.pyrite.row_machine.length ? card("The row machine", h("ul", null, stage.pyrite.row_machine.slice(0, 40).map((each) => h("li", null, each)))) : null,
    card("Where the program says it", h("pre", { tabindex: "0" }, stage.details || "not known")));
}

function quantiles(summary) {
  const rows = [
    ["Duration", summary.duration, ms],
    ["Time in Python", summary.executorRunTime, ms],
    ["Processor time", summary.executorCpuTime, (value) => seconds(value / 1e9)],
    ["Loading of functions", summary.executorDeserializeTime, ms],
    ["Garbage collection", summary.jvmGcTime, ms],
    ["Rows read", summary.inputMetrics.recordsRead, count],
    ["Input", summary.inputMetrics.bytesRead, bytes],
    ["Shuffle read", summary.shuffleReadMetrics.readBytes, bytes],
    ["Wait for map outputs", summary.shuffleReadMetrics.fetchWaitTime, ms],
    ["Shuffle written", summary.shuffleWriteMetrics.writeBytes, bytes],
    ["Result", summary.resultSize, bytes],
    ["Spilled", summary.diskBytesSpilled, bytes],
    ["Highest memory", summary.peakExecutionMemory, bytes],
  ].filter(([name, values]) => name === "Duration" || values.some(Boolean));
  const names = ["Least", "25 %", "Median", "75 %", "95 %", "Most"];
  return table([
    ["Metric", ([name]) => name],
    ...names.map((name, index) => [name, ([, values, text]) => text(values[index]), "number"]),
  ], rows, "Quantiles");
}

function taskTable(tasks, order, median, go) {
  const sortable = (title, key) => {
    const on = order.replace("-", "") === key;
    const next = order === `-${key}` ? key : `-${key}`;
    return h("button", { type: "button", id: `sort-${key}`, onclick: () => go(next, 0), "aria-label": `sort by ${title}` },
      title, on ? (order.startsWith("-") ? " ↓" : " ↑") : "");
  };
  return table([
    [sortable("Task", "id"), (it) => it.taskId],
    [sortable("Partition", "index"), (it) => (it.pyrite.partitions.length > 1 ? `${it.index} and ${it.pyrite.partitions.length - 1} more` : it.index), "number"],
    ["Try", (it) => it.attempt + 1, "number"],
    ["Status", (it) => tag(it.status)],
    [sortable("Executor", "executor"), (it) => `${it.executorId} · ${it.pyrite.node}`],
    [sortable("Took", "runtime"), (it) => [ms(it.duration), it.status === "SUCCESS" && median && it.duration > 1.5 * median ? h("span", { class: "slower" }, ` ${(it.duration / median).toFixed(1)}×`) : ""], "number"],
    ["Waited", (it) => ms(it.taskMetrics.shuffleReadMetrics.fetchWaitTime), "number"],
    [sortable("Rows", "rows"), (it) => count(it.taskMetrics.inputMetrics.recordsRead), "number"],
    [sortable("Shuffle read", "shuffleread"), (it) => bytes(it.pyrite.measured.shuffle_local_bytes + it.pyrite.measured.shuffle_remote_bytes + it.pyrite.measured.shuffle_prefetched_bytes), "number"],
    [sortable("Shuffle written", "shufflewrite"), (it) => bytes(it.taskMetrics.shuffleWriteMetrics.bytesWritten), "number"],
    ["Spilled", (it) => bytes(it.taskMetrics.diskBytesSpilled), "number"],
    [sortable("Memory", "memory"), (it) => bytes(it.taskMetrics.peakExecutionMemory), "number"],
    ["Error", (it) => (it.errorMessage ? h("span", { class: "slower" }, it.errorMessage.split("\n")[0]) : it.pyrite.outcome === "lost" ? "executor lost" : ""), "wrap"],
  ], tasks, "Tasks");
}
