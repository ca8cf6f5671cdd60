// The page of a Service: where it sends connections, and what isolates the pods behind it.

import { get } from './api.js';
import { count, end, fault, h, href, object, replace, table } from './dom.js';
import { rowsOf } from './policy.js';

export function service(root, [namespace, name]) {
  const path = ['services', encodeURIComponent(namespace), encodeURIComponent(name)].join('/');
  const out = h('div'), rows = h('div');
  root.append(out, rows);
  return {
    title: `Service ${namespace}/${name}`,
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const s = await get(path);
      replace(out, s.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)),
        s.problems?.map((q) => h('p', { class: 'fault' }, [q.field, q.message].filter(Boolean).join(': '))),
        s.note && h('p', { class: 'fault', role: 'note' }, s.note), reach(s, namespace), addresses(s), pods(s));
      const { targets } = await get(path + '/rows');
      replace(rows, h('h2', {}, 'Rows in the targets'), targets.map(rowsOf));
    },
  };
}

function reach(s, namespace) {
  const labels = Object.entries(s.selector ?? {}).map(([k, v]) => `${k}=${v}`).sort().join(',');
  return h('p', {}, labels && ['Selects ', h('span', { class: 'mono' }, labels), '. '],
    h('a', { href: href('why', { to: 'svc/' + s.name }) }, 'Ask about a connection to it'),
    labels && [' or ', h('a', { href: href('matrix', { to: namespace, toLabels: labels }) }, 'see what may reach its pods'), '.']);
}

function addresses(s) {
  return [h('h2', {}, 'Addresses'),
    s.frontends.length ? table('Addresses', ['Address', 'Kind', 'Sent to'], s.frontends.map((f) => [
      [h('span', { class: 'mono' }, f.address), f.portName ? ` ${f.portName}` : '', f.node ? ` on ${f.node}` : ''], f.kind,
      [f.backends.length ? f.backends.map((b, i) => [i > 0 && ', ', h('span', { class: 'mono' }, b.address), b.pod && [' ', end(b.pod)], b.draining && ' (terminating)'])
        : h('span', { class: 'verdict mixed' }, `◐ nothing: connections are ${f.empty}`),
      f.moreBackends > 0 && ` and ${f.moreBackends} more`,
      f.perNode?.length > 0 && '. Which of them depends on the node where a connection enters']])) : h('p', {}, 'None.'),
    s.moreFrontends > 0 && h('p', { class: 'note' }, `and ${count(s.moreFrontends, 'more address', 'more addresses')}`)];
}

function pods(s) {
  if (!s.pods.length) return null;
  const by = (list) => list?.length ? list.map((policy, i) => [i > 0 && ', ', object(policy)]) : h('span', { class: 'verdict mixed' }, '◐ none');
  return [h('h2', {}, 'Pods'),
    h('p', { class: 'note' }, 'Policies apply to the pods, not to the Service.'),
    table('Pods', ['Pod', 'Isolated for ingress by', 'Isolated for egress by'], s.pods.map((p) => [end(p.name), by(p.ingress), by(p.egress)])),
    s.morePods > 0 && h('p', { class: 'note' }, `and ${count(s.morePods, 'more pod')}`)];
}
