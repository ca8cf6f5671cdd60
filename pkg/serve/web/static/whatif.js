// The editor that shows what a change of policies would open and close. Nothing is applied.

import { ask, get } from './api.js';
import { count, end, fault, h, href, replace, table } from './dom.js';

const pause = 400; // milliseconds without a key until the text is compared

let given = ''; // the text that another view wants to have edited

// edit has a text edited by the view that is opened next.
export function edit(text) {
  given = text;
}

export function whatif(root, _, parameters) {
  const policy = parameters.get('policy') ?? '';
  const out = h('div', { 'aria-live': 'polite', id: 'effect' });
  const names = h('datalist', { id: 'policy-names' });
  const text = h('textarea', { id: 'manifest', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', 'data-key': 'manifest', oninput: () => later() });
  let loaded = policy === '', sent = 0, timer = 0;
  text.value = policy ? '' : given;
  given = '';
  const form = h('form', {
    role: 'search',
    'aria-label': 'Choose a policy',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href('what-if', Object.fromEntries(new FormData(form)));
    },
  },
  h('label', {}, 'Policy', h('input', { name: 'policy', value: policy, list: names.id, placeholder: 'NetworkPolicy/shop/db', autocomplete: 'off', spellcheck: 'false', onfocus: propose, oninput: propose })), names,
  h('button', { type: 'submit' }, 'Edit'));
  root.append(form,
    h('p', { class: 'note' }, 'Edit a policy, or paste one or more. Nothing is applied. Without a text, the policy is removed.'),
    h('div', { class: 'editor' }, h('label', { for: 'manifest' }, 'Manifest', text), out));

  async function propose() {
    const { policies } = await get('policies', { q: form.elements.policy.value.split('/').at(-1) }).catch(() => ({ policies: [] }));
    names.replaceChildren(...policies.slice(0, 20).map((p) => h('option', { value: [p.kind ?? 'NetworkPolicy', p.namespace, p.name].filter(Boolean).join('/') })));
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => view.refresh().catch(view.failed), pause);
  }

  // choose selects a line of the text.
  function choose(line) {
    const lines = text.value.split('\n');
    const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    text.focus();
    text.setSelectionRange(from, from + (lines[line - 1] ?? '').length);
  }

  const view = {
    title: 'What if?',
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      if (!loaded) {
        ({ manifest: text.value } = await get(pathOf(policy)));
        loaded = true;
      }
      if (!policy && !text.value.trim()) {
        replace(out);
        return;
      }
      const mine = ++sent;
      const answer = await ask('what-if', { policy }, text.value);
      if (mine === sent) replace(out, effect(answer, choose));
    },
  };
  return view;
}

function pathOf(policy) {
  const [kind, ...rest] = policy.split('/');
  const encoded = rest.map(encodeURIComponent).join('/');
  return (kind === 'NetworkPolicy' ? 'policies/' : `cluster-policies/${encodeURIComponent(kind)}/`) + encoded + '/manifest';
}

function effect(w, choose) {
  const subject = [...w.policies, ...w.removed.map((p) => 'without ' + p)].join(', ');
  return [
    w.problems.length > 0 && [h('h2', {}, 'Problems'), h('ul', {}, w.problems.map((p) => h('li', { class: 'denied' },
      p.place?.line && [h('button', { type: 'button', 'data-key': 'line ' + p.place.line, onclick: () => choose(p.place.line) }, `Line ${p.place.line}`), ' '],
      p.field && h('code', {}, p.field), p.field && ': ', p.message)))],
    w.pods === 0 && h('p', {}, w.problems.length ? 'Nothing is compared until the text can be read.' : subject ? 'There is no pod to compare: it cannot be told what this changes.' : 'The text has no policy.'),
    w.pods > 0 && [
      w.unknown?.map((text) => h('p', { class: 'fault', role: 'note' }, text)),
      h('p', {}, subject, `: compared with what is in force, for ${count(w.pods, 'pod')} and the addresses outside.`),
      changes(w, 'opened', 'mixed', 'Opened'), changes(w, 'closed', 'deny', 'Closed'),
      !w.changes.length && h('p', { id: 'unchanged' }, 'No connection changes.'),
      w.moreChanges > 0 && h('p', { class: 'note' }, `and ${count(w.moreChanges, 'more change')}`)],
  ];
}

function changes(w, name, kind, title) {
  const list = w.changes.filter((e) => e[name]);
  if (!list.length) return null;
  return [h('h2', {}, h('span', { class: 'verdict ' + kind }, `${name === 'opened' ? '+' : '−'} ${title}`)),
    table(title, ['From', 'To', 'Traffic'], list.map((e) => [ends(e.from), ends(e.to), [h('span', { class: 'mono' }, e[name]), e.family && !e.from.outside && !e.to.outside && ` (${e.family})`]]))];
}

// ends lists the pods and addresses of a side.
function ends(group) {
  const list = [...(group.pods ?? []).map(end), ...(group.morePods ? [count(group.morePods, 'more pod')] : []), ...(group.outside ? ['outside ' + group.outside] : [])];
  return list.map((one, i) => [i > 0 && ', ', one]);
}
