// The first view: which connections are allowed, as a map of namespaces and workloads, and as a list of the same.

import { get } from './api.js';
import { count, fault, h, href, object, replace, table } from './dom.js';
import { bare, draw, short, size } from './drawing.js';
import { time } from './time.js';

const filters = ['namespace', 'labels', 'port', 'policed', 'open'];
const mostListed = 12; // connections of a node that are listed beside it
const shows = [['', 'everything'], ['seen', 'only what was seen'], ['denied', 'only what was denied']];

let opened = ''; // the namespace that was opened or closed last, to which the focus returns

export function map(root, _, parameters) {
  const asked = Object.fromEntries(filters.map((name) => [name, parameters.get(name) ?? '']));
  const show = parameters.get('show') ?? '';
  const span = { since: '', until: '' }; // what of the time is shown; empty is no limit
  const [axis, out] = [h('div'), h('div')];
  let drawing = null, drawn = null, followed = null, counted = '';
  const toggle = (namespace) => {
    const open = new Set(asked.open.split(',').filter(Boolean));
    if (!open.delete(namespace)) open.add(namespace);
    opened = 'namespace ' + namespace;
    location.hash = href('map', { ...asked, show, open: [...open].join(',') });
  };
  const detail = h('div', { id: 'detail', class: 'note' });
  const rest = h('div');
  let lines = [];

  // redraw replaces the arrows and the list, and all if the map is another one.
  const redraw = (m, seen) => {
    lines = linesOf(m, seen, show);
    if (m !== drawn) {
      drawing = draw(m, {
        toggle,
        point: (one) => replace(detail, one.line ? aboutLine(one.line) : aboutNode(m, one.node, lines, toggle)),
        choose: (one) => {
          if (one.line) location.hash = why(one.line);
          else replace(detail, aboutNode(m, one.node, lines, toggle));
        },
      });
      replace(detail, 'Point at a namespace, a workload or an arrow; click on an arrow to see why it is allowed, on a namespace to open it.');
      replace(out, notes(m), h('div', { class: 'scroll map' }, drawing.element), detail, rest);
    }
    drawn = m;
    drawing.show(lines);
    replace(rest, legend(m, seen), list(m, lines, seen));
  };
  const refresh = async () => {
    const m = await get('connections', asked);
    const again = m === drawn;
    if (again && followed === false) return;
    const seen = await get('connections/seen', { ...asked, ...span });
    followed = seen.logs.length > 0;
    if (seen.number !== m.number) return; // there is a newer state: this is called again
    if (!m.nodes.length) {
      drawing = null;
      drawn = m;
      replace(out, notes(m), h('p', {}, filters.some((name) => asked[name]) ? 'No connection is allowed here.' : 'No pod has an address.'));
      return;
    }
    const text = JSON.stringify(seen);
    if (again && text === counted) return;
    counted = text;
    replace(axis, followed ? time(seen, span, refresh) : show && h('p', { class: 'fault', role: 'note' }, 'No ACL log is followed: ', h('a', { href: '#/flows' }, 'what was seen'), ' is not known.'));
    redraw(m, followed ? seen : null);
  };
  root.append(formOf(asked, show), axis, out);
  return {
    title: 'Map',
    every: 3000,
    focus: () => ({ focus: () => drawing?.focus(opened) }),
    failed: (error) => { drawn = null; replace(out, fault(error)); },
    refresh,
  };
}

function formOf(asked, show) {
  const input = (label, name, placeholder, kind) => h('label', {}, label, h('input', { name, value: asked[name], placeholder, class: kind, autocomplete: 'off', spellcheck: 'false' }));
  const form = h('form', {
    role: 'search',
    'aria-label': 'Filter',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href('map', { ...asked, policed: '', ...Object.fromEntries(new FormData(form)) });
    },
  },
  input('Namespaces', 'namespace', 'shop,tools'), input('Pods with labels', 'labels', 'app=web'), input('Port', 'port', 'tcp/80', 'short'),
  h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'policed', value: 'true', checked: asked.policed === 'true' }), 'Only what a policy decides'),
  h('label', {}, 'In logs', h('select', { name: 'show' }, shows.map(([value, text]) => h('option', { value, selected: value === show }, text)))),
  h('button', { type: 'submit' }, 'Show'));
  return form;
}

