// The parts of the page: figures, waiting pods, namespaces, nodes, history. Each replaces what it showed before.

const part = (id) => document.getElementById(id);
const percent = (share) => (share === null ? "–" : `${Math.round(share * 100)} %`);

function meter(share) {
  return el("div", { class: "meter", "aria-hidden": "true" },
    svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none" }, svg("rect", { class: "use", width: share * 100, height: 4 })));
}

function tile(name, value, more, share, isBad) {
  const shown = el("span", { class: "value" }, value, more ? el("small", {}, ` ${more}`) : "");
  return el("li", { class: isBad ? "bad" : "" }, el("span", { class: "name" }, name), shown, share === undefined ? "" : meter(share));
}

function drawFigures() {
  const { nodes, waiting, fragmentation } = state.data;
  const used = nodes.reduce((sum, node) => sum + node.used, 0);
  const total = nodes.reduce((sum, node) => sum + node.total, 0);
  const gpus = nodes.flatMap((node) => node.gpus);
  const ill = nodes.reduce((sum, node) => sum + illsOf(node).length, 0);
  const held = gpus.filter((gpu) => gpu.cuts.length).length;
  const others = nodes.flatMap((node) => node.others);
  const [taken, count] = [sumOf(others, "used"), sumOf(others, "total")];
  part("figures").replaceChildren(
    tile("Memory slices in use", used.toLocaleString("en"), `of ${total.toLocaleString("en")}`, total ? used / total : 0),
    tile("GPUs in use", held.toLocaleString("en"), `of ${gpus.length.toLocaleString("en")}`, gpus.length ? held / gpus.length : 0),
    ...(count ? [tile("Other devices in use", taken.toLocaleString("en"), `of ${count.toLocaleString("en")}`, taken / count)] : []),
    tile("Fragmentation", percent(fragmentation.value), "", fragmentation.value ?? 0),
    tile("Pods that wait", waiting.length.toLocaleString("en"), "", undefined, waiting.length > 0),
    tile("Devices not healthy", ill.toLocaleString("en"), ill ? `on ${plural(nodes.filter((node) => illsOf(node).length).length, "node")}` : "", undefined, ill > 0),
  );
}

const sumOf = (devices, key) => devices.reduce((sum, one) => sum + one[key], 0);

// The first pods that wait, so that the nodes are near; all on demand, and where a link chose one of the others.
const FEW = 5;
const MOST = 200;

function drawWaiting() {
  const shown = state.data.waiting.filter((pod) => !state.namespace || pod.namespace === state.namespace);
  part("waiting-count").textContent = shown.length === state.data.waiting.length ? "" : `${shown.length} of ${state.data.waiting.length}`;
  const isChosenBeyond = shown.findIndex((pod) => podName(pod) === state.chosen) >= FEW;
  const isAll = state.isWaitingOpen || isChosenBeyond || shown.length <= FEW + 1;
  const items = shown.slice(0, isAll ? MOST : FEW).map(pending);
  if (isAll && shown.length > MOST) items.push(el("li", { class: "pending" }, `and ${shown.length - MOST} more: choose a namespace, or see tangram pending`));
  if (shown.length > FEW + 1 && !isChosenBeyond) items.push(el("li", { class: "pending" }, moreButton(shown.length - FEW, isAll)));
  renew(part("waiting"), items.length ? items : [el("li", { class: "none" }, "No pod waits for devices.")]);
}

function moreButton(count, isAll) {
  const label = isAll ? `Show the first ${FEW} only` : `Show ${count.toLocaleString("en")} more pods`;
  const toggle = () => set({ isWaitingOpen: !state.isWaitingOpen });
  return el("button", { class: "plain", type: "button", id: "more-waiting", "aria-expanded": String(isAll), on: { click: toggle } }, label);
}

const podName = (pod) => `${pod.namespace}/${pod.name}`;

function pending(pod) {
  const name = podName(pod);
  const details = pod.details.length
    ? el("details", { "data-keep": name }, el("summary", {}, "Details, and what would help"), el("ul", {}, pod.details.map((line) => el("li", {}, line))))
    : "";
  return el("li", { class: "pending", id: `pod=${name}` },
    el("a", { href: linkOf(name) }, name), " ", el("span", { class: "since" }, pod.since ? `since ${asOf(pod.since)}` : ""),
    el("p", {}, pod.reason), details);
}

function drawNamespaces() {
  const hasOthers = totals().some((one) => one.others);
  part("h-others").hidden = !hasOthers;
  const rows = totals().map((one) => {
    const isOn = state.namespace === one.namespace;
    const choose = () => set({ namespace: isOn ? "" : one.namespace });
    return el("tr", {},
      el("td", {}, signPicture(one.namespace), el("button", { class: "plain", type: "button", "aria-pressed": String(isOn), on: { click: choose } }, one.namespace)),
      ...["gpus", "used", "vfs", ...(hasOthers ? ["others"] : []), "claims"].map((key) => el("td", { class: "n" }, one[key].toLocaleString("en"))));
  });
  const empty = el("tr", {}, el("td", { colspan: 6 }, "Nobody holds a device."));
  renew(part("namespaces"), rows.length ? rows : [empty]);
  drawChoice();
}

function drawChoice() {
  const choice = part("namespace");
  const chosen = state.namespace ? [state.namespace] : [];
  const names = [...new Set([...[...totals(), ...state.data.waiting].map((one) => one.namespace), ...chosen])].sort(byName);
  if (!isSame(names, [...choice.options].slice(1).map((one) => one.value))) {
    choice.replaceChildren(el("option", { value: "" }, "all namespaces"), ...names.map((name) => el("option", { value: name }, name)));
  }
  choice.value = state.namespace;
}

// Nodes: a row each. Strips and diagrams are drawn when they come into view, or when a row is opened.
const rows = new Map();
const seen = new IntersectionObserver((entries) => entries.forEach((one) => one.isIntersecting && drawRow(one.target.dataset.node)), { rootMargin: "400px" });
const sized = new ResizeObserver((entries) => entries.forEach((one) => {
  const row = rows.get(one.target.dataset.node);
  if (row && row.element.open && Math.abs(one.contentRect.width - row.width) > 1) drawInside(row);
}));

function drawNodes() {
  const shown = state.data.nodes.filter(matches);
  const names = new Set(state.data.nodes.map((node) => node.name));
  for (const [name, row] of rows) {
    if (names.has(name)) continue;
    seen.unobserve(row.element);
    rows.delete(name);
  }
  const list = shown.map((node) => rowOf(node).element);
  const present = part("nodes").children;
  if (list.length !== present.length || list.some((one, index) => one !== present[index])) renew(part("nodes"), list);
  const all = state.data.nodes.length;
  part("count").textContent = shown.length === all ? plural(all, "node") : `${shown.length.toLocaleString("en")} of ${plural(all, "node")}`;
  part("no-nodes").hidden = shown.length > 0;
}

function rowOf(node) {
  const row = rows.get(node.name) ?? newRow(node);
  const mark = [state.namespace, state.chosen, ...[...holdersOf(node)].map(holderText)].join("|");
  if (row.node !== node || row.mark !== mark) {
    Object.assign(row, { node, mark });
    if (row.isDrawn) drawRow(node.name, true);
    if (row.element.open) drawInside(row);
  }
  return row;
}

function newRow(node) {
  const strips = el("div", { class: "strips" });
  const facts = el("div", { class: "facts" });
  const inside = el("div", { class: "inside", "data-node": node.name });
  const element = el("details", { class: "node", "data-node": node.name, id: `node=${node.name}` },
    el("summary", {}, el("span", { class: "title" }, node.name), strips, facts), inside);
  const row = { element, strips, facts, inside, node: null, mark: "", isDrawn: false, width: 0 };
  element.addEventListener("toggle", () => {
    if (element.open) drawInside(row);
    else inside.replaceChildren();
  });
  rows.set(node.name, row);
  seen.observe(element);
  sized.observe(inside);
  return row;
}

function drawRow(name, isForced) {
  const row = rows.get(name);
  if (!row || (row.isDrawn && !isForced)) return;
  row.isDrawn = true;
  const { node } = row;
  row.strips.replaceChildren(...[...node.gpus, ...node.others].map(strip));
  const ill = illsOf(node).length;
  row.facts.replaceChildren(
    ...useOf(node), node.fragmentation === null ? "" : ` · fragmented ${percent(node.fragmentation)}`,
    ...(ill ? [" ", el("span", { class: "badge" }, `! ${ill} not healthy`)] : []),
  );
}

function useOf(node) {
  const held = node.gpus.filter((gpu) => gpu.cuts.length).length;
  const [used, all, what] = node.total ? [node.used, node.total, "slices"]
    : node.gpus.length ? [held, node.gpus.length, "GPUs"]
    : [sumOf(node.nics, "used") + sumOf(node.others, "used"), sumOf(node.nics, "total") + sumOf(node.others, "total"), "devices"];
  return [el("b", {}, `${used} of ${all}`), ` ${what}`];
}

function drawInside(row) {
  const { node, inside } = row;
  const style = getComputedStyle(inside);
  row.width = inside.getBoundingClientRect().width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const width = Math.max(260, Math.floor(row.width));
  const claims = [...holdersOf(node)].filter(isShown).sort(byName);
  renew(inside, [
    el("h3", {}, node.gpus.length || node.nics.length ? "PCIe tree and memory slices" : "Devices"), el("div", { class: "scroll" }, tree(node, width)),
    el("h3", {}, "Who holds what"), claims.length ? holdersTable(node, claims) : el("p", { class: "none" }, "Nobody holds a device here."),
    ...ills(node),
  ]);
}

function holdersTable(node, claims) {
  const rows = claims.map((claim) => {
    const devices = [...node.gpus, ...node.nics, ...node.others].flatMap((device) =>
      device.cuts.filter((cut) => cut.holders.includes(claim)).map((cut) => heldName(device, cut)));
    const pods = podsOf(claim).map((pod) => el("a", { href: linkOf(pod) }, pod));
    return el("tr", {}, el("td", {}, signPicture(namespaceOf(claim)), ...(pods.length ? pods : ["no pod"])), el("td", {}, claim), el("td", {}, devices.join(", ")));
  });
  const head = el("tr", {}, ...["Pod", "Claim", "Devices"].map((name) => el("th", { scope: "col" }, name)));
  return el("table", { class: "holders" }, el("thead", {}, head), el("tbody", {}, rows));
}

function heldName(device, cut) {
  if (device.kind === "other") return device.cells > 1 || device.total === 1 ? `${cut.label} (${device.name})` : device.name;
  return cut.label.startsWith("whole") ? device.name : `${cut.label} of ${device.name}`;
}

function ills(node) {
  const found = illsOf(node);
  if (!found.length) return [];
  const lines = found.flatMap((device) => device.health.map((one) => el("li", {}, `${device.name}: ${one.text} (${one.effect})`)));
  return [el("h3", {}, "Not healthy"), el("ul", {}, lines)];
}

// Use and fragmentation over time, as a server that watches has seen them.
function drawHistory() {
  const points = state.data.history;
  part("history").hidden = points.length < 2;
  if (points.length < 2) return;
  const from = points[0].at;
  const lasts = Math.max(1, points.at(-1).at - from);
  const width = Math.max(240, part("chart").clientWidth);
  const line = (value) => points.filter((one) => value(one) !== null).map((one, index) => `${index ? "L" : "M"}${(40 + ((one.at - from) / lasts) * (width - 46)).toFixed(1)} ${(110 - value(one) * 100).toFixed(1)}`).join("");
  const clock = (at) => new Date(at * 1000).toISOString().slice(11, 19);
  const label = `In use ${percent(points.at(-1).use)}, fragmentation ${percent(points.at(-1).fragmentation)} at ${clock(points.at(-1).at)}`;
  part("chart").replaceChildren(svg("svg", { class: "chart", viewBox: `0 0 ${width} 132`, role: "img", "aria-label": label, width, height: 132 },
    ...[0, 0.5, 1].map((share) => svg("g", {}, svg("path", { class: "grid", d: `M40 ${110 - share * 100}H${width - 6}` }), svg("text", { class: "tiny soft", x: 34, y: 114 - share * 100, "text-anchor": "end" }, percent(share)))),
    svg("path", { class: "use-line", d: line((one) => one.use) }), svg("path", { class: "frag-line", d: line((one) => one.fragmentation) }),
    svg("text", { class: "tiny soft", x: 40, y: 128 }, clock(from)), svg("text", { class: "tiny soft", x: width - 6, y: 128, "text-anchor": "end" }, `${clock(points.at(-1).at)} UTC`)));
}
