// Numbers as people read them.

export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value === 0) return "0";
  if (value < 0.001) return `${Number((value * 1e6).toPrecision(3))} µs`;
  if (value < 1) return `${Number((value * 1000).toPrecision(3))} ms`;
  if (value < 60) return `${Number(value.toPrecision(3))} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
}

export const ms = (value) => seconds(value / 1000);

export function bytes(value) {
  if (!value) return "0";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${Number(value.toPrecision(3))} ${units[at]}`;
}

export const count = (value) => (value || 0).toLocaleString("en");

export const percent = (value) => `${Number((100 * value).toPrecision(2))} %`;

// Spark's dates, as "2026-11-17T02:50:23.569GMT".
export function day(text) {
  if (!text) return "";
  const date = new Date(text.replace("GMT", "Z"));
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function middle(text, most) {
  if (text.length <= most) return text;
  return `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
}

export const file = (site) => site.slice(site.lastIndexOf("/") + 1);
