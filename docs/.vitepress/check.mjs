// Checks a site that build has made: check.mjs DIRECTORY ROOT [VERSION...]. Every link within the site leads to a file, and every page of every
// version links to all versions.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

const [directory, root, ...versions] = process.argv.slice(2)
const pages = readdirSync(directory, { recursive: true }).filter((f) => f.endsWith('.html'))
const homes = [root, ...versions.map((v) => `${root}${v}/`)]
const faults = []
for (const page of pages) {
  const at = new URL(root + relative(directory, join(directory, page)), 'https://site.example')
  const links = [...readFileSync(join(directory, page), 'utf8').matchAll(/<(?:a|link|script|img)\b[^>]*? (?:href|src)="([^"]*)"/g)]
    .map((m) => new URL(m[1].replaceAll('&amp;', '&'), at)).filter((u) => u.origin === at.origin)
  for (const { pathname } of links) {
    const file = join(directory, pathname.startsWith(root) ? decodeURIComponent(pathname.slice(root.length)) : '..')
    const found = [file, join(file, 'index.html'), file + '.html'].some((f) => existsSync(f) && statSync(f).isFile())
    if (!found) faults.push(`${page}: ${pathname} leads nowhere`)
  }
  if (page.endsWith('404.html')) continue // it is made in the browser
  for (const home of homes) {
    if (!links.some((u) => u.pathname === home)) faults.push(`${page} does not link to ${home}`)
  }
}
if (pages.length === 0) faults.push(`${directory} has no pages`)
if (faults.length > 0) {
  console.error([...new Set(faults)].slice(0, 20).join('\n'))
  process.exit(1)
}
console.log(`${pages.length} pages of ${homes.length} versions; every link leads to a page`)
