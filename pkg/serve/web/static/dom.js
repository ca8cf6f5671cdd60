// How the views make elements. Texts become text nodes: nothing of the cluster is ever read as HTML.

// h makes an element with attributes, listeners (functions under names such as onclick) and children.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ''));
  return element;
}

// link is a link to another view; parameters that are empty are left out.
export function href(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) if (value) query.set(name, value);
  const text = query.toString();
  return '#/' + path + (text ? '?' + text : '');
}

// object is a link to a source object's page, where it has one.
const clusterKinds = ['ClusterNetworkPolicy', 'AdminNetworkPolicy', 'BaselineAdminNetworkPolicy'];

export function object(name) {
  const parts = name.split('/');
  const kind = parts.find((p) => clusterKinds.includes(p));
  if (kind && parts.indexOf(kind) === parts.length - 2) return h('a', { href: href(['clusterpolicy', kind, encodeURIComponent(parts.at(-1))].join('/')) }, name);
  const at = parts.indexOf('NetworkPolicy');
  if (at < 0 || parts.length < at + 3) return name;
  return h('a', { href: href(['policy', ...parts.slice(at + 1).map(encodeURIComponent)].join('/')) }, name);
}

// end is a link to the page of a pod or a Service that an end of a connection names, where it is one.
export function end(name) {
  const parts = name.split('/');
  if (parts.length === 3 && parts[0] === 'svc') return h('a', { href: page('service', parts[1], parts[2]) }, name);
  if (parts.length !== 2 || parts[0] === 'node' || name.includes(' ')) return name;
  return h('a', { href: page('pod', ...parts) }, name);
}

// page is the address of the page of an object.
export function page(...parts) {
  return href(parts.map(encodeURIComponent).join('/'));
}

export function verdict(word) {
  return h('span', { class: 'verdict ' + word }, symbol(word) + ' ' + wordOf(word));
}

// symbol stands before a verdict, for who cannot tell the colours apart and sees no words yet.
export function symbol(word) {
  return { allowed: '✓', isolated: '✓', allow: '✓', partly: '◐', mixed: '◐', denied: '✗', deny: '✗', refuse: '✗', itself: '↺', unknown: '?' }[word] ?? '–';
}

// wordOf is a verdict as people say it.
export function wordOf(word) {
  return word === 'unknown' ? 'cannot tell' : word;
}

export function count(n, one, many) {
  return n + ' ' + (n === 1 ? one : many ?? one + 's');
}

export function fault(error) {
  return h('p', { class: 'fault', role: 'alert' }, String(error.message ?? error));
}

export function when(time) {
  if (!time) return '–';
  const at = new Date(time);
  return h('time', { datetime: time, title: at.toString() }, at.toLocaleTimeString());
}

export function table(caption, heads, rows) {
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    h('table', { class: 'plain' },
      h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col' }, head)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) => h(i ? 'td' : 'th', i ? {} : { scope: 'row' }, cell)))))));
}

// replace puts new children into an element and gives the focus back to what has the same data-key.
export function replace(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset.key ?? document.activeElement.getAttribute('href') : null;
  const scrolls = [...element.querySelectorAll('.scroll')].map((s) => [s.scrollLeft, s.scrollTop]);
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ''));
  element.querySelectorAll('.scroll').forEach((s, i) => { if (scrolls[i]) [s.scrollLeft, s.scrollTop] = scrolls[i]; });
  if (!focused) return;
  for (const candidate of element.querySelectorAll('[data-key], a[href]')) {
    if ((candidate.dataset.key ?? candidate.getAttribute('href')) === focused) {
      if (candidate.tabIndex < 0) candidate.dispatchEvent(new CustomEvent('take', { bubbles: true }));
      candidate.focus({ preventScroll: true });
      return;
    }
  }
}
