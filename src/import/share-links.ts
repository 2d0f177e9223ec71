import { quoted } from '../printable.ts';
import type { Servers } from './default-route.ts';
import {
  bareHost,
  entryOf,
  ImportError,
  trimmedLines,
  streamOf,
  toPort,
  type Draft,
  type Reading,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { ForeignObject } from './foreign-object.ts';
import { LINK_KEYS } from './keys/share-links.ts';
import {
  hysteria2Draft,
  proxyDraft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
  type NamedServer,
} from './protocol-drafts.ts';
import { notesOn } from './verdicts.ts';

const LINK = /^(?:vless|vmess|trojan|ss|hysteria2|hy2|socks|socks5):\/\//i;

export const isShareLink = (line: string): boolean => LINK.test(line);

/** Reads one server per line; empty lines and comments are skipped. */
export function readShareLinks(text: string): Servers {
  const entries = trimmedLines(text)
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('//'))
    .map((line) => entryOf(nameOf(line), () => readShareLink(line)));
  return { entries, groups: 0, rules: 0, standard: { kind: 'unstated' } };
}

/** The text after the `#`, which is the name. */
function nameOf(link: string): string {
  const at = link.indexOf('#');
  return at < 0 ? '' : decoded(link.slice(at + 1));
}

/** @throws {ImportError} */
export function readShareLink(link: string): Reading {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(link)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      throw new ImportError('not a share link');
    case 'vless':
      return readLink(link, readVless);
    case 'vmess':
      return readVmess(link);
    case 'trojan':
      return readLink(link, readTrojan);
    case 'ss':
      return readShadowsocks(link);
    case 'hysteria2':
    case 'hy2':
      return readLink(link, readHysteria2);
    case 'socks':
    case 'socks5':
      return readLink(link, readSocks);
    default:
      throw new ImportError(`${scheme} links are not supported`);
  }
}

function readLink(text: string, read: (link: Link) => Draft): Reading {
  const link = new Link(text);
  const draft = read(link);
  return { draft, notes: notesOn(link.query, LINK_KEYS) };
}

/** `scheme://user@host:port/path?query#name`; the text before the `@` may be anything. */
class Link {
  readonly name: string;
  readonly user: string;
  readonly server: string;
  readonly query: ForeignObject;
  readonly #port: string | undefined;

  constructor(link: string) {
    const body = link.slice(link.indexOf('://') + 3);
    const [before = '', ...name] = body.split('#');
    this.name = decoded(name.join('#'));
    const [place = '', ...query] = before.split('?');
    this.query = new ForeignObject(parameters(query.join('?')));
    const at = place.lastIndexOf('@');
    this.user = at < 0 ? '' : decoded(place.slice(0, at));
    const hostPort = (place.slice(at + 1).split('/', 1)[0] ?? '').trim();
    const colon = hostPort.indexOf(':', hostPort.startsWith('[') ? hostPort.indexOf(']') + 1 : 0);
    this.server = bareHost(colon < 0 ? hostPort : hostPort.slice(0, colon));
    this.#port = colon < 0 ? undefined : hostPort.slice(colon + 1);
    if (this.server === '') throw new ImportError('it has no host');
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
    return value === '1' || value?.toLowerCase() === 'true';
  }

  get place(): NamedServer {
    return { name: this.name, server: this.server, port: this.port };
  }

  needUser(what: string): string {
    if (this.user === '') throw new ImportError(`it has no ${what}`);
    return this.user;
  }

  /** The transport, from parameters that VLESS, VMess and Trojan links share. */
  stream(fallback: 'tls' | 'none'): StreamDraft | undefined {
    const header = this.get('headerType');
    if (header !== undefined && header !== 'none') {
      throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
    }
    return streamOf(
      {
        kind: this.get('type') ?? '',
        path: this.get('path'),
        host: this.get('host'),
        earlyData: Number(this.get('ed') ?? 0) || 0,
        serviceName: this.get('serviceName'),
        authority: this.get('authority'),
      },
      this.#tls(this.get('security') ?? fallback),
    );
  }

  #tls(security: string): Tls | undefined {
    if (security === 'none') return undefined;
    if (security !== 'tls')
      throw new ImportError(`the security ${quoted(security)} is not supported`);
    return {
      serverName: this.get('sni', 'peer'),
      allowInsecure: this.flag('allowInsecure', 'insecure'),
    };
  }
}

