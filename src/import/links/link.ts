import { quoted } from '../../printable.ts';
import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type StreamDraft,
  type Tls,
  type Transport,
  type withNameOfHost,
} from '../draft.ts';
import { ForeignObject } from '../foreign-object.ts';
import type { NamedServer } from '../protocol-drafts.ts';
import { decoded, decodedName } from './encodings.ts';

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
    this.server = bareHost(colon < 0 ? hostPort : hostPort.slice(0, colon));
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
