// Small builders of HTML and SVG, and the drawing of one device: a bar of memory slices.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Replace what an element shows. What is open stays open, and the focus stays where it is.
function renew(container, children) {
  const active = container.contains(document.activeElement) ? document.activeElement : null;
  const key = active && keyOf(active);
  const opened = new Set([...container.querySelectorAll("details[data-keep][open]")].map((one) => one.dataset.keep));
  container.replaceChildren(...children);
  for (const one of container.querySelectorAll("details[data-keep]")) one.open = opened.has(one.dataset.keep);
  if (!active) return;
  const again = container.contains(active) ? active : [...container.querySelectorAll(active.localName)].find((one) => keyOf(one) === key);
  again?.focus({ preventScroll: true });
}

const keyOf = (one) => one.id || [one.closest("[id]")?.id, one.getAttribute("href"), one.getAttribute("aria-label") ?? one.textContent].join("|");

const linkOf = (pod) => `#pod=${encodeURIComponent(pod)}`;

// The pattern over a fill tells namespaces apart without colour.
function marks(pattern, x, y, width, height) {
  const lines = [];
  const add = (d) => lines.push(d);
  const step = 9;
  if (pattern === "slash" || pattern === "cross") {
    for (let at = step / 2; at < width + height; at += step) {
      const [x1, y1] = at <= width ? [x + at, y] : [x + width, y + at - width];
      const [x2, y2] = at <= height ? [x, y + at] : [x + at - height, y + height];
      add(`M${x1} ${y1}L${x2} ${y2}`);
    }
  }
  if (pattern === "back" || pattern === "cross") {
    for (let at = step / 2; at < width + height; at += step) {
      const [x1, y1] = at <= width ? [x + width - at, y] : [x, y + at - width];
      const [x2, y2] = at <= height ? [x + width, y + at] : [x + width - at + height, y + height];
      add(`M${x1} ${y1}L${x2} ${y2}`);
    }
  }
  if (pattern === "bars") for (let at = step / 2; at < width; at += step) add(`M${x + at} ${y}V${y + height}`);
  if (pattern === "dots") {
    for (let row = 4; row < height; row += 8) for (let at = 4; at < width; at += 8) add(`M${x + at} ${y + row}h.1`);
  }
  if (!lines.length) return null;
  const cap = pattern === "dots" ? { "stroke-width": 2.6, "stroke-linecap": "round" } : {};
  return svg("path", { class: "mark", d: lines.join(""), ...cap });
}

function signPicture(namespace) {
  const sign = signOf(namespace);
  return svg(
    "svg",
    { class: "sign", viewBox: "0 0 26 20", role: "img", "aria-label": `sign ${sign.letter}` },
    svg("rect", { class: `held f${sign.hue}`, x: 0.5, y: 0.5, width: 25, height: 19, rx: 4 }),
    marks(sign.pattern, 1, 1, 24, 18),
    letter(sign.letter, 13, 14.5, sign.hue),
  );
}

// A letter keeps its own ground under it, so that no pattern crosses it.
function letter(text, x, y, hue) {
  const width = 8 + 6.5 * text.length;
  const ground = svg("rect", { class: `f${hue}`, x: x - width / 2, y: y - 11, width, height: 14, rx: 3 });
  return svg("g", {}, ground, svg("text", { class: "strong", x, y, "text-anchor": "middle" }, text));
}

const fits = (text, width) => text.length * 6.7 + 8 <= width;

// One held part of a device. Several claims that share it lie side by side.
function heldPart(device, cut, x, y, width, height, isSmall) {
  const parts = cut.holders.map((claim, index) => {
    const wide = width / cut.holders.length;
    return onePart(device, cut, claim, x + index * wide, y, wide, height, isSmall);
  });
  return svg("g", {}, ...parts);
}

function onePart(device, cut, claim, x, y, width, height, isSmall) {
  const sign = signOf(namespaceOf(claim));
  const shape = svg("rect", { class: `held f${sign.hue}`, x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: isSmall ? 2 : 4 });
  const inner = marks(sign.pattern, x + 2, y + 2, Math.max(0, width - 4), height - 4);
  const dims = isShown(claim) ? "" : "other";
  if (isSmall) return svg("g", { class: dims }, shape, smallLetter(sign, x, y, width, height) ?? inner);
  const words = heldWords(sign, cut, claim, x, y, width, height);
  const pod = podsOf(claim)[0];
  const label = `${holderText(claim)}: ${device.kind === "other" ? heldName(device, cut) : `${cut.label} of ${device.name}`}${rangeText(device, cut)}`;
  const classes = `${dims} ${isChosen(claim) ? "chosen" : ""}`;
  return svg("a", { href: linkOf(pod ?? claim), "aria-label": label, class: classes }, svg("title", {}, label), shape, inner, words);
}

