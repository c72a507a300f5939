// The views by their names in the address, and the tabs.
import { compareView } from "./view-compare.js";
import { environmentView, executorsView, storageView } from "./view-cluster.js";
import { jobView, jobsView } from "./view-jobs.js";
import { lineageView, rddsView, stepView } from "./view-rdds.js";
import { overviewView, runsView, toldView } from "./view-overview.js";
import { poolsView, shuffleView, shufflesView } from "./view-pools.js";
import { stageView, stagesView } from "./view-stages.js";

export const TABS = [
  ["overview", "Overview"],
  ["jobs", "Jobs", ["job"]],
  ["stages", "Stages", ["stage"]],
  ["rdds", "RDDs", ["rdd", "step"]],
  ["storage", "Storage"],
  ["executors", "Executors"],
  ["pools", "Pools"],
  ["shuffles", "Shuffles", ["shuffle"]],
  ["told", "What happened"],
  ["environment", "Environment"],
  ["compare", "Compare"],
];

export const VIEWS = {
  runs: runsView, overview: overviewView, jobs: jobsView, job: jobView, stages: stagesView,
  stage: stageView, rdds: rddsView, rdd: lineageView, step: stepView, storage: storageView,
  executors: executorsView, pools: poolsView, shuffles: shufflesView, shuffle: shuffleView,
  told: toldView, environment: environmentView, compare: compareView,
};
