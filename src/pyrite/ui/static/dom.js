// Elements from data. Text becomes text nodes and attributes come from a fixed list: nothing that
// a story holds can become markup.

const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = /^#\//;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick" || name === "onchange") element.addEventListener(name.slice(2), value);
    else if (name === "href") element.setAttribute("href", SAFE_LINK.test(value) ? value : "#/");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h2", null, title), children);
}

export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value, small]) =>
    h("div", { class: "fact" }, h("dt", null, name),
      h("dd", null, value, small ? h("div", { class: "small" }, small) : null))));
}

// A table; a column is [title, cell of a row, kind], the kind "number", "wrap" or "whole".
export function table(columns, rows, caption) {
  const head = columns.map(([title, , kind]) =>
    h("th", { class: kind === "number" ? "number" : null, scope: "col" }, title));
  const body = rows.map((row, index) => h("tr", null,
    columns.map(([, cell, kind]) => h("td", { class: kind }, cell(row, index)))));
  if (!rows.length) body.push(h("tr", null, h("td", { colspan: columns.length, class: "quiet" }, "none")));
  return scrolled(caption,
    h("table", null, h("thead", null, h("tr", null, head)), h("tbody", null, body)));
}

// A picture that is scrolled where it does not fit.
export function scrolled(label, ...children) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, children);
}

// A file and its line; breaks between folders and file only.
export function siteText(site) {
  const at = site.lastIndexOf("/") + 1;
  return [site.slice(0, at), h("wbr"), h("span", { class: "whole" }, site.slice(at))];
}

const KINDS = {
  SUCCEEDED: "good", COMPLETE: "good", SUCCESS: "good", ended: "good",
  FAILED: "bad", "cut off": "bad", RUNNING: "run", ACTIVE: "run", running: "run",
};

export function tag(status, kind) {
  return h("span", { class: `tag ${kind || KINDS[status] || ""}` }, status.toLowerCase());
}

export function kindOf(status) {
  return KINDS[status] || "skip";
}

export function progress(done, running, failed, total) {
  const part = (count, name) => {
    const piece = h("span", { class: name });
    piece.style.width = `${total ? Math.min(100, (100 * count) / total) : 0}%`;
    return piece;
  };
  return h("span", null, h("span", { class: "progress", "aria-hidden": "true" },
    part(done, "done"), part(running, "running")), `${done}/${total}`,
    failed ? h("span", { class: "slower" }, ` (${failed} failed)`) : null);
}

export function pager(offset, length, total, go) {
  if (total <= length) return null;
  const last = Math.min(offset + length, total);
  return h("div", { class: "pager" },
    h("button", { type: "button", id: "newer", disabled: offset === 0, onclick: () => go(Math.max(0, offset - length)) }, "← back"),
    h("span", null, `${offset + 1} to ${last} of ${total}`),
    h("button", { type: "button", id: "older", disabled: last >= total, onclick: () => go(offset + length) }, "on →"));
}

export function legend(...pairs) {
  return h("p", { class: "legend" }, pairs.map(([kind, text]) => h("span", null, h("i", { class: kind }), text)));
}
