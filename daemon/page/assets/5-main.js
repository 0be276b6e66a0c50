// Puts the page together: what is chosen, the address, the keyboard, and changes that a server tells.

function set(change) {
  Object.assign(state, change);
  draw();
}

// The parts of the page, and the keys of the value that each shows.
const PARTS = [
  [["title", "fragmentation"], drawTexts],
  [["nodes", "waiting", "fragmentation"], drawFigures],
  [["waiting"], drawWaiting],
  [["namespaces", "waiting"], drawNamespaces],
  [["nodes", "claims"], drawNodes],
  [["history"], drawHistory],
  [["notes"], drawNotes],
];

// Draw the parts that show one of these keys, or all.
function draw(changed) {
  for (const [keys, drawPart] of PARTS) if (!changed || keys.some((key) => changed.includes(key))) drawPart();
}

function drawTexts() {
  part("title").textContent = state.data.title;
  part("definition").textContent = state.data.fragmentation.definition;
}

function drawNotes() {
  const notes = state.data.notes;
  part("notes").hidden = !notes.length;
  part("notes-list").replaceChildren(...notes.map((note) => el("li", {}, note)));
}

// The text of the address after #; one that is wrongly escaped is taken as it stands.
function fragment() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// #pod=NAMESPACE/NAME opens the nodes where the pod has devices, #node=NAME one node.
function follow() {
  const [kind, text] = fragment().split(/=(.*)/s);
  if (kind === "node") open([text]);
  if (kind !== "pod") return;
  set({ chosen: text, namespace: "", search: "", only: "all" });
  part("search").value = "";
  part("only").value = "all";
  const holding = state.data.nodes.filter((node) => [...holdersOf(node)].some(isChosen)).map((node) => node.name);
  const waits = document.getElementById(`pod=${text}`);
  waits?.querySelectorAll("details").forEach((one) => (one.open = true));
  part("said").textContent = holding.length ? `${text} has devices on ${holding.join(", ")}` : `${text} has no devices`;
  if (holding.length) open(holding);
  else waits?.scrollIntoView({ block: "center" });
}

function open(names) {
  names.forEach((name) => rows.get(name) && (rows.get(name).element.open = true));
  rows.get(names[0])?.element.scrollIntoView({ block: "start" });
}

function listen() {
  part("search").addEventListener("input", (event) => set({ search: event.target.value }));
  part("namespace").addEventListener("change", (event) => set({ namespace: event.target.value }));
  part("only").addEventListener("change", (event) => set({ only: event.target.value }));
  part("theme").addEventListener("click", () => show(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  document.addEventListener("keydown", (event) => {
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      part("search").focus();
    } else if (event.key === "Escape") {
      part("search").value = "";
      set({ search: "", namespace: "", chosen: "" });
    } else if ((event.key === "j" || event.key === "k") && !isTyping) step(event.key === "j" ? 1 : -1);
  });
  addEventListener("hashchange", follow);
  addEventListener("resize", drawHistory);
  // Rows that are scrolled to stop below the tools, however many lines these have.
  new ResizeObserver(([one]) => document.documentElement.style.setProperty("--tools", `${one.target.offsetHeight}px`)).observe(part("tools"));
}

function step(by) {
  const heads = [...document.querySelectorAll(".node > summary")];
  const at = heads.findIndex((one) => one.parentElement.contains(document.activeElement));
  heads[Math.min(heads.length - 1, Math.max(0, at + by))]?.focus();
}

function show(theme) {
  document.documentElement.dataset.theme = theme;
  part("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function tell(kind, text) {
  part("state").className = `state ${kind}`;
  part("state").textContent = text;
}

const asOf = (text) => text.replace("T", " ").replace("Z", " UTC");

function arrived(takeIn) {
  const before = state.data.waiting.length;
  draw(takeIn());
  tell("live", `Live, last change ${asOf(state.data.made)}`);
  if (state.data.waiting.length !== before) part("said").textContent = `${plural(state.data.waiting.length, "pod")} waiting`;
}

function watch() {
  const source = new EventSource("events");
  source.addEventListener("all", (event) => arrived(() => renewed(JSON.parse(event.data))));
  source.addEventListener("change", (event) => arrived(() => patch(JSON.parse(event.data))));
  source.addEventListener("error", () => tell("lost", "The server does not answer; this is the last that it sent"));
}

show(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
take(JSON.parse(part("data").textContent));
listen();
draw();
follow();
if (state.data.live) watch();
else tell("", `As of ${asOf(state.data.made)}`);
