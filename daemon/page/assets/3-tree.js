// The PCIe tree of one node, from the socket on the left to GPUs and NICs on the right.

const ROW = { gpu: 62, nic: 46 };

// Group devices by their place. Each level is one text, such as "switch 0000:01:00.0".
function branches(devices, depth = 0) {
  const groups = new Map();
  for (const device of devices) {
    const level = device.place[depth];
    const key = level ?? "";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(device);
  }
  return [...groups].flatMap(([level, members]) =>
    level === "" ? members.map((device) => ({ device })) : [joined(level, members, depth)],
  );
}

// Levels with one member only are written as one box of several lines.
function joined(level, members, depth) {
  const below = branches(members, depth + 1);
  if (below.length === 1 && below[0].lines) return { lines: [level, ...below[0].lines], below: below[0].below };
  return { lines: [level], below };
}

function tree(node, width) {
  const devices = [...node.gpus, ...node.nics, ...node.others];
  const isNarrow = width < 640;
  const drawn = svg("g", {});
  const indent = isNarrow ? 14 : 188;
  let y = 0;
  const place = (branch, x) => {
    if (branch.device) return leaf(drawn, branch.device, x, (y += 0), width - x, (used) => (y += used));
    return isNarrow ? stacked(branch, x) : beside(branch, x);
  };
  const beside = (branch, x) => {
    const top = y;
    const middles = branch.below.map((one) => place(one, x + indent));
    const needed = branch.lines.length * 15 + 20;
    if (y - top < needed) y = top + needed;
    const middle = (middles[0] + middles.at(-1)) / 2;
    wires(drawn, x + indent - 30, middle, x + indent - 12, middles);
    placeBox(drawn, branch.lines, x, middle, indent - 30);
    return middle;
  };
  const stacked = (branch, x) => {
    for (const words of wrapped(branch.lines.join(" › "), width - x, width - x, 1.2)) {
      drawn.append(svg("text", { class: "tiny soft", x, y: y + 13 }, words));
      y += 14;
    }
    y += 6;
    const top = y - 4;
    branch.below.forEach((one) => place(one, x + indent));
    drawn.append(svg("path", { class: "wire", d: `M${x + 4} ${top}V${y - 8}` }));
    return top;
  };
  branches(devices).forEach((one) => {
    place(one, 0);
    y += 10;
  });
  const label = `PCIe tree of ${node.name}: ${plural(node.gpus.length, "GPU")}, ${plural(node.nics.length, "NIC")}`;
  return svg("svg", { width, height: Math.max(y, 20), viewBox: `0 0 ${width} ${Math.max(y, 20)}`, role: "group", "aria-label": label }, drawn);
}

function wires(drawn, x1, y1, x2, middles) {
  for (const middle of middles) {
    const turn = (x1 + x2) / 2;
    drawn.append(svg("path", { class: "wire", d: `M${x1} ${y1}H${turn}V${middle}H${x2}` }));
  }
}

function placeBox(drawn, lines, x, middle, width) {
  const height = lines.length * 15 + 10;
  drawn.append(svg("rect", { class: "box", x: x + 0.5, y: middle - height / 2, width: width - 1, height, rx: 6 }));
  lines.forEach((line, index) => {
    const words = fits(line, width + 12) ? line : shortened(line, width + 6);
    drawn.append(svg("text", { class: index ? "tiny soft" : "tiny", x: x + 8, y: middle - height / 2 + 17 + index * 15 }, svg("title", {}, line), words));
  });
}

// A device: its name and facts over its bar. Returns where the wire ends.
function leaf(drawn, device, x, y, width, took) {
  const isGpu = device.kind === "gpu";
  const height = isGpu ? ROW.gpu : ROW.nic;
  const facts = wrapped(factsText(device), width - device.name.length * 7.4 - 12, width);
  const [first, ...rest] = facts;
  drawn.append(svg("text", { x, y: y + 13 }, svg("tspan", { class: "strong" }, device.name), svg("tspan", { class: "soft", dx: 8 }, first)));
  rest.forEach((line, index) => drawn.append(svg("text", { class: "soft", x, y: y + 28 + index * 15 }, line)));
  const top = y + 19 + rest.length * 15;
  const most = device.cells * (isGpu ? 130 : 64);
  drawn.append(bar(device, x, top, Math.min(width - 1, Math.max(most, isGpu ? 420 : 160)), height - 26, false));
  took(height + rest.length * 15);
  return top + (height - 26) / 2;
}

function factsText(device) {
  const ill = device.health.map((one) => one.text).join("; ");
  const free = Object.entries(device.free).filter(([, count]) => count).map(([profile, count]) => `${count}\u00a0×\u00a0${profile}`);
  const facts = [device.text, ill && `not healthy: ${ill}`, free.length ? `room for ${free.join(" or ")}` : ""];
  return facts.filter(Boolean).join(" · ");
}
