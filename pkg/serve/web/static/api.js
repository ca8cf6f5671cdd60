// What the server answers. An answer that did not change is not sent again: the server knows it by its tag.

const known = new Map(); // by URL: the tag and the data
const most = 40;

function urlOf(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) if (value) query.set(name, value);
  return 'api/v1/' + path + (query.size ? '?' + query : '');
}

async function read(response) {
  const data = await response.json().catch(() => ({ error: response.status + ' ' + response.statusText }));
  if (!response.ok) throw new Error(data.error);
  return data;
}

// ask sends a text to a path that answers a question about it.
export async function ask(path, parameters, text) {
  return read(await fetch(urlOf(path, parameters), { method: 'POST', headers: { 'Content-Type': 'application/yaml' }, body: text }));
}

// get asks for a path below /api/v1/. It fails with what the server says is wrong.
export async function get(path, parameters) {
  const url = urlOf(path, parameters);
  const before = known.get(url);
  const response = await fetch(url, { headers: before ? { 'If-None-Match': before.tag } : {} });
  if (response.status === 304 && before) return before.data;
  const data = await read(response);
  const tag = response.headers.get('ETag');
  known.delete(url);
  if (tag) known.set(url, { tag, data });
  if (known.size > most) known.delete(known.keys().next().value);
  return data;
}