// The letter of a sign, smaller where there is little room; nothing where it would touch the edges.
function smallLetter(sign, x, y, width, height) {
  const size = [10, 8].find((one) => sign.letter.length * one * 0.75 + 2 <= width);
  if (!size) return null;
  return svg("text", { class: size === 10 ? "tiny strong" : "least strong", x: x + width / 2, y: y + height / 2 + size * 0.36, "text-anchor": "middle" }, sign.letter);
}

function heldWords(sign, cut, claim, x, y, width, height) {
  const first = `${sign.letter}  ${cut.label}`;
  const second = holderText(claim);
  const ground = (text, row) =>
    svg("rect", { class: `f${sign.hue}`, x: x + 6, y: row - 11, width: Math.min(width - 10, text.length * 6.9 + 6), height: 14, rx: 3 });
  if (!fits(first, width - 6)) return letter(sign.letter, x + width / 2, y + height / 2 + 4, sign.hue);
  const text = (words, row, kind) => svg("g", {}, ground(words, row), svg("text", { class: kind, x: x + 9, y: row }, words));
  if (height < 34) return text(first, y + height / 2 + 4, "strong");
  const shown = fits(second, width - 6) ? second : shortened(second, width - 6);
  return svg("g", {}, text(first, y + height / 2 - 3, "strong"), text(shown, y + height / 2 + 12, ""));
}

function shortened(text, width) {
  const most = Math.max(1, Math.floor((width - 8) / 6.7) - 1);
  return `${text.slice(0, most)}…`;
}

// Break a text at spaces into lines: the first one may be shorter, since a name stands before it.
function wrapped(text, first, width, scale = 1) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (fits(longer, (lines.length === 1 ? first : width) * scale)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function rangeText(device, cut) {
  if (device.cells <= 1) return "";
  if (device.kind !== "gpu") return "";
  if (cut.size === 1) return `, memory slice ${cut.start}`;
  return `, memory slices ${cut.start} to ${cut.start + cut.size - 1}`;
}

// A bar of memory slices: free ones with a dotted edge, held ones as the sign of their namespace.
function bar(device, x, y, width, height, isSmall) {
  const cell = width / device.cells;
  const taken = new Set(device.cuts.flatMap((cut) => [...Array(cut.size).keys()].map((step) => cut.start + step)));
  const drawn = svg("g", {});
  for (let index = 0; index < device.cells; index += 1) {
    if (taken.has(index)) continue;
    const left = x + index * cell;
    const isLost = device.unusable.includes(index);
    const size = { x: left + 1, y: y + 1, width: cell - 2, height: height - 2, rx: isSmall ? 2 : 4 };
    drawn.append(svg("rect", { class: isLost ? "lost" : "free", ...size }));
    if (isLost) drawn.append(svg("path", { class: "cross", d: `M${left + 3} ${y + 3}L${left + cell - 3} ${y + height - 3}M${left + cell - 3} ${y + 3}L${left + 3} ${y + height - 3}` }));
    if (isLost) continue;
    if (!isSmall && cell >= 22) drawn.append(svg("text", { class: "tiny soft", x: left + cell / 2, y: y + height / 2 + 3.5, "text-anchor": "middle" }, device.kind === "other" ? "free" : device.cells > 1 ? String(index) : "free"));
  }
  for (const cut of device.cuts) drawn.append(heldPart(device, cut, x + cut.start * cell, y, cut.size * cell, height, isSmall));
  if (device.health.length) drawn.append(svg("rect", { class: "ill", x, y, width, height, rx: 5 }));
  return drawn;
}

// The bar of a device in the row of its node.
function strip(device) {
  const width = Math.max(26, device.cells * 9.6);
  const mark = device.health.length ? 12 : 0;
  const use = device.total ? `${device.used} of ${device.total} in use` : device.cuts.length ? "in use" : "free";
  const text = `${device.name}: ${use}${device.health.length ? ", not healthy" : ""}`;
  return svg(
    "svg",
    { width: width + mark, height: 20, viewBox: `0 0 ${width + mark} 20`, role: "img", "aria-label": text },
    svg("title", {}, text),
    bar(device, 0.5, 0.5, width - 1, 19, true),
    mark ? svg("text", { class: "strong bad", x: width + 5, y: 15 }, "!") : null,
  );
}
