// The list of policies, and the page of one.

import { get } from './api.js';
import { count, end, fault, h, href, object, replace, table } from './dom.js';
import { badge } from './targets.js';

export function policies(root, _, parameters) {
  const q = parameters.get('q') ?? '';
  const out = h('div');
  const form = h('form', {
    role: 'search',
    'aria-label': 'Find policies',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href('policies', Object.fromEntries(new FormData(form)));
    },
  }, h('label', {}, 'Name', h('input', { name: 'q', value: q, autocomplete: 'off', 'data-key': 'q' })), h('button', { type: 'submit' }, 'Find'));
  root.append(form, out);
  return {
    title: 'Policies',
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const [{ policies: list, morePolicies }, overview] = await Promise.all([get('policies', { q }), get('overview')]);
      replace(out,
        table('Policies', ['Policy', 'Tier', 'Directions', 'Pods', 'Rules', 'Problems'], list.map((p) => [
          h('a', { href: page(p) }, (p.kind ?? p.namespace) + '/' + p.name), tier(p) || 'NetworkPolicy', p.staged ? 'staged' : (p.directions ?? []).join(', ') || '–', String(p.pods), String(p.rules),
          p.problems ? h('strong', { class: 'denied' }, String(p.problems)) : 'none'])),
        !list.length && h('p', {}, 'No policy has this name.'),
        morePolicies > 0 && h('p', { class: 'note' }, `and ${morePolicies} more: search by name`),
        h('h2', {}, 'Problems'), problems(overview.problems),
        overview.moreProblems > 0 && h('p', { class: 'note' }, `and ${overview.moreProblems} more`));
    },
  };
}

// tier describes the place of a cluster-wide policy; '' for others.
function tier(p) {
  return p.tier ? p.tier + (p.kind === 'BaselineAdminNetworkPolicy' || p.priority === undefined ? '' : `, priority ${p.priority}`) : '';
}

function page(p) {
  if (p.kind) return href(['clusterpolicy', p.kind, encodeURIComponent(p.name)].join('/'));
  return href(['policy', encodeURIComponent(p.namespace), encodeURIComponent(p.name)].join('/'));
}

export function policy(root, [namespace, name]) {
  root.append(edit(`NetworkPolicy/${namespace}/${name}`));
  return details(root, `NetworkPolicy ${namespace}/${name}`, ['policies', encodeURIComponent(namespace), encodeURIComponent(name)].join('/'));
}

export function clusterpolicy(root, [kind, name]) {
  root.append(edit(`${kind}/${name}`));
  return details(root, `${kind} ${name}`, ['cluster-policies', encodeURIComponent(kind), encodeURIComponent(name)].join('/'));
}

function edit(policy) {
  return h('p', {}, h('a', { href: href('what-if', { policy }) }, 'Edit it and see what that would open and close'));
}

function details(root, title, path) {
  const out = h('div'), rows = h('div');
  root.append(out, rows);
  return {
    title,
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const [p, { targets }] = await Promise.all([get(path), get('targets')]);
      replace(out, said(p), who(p), state(p, targets));
      const { targets: found } = await get(path + '/rows');
      replace(rows, h('h2', {}, 'Rows'), found.map(rowsOf));
    },
  };
}