function notes(m) {
  return [
    m.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)),
    m.undecided?.length > 0 && h('p', { class: 'note' }, `The policies of ${m.undecided.join(', ')} are not known: they may deny what is shown.`),
    m.moreLinks > 0 && h('p', { class: 'note', id: 'cut' }, `${count(m.moreLinks, 'arrow')} more, between the fewest workloads: filter, or open fewer namespaces.`)];
}

function legend(m, seen) {
  const key = (kind, text) => [h('span', { class: 'key is-' + kind }), ' ', text, '. '];
  return h('p', { class: 'note', id: 'legend' },
    seen ? [key('seen', 'seen'), key('unseen', 'allowed, not seen'), key('tried', 'denied and tried')] : key('allowed', 'allowed'),
    m.links.some((l) => l.open) && key('open', 'open: no policy isolates either end' + (seen ? ', not seen' : '')),
    m.links.some((l) => l.unknown) && key('unknown', 'cannot tell: policies allow it, something that is not evaluated may deny it'),
    m.nodes.some(bare) && 'A dashed border: no NetworkPolicy isolates any of its pods. ',
    m.nodes.some((n) => n.unknown) ? 'What has no arrow is denied by policies.' : 'What has no arrow is denied.',
    seen && ' Only policies with logging enabled write lines, and each node writes its own log.',
    seen?.elsewhere > 0 && ` ${count(seen.elsewhere, 'line')} of ends that are not shown here.`,
    m.nodeAccess && ' Nodes reach their own pods, which is not shown.',
    m.unaddressed > 0 && ` ${count(m.unaddressed, 'pod')} without an address ${m.unaddressed === 1 ? 'is' : 'are'} not shown.`);
}

// linesOf are the arrows: what is allowed, with what was seen of it, and what was tried and denied.
function linesOf(m, seen, show) {
  const of = new Map(m.links.map((link) => [link.from + ' ' + link.to, lineOf(m, link, seen)]));
  const tried = [];
  for (const one of seen?.links ?? []) {
    const known = of.get(one.from + ' ' + one.to);
    const times = `${one.verdict} ${count(one.count, 'time')}`;
    const ports = one.ports.join(', ') + (one.morePorts ? ' and more' : '');
    if (one.verdict === 'allowed' && known) {
      Object.assign(known, { kind: 'seen', seen: one, text: `${known.text} ${one.count}×`, title: `${known.title}\n${times}: ${ports}` });
      continue;
    }
    const kind = one.verdict === 'allowed' ? 'seen' : 'tried';
    tried.push({ ...one, kind, ports, seen: one, text: `${one.count}×`, title: `${m.nodes[one.from].title} → ${m.nodes[one.to].title}: ${times}: ${ports}\n${one.by.join(', ')}` });
  }
  const shown = (line) => !show || line.kind === 'tried' || show === 'seen' && line.kind === 'seen';
  return [...of.values(), ...tried].filter(shown);
}

// lineOf is a link as an arrow.
function lineOf(m, link, seen) {
  const ports = link.ports.join(' or ') + (link.morePorts ? ' or other' : '');
  const line = { ...link, link, kind: link.unknown ? 'unknown' : link.open ? 'open' : seen ? 'unseen' : 'allowed', ports, text: shortened(ports) };
  line.title = `${m.nodes[link.from].title} → ${m.nodes[link.to].title}: ${ports}${share(link)}${link.unknown ? ', as policies have it: cannot tell' : ''}\n${rules(link) || 'no policy decides'}`;
  return line;
}

function shortened(text) {
  return text.length > 22 ? text.slice(0, 21) + '…' : text;
}

// share says between how many of the workloads something is allowed, unless it is all.
function share(link) {
  return [link.each ? ', within each' : '', link.pairs < link.of ? `, ${link.pairs} of ${link.of} pairs` : ''].join('');
}

