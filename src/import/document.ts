import { readClash } from './clash/clash.ts';
import { ImportError, trimmedLines } from './draft.ts';
import { ForeignObject } from './foreign-object.ts';
import { parseJson } from './parse/json.ts';
import { parseYaml } from './parse/yaml.ts';
import { nameOf } from './read-entry.ts';
import { looselyFromBase64 } from './links/encodings.ts';
import { hasShareLink, isLinkList, readShareLinks } from './links/share-links.ts';
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
  if (trimmed.startsWith('<')) throw new ImportError('a web page, not a document of servers');
  const found = readPlain(trimmed) ?? readCoded(trimmed);
  if (found) return found;
  throw new ImportError(
    'neither share links, nor JSON of sing-box, Xray or SIP008, nor YAML of Clash, nor a wg-quick file',
  );
}

function readPlain(text: string): Imported | undefined {
  if (isLinkList(text)) return links(text);
  if (isWireGuardConf(text)) return { kind: 'a wg-quick file', ...readWireGuardConf(text) };
  if (text.startsWith('{') || /^\[\s*\{/.test(text)) return readJson(text);
  if (isClash(text)) return readYaml(text);
  // Lines around the links are entries that are left out.
  return hasShareLink(text) ? links(text) : undefined;
}

/** Base64, below lines that a panel puts in front of it as comments. */
function readCoded(text: string): Imported | undefined {
  const lines = trimmedLines(text).filter((line) => !line.startsWith('#'));
  const plain = looselyFromBase64(lines.join(''))?.trim();
  return plain === undefined ? undefined : readPlain(plain);
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
