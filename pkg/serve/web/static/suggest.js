// The view that writes the policies that a connection lacks.

import { get } from './api.js';
import { count, fault, h, href, replace } from './dom.js';
import { edit } from './whatif.js';

export function suggest(root, _, parameters) {
  const asked = Object.fromEntries(['from', 'to', 'port'].map((name) => [name, parameters.get(name) ?? '']));
  const out = h('div', { 'aria-live': 'polite' });
  root.append(out);
  return {
    title: `Suggestion: ${asked.from} → ${asked.to} ${asked.port}`,
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const s = await get('suggest', asked);
      replace(out,
        s.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)),
        s.refused?.map((r) => h('p', { class: 'fault' }, r.connection, ': ', r.reason)),
        s.manifest ? written(s) : !s.refused?.length && h('p', {}, 'The policies allow it already: nothing is missing.'),
        h('p', {}, h('a', { href: href('why', asked) }, 'Why?')));
    },
  };
}

function written(s) {
  return [
    h('p', {}, 'The least policies that allow it. Nothing is applied.'),
    h('pre', { tabindex: '0', 'aria-label': 'Policies' }, s.manifest),
    s.beyond?.length ? [h('p', { class: 'fault' }, 'Labels cannot tell these pods apart: the policies would change more than asked.'),
      h('ul', {}, s.beyond.map((e) => h('li', {}, [e.opened && `opens ${e.opened}`, e.closed && `closes ${e.closed}`].filter(Boolean).join(', '), ': ', e.from, ' → ', e.to)),
        s.moreBeyond > 0 && h('li', {}, `and at least ${count(s.moreBeyond, 'more change')}`))]
      : h('p', {}, h('span', { class: 'verdict allow' }, '✓ opens nothing else'), ' This is proved for all pairs of pods, all addresses outside and all ports.'),
    h('p', {}, h('a', { href: '#/what-if', onclick: () => edit(s.manifest) }, 'Edit it and see what that would open and close'))];
}
