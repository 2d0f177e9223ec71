import { createHash } from 'node:crypto';
import { bytes, day } from '@weir/base/text/amounts';
import { qrModules, qrSvg, type Shared, inForm, textsOf } from '@weir/nodes/share';
import { ShareError } from '@weir/proxy/protocols/forms';
import type { Quota } from './quota.ts';

/** What a page shows. */
export interface LinkPage {
  readonly title: string;
  /** Name of the user. */
  readonly user: string;
  /** The user's URL. */
  readonly url: string;
  readonly quota: Quota | undefined;
  readonly servers: readonly Shared[];
}

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:2rem auto;max-width:40rem;padding:0 1rem}
svg{display:block;width:min(18rem,100%);height:auto;margin:1rem 0}
code{display:block;overflow-wrap:anywhere;padding:.5rem;border:1px solid #8888;border-radius:.3rem;font-size:.85rem;user-select:all}
ul.apps{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.5rem}
ul.apps a{display:block;padding:.4rem .8rem;border:1px solid #8888;border-radius:.3rem;text-decoration:none}
progress{width:100%}`;

/** Headers of a page: it has no script, and loads and sends nothing. */
export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

/** Links by which programs of phones and computers take a URL. */
const APPS: readonly (readonly [name: string, link: (url: string, title: string) => string])[] = [
  [
    'Clash, mihomo',
    (url, title) =>
      `clash://install-config?url=${encodeURIComponent(url)}&name=${encodeURIComponent(title)}`,
  ],
  [
    'sing-box',
    (url, title) =>
      `sing-box://import-remote-profile?url=${encodeURIComponent(url)}#${encodeURIComponent(title)}`,
  ],
  ['Hiddify', (url, title) => `hiddify://import/${url}#${encodeURIComponent(title)}`],
  [
    'v2rayNG',
    (url, title) =>
      `v2rayng://install-sub?url=${encodeURIComponent(url)}&name=${encodeURIComponent(title)}`,
  ],
  ['Streisand', (url, title) => `streisand://import/${url}#${encodeURIComponent(title)}`],
  ['Shadowrocket', (url) => `sub://${Buffer.from(url).toString('base64')}`],
];

/** Files for programs that take no URL. */
const FILES = [
  ['Clash, mihomo', 'clash'],
  ['sing-box', 'sing-box'],
  ['Xray', 'xray'],
  ['Weir', 'weir'],
] as const;

/** The page of a user in HTML. */
export function pageText({ title, user, url, quota, servers }: LinkPage): string {
  const name = escaped(title);
  const apps = APPS.map(([app, link]) => item(app, link(url, title))).join('');
  const files = FILES.map(([app, format]) => item(app, `?format=${format}`)).join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${name}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${name}</h1>
<p>Servers of ${escaped(user)}. Keep this address to yourself: whoever has it can use the account.</p>
${quotaText(quota)}<h2>Add to a program</h2>
<ul class="apps">${apps}</ul>
<p>Other programs take the address as a subscription, by the code or by hand:</p>
${qrSvg(qrModules(url))}<code>${escaped(url)}</code>
<h2>Files</h2>
<ul class="apps">${files}</ul>
<h2>Links of single servers</h2>
${linksOf(servers)}</body>
</html>
`;
}

const item = (name: string, link: string): string =>
  `<li><a href="${escaped(link)}">${escaped(name)}</a></li>`;

function quotaText(quota: Quota | undefined): string {
  if (!quota) return '';
  const { upload = 0, download = 0, total, expire } = quota;
  const used = upload + download;
  const parts = [
    `${bytes(used)}${total === undefined ? '' : ` of ${bytes(total)}`} used`,
    ...(expire === undefined ? [] : [`works until ${day(expire * 1000 - 1)}`]),
  ];
  const bar =
    total === undefined
      ? ''
      : `<progress max="${total}" value="${Math.min(used, total)}"></progress>\n`;
  return `<p>${escaped(parts.join(', '))}</p>\n${bar}`;
}

function linksOf(servers: readonly Shared[]): string {
  try {
    return textsOf(inForm(servers, 'link', () => undefined))
      .map((link) => `<code>${escaped(link)}</code>\n`)
      .join('');
  } catch (error) {
    if (!(error instanceof ShareError)) throw error;
    return `<p>${escaped(error.message)}</p>\n`;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
