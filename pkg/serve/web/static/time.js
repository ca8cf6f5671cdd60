// The time axis of the map: how much was logged when, and which part of that time the map shows.

import { h } from './dom.js';

const space = 'http://www.w3.org/2000/svg';
const height = 48;

// time makes the axis of an answer. changed is called when another span was chosen, after it was written to span.
export function time(seen, span, changed) {
  const parts = seen.parts;
  const edges = [...parts.map((p) => p.at), seen.until];
  const index = (at, otherwise) => (at ? Math.max(0, edges.findIndex((edge) => edge >= at)) : otherwise);
  const chosen = { since: index(span.since, 0), until: index(span.until, parts.length) };
  const said = h('span', { id: 'span' });
  const bars = chart(parts);
  const tell = () => {
    said.textContent = `${clock(edges[chosen.since])} to ${clock(edges[chosen.until])}`;
    [...bars.children].forEach((bar) => bar.classList.toggle('out', Number(bar.dataset.part) < chosen.since || Number(bar.dataset.part) >= chosen.until));
  };
  const slider = (label, name, value) => {
    const input = h('input', {
      type: 'range', name, min: '0', max: String(parts.length), value: String(value), 'data-key': name, 'aria-valuetext': clock(edges[value]),
      oninput: () => {
        const to = Number(input.value);
        chosen[name] = name === 'since' ? Math.min(to, chosen.until - 1) : Math.max(to, chosen.since + 1);
        input.value = String(chosen[name]);
        input.setAttribute('aria-valuetext', clock(edges[chosen[name]]));
        tell();
      },
      onchange: () => {
        span.since = chosen.since > 0 ? edges[chosen.since] : '';
        span.until = chosen.until < parts.length ? edges[chosen.until] : '';
        changed();
      },
    });
    return h('label', {}, label, input);
  };
  tell();
  return h('section', { class: 'axis', 'aria-label': 'Time' },
    h('p', { class: 'note' }, 'Logged ', said, ': ', ['denied', 'allowed'].map((word) => `${parts.reduce((sum, p, i) => sum + (i >= chosen.since && i < chosen.until ? p[word] ?? 0 : 0), 0)} ${word}`).join(', ')),
    bars, slider('From', 'since', chosen.since), slider('Until', 'until', chosen.until));
}

function clock(at) {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

// chart has a bar for each part of the time; heights grow with the logarithm, so that a few denials are seen beside many others.
function chart(parts) {
  const svg = document.createElementNS(space, 'svg');
  const most = Math.max(1, ...parts.map((p) => Math.log1p((p.allowed ?? 0) + (p.denied ?? 0))));
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${parts.length * 8} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' })) svg.setAttribute(name, value);
  parts.forEach((p, i) => {
    const whole = Math.log1p((p.allowed ?? 0) + (p.denied ?? 0)) / most * height;
    const denied = whole * (p.denied ?? 0) / Math.max(1, (p.allowed ?? 0) + (p.denied ?? 0));
    for (const [kind, y, size] of [['tried', height - denied, denied], ['seen', height - whole, whole - denied]]) {
      if (!size) continue;
      const bar = document.createElementNS(space, 'rect');
      for (const [name, value] of Object.entries({ class: 'bar is-' + kind, 'data-part': i, x: i * 8 + 1, y, width: 6, height: size })) bar.setAttribute(name, value);
      svg.append(bar);
    }
  });
  return svg;
}
