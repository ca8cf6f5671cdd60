// The view of what can reach what. Rows send, columns receive. It is one stop for the Tab key; arrows move in it.

import { get } from './api.js';
import { count, fault, h, href, replace, symbol, wordOf } from './dom.js';

const filters = ['fromLabels', 'toLabels', 'port'];
const names = ['from', 'to', ...filters, 'rowsAt', 'columnsAt'];
const shows = ['only', 'sort']; // what the page does itself with the answer

export function matrix(root, _, parameters) {
  const asked = Object.fromEntries([...names, ...shows].map((name) => [name, parameters.get(name) ?? '']));
  const out = h('div');
  const detail = h('p', { class: 'note', id: 'detail' });
  const form = h('form', {
    role: 'search',
    'aria-label': 'Filter',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href('matrix', { ...asked, rowsAt: '', columnsAt: '', only: '', ...Object.fromEntries(new FormData(form)) });
    },
  },
  input('From pods with labels', 'fromLabels', 'app=web'), input('To pods with labels', 'toLabels', 'app=db'), input('Port', 'port', 'tcp/80', 'short'),
  h('label', {}, 'Order', h('select', { name: 'sort' }, ['', 'most allowed first'].map((o) => h('option', { value: o && 'allowed', selected: asked.sort === (o && 'allowed') }, o || 'by name')))),
  h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'only', value: 'allowed', checked: asked.only === 'allowed' }), 'Only what is allowed'),
  h('button', { type: 'submit' }, 'Show'));
  function input(label, name, placeholder, kind) {
    return h('label', {}, label, h('input', { name, value: asked[name], placeholder, class: kind, autocomplete: 'off', spellcheck: 'false' }));
  }
  root.append(crumbs(asked), form, out, detail);
  return {
    title: asked.from || asked.to ? `Reachability: ${asked.from || 'all'} → ${asked.to || 'all'}` : 'Reachability',
    focus: () => out.querySelector('[tabindex="0"]'),
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const all = await get('matrix', Object.fromEntries(names.map((name) => [name, asked[name]])));
      const m = arranged(all, asked);
      replace(out, all.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)), pages(all, asked), counts(m), m.rows.length && m.columns.length ? grid(m, asked, detail) : h('p', {}, asked.only && all.rows.length ? 'Nothing is allowed here.' : 'No pod with an address has these labels.'));
    },
  };
}

// crumbs lead back to a wider view.
function crumbs(asked) {
  const kept = Object.fromEntries(filters.map((name) => [name, asked[name]]));
  return h('nav', { 'aria-label': 'Zoom' }, h('p', {},
    asked.from || asked.to ? [h('a', { href: href('matrix', kept) }, 'All namespaces'), ' › '] : 'All namespaces. ',
    asked.from && ['from ', h('strong', {}, asked.from), asked.to ? [' (', h('a', { href: href('matrix', { ...kept, to: asked.to }) }, 'from all'), ')'] : '', ' '],
    asked.to && ['to ', h('strong', {}, asked.to), asked.from ? [' (', h('a', { href: href('matrix', { ...kept, from: asked.from }) }, 'to all'), ')'] : ''],
    h('span', { class: 'note' }, ' Rows are sources, columns are destinations. Pods that no policy distinguishes share a row. Use the arrow keys to move, Enter to open.')));
}

// pages are links to what does not fit.
function pages(m, asked) {
  const side = (word, at, list, more, name) => at || more ? h('p', {},
    `${word} ${(at ?? 0) + 1} to ${(at ?? 0) + list.length} of ${(at ?? 0) + list.length + (more ?? 0)}. `,
    at ? h('a', { href: href('matrix', { ...asked, [name]: String(Math.max(0, at - 100) || '') }) }, 'Previous') : null, ' ',
    more ? h('a', { href: href('matrix', { ...asked, [name]: String((at ?? 0) + list.length) }) }, 'Next') : null) : null;
  return [side('Rows', m.rowsAt, m.rows, m.moreRows, 'rowsAt'), side('Columns', m.columnsAt, m.columns, m.moreColumns, 'columnsAt')];
}

function words(state) {
  return state.verdict === 'none' ? 'not evaluated' : wordOf(state.verdict);
}

// passes reports whether something is allowed, or may be, in a cell between two different groups.
function passes(m, r, c) {
  return m.rows[r].id !== m.columns[c].id && ['allowed', 'partly', 'unknown'].includes(m.states[m.cells[r][c]].verdict);
}

// arranged orders rows and columns, and leaves out those without anything that is allowed, if that is asked for.
function arranged(m, asked) {
  const within = (list, n) => list.map((_, i) => i).map((i) => ({ i, n: n(i) }));
  let rows = within(m.rows, (r) => m.columns.filter((_, c) => passes(m, r, c)).length);
  let columns = within(m.columns, (c) => m.rows.filter((_, r) => passes(m, r, c)).length);
  if (asked.only) [rows, columns] = [rows, columns].map((list) => list.filter((one) => one.n > 0));
  if (asked.sort) for (const list of [rows, columns]) list.sort((a, b) => b.n - a.n || a.i - b.i);
  return { ...m, rows: rows.map(({ i }) => m.rows[i]), columns: columns.map(({ i }) => m.columns[i]),
    cells: rows.map(({ i }) => columns.map(({ i: j }) => m.cells[i][j])) };
}

// counts says how many of the cells shown are allowed, and so on.
function counts(m) {
  const n = new Map();
  for (const s of m.cells.flat().map((i) => m.states[i])) {
    const word = s.open ? 'open' : s.verdict;
    if (word !== 'none' && word !== 'itself') n.set(word, (n.get(word) ?? 0) + 1);
  }
  return h('p', { class: 'note', id: 'counts' }, ['denied', 'partly', 'allowed', 'open', 'unknown'].filter((w) => n.has(w)).map((w) => `${n.get(w)} ${wordOf(w)}`).join(', '),
    n.has('open') && '. Open: allowed because no policy isolates either end');
}