function rules(link) {
  return link.by?.map((r) => `${r.policy} ${r.path}`).concat(link.moreBy ? [`and ${link.moreBy} more`] : []).join(', ');
}

// allowing are the rules that allow a link, with links to their policies.
function allowing(link) {
  if (link.unknown) return ['cannot tell. Policies: ', allowing({ ...link, unknown: false })];
  if (!link.by?.length) return link.open ? 'no policy isolates either end' : 'no policy decides';
  return [link.by.map((r, i) => [i > 0 && ', ', object(r.policy), ' ', h('code', {}, r.path)]), link.moreBy ? `, and ${link.moreBy} more` : ''];
}

function why(line) {
  return href('why', line.example);
}

function question(line) {
  return h('a', { href: why(line) }, `${line.example.from} → ${line.example.to} ${line.example.port}`);
}

function aboutLine(line) {
  return [h('p', {}, h('strong', {}, line.title.split('\n')[0])), h('p', {}, 'For example ', question(line), ': ', deciding(line), line.link && line.seen ? `; ${observed(line)}` : '')];
}

// deciding says what allows a line, or what denied it, and what would allow that.
function deciding(line) {
  if (line.link) return allowing(line.link);
  return [line.by.map((cause, i) => {
    const [policy, ...rule] = cause.split(' ');
    return [i > 0 && ', ', object(policy), ' ', rule.join(' ')];
  }), line.kind === 'tried' ? ['. ', h('a', { href: href('suggest', line.example) }, `Suggest a policy for ${line.example.from}`)] : ', which no policy allows now'];
}

// observed says how often a line was seen.
function observed(line) {
  return line.seen ? `${line.seen.verdict} ${count(line.seen.count, 'time')}` : 'not seen';
}

// aboutNode says what is in a node and what it is linked with.
function aboutNode(m, n, lines, toggle) {
  const node = m.nodes[n];
  const mine = lines.filter((line) => line.from === n || line.to === n);
  return [
    h('p', {}, h('strong', {}, node.title), ': ', size(node),
      node.pods > 0 && !bare(node) && `; ${node.ingress} isolated for ingress, ${node.egress} for egress`),
    ['several', 'rest'].includes(node.kind) && h('p', {}, node.names.map((name, i) => [i > 0 && ', ', node.namespace ? name : h('button', { type: 'button', class: 'name', onclick: () => toggle(name) }, name)]),
      node.moreNames > 0 && ` and ${node.moreNames} more`),
    mine.length > 0 && h('ul', {}, mine.slice(0, mostListed).map((line) => h('li', {},
      line.from === n ? ['to ', line.to === n ? 'itself' : m.nodes[line.to].title] : ['from ', m.nodes[line.from].title],
      `: ${line.ports}${line.link ? share(line.link) : ''}${line.seen ? ', ' + observed(line) : ''}. `, question(line)))),
    mine.length > mostListed && h('p', {}, `and ${mine.length - mostListed} more in the list`)];
}

// list has the same as the drawing.
function list(m, lines, seen) {
  const pairs = (line) => (line.link ? (line.each ? 'each: ' : '') + (line.pairs === line.of ? 'all' : `${line.pairs} of ${line.of}`) : '');
  return [h('h2', {}, 'Connections'),
    lines.length ? table('Connections', ['From', 'To', 'Ports', 'Pairs', 'Decided by', ...seen ? ['Logged'] : [], 'Why?'], lines.map((line) => [
      full(m.nodes[line.from]), full(m.nodes[line.to]), line.ports, pairs(line), deciding(line),
      ...seen ? [h('span', { class: line.kind === 'tried' ? 'verdict deny' : '' }, (line.kind === 'tried' ? '✗ ' : '') + observed(line))] : [], question(line)])) : h('p', {}, 'None.')];
}

function full(node) {
  return node.kind === 'workload' ? `${node.namespace}/${short(node)}` : node.title;
}
