import { ipVersion } from '@weir/base/ip';
import { formatEndpoint } from '@weir/io/addresses';
import { quoted } from '@weir/base/printable';
import type { LinkReading } from './contract.ts';
import {
  bareHost,
  type Draft,
  ImportError,
  type NamedServer,
  type StreamDraft,
  streamOf,
  type Tls,
  toPort,
  type Transport,
  type withNameOfHost,
} from './draft.ts';
import { ForeignObject } from './foreign-object.ts';
import type { SharedCarrier, SharedServer, SharedStream, SharedTls } from './shared-server.ts';

/** Percent-decodes a text; an invalid one is returned unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Percent-decodes a name. Panels truncate names within a character: its bytes become U+FFFD. */
export function decodedName(text: string): string {
  const bytes = (coded: string): string =>
    Buffer.from(coded.replaceAll('%', ''), 'hex').toString('utf8');
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, bytes);
}

/** The replacement for invalid UTF-8 where the rest of a text is still useful. */
export const BROKEN = '\uFFFD';

/** Decodes base64 in either alphabet, padded or not; `undefined` unless it is valid base64 of UTF-8. */
export function fromBase64(text: string): string | undefined {
  const plain = looselyFromBase64(text);
  return plain?.includes(BROKEN) === true ? undefined : plain;
}

/**
 * Decodes base64 in either alphabet, padded or not; invalid UTF-8 becomes U+FFFD, so that one broken name does not
 * invalidate a document. `undefined` unless it is valid base64.
 */
export function looselyFromBase64(text: string): string | undefined {
  const compact = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) return undefined;
  return new TextDecoder().decode(Buffer.from(compact, 'base64'));
}

/** Percent-encodes all but the unreserved characters of RFC 3986, so that a link is one word anywhere. */
export const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** A share link: `scheme://user@host:port/path?query#name`; any text may precede the `@`. */
export class Link {
  /** Scheme in lower case. */
  readonly scheme: string;
  readonly name: string;
  readonly user: string;
  /** The undecoded `user`. */
  readonly credentials: string;
  readonly server: string;
  readonly query: ForeignObject;
  readonly #port: string | undefined;

  constructor(link: string) {
    const start = link.indexOf('://');
    this.scheme = link.slice(0, start).toLowerCase();
    const body = link.slice(start + 3);
    const [before = '', ...name] = body.split('#');
    const [place = '', ...query] = before.split('?');
    this.query = new ForeignObject(parameters(query.join('?')));
    this.name = decodedName(name.join('#')) || (this.get('remarks', 'remark') ?? '');
    const at = place.lastIndexOf('@');
    this.credentials = at < 0 ? '' : place.slice(0, at);
    this.user = decoded(this.credentials);
    const hostPort = (place.slice(at + 1).split('/', 1)[0] ?? '').trim();
    const colon = hostPort.indexOf(':', hostPort.startsWith('[') ? hostPort.indexOf(']') + 1 : 0);
    // RFC 3986, section 3.2.2: a name that is not ASCII may be percent-encoded.
    this.server = bareHost(decoded(colon < 0 ? hostPort : hostPort.slice(0, colon)));
    this.#port = colon < 0 ? undefined : hostPort.slice(colon + 1);
    if (this.server === '') throw new ImportError('it has no host');
  }

  get hasPort(): boolean {
    return this.#port !== undefined;
  }

  get port(): number {
    if (this.#port !== undefined && /[,-]/.test(this.#port)) {
      throw new ImportError('several ports (port hopping) are not supported');
    }
    return toPort(this.#port);
  }

  get(...keys: readonly string[]): string | undefined {
    for (const key of keys) {
      const value = this.query.text(key);
      if (value !== undefined && value !== '') return value;
    }
    return undefined;
  }

  flag(...keys: readonly string[]): boolean {
    const value = this.get(...keys);
    return value === '1' || value?.trim().toLowerCase() === 'true';
  }

  get place(): NamedServer {
    return { name: this.name, server: this.server, port: this.port };
  }

  /** The address in a link that needs no port: `usual` if the port is missing or empty. */
  placeOr(usual: number): NamedServer {
    const { name, server } = this;
    return this.#port === undefined || this.#port === ''
      ? { name, server, port: usual }
      : this.place;
  }

  needUser(what: string): string {
    if (this.user === '') throw new ImportError(`it has no ${what}`);
    return this.user;
  }

  /** TLS settings from the parameters that all links share. */
  get tls(): Tls {
    return {
      serverName: this.get('sni', 'peer'),
      allowInsecure: this.flag('allowInsecure', 'insecure'),
      pinnedBy: ['pcs', 'pinSHA256'].find((key) => this.get(key) !== undefined),
    };
  }

  /**
   * Stream settings from the parameters that VLESS, VMess and Trojan links share.
   * @param named completes the TLS settings for a transport
   */
  stream(
    fallback: 'tls' | 'none',
    named: typeof withNameOfHost = (tls) => tls,
  ): StreamDraft | undefined {
    const header = this.get('headerType');
    if (header !== undefined && header !== 'none') {
      throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
    }
    const transport: Transport = {
      kind: this.get('type') ?? '',
      path: this.get('path'),
      host: this.get('host'),
      earlyData: {
        key: 'ed',
        bytes: Number(this.get('ed') ?? 0) || 0,
        header: this.get('eh') ?? 'Sec-WebSocket-Protocol',
      },
      serviceName: this.get('serviceName'),
      authority: this.get('authority'),
    };
    const security = (this.get('security') ?? fallback).trim().toLowerCase();
    return streamOf(transport, named(this.#tls(security), transport));
  }

  #tls(security: string): Tls | undefined {
    if (security === 'none') return undefined;
    if (security !== 'tls')
      throw new ImportError(`the security ${quoted(security)} is not supported`);
    return this.tls;
  }
}

/** The first value of each parameter; `&amp;` is decoded, which occurs in links copied from a web page. */
function parameters(query: string): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(query.replaceAll('&amp;', '&')))
    if (!found.has(key)) found.set(key, value);
  return Object.fromEntries(found);
}