const readVless = (link: Link): Draft =>
  vlessDraft(link.place, link.stream('none'), {
    id: link.needUser('id'),
    flow: link.get('flow'),
    encryption: link.get('encryption'),
  });

const readTrojan = (link: Link): Draft =>
  trojanDraft(link.place, link.stream('tls'), link.needUser('password'));

/** The first value of each parameter. */
function parameters(query: string): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(query)) if (!found.has(key)) found.set(key, value);
  return Object.fromEntries(found);
}

/** Reads base64 of JSON, as v2rayN writes it, or the form of VLESS links. */
function readVmess(text: string): Reading {
  const body = (text.slice(text.indexOf('://') + 3).split('#', 1)[0] ?? '').trim();
  const json = fromBase64(body);
  if (json === undefined || !json.trimStart().startsWith('{')) {
    return readLink(text, (link) =>
      vmessDraft(link.place, link.stream('none'), {
        id: link.needUser('id'),
        security: link.get('encryption', 'scy'),
        alterId: link.get('alterId', 'aid'),
      }),
    );
  }
  const fields = new ForeignObject(parsed(json));
  const draft = readVmessJson(fields);
  return { draft, notes: notesOn(fields, LINK_KEYS) };
}

function readVmessJson(fields: ForeignObject): Draft {
  const net = fields.text('net') ?? '';
  const header = fields.text('type') ?? '';
  if (net !== 'grpc' && header !== '' && header !== 'none') {
    throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
  }
  const tls = fields.text('tls') ?? '';
  if (tls !== '' && tls !== 'none' && tls !== 'tls') {
    throw new ImportError(`the security ${quoted(tls)} is not supported`);
  }
  const host = fields.text('host');
  const path = fields.text('path');
  const stream = streamOf(
    { kind: net, path, host, serviceName: path, authority: fields.text('authority') ?? host },
    tls === 'tls'
      ? { serverName: fields.text('sni'), allowInsecure: fields.flag('insecure') }
      : undefined,
  );
  const place = {
    name: fields.text('ps') ?? '',
    server: bareHost(fields.needText('add')),
    port: toPort(fields.text('port')),
  };
  return vmessDraft(place, stream, {
    id: fields.needText('id'),
    security: fields.text('scy'),
    alterId: fields.text('aid'),
  });
}

/** Reads SIP002 links, and the older form that is base64 as a whole. */
function readShadowsocks(text: string): Reading {
  let link = text;
  if (!text.includes('@')) {
    const [body = '', ...name] = text.slice(text.indexOf('://') + 3).split('#');
    const plain = fromBase64(body.split(/[/?]/, 1)[0] ?? '');
    const at = plain?.lastIndexOf('@') ?? -1;
    if (plain === undefined || at < 0) throw new ImportError('neither SIP002 nor base64');
    const user = encodeURIComponent(plain.slice(0, at));
    link = `ss://${user}${plain.slice(at)}${name.length > 0 ? `#${name.join('#')}` : ''}`;
  }
  return readLink(link, (parts) => {
    const credentials = parts.user.includes(':') ? parts.user : (fromBase64(parts.user) ?? '');
    const colon = credentials.indexOf(':');
    if (colon < 0) throw new ImportError('it has no method and password');
    return shadowsocksDraft(parts.place, undefined, {
      method: credentials.slice(0, colon),
      password: credentials.slice(colon + 1),
      plugin: parts.get('plugin'),
    });
  });
}

function readHysteria2(link: Link): Draft {
  return hysteria2Draft(link.place, {
    password: link.needUser('password'),
    tls: { serverName: link.get('sni'), allowInsecure: link.flag('insecure') },
    obfs: link.get('obfs'),
    obfsPassword: link.get('obfs-password'),
  });
}

function readSocks(link: Link): Draft {
  const plain = link.user.includes(':') ? link.user : (fromBase64(link.user) ?? link.user);
  const colon = plain.indexOf(':');
  const [user, pass] = colon < 0 ? [plain] : [plain.slice(0, colon), plain.slice(colon + 1)];
  return proxyDraft('socks', link.place, undefined, user === '' ? {} : { user, pass });
}

/** Percent-decoded if valid, otherwise unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ImportError('its JSON is invalid');
  }
}

/** Text of base64 in either alphabet, padded or not; `undefined` for anything else. */
export function fromBase64(text: string): string | undefined {
  const compact = text.replaceAll(/\s/g, '');
  if (compact === '' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(compact, 'base64'));
  } catch {
    return undefined;
  }
}
