// The view of the targets.

import { get } from './api.js';
import { count, fault, h, object, replace, table, when } from './dom.js';

const health = { 'in sync': 'allow', 'out of sync': 'deny', waiting: 'mixed', 'not ready': 'mixed' };

export function targets(root) {
  const out = h('div');
  root.append(out);
  return {
    title: 'Targets',
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const { targets: list } = await get('targets');
      replace(out, list.map(card));
    },
  };
}

export function badge(target) {
  return [h('span', { class: 'verdict ' + (health[target.health] ?? '') }, (target.health === 'in sync' ? '✓ ' : '✗ ') + target.health),
    unprotected(target) && [' ', h('span', { class: 'verdict deny' }, '✗ ' + unprotected(target))]];
}

// unprotected says how many of the pods that policies select a target does not protect, or protects by kept ports alone.
export function unprotected({ coverage: c }) {
  if (!c?.faults?.length) return '';
  const missing = c.selected - c.enforced;
  if (missing) return `${missing} of ${count(c.selected, 'selected pod')} not protected`;
  return `${count(c.kept, 'pod')} protected only by earlier ports`;
}

function card(t) {
  return h('section', { class: 'card', 'aria-label': 'target ' + t.name },
    h('h2', {}, t.name, ' ', badge(t)),
    t.error && h('p', { class: 'fault' }, t.error),
    t.coverage?.faults?.map((text) => h('p', { class: 'fault' }, text)),
    h('dl', {},
      t.cnf && [term('CNF', t.cnf.scope), term('Runs', [t.cnf.group, t.cnf.node && 'on ' + t.cnf.node, t.cnf.address && 'at ' + t.cnf.address].filter(Boolean).join(' '))],
      !t.cnf && term('Connection', t.up === undefined ? '–' : t.up ? 'up' : 'down'),
      term('Revision', `${t.revision}${t.revision === t.wanted ? ', the newest' : ' of ' + t.wanted}`),
      t.coverage && term('Selected pods', `${t.coverage.enforced} of ${t.coverage.selected} enforced`),
      term('Last in sync', when(t.lastConverged)),
      t.nextRetry && term('Next retry', when(t.nextRetry)),
      term('Latency', t.latencyMs ? `${t.latencyMs} ms from a change until the target is in sync` : '–'),
      term(t.cnf ? 'Owned sections' : 'Owned rows', String(t.ownedRows)),
      term('Total', [count(t.writes, 'write'), count(t.failures, 'failure'), count(t.drifts, 'drift')].join(', ')),
      term('Last error', t.lastError ? [when(t.lastError.at), ' ', t.lastError.message] : 'none')),
    plan('Last plan', t.lastPlan),
    t.lastWrite && t.lastWrite.at !== t.lastPlan?.at && plan('Last plan that wrote', t.lastWrite),
    t.skips?.length > 0 && [h('h3', {}, 'Not supported by the target, denied'),
      h('ul', {}, t.skips.map((s) => h('li', {}, h('code', {}, s.intent), ': ', s.reason)), t.moreSkips && h('li', {}, `and ${t.moreSkips} more`))]);
}

function term(word, value) {
  return [h('dt', {}, word), h('dd', {}, value)];
}

function plan(title, p) {
  if (!p) return null;
  return [h('h3', {}, title),
    h('p', {}, when(p.at), `, revision ${p.revision}${p.full ? ', from a full read-back' : ''}: ${p.summary}. Planned in ${p.planMs} ms`,
      p.applyMs ? `, written in ${p.applyMs} ms.` : '.'),
    p.ops?.length > 0 && h('details', {}, h('summary', {}, count(p.ops.length + (p.moreOps ?? 0), 'operation')),
      table(title, ['Verb', 'Kind', 'Name', 'From'], p.ops.map((o) => [o.verb, o.kind, h('code', {}, o.name), origin(o.origin)])),
      p.moreOps ? h('p', { class: 'note' }, `and ${p.moreOps} more`) : null)];
}

function origin(text) {
  if (!text) return '';
  const [name, ...rest] = text.split(' ');
  return [object(name), rest.length ? ' ' + rest.join(' ') : ''];
}
