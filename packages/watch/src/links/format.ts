/** The forms of a user's servers, and the page for people. */
export const LINK_FORMATS = [
  'base64',
  'links',
  'clash',
  'sing-box',
  'xray',
  'weir',
  'page',
] as const;

export type LinkFormat = (typeof LINK_FORMATS)[number];

/** Names by which other programs' URLs ask for a form. */
const ALIASES: Readonly<Record<string, LinkFormat>> = {
  mihomo: 'clash',
  meta: 'clash',
  singbox: 'sing-box',
  v2ray: 'base64',
  plain: 'links',
  html: 'page',
};

/** The form that a value of `?format=` names. */
export const formatNamed = (name: string): LinkFormat | undefined =>
  LINK_FORMATS.find((format) => format === name) ??
  (Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined);

/** Characters of a `User-Agent` that are looked at. */
const LONGEST_AGENT = 512;

/**
 * The form that a client reads, by its headers. Programs name the cores that they contain: `SFA/1.12.0 (…; sing-box
 * 1.12.0; …)`, `clash-verge/v2.4.2`, `NekoBox/Android/1.3.4 (Prefer ClashMeta Format)`, `HiddifyNext/2.0.5 (windows)
 * like ClashMeta v2ray sing-box`. Browsers get a page; everything else reads share links in base64, as v2rayN, and so
 * do versions of `weir subscribe`.
 */
export function formatFor(userAgent = '', accept = ''): LinkFormat {
  const agent = userAgent.slice(0, LONGEST_AGENT).toLowerCase();
  if (/sing-box|^sf[aimt]\/|hiddify|karing/.test(agent)) return 'sing-box';
  if (/clash|mihomo|stash/.test(agent)) return 'clash';
  return accept.toLowerCase().includes('text/html') ? 'page' : 'base64';
}
