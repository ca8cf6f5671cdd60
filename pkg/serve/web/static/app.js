// The page: which view is shown, and that it stays current.

import { get } from './api.js';
import { count, fault, h } from './dom.js';
import { follow, paced } from './live.js';
import { events } from './events.js';
import { flows } from './flows.js';
import { map } from './map.js';
import { matrix } from './matrix.js';
import { overview } from './overview.js';
import { clusterpolicy, policies, policy } from './policy.js';
import { pod } from './pod.js';
import { bindSearch, search } from './search.js';
import { service } from './service.js';
import { suggest } from './suggest.js';
import { targets, unprotected } from './targets.js';
import { whatif } from './whatif.js';
import { why } from './why.js';

// A view takes the element to fill, the parts of the path behind its name and the parameters. It returns its title and
// refresh, which asks the server again. One that changes without an event says after how many milliseconds it is asked again.
const views = { map, overview, matrix, policies, policy, clusterpolicy, why, suggest, flows, pod, service, search, 'what-if': whatif, targets, events };
const within = { policy: 'policies', clusterpolicy: 'policies', suggest: 'flows' }; // views without a link of their own

const main = document.getElementById('main');
let shown = null;

// place reads the address behind the #.
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/').map(decodeURIComponent);
  return { name: views[name] ? name : 'map', rest, parameters: new URLSearchParams(query ?? '') };
}

async function show() {
  const { name, rest, parameters } = place();
  const first = shown === null; // no view was opened yet
  const again = shown?.name === name; // then a view's own links or forms led here
  const root = h('div');
  let view;
  try {
    view = views[name](root, rest, parameters);
  } catch (error) {
    view = { title: 'Error', refresh: async () => root.replaceChildren(fault(error)) };
  }
  shown = { name, ...view };
  const mine = shown;
  const title = h('h1', { id: 'title', tabindex: '-1' }, view.title);
  document.title = view.title + ' – netloom';
  for (const link of document.querySelectorAll('header nav a')) {
    const to = link.getAttribute('href').slice(2);
    if (to === (within[name] ?? name)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  main.replaceChildren(title, root);
  if (!first && !again) title.focus({ preventScroll: true });
  await refresh();
  if (shown === mine && again && !main.contains(document.activeElement)) (view.focus?.() ?? title).focus({ preventScroll: true });
  root.dataset.ready = 'true';
}

async function refresh() {
  const now = shown;
  now.asked = performance.now();
  try {
    await now.refresh();
  } catch (error) {
    if (shown === now) now.failed(error);
  }
}

async function glance() {
  const line = document.getElementById('glance');
  try {
    const [o, { targets: list }] = await Promise.all([get('overview'), get('targets')]);
    const behind = list.filter((t) => t.health !== 'in sync').length;
    line.replaceChildren(
      (o.cluster ? o.cluster + ': ' : '') + `revision ${o.revision}, ${count(o.pods, 'pod')}, ${count(o.policies, 'policy', 'policies')}`,
      o.cnfs ? ', ' + count(o.cnfs, 'CNF') : '',
      o.problems.length ? h('span', {}, ', ', h('a', { href: '#/policies' }, h('strong', {}, count(o.problems.length + (o.moreProblems ?? 0), 'problem')))) : '',
      list.length > 0 && !behind ? h('span', {}, ', ', h('a', { href: '#/targets' }, count(list.length, 'target') + ' in sync')) : '',
      behind ? h('span', {}, ', ', h('a', { href: '#/targets' }, h('strong', {}, count(behind, 'target') + ' out of sync'))) : '',
      ...list.map((t) => unprotected(t) ? h('span', {}, ', ', h('a', { href: '#/targets', class: 'verdict deny' }, unprotected(t))) : ''),
      o.problems.length || behind || list.some((t) => t.coverage?.faults?.length) ? '' : ', no problems',
      ...(o.unknown ?? []).map((text) => h('strong', { class: 'fault' }, ' – ' + text)));
  } catch (error) {
    line.textContent = error.message;
  }
}

const update = paced(async () => { await Promise.all([glance(), refresh()]); });

addEventListener('hashchange', show);
bindSearch();
setInterval(() => {
  if (!document.hidden && shown?.every && performance.now() - (shown.asked ?? 0) >= shown.every) refresh();
}, 500);
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault(); // the address behind the # is the view's
  main.focus();
});
await Promise.all([show(), glance()]);
follow(update, (open) => {
  const live = document.getElementById('live');
  live.textContent = open ? 'live' : 'not connected: data may be out of date';
  live.classList.toggle('off', !open);
  if (open) update();
});
