// Where the boxes of the map are: in columns, so that most arrows point to the right. The same map has the same layout.

import { Graph, layout } from './dagre.js';

const size = { width: 190, height: 50, row: 44, head: 46, pad: 8, gap: 18, between: 110, margin: 16, rows: 12 };

// arrange places the nodes of a map: at has a rectangle for each, boxes one for each opened namespace.
export function arrange(nodes, links) {
  const boxes = boxesOf(nodes);
  const of = []; // by node: its box
  boxes.forEach((box, i) => { for (const n of box.nodes) of[n] = i; });
  const at = [], opened = [];
  const most = Math.max(...boxes.map((b) => b.height), Math.sqrt(boxes.reduce((sum, b) => sum + (b.height + size.gap) * (b.width + size.between), 0) * 0.6));
  let x = size.margin, height = 0, lower = false;
  for (const column of wrapped(columnsOf(boxes, links.map((l) => [of[l.from], of[l.to]])), boxes, most)) {
    let y = size.margin + (lower ? (size.height + size.gap) / 2 : 0); // so that an arrow past a column does not lead through its boxes
    lower = !lower;
    for (const i of column) {
      placed(boxes[i], x, y, at, opened);
      y += boxes[i].height + size.gap;
    }
    height = Math.max(height, y);
    x += Math.max(...column.map((i) => boxes[i].width)) + size.between;
  }
  return { at, opened, width: x - size.between + size.margin + 60, height: height - size.gap + size.margin };
}

// boxesOf are the nodes, with those of an opened namespace in one box.
function boxesOf(nodes) {
  const boxes = [], known = new Map();
  nodes.forEach((node, n) => {
    if (!node.namespace) {
      boxes.push({ nodes: [n], outside: node.kind === 'outside', width: size.width, height: size.height });
      return;
    }
    if (!known.has(node.namespace)) {
      known.set(node.namespace, { namespace: node.namespace, nodes: [] });
      boxes.push(known.get(node.namespace));
    }
    known.get(node.namespace).nodes.push(n);
  });
  for (const box of known.values()) {
    const columns = Math.ceil(box.nodes.length / size.rows);
    box.rows = Math.ceil(box.nodes.length / columns);
    box.width = columns * (size.width + size.pad) + size.pad;
    box.height = size.head + box.rows * size.row + size.pad;
  }
  return boxes;
}

// columnsOf are boxes in columns: what is outside first, then those that an arrow leads to are to the right of those that it comes from.
// Arrows both ways do not order.
function columnsOf(boxes, pairs) {
  const linked = new Set(pairs.map(([from, to]) => from + ' ' + to));
  const graph = new Graph().setGraph({ rankdir: 'LR', nodesep: size.gap, ranksep: size.between });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [from, to] of pairs) {
    if (from === to || boxes[from].outside || boxes[to].outside || linked.has(to + ' ' + from)) continue;
    for (const i of [from, to]) graph.setNode(String(i), { width: size.width, height: boxes[i].height }); // a wide one takes no rank more
    graph.setEdge(String(from), String(to));
  }
  if (graph.nodeCount() > 0) layout(graph);
  const columns = new Map();
  for (const name of graph.nodes()) {
    const { x, y } = graph.node(name);
    if (!columns.has(x)) columns.set(x, []);
    columns.get(x).push({ i: Number(name), y });
  }
  const out = [...columns.entries()].sort(([a], [b]) => a - b).map(([, list]) => list.sort((a, b) => a.y - b.y || a.i - b.i).map(({ i }) => i));
  const loose = boxes.map((_, i) => i).filter((i) => !graph.hasNode(String(i)));
  return [loose.filter((i) => boxes[i].outside), ...out, loose.filter((i) => !boxes[i].outside)].filter((column) => column.length > 0);
}

// wrapped makes several columns of one that is too high.
function wrapped(columns, boxes, most) {
  const out = [];
  for (const column of columns) {
    let height = Infinity;
    for (const i of column) {
      if (height + boxes[i].height > most) {
        out.push([]);
        height = 0;
      }
      out.at(-1).push(i);
      height += boxes[i].height + size.gap;
    }
  }
  return out;
}

function placed(box, x, y, at, opened) {
  if (!box.namespace) {
    at[box.nodes[0]] = { x, y, width: box.width, height: box.height };
    return;
  }
  opened.push({ namespace: box.namespace, x, y, width: box.width, height: box.height });
  box.nodes.forEach((n, k) => {
    at[n] = {
      x: x + size.pad + Math.floor(k / box.rows) * (size.width + size.pad), y: y + size.head + (k % box.rows) * size.row,
      width: size.width, height: size.row - size.pad,
    };
  });
}

// curve is an arrow between two rectangles: its path, and the point of it at a part of its way. It leaves below the middle and arrives
// above it, so that two arrows in opposite directions are apart.
export function curve(from, to) {
  const y1 = from.y + from.height * 0.62, y2 = to.y + to.height * 0.38;
  let x1 = from.x + from.width, x2 = to.x, out = size.between / 2, back = -out;
  if (from === to) {
    [x1, x2] = [from.x + from.width - 58, from.x + from.width - 22];
    const y = from.y + from.height;
    return bent([x1, y], [x1, y + 20], [x2, y + 20], [x2, y]);
  }
  if (Math.abs(from.x - to.x) < from.width) { // in one column
    x2 = to.x + to.width;
    out = back = 26 + Math.min(48, Math.abs(y2 - y1) / 5);
  } else if (to.x < from.x) {
    [x1, x2, out, back] = [from.x, to.x + to.width, -out, out];
  }
  return bent([x1, y1], [x1 + out, y1], [x2 + back, y2], [x2, y2]);
}

function bent(...points) {
  const [a, b, c, d] = points;
  const along = (i, t) => a[i] * (1 - t) ** 3 + 3 * b[i] * t * (1 - t) ** 2 + 3 * c[i] * t ** 2 * (1 - t) + d[i] * t ** 3;
  return { d: `M${a} C${b} ${c} ${d}`, point: (t) => [along(0, t), along(1, t)] };
}

// labels finds a place for texts beside arrows, where nothing else is: null where there is none.
export function labels(curves, texts, taken) {
  const used = [...taken];
  return curves.map((path, i) => {
    if (!texts[i]) return null;
    const width = texts[i].length * 6.2 + 6, height = 14;
    for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78]) {
      const [x, y] = path.point(t);
      const box = { x: x - width / 2, y: y - height / 2, width, height };
      if (used.some((u) => box.x < u.x + u.width && u.x < box.x + box.width && box.y < u.y + u.height && u.y < box.y + box.height)) continue;
      used.push(box);
      return { x, y: y + 4 };
    }
    return null;
  });
}
