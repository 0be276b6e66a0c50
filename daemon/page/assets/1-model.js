// What the page knows: the value that the server or the file gave, and what is asked of it.
// Texts of objects are only ever set as text, never as markup.

const state = { data: null, namespace: "", search: "", only: "all", chosen: "", isWaitingOpen: false };

const byName = new Intl.Collator("en", { numeric: true }).compare;
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const namespaceOf = (claim) => state.data.claims[claim]?.namespace ?? claim.slice(0, claim.indexOf("/"));
const podsOf = (claim) => (state.data.claims[claim]?.pods ?? []).map((pod) => `${namespaceOf(claim)}/${pod}`);
const holderText = (claim) => podsOf(claim).join(", ") || `claim ${claim}`;

// Nodes are in the order of their names, with numbers as numbers, whoever tells them; last what belongs to no single node.
const inOrder = (a, b) => b.isNode - a.isNode || byName(a.name, b.name);

function take(value) {
  state.data = { ...value, nodes: [...value.nodes].sort(inOrder) };
  signs();
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// Take a whole value and return the keys that have changed. Nodes that are the same stay the same objects.
function renewed(value) {
  const known = new Map(state.data.nodes.map((node) => [node.name, node]));
  const changed = Object.keys(value).filter((key) => !isSame(value[key], state.data[key]));
  const nodes = value.nodes.map((node) => (isSame(node, known.get(node.name)) ? known.get(node.name) : node));
  take({ ...value, nodes });
  return changed;
}

// Apply what a server tells and return the keys that have changed: whole lists where they changed, and nodes by name, null for one that is gone.
function patch(change) {
  const { nodes, ...rest } = change;
  const known = new Map(state.data.nodes.map((node) => [node.name, node]));
  for (const [name, node] of Object.entries(nodes ?? {})) {
    if (node === null) known.delete(name);
    else known.set(name, node);
  }
  take({ ...state.data, ...rest, nodes: [...known.values()] });
  return Object.keys(change);
}

// The sign of a namespace: a letter, a colour and a pattern, the same until the page is loaded again.
const given = new Map();
const HUES = 8;
const PATTERNS = ["none", "slash", "dots", "back", "bars", "cross"];

function signs() {
  const fresh = totals().map((one) => one.namespace).filter((name) => !given.has(name));
  for (const name of fresh) {
    const place = given.size;
    const round = Math.floor(place / HUES);
    given.set(name, { letter: lettersOf(place), hue: place % HUES, pattern: PATTERNS[(place + round) % PATTERNS.length] });
  }
}

function lettersOf(place) {
  const last = String.fromCharCode(65 + (place % 26));
  return place < 26 ? last : lettersOf(Math.floor(place / 26) - 1) + last;
}

const signOf = (namespace) => given.get(namespace) ?? { letter: "?", hue: 0, pattern: "none" };

function totals() {
  return state.data.namespaces;
}

function isShown(claim) {
  return !state.namespace || namespaceOf(claim) === state.namespace;
}

function isChosen(claim) {
  return state.chosen !== "" && (claim === state.chosen || podsOf(claim).includes(state.chosen));
}

function holdersOf(node) {
  const found = new Set();
  for (const device of [...node.gpus, ...node.nics, ...node.others]) {
    for (const cut of device.cuts) cut.holders.forEach((claim) => found.add(claim));
  }
  return found;
}

const illsOf = (node) => [...node.gpus, ...node.nics, ...node.others].filter((device) => device.health.length);

function matches(node) {
  const claims = holdersOf(node);
  if (state.namespace && ![...claims].some(isShown)) return false;
  if (state.only === "ill" && !illsOf(node).length) return false;
  if (state.only === "free" && node.used >= node.total) return false;
  if (state.only === "held" && !claims.size) return false;
  const wanted = state.search.trim().toLowerCase();
  if (!wanted) return true;
  const texts = [node.name, ...claims, ...[...claims].flatMap(podsOf)];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}
