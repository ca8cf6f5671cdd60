// The first view: whether the targets are in sync, what they protect, and what nothing protects.

import { get } from './api.js';
import { count, fault, h, href, replace, table, when } from './dom.js';
import { badge } from './targets.js';

export function overview(root) {
  const out = h('div');
  root.append(out);
  return {
    title: 'Overview',
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const [o, { targets }, { views }] = await Promise.all([get('overview'), get('targets'), get('views')]);
      replace(out,
        o.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)),
        h('h2', {}, 'Targets'), health(targets),
        h('h2', {}, 'Isolation'), isolation(o),
        h('h2', {}, 'Problems'), problems(o),
        views?.length > 0 && [h('h2', {}, 'Confirmed'), confirmed(views)]);
    },
  };
}

function health(targets) {
  if (!targets.length) return h('p', { class: 'fault' }, 'There is no target: nothing is enforced.');
  return table('Targets', ['Target', 'State', 'Selected pods', 'Revision'], targets.map((t) => [
    h('a', { href: '#/targets' }, t.name), [badge(t), t.error && h('p', { class: 'fault' }, t.error)],
    t.coverage ? `${t.coverage.enforced} of ${t.coverage.selected} enforced` : 'not known',
    `${t.revision} of ${t.wanted}`]));
}

// isolation lists the namespaces. What no policy isolates is not good news: it has a warning's colour, and comes first.
function isolation(o) {
  if (!o.isolation.length) return h('p', {}, 'No pod has an address.');
  const pods = o.isolation.reduce((sum, n) => sum + n.pods, 0);
  const bare = o.isolation.filter((n) => n.ingress === 0 && n.egress === 0);
  return [
    h('p', {}, `${count(o.policies, 'policy', 'policies')}, ${count(pods, 'pod')} in ${count(o.isolation.length, 'namespace')}. `,
      o.otherClusters?.length > 0 && `Peers: ${o.otherClusters.map((c) => `${count(c.pods, 'pod')} of cluster ${c.name}`).join(', ')}. `,
      bare.length > 0 && h('span', { class: 'verdict mixed' }, `◐ ${count(bare.length, 'namespace')} that no NetworkPolicy isolates`)),
    table('Isolation by namespace', ['Namespace', 'Pods', 'Isolated for ingress', 'Isolated for egress'], o.isolation.map((n) => [
      h('a', { href: href('matrix', { from: n.namespace, to: n.namespace }) }, n.namespace), String(n.pods), share(n.ingress, n.pods), share(n.egress, n.pods)])),
    o.moreNamespaces > 0 && h('p', { class: 'note' }, `and ${count(o.moreNamespaces, 'namespace')} with fewer open directions`)];
}

function share(n, all) {
  if (n === all) return 'all';
  return h('span', { class: 'verdict mixed' }, n ? `◐ ${n} of ${all}` : '◐ none');
}

// confirmed lists what netloom sees, with when it last found that it holds what there is: first what it does not know to be current.
function confirmed(views) {
  const late = views.filter((v) => v.late);
  return table('Confirmed', ['What', 'Last compared with what there is'], [...late, ...views.filter((v) => !v.late)].map((v) => [
    v.name, [v.late && h('span', { class: 'verdict deny' }, '✗ not known to be current '), v.confirmed ? when(v.confirmed) : 'not since the start',
      v.fault && h('p', { class: 'fault' }, v.fault)]]));
}

function problems(o) {
  const n = o.problems.length + (o.moreProblems ?? 0);
  return n ? h('p', {}, h('a', { href: '#/policies' }, h('strong', {}, count(n, 'problem')))) : h('p', {}, 'None.');
}