/** Reads a link in the usual form. */
export const readLink =
  (read: (link: Link) => Draft): ((text: string) => LinkReading) =>
  (text) => {
    const link = new Link(text);
    return { draft: read(link), parameters: link.query };
  };

/** The part of a link between its scheme and its parameters or name, and the rest. */
export function placeIn(link: string): { readonly place: string; readonly rest: string } {
  const start = link.indexOf('://') + 3;
  const length = link.slice(start).search(/[?#]/);
  const end = length < 0 ? link.length : start + length;
  return { place: link.slice(start, end), rest: link.slice(end) };
}

/** The decoded text of a base64 place, which may contain a `/`, or end with one as a path. */
export function placeFromBase64(place: string): string | undefined {
  const coded = decoded(place);
  const slash = coded.indexOf('/');
  const forms = [coded, coded.replace(/\/$/, ''), ...(slash < 0 ? [] : [coded.slice(0, slash)])];
  return forms
    .map((form) => fromBase64(form)?.trim())
    .find((plain) => plain && endsWithPort(plain));
}

const endsWithPort = (text: string): boolean =>
  /^\d{1,5}$/.test(text.slice(text.lastIndexOf(':') + 1));

/** @throws {ImportError} for text that is not JSON */
export function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ImportError('its JSON is invalid');
  }
}

/* Links, written in the form that most clients read: XTLS/Xray-core discussion 716 where several protocols share it. */

export type LinkQuery = readonly (readonly [key: string, value: string | undefined])[];

export function linkText(
  { host, port, name }: SharedServer,
  scheme: string,
  user: string | undefined,
  query: LinkQuery = [],
  path = '',
): string {
  const parameters = query
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${encoded(value)}`]))
    .join('&');
  const credentials = user === undefined ? '' : `${user}@`;
  const asked = parameters === '' ? '' : `?${parameters}`;
  return `${scheme}://${credentials}${formatEndpoint({ host, port })}${path}${asked}#${encoded(name)}`;
}

export function streamQuery({ tls, carrier }: SharedStream): LinkQuery {
  const security: LinkQuery = [
    ['security', tls ? 'tls' : 'none'],
    ...(tls ? tlsQuery(tls, carrier) : []),
    ['pcs', pinIn(tls)],
  ];
  switch (carrier.kind) {
    case 'raw':
      return [...security, ['type', 'tcp']];
    case 'ws':
      return [...security, ['type', 'ws'], ['path', carrier.path], ['host', carrier.host]];
    case 'grpc':
      return [
        ...security,
        ['type', 'grpc'],
        ['serviceName', carrier.serviceName],
        ['mode', 'gun'],
        ['authority', carrier.authority],
      ];
    default:
      return carrier satisfies never;
  }
}

export const tlsQuery = (tls: SharedTls, carrier?: SharedCarrier): LinkQuery => [
  ['sni', sniOf(tls, carrier)],
  ['allowInsecure', tls.insecure ? '1' : undefined],
];

/** The behaviour of a client that does not know the parameter `pcs` of `streamQuery`. */
export const WITHOUT_PCS = '; one that does not know "pcs" refuses it';

/** The hash to pin in place of a chain to an authority; `undefined` if there is none. */
export const pinIn = (tls: SharedTls | undefined): string | undefined =>
  tls?.insecure === true ? undefined : tls?.certificate?.sha256;

/**
 * The SNI of a link. An IP address is not valid SNI (RFC 6066 §3): clients verify the address that they connect to.
 * Beside the Host of a WebSocket it is written anyway, since clients would otherwise use that as the name.
 */
export const sniOf = ({ serverName }: SharedTls, carrier?: SharedCarrier): string | undefined =>
  ipVersion(serverName) === 0 || (carrier?.kind === 'ws' && carrier.host !== undefined)
    ? serverName
    : undefined;
