// The search for pods, namespaces, policies and Services.

import { get } from './api.js';
import { count, fault, h, href, page, replace } from './dom.js';

const titles = { pod: 'Pods', service: 'Services', namespace: 'Namespaces' };

export function search(root, _, parameters) {
  const q = parameters.get('q') ?? '';
  const out = h('div', { 'aria-live': 'polite' });
  root.append(out);
  document.getElementById('search').value = q;
  return {
    title: q ? `Search: ${q}` : 'Search',
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const { hits } = await get('search', { q });
      replace(out, hits.map((one) => [h('h2', {}, titles[one.kind] ?? one.kind),
        h('ul', { class: 'flat' }, one.names.map((name) => h('li', {}, h('a', { href: target(one.kind, name) }, name)))),
        one.moreNames > 0 && h('p', { class: 'note' }, `and ${one.moreNames} more`)]),
      !hits.length && h('p', {}, q ? 'No pod, namespace, policy or Service has this in its name.' : 'Type a part of a name.'));
    },
  };
}

function target(kind, name) {
  switch (kind) {
    case 'pod': case 'service': return page(kind, ...name.split('/'));
    case 'namespace': return href('matrix', { from: name, to: name });
    case 'NetworkPolicy': return page('policy', ...name.split('/'));
    default: return page('clusterpolicy', kind, name);
  }
}

// bindSearch makes the form in the header lead to what it finds, and the key / lead to the form.
export function bindSearch() {
  const input = document.getElementById('search');
  const open = () => { location.hash = href('search', { q: input.value.trim() }); };
  input.form.addEventListener('submit', (event) => {
    event.preventDefault();
    open();
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, textarea, select')) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}