function said(p) {
  const titles = Object.fromEntries(p.sets.map((s) => [s.id, s]));
  const called = (id) => titles[id] ? `${titles[id].title} (${size(titles[id])})` : id;
  return [
    p.staged ? h('p', {}, p.staged, '. ', h('a', { href: href('flows') }, 'What it would decide differently')) : '',
    h('h2', {}, 'Problems'), problems(p.problems),
    p.findings?.length > 0 && [h('h2', {}, 'Rules without effect, and contradictions'), h('ul', {}, p.findings.map((f) => h('li', {}, f)))],
    h('h2', {}, 'Rules'),
    !p.intents.length && h('p', {}, 'None: the policy has no intents.'),
    p.intents.map((i) => h('section', { class: 'card', 'aria-label': i.direction },
      h('h3', {}, i.direction),
      i.tier && h('p', {}, `Tier ${tier({ ...i, kind: p.object.split('/')[0] })}. Its first rule that matches decides.`),
      h('p', {}, i.isolates ? 'Isolates ' : 'Applies to ', h('strong', {}, called(i.subject)), i.tier ? ', and decides on ' : ', and allows ',
        i.rules.length ? `traffic that matches ${count(i.written, 'rule')}.` : 'nothing.',
        i.logAllow ? ` Logs allowed traffic (${i.logAllow}).` : '', i.logDeny ? ` Logs denied traffic (${i.logDeny}).` : ''),
      i.rules.length > 0 && table(`${i.direction} rules`, ['Rule', 'Action', i.direction === 'ingress' ? 'From' : 'To', 'Ports'], i.rules.map((r) => [
        [h('code', {}, r.path), r.name ? ` ${r.name}` : ''], r.action, [called(r.peer), r.subject ? `, for ${called(r.subject)}` : ''], r.ports.join(', ')])),
      i.moreRules > 0 && h('p', { class: 'note' }, `and ${i.moreRules} more`))),
  ];
}

function size(set) {
  if (!set.members && set.prefixes?.length && !set.title.startsWith('set/')) return 'addresses';
  return [count(set.count, 'pod'), set.prefixes?.length && count(set.prefixes.length + (set.morePrefixes ?? 0), 'prefix', 'prefixes')].filter(Boolean).join(', ');
}

function who(p) {
  return [h('h2', {}, 'Selected pods and addresses'),
    p.sets.map((s) => h('details', {}, h('summary', {}, s.title, ': ', size(s)),
      h('ul', { class: 'flat mono' }, (s.members ?? []).map((m) => h('li', {}, end(m))), s.moreMembers ? h('li', {}, `and ${s.moreMembers} more`) : null,
        (s.prefixes ?? []).map((x) => h('li', {}, x)), s.morePrefixes ? h('li', {}, `and ${s.morePrefixes} more prefixes`) : null,
        s.within?.length > 0 && h('li', {}, 'only addresses within ' + s.within.join(', ')))))];
}

function state(p, targets) {
  const ids = new Set(p.intents.map((i) => i.id));
  return [h('h2', {}, 'In the targets'),
    h('ul', { class: 'flat' }, targets.map((t) => h('li', {}, h('a', { href: '#/targets' }, t.name), ' ', badge(t), ` revision ${t.revision} of ${p.revision}`,
      (t.skips ?? []).filter((s) => ids.has(s.intent)).map((s) => h('p', { class: 'fault' }, `cannot be expressed, and is denied: ${s.reason}`)))))];
}

// rowsOf is what a target has of an object.
export function rowsOf(t) {
  if (t.error) return h('p', { class: 'fault' }, `${t.target}: ${t.error}`);
  const counts = Object.entries(t.counts ?? {}).map(([kind, n]) => `${n} ${kind}`).join(', ') || 'none';
  return h('section', { 'aria-label': 'rows in ' + t.target },
    h('p', {}, h('strong', {}, t.target), ': ', counts, t.moreRows ? `; the first ${t.rows.length} are shown` : ''),
    t.rows?.length > 0 && table('Rows in ' + t.target, ['Table', 'From', 'Contents', 'Action'], t.rows.map((r) => [
      r.table, [r.rule && h('code', {}, r.rule), r.also ? [' shared with ', shared(r.also)] : ''], h('code', {}, r.text || r.name), r.action ?? ''])));
}

function shared(text) {
  return text.split('; ').flatMap((one, i) => {
    const [name, rule] = one.split(' ');
    return [i ? '; ' : '', object(name), rule ? ' ' + rule : ''];
  });
}

function problems(list) {
  if (!list.length) return h('p', {}, 'None.');
  return h('ul', {}, list.map((p) => h('li', { class: 'denied' },
    [p.place?.path && p.place.path + (p.place.line ? ':' + p.place.line : '') + ': ', p.object && object(p.object), p.field && ': ' + p.field, ': ', p.message])));
}
