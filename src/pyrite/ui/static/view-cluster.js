// Storage, executors and the environment.
import { get, of } from "./api.js";
import { card, h, table, tag } from "./dom.js";
import { bytes, count, ms, seconds } from "./format.js";

export async function storageView({ app }) {
  const base = `#/${encodeURIComponent(app)}`;
  const rdds = await get(of(app, "storage/rdd"));
  return h("div", null, h("h1", null, "Storage"), card("Persisted RDDs", table([
    ["RDD", (it) => h("a", { href: `${base}/rdd/${it.id}` }, `${it.id}  ${it.name}`), "wrap"],
    ["Level", (it) => it.storageLevel],
    ["Kept", (it) => `${count(it.numCachedPartitions)} of ${count(it.numPartitions)} partitions`, "number"],
    ["As live rows", (it) => count(it.pyrite.live), "number"],
    ["In memory", (it) => bytes(it.memoryUsed), "number"],
    ["On disk", (it) => bytes(it.diskUsed), "number"],
  ], rdds, "Persisted RDDs")));
}

// The stacks that were asked for last, by run: news keep them.
const answers = new Map();

export async function executorsView({ app }) {
  const base = `#/${encodeURIComponent(app)}`;
  const [executors, run] = await Promise.all([get(of(app, "allexecutors")), get(of(app, "state"))]);
  const living = executors.filter((each) => each.isActive);
  const gone = executors.filter((each) => !each.isActive);
  const busy = living.some((each) => each.activeTasks);
  const columns = [
    ["Executor", (it) => it.id],
    ["Node", (it) => it.pyrite.node, "whole"],
    ["Process", (it) => `${it.pyrite.host}, ${it.pyrite.pid}`, "whole"],
    run.state !== "running" ? null : ["Does", (it) => (it.pyrite.running.length ? it.pyrite.running.map((task) => [h("a", { href: `${base}/stage/${task.stage}` }, `stage ${task.stage}, partition ${task.partition}`), ` for ${seconds(task.s)} `]) : h("span", { class: "quiet" }, "idle"))],
    ["Tasks done", (it) => count(it.completedTasks), "number"],
    ["Failed", (it) => (it.failedTasks ? h("span", { class: "slower" }, count(it.failedTasks)) : "0"), "number"],
    ["Busy", (it) => ms(it.totalDuration), "number"],
    ["Processor", (it) => seconds(it.pyrite.measured.cpu_s), "number"],
    ["Collecting garbage", (it) => ms(it.totalGCTime), "number"],
    ["Live rows", (it) => (it.rddBlocks ? `${it.rddBlocks} partitions, ${bytes(it.memoryUsed)}` : ""), "number"],
    ["Shuffle read", (it) => bytes(it.totalShuffleRead), "number"],
    ["Written", (it) => bytes(it.totalShuffleWrite), "number"],
    ["Peak memory", (it) => bytes(it.pyrite.measured.peak_memory_bytes), "number"],
  ].filter(Boolean);
  const stacks = h("div", { id: "stacks-found", role: "status" });
  const show = () => stacks.replaceChildren(...(answers.has(app) ? [h("pre", { tabindex: "0" }, answers.get(app))] : []));
  const ask = async () => {
    const found = await get(of(app, "stacks"));
    answers.set(app, found.text || found.problem || "No task runs.");
    show();
  };
  show();
  return h("div", null, h("h1", null, "Executors"),
    card([run.state === "running" ? "Living " : "There at the end ", h("span", { class: "quiet" }, count(living.length))], table(columns, living.slice(0, 500), "Living executors")),
    busy ? card("Where running tasks are", h("button", { type: "button", id: "stacks", onclick: ask }, "Ask for their stacks"), stacks) : null,
    gone.length ? card(["Lost ", h("span", { class: "quiet" }, count(gone.length))], table([
      ["Executor", (it) => it.id], ["Node", (it) => it.pyrite.node, "whole"],
      ["Why", (it) => [tag("lost", "bad"), " ", it.removeReason || ""], "wrap"],
      ["Tasks lost", (it) => count(it.pyrite.victims), "number"],
      ["Last words", (it) => (it.pyrite.output.length ? h("pre", { tabindex: "0" }, it.pyrite.output.join("\n")) : ""), "wrap"],
    ], gone.slice(-200), "Lost executors")) : null);
}

export async function environmentView({ app }) {
  const told = await get(of(app, "environment"));
  const { runtime, pyrite } = told;
  const rows = [
    ["Application", pyrite.application], ["Master", pyrite.master], ["Program", pyrite.script],
    ["Python", runtime.pythonVersion], ["Pyrite", runtime.pyriteVersion],
    ["Host", `${runtime.host}, process ${runtime.pid}, user ${runtime.user}`],
    ["Story", `${pyrite.story} (${bytes(pyrite.story_bytes)})`],
    ["Values of rows in errors", pyrite.values ? "yes" : "no"], ["Code, for pyrite replay", pyrite.code ? "yes" : "no"],
  ];
  return h("div", null, h("h1", null, "Environment"), h("div", { class: "columns" },
    card("The run", table([["What", ([name]) => name], ["", ([, text]) => text, "wrap"]], rows, "The run")),
    card("Settings that were given", table([
      ["Setting", ([name]) => h("code", null, name), "wrap"], ["Value", ([, text]) => h("code", null, text), "wrap"],
    ], told.sparkProperties, "Settings"))));
}
