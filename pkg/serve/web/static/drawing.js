// The drawing of the map: a button for each node, over arrows. It is one stop for the Tab key; arrow keys move in it.

import { count, h } from './dom.js';
import { arrange, curve, labels } from './layout.js';

const most = 60; // arrows up to which their ports stand beside them, where there is room
const space = 'http://www.w3.org/2000/svg';

function s(tag, attributes, ...children) {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// place puts an element where a rectangle is: a style sheet cannot know, and an attribute is not allowed to say.
function place(element, r) {
  for (const [name, value] of [['left', r.x], ['top', r.y], ['width', r.width], ['height', r.height]]) if (value !== undefined) element.style.setProperty(name, value + 'px');
  return element;
}

// size says how much is in a node.
export function size(node) {
  if (node.kind === 'outside') return 'addresses that no pod has';
  return [node.workloads !== node.pods && node.kind !== 'workload' && count(node.workloads, 'workload'), node.pods > 0 && count(node.pods, 'pod'), bare(node) && 'not isolated'].filter(Boolean).join(', ');
}

// bare reports whether no NetworkPolicy isolates any pod of a node.
export function bare(node) {
  return node.kind !== 'outside' && node.ingress + node.egress === 0;
}

// short is the name of a node in its box.
export function short(node) {
  return node.kind === 'workload' ? node.title.slice(node.namespace.length + 1) : node.title;
}

// draw makes the drawing of a map. point hears of the node or the line that the pointer or the focus is on,
// choose of the one that is clicked on, and toggle of a namespace to open or to close.
export function draw(map, { point, choose, toggle }) {
  const { at, opened, width, height } = arrange(map.nodes, map.links);
  const arrows = s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  const nodes = map.nodes.map((node, n) => place(h('button', {
    type: 'button', class: ['node', node.kind, bare(node) && 'bare'].filter(Boolean).join(' '), 'data-key': node.id, 'aria-expanded': node.kind === 'namespace' ? 'false' : undefined,
    title: [...node.names, node.moreNames ? `and ${node.moreNames} more` : ''].join('\n').trim(),
    onfocus: () => near(n), onpointerenter: () => near(n), onpointerleave: () => far(),
    onclick: () => (node.kind === 'namespace' ? toggle(node.title) : choose({ node: n })),
  }, h('span', {}, short(node)), h('small', {}, size(node))), at[n]));
  const heads = opened.map((box) => place(h('button', {
    type: 'button', class: 'head', 'data-key': 'namespace ' + box.namespace, 'aria-expanded': 'true', onclick: () => toggle(box.namespace),
  }, h('span', {}, box.namespace)), { x: box.x, y: box.y, width: box.width, height: 36 }));
  const area = place(h('div', { class: 'area', role: 'group', 'aria-label': 'Map. Arrow keys move, Enter opens a namespace' },
    opened.map((box) => place(h('div', { class: 'opened' }), box)), arrows, heads, nodes), { width, height });
  let lines = [];

  function near(n) {
    area.classList.add('pointed');
    const linked = new Set([n]);
    for (const { element, from, to } of lines) {
      const mine = from === n || to === n;
      element.classList.toggle('near', mine);
      if (mine) linked.add(from).add(to);
    }
    nodes.forEach((node, i) => node.classList.toggle('near', linked.has(i)));
    point({ node: n });
  }
  function far() {
    area.classList.remove('pointed');
  }

  // show replaces the arrows: each has from, to, a kind, a text for beside it, and its title.
  function show(list) {
    const curves = list.map((line) => curve(at[line.from], at[line.to]));
    const order = list.map((_, i) => i).sort((a, b) => rank(list[a]) - rank(list[b]) || a - b); // what matters most finds a place first
    const beside = [];
    labels(order.map((i) => curves[i]), order.map((i) => (list.length <= most || list[i].kind === 'tried' ? list[i].text : '')), at)
      .forEach((place, k) => { beside[order[k]] = place; });
    lines = list.map((line, i) => {
      const { d } = curves[i];
      const element = s('g', { class: 'arrow is-' + line.kind }, s('title', {}, line.title), s('path', { class: 'reach', d }),
        s('path', { class: 'line', d, 'marker-end': `url(#head-${line.kind})` }));
      if (beside[i]) element.append(s('text', beside[i], line.text));
      element.addEventListener('pointerenter', () => { element.classList.add('near'); point({ line }); });
      element.addEventListener('pointerleave', () => element.classList.remove('near'));
      element.addEventListener('click', () => choose({ line }));
      return { element, from: line.from, to: line.to };
    });
    arrows.replaceChildren(s('defs', {}, ...['allowed', 'open', 'unknown', 'seen', 'unseen', 'tried'].map((kind) =>
      s('marker', { id: 'head-' + kind, class: 'is-' + kind, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: 'userSpaceOnUse', orient: 'auto' },
        s('path', { d: 'M0 0 8 4 0 8z' })))), ...lines.map(({ element }) => element));
  }
  const stops = bindKeys(area, [...heads, ...nodes], far);
  return { element: area, show, focus: (key) => (stops.find((e) => e.dataset.key === key) ?? stops[0])?.focus() };
}

function rank(line) {
  return { tried: 0, seen: 1 }[line.kind] ?? 2;
}

// bindKeys makes one tab stop of the buttons, among which arrow keys move.
function bindKeys(area, stops, far) {
  const seat = (to) => { for (const e of stops) e.tabIndex = e === to ? 0 : -1; };
  seat(stops[0]);
  area.addEventListener('focusin', (event) => { if (stops.includes(event.target)) seat(event.target); });
  area.addEventListener('focusout', far);
  area.addEventListener('take', (event) => seat(event.target));
  area.addEventListener('keydown', (event) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const next = { Home: () => stops[0], End: () => stops.at(-1) }[event.key]?.() ?? beyond(document.activeElement, stops, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return stops;
}

// beyond is the nearest of some elements in the direction of a key.
function beyond(from, stops, key) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
  if (!dx && !dy || !stops.includes(from)) return null;
  const center = (e) => [e.offsetLeft + e.offsetWidth / 2, e.offsetTop + e.offsetHeight / 2];
  const [x, y] = center(from);
  let best = null, least = Infinity;
  for (const e of stops) {
    const [ex, ey] = center(e);
    const along = (ex - x) * dx + (ey - y) * dy, across = Math.abs((ex - x) * dy) + Math.abs((ey - y) * dx);
    if (e !== from && along > 1 && along + 2 * across < least) [best, least] = [e, along + 2 * across];
  }
  return best;
}
