// The site that `make docs` builds from these pages. See build, which sets the variables.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/netloom/netloom'
const docs = join(import.meta.dirname, '..')
const base = process.env.SITE_BASE || '/'
const version = process.env.SITE_VERSION || 'main'
const versions = (process.env.SITE_VERSIONS || '').split(' ').filter(Boolean)

// Pages of main have to be there; an earlier version may not have had them yet.
const had = (file) => version === 'main' || existsSync(join(docs, file))

const title = (file) => readFileSync(join(docs, file), 'utf8').match(/^# (.*)$/m)[1].replaceAll('`', '')
const page = (file) => ({ text: title(file), link: '/' + file.replace(/README\.md$/, '').replace(/\.md$/, '') })
const group = (...files) => files.filter(had).map(page)
const pages = (dir) => !had(dir) ? [] : readdirSync(join(docs, dir)).filter((f) => f.endsWith('.md') && !['README.md', 'index.md'].includes(f)).sort().map((f) => page(posix.join(dir, f)))

const sidebar = [
  { text: 'Answers', items: [...group('commands/README.md'), ...pages('commands'), ...group('ci.md', 'ui.md')] },
  { text: 'Run it', items: group('install.md', 'upgrade.md', 'kube-ovn.md', 'operations.md', 'enforced.md', 'config.md', 'clusters.md', 'scale.md') },
  { text: 'What it means', items: group('semantics.md', 'staged.md', 'readiness.md', 'policystatus.md', 'admission.md', 'security.md', 'compatibility.md') },
  { text: 'Targets and the gateway', items: group('backends.md', 'sdewan.md', 'tungsten.md', 'gateway.md') },
  { text: 'How it is built', collapsed: true, items: [...group('architecture.md'), ...pages('adr')] },
]

// A page that is in no group is still found: it is put last, so that a new one is never lost.
const listed = new Set(JSON.stringify(sidebar).match(/"link":"[^"]*"/g))
const others = pages('.').filter((p) => !listed.has(`"link":"${p.link}"`))
if (others.length > 0) sidebar.splice(4, 0, { text: 'More', items: others })

// Links that leave these pages lead to the repository, at the version of the pages.
const outside = (href, from) => {
  if (/^([a-z]+:|#|\/)/.test(href)) return href
  const [path, anchor] = href.split('#')
  const target = posix.normalize(posix.join('docs', posix.dirname(from), path))
  const inside = target.startsWith('docs/') && /\.(md|png|svg)$/.test(target)
  return inside ? href.replace(/\bREADME\.md\b/, 'index.md') : `${repository}/blob/${version}/${target}${anchor ? '#' + anchor : ''}`
}

// Links of the theme begin at the base of a version, which is a directory of the site.
const site = version === 'main' ? '/' : '/../'

export default defineConfig({
  title: 'netloom',
  description: 'NetworkPolicies on OVN, OpenWRT and Tungsten Fabric, and answers about them from any manifests',
  base,
  cleanUrls: false,
  ignoreDeadLinks: version !== 'main', // the pages of a version that is out stay as they are
  lastUpdated: false,
  rewrites: { 'commands/README.md': 'commands/index.md', 'adr/README.md': 'adr/index.md' },
  markdown: {
    config: (md) => {
      const open = md.renderer.rules.link_open ?? ((tokens, i, options, env, self) => self.renderToken(tokens, i, options))
      md.renderer.rules.link_open = (tokens, i, options, env, self) => {
        const href = tokens[i].attrGet('href')
        if (href && env.relativePath) tokens[i].attrSet('href', outside(href, env.relativePath))
        return open(tokens, i, options, env, self)
      }
    },
  },
  themeConfig: {
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    nav: [
      { text: 'Commands', link: '/commands/' },
      { text: 'Install', link: '/install' },
      { text: 'Settings', link: '/config' },
      {
        text: version,
        items: [
          ...['main', ...versions].map((v) => ({ text: v, link: site + (v === 'main' ? '' : v + '/'), target: '_self' })),
          { text: 'Changes', link: `${repository}/blob/${version}/CHANGELOG.md` },
        ],
      },
    ],
    ...(version === 'main' && { editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' } }),
    footer: { message: 'Apache License 2.0' },
  },
})
