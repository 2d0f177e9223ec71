import { readClash } from './clash/clash.ts';
import { ImportError } from './draft.ts';
import { ForeignObject } from './foreign-object.ts';
import { parseJson } from './parse/json.ts';
import { parseYaml } from './parse/yaml.ts';
import { nameOf } from './read-entry.ts';
import { fromBase64 } from './links/encodings.ts';
import { isLinkList, readShareLinks } from './links/share-links.ts';
import type { Routing } from './routing.ts';
import { readSingBox } from './sing-box/sing-box.ts';
import { isSip008, readSip008 } from './sip008.ts';
import { isWireGuardConf, readWireGuardConf } from './wireguard.ts';
import { isInformation } from './values/information.ts';
import { readXray } from './xray/xray.ts';

/** A document, and what it was detected to be. */
export interface Imported extends Routing {
  /** `a configuration of Clash or mihomo`. */
  readonly kind: string;
}

/** Bytes of the largest document that is read. */
export const LARGEST_DOCUMENT = 16 * 1024 * 1024;

/**
 * Reads the servers of another program's document: share links, one per line, possibly as base64; a
 * configuration of sing-box, Xray, v2ray, Clash or mihomo; a file of wg-quick.
 *
 * @throws {ImportError} for anything else.
 */
export function readForeign(text: string): Imported {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (isLinkList(trimmed)) return links(trimmed);
  if (trimmed.startsWith('<')) throw new ImportError('a web page, not a document of servers');
  const plain = fromBase64(trimmed)?.trim();
  if (plain !== undefined && isLinkList(plain)) return links(plain);
  if (isWireGuardConf(trimmed)) {
    return { kind: 'a wg-quick file', ...readWireGuardConf(trimmed) };
  }
  if (trimmed.startsWith('{') || /^\[\s*\{/.test(trimmed)) return readJson(trimmed);
  if (isClash(trimmed)) return readYaml(trimmed);
  throw new ImportError(
    'neither share links, nor JSON of sing-box, Xray or SIP008, nor YAML of Clash, nor a wg-quick file',
  );
}

/** Whether a line is one of the keys that make a configuration of Clash. */
const isClash = (text: string): boolean =>
  text
    .split('\n')
    .some((line) =>
      /^["']?(?:proxies|Proxy|proxy-providers|proxy-groups|rules)["']?[ \t]*:/.test(line),
    );

const links = (text: string): Imported => ({
  kind: 'share links',
  ...withoutMessages(readShareLinks(text)),
});

/** Providers put messages among the links; the first of a list is its default. */
const withoutMessages = (list: Routing): Routing => ({
  ...list,
  entries: list.entries.map((entry) =>
    entry.draft && isInformation(entry.draft.name)
      ? { name: entry.draft.name, skipped: 'it is a message of the provider, not a server' }
      : entry,
  ),
});

function readJson(text: string): Imported {
  const value = parseJson(text);
  if (isSip008(value)) return { kind: 'a list of SIP008', ...readSip008(value) };
  const document = new ForeignObject(value, 'the document', 'reported');
  const outbounds = [...document.entries('outbounds'), ...document.entries('endpoints')];
  if (outbounds.length === 0) throw new ImportError('JSON without "outbounds"');
  return outbounds.some((each) => nameOf(each, 'protocol') !== '')
    ? {
        kind: 'a configuration of Xray or v2ray',
        ...readXray(document),
      }
    : {
        kind: 'a configuration of sing-box',
        ...readSingBox(document),
      };
}

const readYaml = (text: string): Imported => ({
  kind: 'a configuration of Clash or mihomo',
  ...readClash(new ForeignObject(parseYaml(text), 'the document', 'reported')),
});
