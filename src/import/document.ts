import { parseDocument } from 'yaml';
import { readClash } from './clash.ts';
import type { Servers } from './default-route.ts';
import { ImportError, trimmedLines } from './draft.ts';
import { ForeignObject } from './foreign-object.ts';
import { nameOf } from './read-entry.ts';
import { fromBase64, isShareLink, readShareLinks } from './share-links.ts';
import { readSingBox } from './sing-box.ts';
import { isWireGuardConf, readWireGuardConf } from './wireguard.ts';
import { readXray } from './xray.ts';

/** The detected format of a document, and its servers. */
export interface Imported extends Servers {
  readonly kind: string;
  /** Top-level keys that are not imported: `inbounds`. */
  readonly others: readonly string[];
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
  if (isShareLink(firstLine(trimmed))) return links(trimmed);
  const plain = fromBase64(trimmed)?.trim();
  if (plain !== undefined && isShareLink(firstLine(plain))) return links(plain);
  if (isWireGuardConf(trimmed)) {
    return { kind: 'a wg-quick file', others: [], ...readWireGuardConf(trimmed) };
  }
  if (trimmed.startsWith('{')) return readJson(trimmed);
  if (trimmed.split('\n').some((line) => /^proxies[ \t]*:/.test(line))) return readYaml(trimmed);
  throw new ImportError(
    'neither share links, nor JSON of sing-box or Xray, nor YAML of Clash, nor a wg-quick file',
  );
}

const links = (text: string): Imported => ({
  kind: 'share links',
  others: [],
  ...readShareLinks(text),
});

/** The first line that is neither empty nor a comment. */
const firstLine = (text: string): string =>
  trimmedLines(text).find((line) => line !== '' && !/^(?:#|\/\/)/.test(line)) ?? '';

function readJson(text: string): Imported {
  let value: unknown;
  try {
    value = JSON.parse(withoutComments(text));
  } catch {
    throw new ImportError('invalid JSON');
  }
  const document = new ForeignObject(value, 'the document');
  const outbounds = [...document.list('outbounds'), ...document.list('endpoints')];
  if (outbounds.length === 0) throw new ImportError('JSON without "outbounds"');
  return outbounds.some((each) => nameOf(each, 'protocol') !== '')
    ? {
        kind: 'a configuration of Xray or v2ray',
        others: othersOf(document, ['outbounds', 'routing']),
        ...readXray(document),
      }
    : {
        kind: 'a configuration of sing-box',
        others: othersOf(document, ['outbounds', 'endpoints', 'route']),
        ...readSingBox(document),
      };
}

/** The keys of a document that are not read, up to `MAX_OTHERS`. */
function othersOf(document: ForeignObject, read: readonly string[]): readonly string[] {
  const others = document.keys.filter((key) => !read.includes(key));
  return others.length > MAX_OTHERS ? [...others.slice(0, MAX_OTHERS), '…'] : others;
}

const MAX_OTHERS = 12;

function readYaml(text: string): Imported {
  // All scalars as text, so that a password of digits keeps its zeros. Duplicate keys are not
  // detected, which would take quadratic time: the last one counts.
  const document = parseDocument(text, {
    logLevel: 'silent',
    schema: 'failsafe',
    uniqueKeys: false,
    merge: true,
  });
  const [error] = document.errors;
  if (error) {
    const at = error.linePos?.[0];
    throw new ImportError(`invalid YAML${at ? ` at line ${at.line}, column ${at.col}` : ''}`);
  }
  let value: unknown;
  try {
    // The number of aliases is limited, or a short document could expand to a large one.
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    if (error instanceof ReferenceError) throw new ImportError('YAML with too many aliases');
    throw error;
  }
  const fields = new ForeignObject(value, 'the document');
  return {
    kind: 'a configuration of Clash or mihomo',
    others: othersOf(fields, ['proxies', 'proxy-groups', 'rules', 'mode']),
    ...readClash(fields),
  };
}

/** JSON without comments and trailing commas, which sing-box and Xray accept. */
function withoutComments(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length;) {
    const next = endOfPart(text, at);
    const isText = text[at] === '"' || next === at + 1;
    const isLastComma = text[at] === ',' && /[}\]]/.test(firstToken(text, next));
    if (!isText || isLastComma) {
      parts.push(text.slice(from, at), ' ');
      from = next;
    }
    at = next;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** The end of the string or comment at `at`; of any other character, the next one. */
function endOfPart(text: string, at: number): number {
  const after = (mark: string): number => {
    const found = text.indexOf(mark, at + 2);
    return found < 0 ? text.length : found + mark.length;
  };
  if (text.startsWith('//', at)) return after('\n');
  if (text.startsWith('/*', at)) return after('*/');
  if (text[at] !== '"') return at + 1;
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/**
 * The first character from `at` on that is neither white space nor part of a comment; empty at the
 * end.
 */
function firstToken(text: string, at: number): string {
  let next = at;
  while (next < text.length) {
    if (/\s/.test(text.charAt(next))) next++;
    else if (text.startsWith('//', next) || text.startsWith('/*', next))
      next = endOfPart(text, next);
    else return text.charAt(next);
  }
  return '';
}
