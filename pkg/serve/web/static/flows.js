// The view of the connections that appear in ACL logs.

import { get } from './api.js';
import { count, end, fault, h, href, object, replace, table, verdict, when } from './dom.js';

const choices = [['', 'denied and allowed'], ['denied', 'denied'], ['allowed', 'allowed']];

export function flows(root, _, parameters) {
  const asked = { verdict: parameters.get('verdict') ?? '', q: parameters.get('q') ?? '' };
  const out = h('div');
  const form = h('form', {
    role: 'search',
    'aria-label': 'Find connections',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href('flows', Object.fromEntries(new FormData(form)));
    },
  },
  h('label', {}, 'Connections', h('select', { name: 'verdict' }, choices.map(([value, text]) => h('option', { value, selected: value === asked.verdict }, text)))),
  h('label', {}, 'Pod, policy or port', h('input', { name: 'q', value: asked.q, autocomplete: 'off', spellcheck: 'false', 'data-key': 'q' })),
  h('button', { type: 'submit' }, 'Show'));
  root.append(form, out);
  return {
    title: 'Flows',
    every: 2000,
    failed: (error) => replace(out, fault(error)),
    refresh: async () => {
      const f = await get('flows', asked);
      if (!f.logs.length) {
        replace(out, h('p', {}, 'No ACL log is followed. Set ', h('code', {}, 'acl-log'), ' to the log of ovn-controller, and the annotation ', h('code', {}, 'netloom.io/acl-logging'),
          ' on the policies whose connections are to be logged.'));
        return;
      }
      replace(out,
        f.logs.filter((log) => log.error).map((log) => h('p', { class: 'fault', role: 'note' }, log.path, ': ', log.error)),
        h('p', { class: 'note' }, `The last ${span(f.windowSeconds)} of ${f.logs.map((log) => log.path).join(', ')}. `,
          f.until ? ['Newest line: ', when(f.until), '. '] : 'There is no line of a logged connection yet. ',
          'Only policies with logging enabled write lines, and each node writes its own log: what only other nodes log is not shown.'),
        (f.staged ?? []).map(tried),
        f.flows.length > 0 ? list(f) : h('p', {}, asked.q || asked.verdict ? 'No such connection.' : 'No connection was logged.'),
        f.moreFlows > 0 && h('p', { class: 'note' }, `and ${count(f.moreFlows, 'connection')} more: search for a pod or a policy`),
        Object.entries(f.other ?? {}).map(([word, n]) => h('p', { class: 'note' }, `There was no room to tell ${n} ${word} lines apart.`)));
    },
  };
}

function span(seconds) {
  return seconds === 3600 ? 'hour' : count(Math.round(seconds / 60), 'minute');
}

function list(f) {
  return [
    h('p', { id: 'counts' }, ['denied', 'allowed'].filter((word) => f.counts[word]).map((word) => [verdict(word), ` ${count(f.counts[word], 'time')} `])),
    table('Connections', ['Connection', 'Verdict', 'By', 'Times', 'Last seen', 'Now'], f.flows.map((one) => [
      [end(one.from), ' → ', end(one.to), ' ', h('span', { class: 'mono' }, one.port)],
      verdict(one.verdict), cause(one), String(one.count), when(one.last), now(one)]))];
}

// cause names the policy and the rule that decided.
function cause(one) {
  if (one.policy) return [object(one.policy), ' ', one.rule.startsWith('spec.') ? h('code', {}, one.rule) : one.rule];
  return one.acl ? ['ACL ', h('code', {}, one.acl), ', of no known policy'] : 'an ACL without a name';
}

// now says what the policies say today, and offers what a denied connection lacks.
function now(one) {
  if (one.verdict === 'allowed') return one.now === 'deny' ? 'denied now' : '';
  if (one.now === 'allow') return 'allowed now';
  const question = { from: one.from, to: one.to, port: one.port };
  return [
    one.change?.length > 0 && h('details', {}, h('summary', { 'data-key': `change ${one.from} ${one.to} ${one.port}` }, 'What it would take'), h('ul', {}, one.change.map((line) => h('li', {}, line)))),
    one.now && h('a', { href: href('suggest', question) }, 'Suggest a policy')];
}

// tried shows what was seen of the connections that a staged policy is about.
function tried(one) {
  return h('section', { class: 'tried' },
    h('p', {}, object(one.policy), ' is staged; ', one.summary || 'no connection of its pods was seen', '.'),
    one.flows?.length > 0 && table('What ' + one.policy + ' would decide differently', ['Connection', 'Would be', 'By', 'Times', 'Last seen'], one.flows.map((f) => [
      [end(f.from), ' → ', end(f.to), ' ', h('span', { class: 'mono' }, f.port)],
      [verdict(f.would), ' for ', f.direction], f.rule.startsWith('spec.') ? h('code', {}, f.rule) : f.rule, String(f.count), when(f.last)])));
}
