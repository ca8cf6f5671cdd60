// The view of what happens now.

import { h, replace, table, when } from './dom.js';
import { events as list } from './live.js';

const words = { snapshot: 'snapshot', plan: 'written', target: 'target', problem: 'problem', 'problem-cleared': 'problem resolved' };

export function events(root) {
  const out = h('div');
  root.append(h('p', { class: 'note' }, 'Newest first. The page is updated automatically and keeps the last 256 events.'), out);
  return {
    title: 'Events',
    failed: () => {},
    refresh: async () => {
      const rows = [...list].reverse().map((e) => [when(e.at), words[e.kind] ?? e.kind, h('span', { class: e.kind === 'problem' ? 'denied' : '' }, e.text)]);
      replace(out, rows.length ? table('Events', ['Time', 'Event', 'Message'], rows) : h('p', {}, 'No events yet.'));
    },
  };
}
