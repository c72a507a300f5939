// The REST API that other tools use too.

export class Refused extends Error {}

export async function get(path, wantsTotal) {
  const response = await fetch(`/api/v1/${path}`, { credentials: "same-origin" });
  if (!response.ok) {
    let line = `${response.status} ${response.statusText}`;
    const text = await response.text();
    try { line = JSON.parse(text).error || line; } catch { line = text.trim() || line; }
    throw new Refused(line);
  }
  const value = await response.json();
  return wantsTotal ? [value, Number(response.headers.get("x-total-count"))] : value;
}

export const of = (app, path) => `applications/${encodeURIComponent(app)}/${path}`;
