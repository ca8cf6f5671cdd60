// The view that says why a connection passes or does not.

import { get } from './api.js';
import { count, end as named, fault, h, href, object, replace, verdict } from './dom.js';

export function why(root, _, parameters) {
  const asked = Object.fromEntries(['from', 'to', 'port'].map((name) => [name, parameters.get(name) ?? '']));
  const out = h('div', { 'aria-live': 'polite', id: 'answer', tabindex: '-1' });
  const form = h('form', {
    role: 'search',
    'aria-label': 'Ask about a connection',
    onsubmit: (event) => {
      event.preventDefault();
      const to = href('why', Object.fromEntries(new FormData(form)));
      if (to === location.hash) view.refresh().catch(view.failed);
      else location.hash = to;
    },
  },
  end('From', 'from', asked.from, 'shop/web-0, 203.0.113.7 or node/a'),
  end('To', 'to', asked.to, 'shop/db-0, svc/shop/db:5432 or an address'),
  h('label', {}, 'Port', h('input', { name: 'port', value: asked.port, class: 'short', autocomplete: 'off', placeholder: 'tcp/80' })),
  h('button', { type: 'submit' }, 'Ask why'));
  root.append(form,
    h('p', { class: 'note' }, 'The name of a pod may be a pattern such as shop/web-*, or a selector such as shop/app=web. The port is tcp/80, udp/53, tcp/NAME or icmp; a Service can include it, as in svc/shop/db:5432.'),
    out);
  const view = {
    title: 'Why?',
    focus: () => out,
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      if (!asked.from || !asked.to) return;
      const { answers, moreAnswers, counts, unknown } = await get('why', asked);
      replace(out,
        unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)),
        answers.length > 1 && h('p', {}, Object.entries(counts).map(([word, n]) => [verdict(word), ` ${n} `])),
        answers.map(answer),
        moreAnswers && h('p', { class: 'note' }, `and ${count(moreAnswers, 'answer')} more: use a narrower pattern to see them`));
    },
  };
  return view;
}

// end is an input that proposes names.
function end(label, name, value, placeholder) {
  const list = h('datalist', { id: 'names-' + name });
  let asking = 0;
  const propose = async (event) => {
    const mine = ++asking;
    const { names } = await get('names', { q: event.target.value, end: name }).catch(() => ({ names: [] }));
    if (mine === asking) list.replaceChildren(...names.map((n) => h('option', { value: n })));
  };
  return h('label', {}, label, h('input', { name, value, placeholder, list: list.id, autocomplete: 'off', spellcheck: 'false', required: true, oninput: propose, onfocus: propose }), list);
}

function answer(a) {
  return h('section', { class: 'card', 'aria-label': a.question },
    h('h2', {}, verdict(a.doubts?.length ? 'unknown' : a.verdict), ' ', h('span', { class: 'mono' }, a.question)),
    a.notes?.map((note) => h('p', { class: 'note' }, note)),
    a.doubts?.map((doubt) => h('p', { class: 'note' }, 'not certain: ' + doubt)),
    alike(a.flows).map((group) => flow(group, a)));
}

// alike groups the flows with equal results: those of both address families, where they agree.
function alike(flows) {
  const groups = new Map();
  for (const f of flows) {
    const key = JSON.stringify({ ...f, family: '', source: '', destination: '' });
    groups.set(key, [...groups.get(key) ?? [], f]);
  }
  return [...groups.values()];
}

function flow(group, a) {
  const [f] = group;
  return h('div', {},
    h('h3', {}, a.doubts?.length > 0 && 'as policies have it: ', verdict(f.verdict), ' ', group.map((one, i) => [i > 0 && h('br'), h('span', { class: 'mono' }, `${one.family}: ${one.source} → ${one.destination}`)])),
    f.service && h('p', {}, `${f.service.service} at ${f.service.frontend} (${f.service.kind}): ${f.service.outcome}`),
    f.service?.backends?.map((b) => h('div', { class: 'card' },
      h('h4', {}, verdict(b.verdict), ' ', h('span', { class: 'mono' }, b.address, b.pod && [' ', named(b.pod)], b.node && ' on ' + b.node)),
      sides(b, a), changes(b))),
    sides(f, a), changes(f));
}

function sides(f, a) {
  if (!f.egress && !f.ingress) return null;
  return h('div', { class: 'sides' }, side('Egress of ' + a.from, f.egress), side('Ingress of ' + a.to, f.ingress));
}

function side(title, s) {
  if (!s) return null;
  return h('div', {},
    h('p', {}, verdict(s.verdict), ' ', title),
    h('ul', {},
      s.itself && h('li', {}, 'source and destination are the same, so that policies do not apply'),
      s.note && h('li', {}, s.note),
      !s.note && !s.itself && !s.isolatedBy?.length && !s.tier && !s.passedBy?.length
        && h('li', {}, `no policy${s.cluster ? ' of cluster ' + s.cluster : ''} selects it: everything is allowed`),
      s.isolatedBy?.length > 0 && h('li', {}, 'isolated by ', separated(s.isolatedBy.map(object))),
      s.tier && h('li', {}, `tier ${s.tier} decides`),
      s.passedBy?.map((r) => h('li', {}, 'passed by ', object(r.policy), ' ', h('code', {}, r.path), r.name ? ' ' + r.name : '')),
      s.deniedBy?.map((r) => h('li', {}, 'denied by ', object(r.policy), ' ', h('code', {}, r.path), r.name ? ' ' + r.name : '')),
      s.allowedBy?.map((r) => h('li', {}, 'allowed by ', object(r.policy), ' ', h('code', {}, r.path), r.name ? ' ' + r.name : '')),
      s.verdict === 'deny' && !s.allowedBy?.length && !s.deniedBy?.length && h('li', {}, 'no rule allows it'),
      s.nearMisses?.map((r) => h('li', {}, 'almost matched: ', object(r.policy), ' ', h('code', {}, r.path), ' ', r.reason))));
}

function changes(f) {
  if (!f.change?.length) return null;
  return [h('h4', {}, f.verdict === 'allow' ? 'To deny it, one of' : 'To allow it'), h('ul', {}, f.change.map((line) => h('li', {}, line)))];
}

function separated(list) {
  return list.flatMap((item, i) => i ? [', ', item] : [item]);
}
