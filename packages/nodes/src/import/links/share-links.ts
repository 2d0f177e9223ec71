import type { ProtocolForms } from '@weir/proxy/protocols/forms';
import { ImportError } from '@weir/proxy/protocols/forms';
import { decodedName, looselyFromBase64 } from '@weir/proxy/protocols/forms';
import { ForeignObject } from '@weir/proxy/protocols/forms';
import { parsedJson } from '@weir/proxy/protocols/forms';
import { allForms } from '@weir/proxy/protocols';
import { entryOf, trimmedLines, type Reading } from '../entry.ts';
import { serversAlone, type Routing, bounded, MOST_SERVERS } from '../routing.ts';
import {
  notesOn,
  keyTable,
  ALPN,
  BANDWIDTH,
  ECH,
  FINGERPRINT,
  FRAGMENT,
  MULTIPLEX,
  TUNING,
  VERIFIED_NAME,
} from '../verdicts.ts';

/**
 * Parameters of share links, and keys of v2rayN's JSON, that are not carried over
 * (XTLS/Xray-core discussion 716; v2rayN's wiki; hysteria's URI scheme).
 */
export const LINK_KEYS = keyTable({
  // Pins are read only with TLS. From `pbk` on: parameters of REALITY, which is refused as such, and of unused
  // transports. `packetEncoding` is about UDP, which Weir sends in a separate stream.
  same: `
    pcs pinSHA256 pbk sid spx pqv headerType seed quicSecurity key extra packetEncoding udp
    group remarks v ps`,
  when: {
    mode: (value) => value === 'gun',
  },
  refused: {
    [ECH]: 'ech',
  },
  dropped: {
    [FINGERPRINT]: 'fp',
    [ALPN]: 'alpn',
    [VERIFIED_NAME]: 'vcn',
    [FRAGMENT]: 'fragment',
    [MULTIPLEX]: 'mux',
    [BANDWIDTH]: 'up down upmbps downmbps',
    [TUNING]: 'fastopen tfo',
    'the port of the link alone is used': 'mport',
  },
});

/** The schemes of links, none of which a document of another format begins with. */
const serverSchemes = (): ReadonlySet<string> =>
  new Set(linkForms().flatMap((form) => (form.isServer ? [] : form.schemes)));

const linkForms = (): readonly NonNullable<ProtocolForms['link']>[] =>
  allForms().flatMap(({ link }) => link ?? []);

const schemeOf = (text: string): string | undefined =>
  /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();

/** Whether a text begins with a link to a server, of a scheme that no documents have. */
const isLink = (text: string, schemes: ReadonlySet<string>): boolean =>
  schemes.has(schemeOf(text) ?? '');

/**
 * Whether a document is a list of links: its first line is a URI, and one of its lines a link to a server. That may be
 * a later line: lists may begin with links of protocols that Weir lacks.
 */
export function isLinkList(text: string): boolean {
  const [first] = linesOf(trimmedLines(text)).take(1);
  if (schemeOf(first?.line ?? '') === undefined) return false;
  const schemes = serverSchemes();
  const others = linkForms().filter((form) => 'isServer' in form);
  return firstLines(text).some(
    ({ line }) => isLink(line, schemes) || others.some((form) => form.isServer?.(line)),
  );
}

/**
 * Whether a text of no other format has a link among other lines, such as the status of a subscription. A URL within a
 * text does not count as a proxy.
 */
export function hasShareLink(text: string): boolean {
  const schemes = serverSchemes();
  return firstLines(text).some(({ line }) => isLink(line, schemes));
}

/** The lines that tell what a document is: with more, it has too many servers to be a list of links. */
const firstLines = (text: string): IteratorObject<NumberedLine> =>
  linesOf(trimmedLines(text)).take(MOST_SERVERS + 1);

interface NumberedLine {
  readonly line: string;
  /** Number of the line, from 1. */
  readonly number: number;
}

/** The lines of a document with their numbers and without empty ones and comments; links on one line become several. */
function* linesOf(lines: Iterable<string>): Generator<NumberedLine, undefined> {
  const schemes = serverSchemes();
  let number = 0;
  for (const line of lines) {
    number++;
    if (line === '' || line.startsWith('#') || line.startsWith('//')) continue;
    if (schemeOf(line) === undefined) yield { line, number };
    else for (const link of linksIn(line, schemes)) yield { line: link.trim(), number };
  }
}

/** The links on one line, each with a name that may have spaces. */
function* linksIn(line: string, schemes: ReadonlySet<string>): Generator<string, undefined> {
  let from = 0;
  for (const { index } of line.matchAll(/\s(?=[a-z][a-z0-9+.-]*:\/\/)/gi)) {
    if (!isLink(line.slice(index + 1), schemes)) continue;
    yield line.slice(from, index);
    from = index + 1;
  }
  yield line.slice(from);
}

/**
 * Reads one server per line; empty lines and comments are skipped.
 * @param listIn the list that a line stands for; `undefined` for any other line
 */
export function readShareLinks(
  text: string,
  listIn: (line: string) => string | undefined = () => undefined,
): Routing {
  const lines = trimmedLines(text).flatMap((line) => {
    const list = listIn(line);
    return list === undefined ? [line] : trimmedLines(list);
  });
  return serversAlone(
    bounded('servers', linesOf(lines)).map(({ line, number }) =>
      entryOf(nameOf(line, number), () => readShareLink(line)),
    ),
  );
}

/**
 * The name of a link: the text after the `#`, or that of v2rayN's JSON; the line number for a line that is not a link.
 */
function nameOf(link: string, number: number): string {
  if (schemeOf(link) === undefined) return `line ${number}`;
  const at = link.indexOf('#');
  if (at >= 0) return decodedName(link.slice(at + 1));
  const json = looselyFromBase64(link.slice(link.indexOf('://') + 3)) ?? '';
  return json.trimStart().startsWith('{') ? nameInJson(json) : '';
}

function nameInJson(json: string): string {
  try {
    return new ForeignObject(parsedJson(json)).text('ps') ?? '';
  } catch (error) {
    if (error instanceof ImportError) return '';
    throw error;
  }
}

/** Reads a link of any supported scheme. @throws {ImportError} */
function readShareLink(link: string): Reading {
  const scheme = schemeOf(link);
  if (scheme === undefined) throw new ImportError('not a share link');
  const form = linkForms().find(({ schemes }) => schemes.includes(scheme));
  if (!form) throw new ImportError(`${scheme} links are not supported`);
  if (form.isServer?.(link) === false) {
    throw new ImportError('the address of a document, not of a server; import it by itself');
  }
  const { draft, parameters } = form.read(link);
  return { draft, notes: notesOn(parameters, LINK_KEYS) };
}