// traffic is what passes, where that is not all or nothing.
function traffic(state) {
  const text = (state.traffic ?? []).join(' or ') + (state.moreTraffic ? ' or other' : '');
  if (state.verdict === 'unknown') return text && 'policies allow ' + text;
  return state.verdict === 'partly' ? text || 'some pods' : '';
}

function grid(m, asked, detail) {
  const cells = []; // by row and column, heads included
  const heads = [h('th', { role: 'columnheader', scope: 'col' }, 'from ↓ to →'), ...m.columns.map((g) => head(g, 'columnheader', 'to', asked))];
  cells.push(heads);
  const body = m.rows.map((row, r) => {
    const line = [head(row, 'rowheader', 'from', asked), ...m.columns.map((column, c) => cell(m.states[m.cells[r][c]], row, column, asked))];
    cells.push(line);
    return h('tr', { role: 'row' }, line);
  });
  const element = h('table', { class: 'grid', role: 'grid', 'aria-label': 'Reachability', 'aria-describedby': 'detail' },
    h('thead', {}, h('tr', { role: 'row' }, heads)), h('tbody', {}, body));
  let at = [1, 1];
  const seat = (r, c) => {
    cells[at[0]][at[1]].tabIndex = -1;
    at = [r, c];
    cells[r][c].tabIndex = 0;
  };
  for (const line of cells) for (const one of line) one.tabIndex = -1;
  seat(1, 1);
  const find = (node) => {
    const target = node.closest('td, th');
    for (let r = 0; r < cells.length; r++) {
      const c = cells[r].indexOf(target);
      if (c >= 0) return [r, c];
    }
    return null;
  };
  element.addEventListener('take', (event) => seat(...find(event.target)));
  element.addEventListener('focusin', (event) => {
    seat(...find(event.target));
    detail.textContent = event.target.getAttribute('aria-label') ?? '';
  });
  element.addEventListener('click', (event) => open(event.target.closest('td, th')));
  element.addEventListener('keydown', (event) => {
    if (event.altKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      open(cells[at[0]][at[1]]);
      return;
    }
    const next = move(event, at, cells.length - 1, cells[0].length - 1);
    if (!next) return;
    event.preventDefault();
    seat(...next);
    cells[next[0]][next[1]].focus();
    cells[next[0]][next[1]].scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return h('div', { class: 'scroll' }, element);
}

// move is where a key leads to.
function move(event, [r, c], lastRow, lastColumn) {
  switch (event.key) {
    case 'ArrowUp': return [Math.max(0, r - 1), c];
    case 'ArrowDown': return [Math.min(lastRow, r + 1), c];
    case 'ArrowLeft': return [r, Math.max(0, c - 1)];
    case 'ArrowRight': return [r, Math.min(lastColumn, c + 1)];
    case 'PageUp': return [Math.max(0, r - 10), c];
    case 'PageDown': return [Math.min(lastRow, r + 10), c];
    case 'Home': return [event.ctrlKey ? 0 : r, 0];
    case 'End': return [event.ctrlKey ? lastRow : r, lastColumn];
    default: return null;
  }
}

function open(element) {
  if (element?.dataset.open) location.hash = element.dataset.open;
}

function size(g) {
  switch (g.kind) {
    case 'namespace': return `${count(g.pods, 'pod')}, ${count(g.classes, 'class', 'classes')}`;
    case 'class': return [count(g.pods, 'pod'), g.labels && !g.title.includes(g.labels) && g.labels].filter(Boolean).join(', ');
    default: return 'addresses that no pod has';
  }
}

function head(g, role, side, asked) {
  const zoomed = asked[side] !== '';
  return h('th', {
    role,
    scope: side === 'to' ? 'col' : 'row',
    'data-key': side + ' ' + g.id,
    'data-open': zoomed ? undefined : href('matrix', { ...asked, rowsAt: '', columnsAt: '', [side]: g.id }),
    'aria-label': `${side} ${g.title}: ${size(g)}` + (zoomed ? '' : '. Enter shows its classes'),
    title: [...g.members ?? [], g.moreMembers ? `and ${g.moreMembers} more` : ''].join('\n').trim() || undefined,
  }, g.title, ' ', h('small', {}, size(g)));
}

function cell(state, row, column, asked) {
  const said = traffic(state);
  const zoomed = asked.from !== '' && asked.to !== '';
  const asks = state.verdict !== 'none' && zoomed;
  return h('td', {
    role: 'gridcell',
    class: state.open ? 'open' : state.verdict,
    'data-key': row.id + ' → ' + column.id,
    'data-verdict': state.verdict,
    'data-open': zoomed ? asks && question(row, column, asked) : href('matrix', { ...asked, rowsAt: '', columnsAt: '', from: asked.from || row.id, to: asked.to || column.id }),
    'aria-label': `from ${row.title} to ${column.title}: ${words(state)}${said ? ' ' + said : ''}` + (asks ? '. Enter asks why' : zoomed ? '' : '. Enter shows the classes'),
  }, `${state.open ? '○' : symbol(state.verdict)} ${words(state)}`, said && [' ', h('small', {}, said)]);
}

// question is the why form about two pods of a cell.
function question(row, column, asked) {
  const to = row.id === column.id && column.members?.length > 1 ? column.members[1] : column.example;
  return href('why', { from: row.example, to, port: asked.port || column.port || (column.kind === 'outside' ? 'tcp/443' : 'tcp/80') });
}
