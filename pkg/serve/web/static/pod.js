// The page of a pod: what isolates it, what it may reach and what may reach it, and whether the targets protect it.

import { get } from './api.js';
import { count, end, fault, h, href, object, page, replace, table, verdict } from './dom.js';
import { rowsOf } from './policy.js';

const maxRowPolicies = 5; // whose rows are read from the targets

export function pod(root, [namespace, name]) {
  const out = h('div'), rows = h('div');
  root.append(out, rows);
  return {
    title: `Pod ${namespace}/${name}`,
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const p = await get(['pods', encodeURIComponent(namespace), encodeURIComponent(name)].join('/'));
      replace(out, p.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)), facts(p), coverage(p),
        side(p, p.ingress, 'ingress'), side(p, p.egress, 'egress'));
      const policies = [...new Set([p.ingress, p.egress].flatMap((s) => s?.isolatedBy ?? []))];
      const found = await Promise.all(policies.slice(0, maxRowPolicies).map(async (policy) => [policy, await get(rowsPath(policy)).catch((error) => ({ error }))]));
      replace(rows, h('h2', {}, 'Rows in the targets'),
        !policies.length && h('p', {}, 'None: no NetworkPolicy selects the pod.'),
        found.map(([policy, { targets, error }]) => h('details', {}, h('summary', { 'data-key': 'rows of ' + policy }, policy), error ? fault(error) : targets.map(rowsOf))),
        policies.length > maxRowPolicies && h('p', { class: 'note' }, `and those of ${count(policies.length - maxRowPolicies, 'more policy', 'more policies')}: see their pages`));
    },
  };
}

function rowsPath(policy) {
  return ['policies', ...policy.split('/').slice(-2).map(encodeURIComponent), 'rows'].join('/');
}

function facts(p) {
  const row = (word, list) => list?.length > 0 && [h('dt', {}, word), h('dd', {}, list)];
  return [
    p.note && h('p', { class: 'fault', role: 'note' }, p.note),
    p.problems?.map((q) => h('p', { class: 'fault' }, [q.field, q.message].filter(Boolean).join(': '))),
    h('dl', {},
      row('Node', p.node), row('Addresses', p.addresses?.join(', ')),
      row('Labels', Object.entries(p.labels ?? {}).map(([k, v]) => `${k}=${v}`).sort().join(', ')),
      row('Ports', p.ports?.join(', ')),
      row('Services', p.services?.map((s, i) => [i > 0 && ', ', h('a', { href: page('service', ...s.split('/').slice(-2)) }, s)])))];
}

// coverage says whether the targets know the pod. What no policy isolates needs none, and is no good news.
function coverage(p) {
  if (!p.ingress && !p.egress) return null;
  const selected = [p.ingress, p.egress].some((s) => s?.isolatedBy?.length || s?.admin?.length || s?.baseline?.length);
  return [h('h2', {}, 'Coverage'),
    h('ul', { class: 'flat' }, p.coverage.map((c) => h('li', {}, h('a', { href: '#/targets' }, c.target), ' ',
      !selected ? h('span', { class: 'verdict mixed' }, '◐ no policy selects the pod')
        : !c.known ? h('span', { class: 'verdict mixed' }, '◐ not known')
          : c.found ? h('span', { class: 'verdict allow' }, '✓ the pod is found')
            : h('span', { class: 'verdict deny' }, `✗ not protected: no ${c.lacks}`))))];
}

function side(p, s, direction) {
  if (!s) return null;
  const [of, other] = direction === 'ingress' ? ['What may reach it', 'From'] : ['What it may reach', 'To'];
  const cluster = [...(s.admin ?? []), ...(s.baseline ?? [])];
  return [h('h2', {}, of),
    h('p', {}, s.isolatedBy?.length
      ? [verdict('isolated'), ` for ${direction} by `, s.isolatedBy.map((policy, i) => [i > 0 && ', ', object(policy)])]
      : h('span', { class: 'verdict mixed' }, `◐ no NetworkPolicy isolates it for ${direction}`),
    cluster.length > 0 && ['. Cluster-wide: ', cluster.map((c, i) => [i > 0 && ', ', object(c.policy)])]),
    s.reach.length ? table(of, [other, 'Traffic', 'By'], s.reach.map((r) => [ends(r), [h('span', { class: 'mono' }, r.ports), r.family && ` (${r.family})`],
      r.by?.length ? r.by.map((rule, i) => [i > 0 && ', ', object(rule.policy), ' ', h('code', {}, rule.path), rule.action ? ` (${rule.action})` : '']) : 'no policy denies it'])) : h('p', {}, 'Nothing.'),
    s.moreReach > 0 && h('p', { class: 'note' }, `and ${count(s.moreReach, 'more group')}`),
    h('p', {}, h('a', { href: href('why', direction === 'ingress' ? { to: p.name } : { from: p.name }) }, 'Ask about a connection'))];
}

function ends(r) {
  const list = [...(r.pods ?? []).map(end), ...(r.morePods ? [count(r.morePods, 'more pod')] : []), ...(r.nodes ?? []).map((n) => 'node/' + n), ...(r.outside ? ['outside ' + r.outside] : [])];
  return list.map((one, i) => [i > 0 && ', ', one]);
}
