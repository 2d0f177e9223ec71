import {
  bareHost,
  entryOf,
  ImportError,
  linesOf,
  streamOf,
  toPort,
  type Draft,
  type Entry,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { Fields } from './fields.ts';
import {
  hysteria2Draft,
  proxyDraft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
  type Place,
} from './protocols.ts';

const LINK = /^(?:vless|vmess|trojan|ss|hysteria2|hy2|socks|socks5):\/\//i;

export const isShareLink = (line: string): boolean => LINK.test(line);

/** A line for each server; empty ones and comments are passed over. */
export function readShareLinks(text: string): readonly Entry[] {
  return linesOf(text)
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('//'))
    .map((line) => entryOf(nameOf(line), () => readShareLink(line)));
}

/** What follows the `#`, where it says a name. */
function nameOf(link: string): string {
  const at = link.indexOf('#');
  return at < 0 ? '' : decoded(link.slice(at + 1));
}

/** @throws {ImportError} */
export function readShareLink(link: string): Draft {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(link)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      throw new ImportError('not a share link');
    case 'vless':
      return readVless(new Link(link));
    case 'vmess':
      return readVmess(link);
    case 'trojan':
      return readTrojan(new Link(link));
    case 'ss':
      return readShadowsocks(link);
    case 'hysteria2':
    case 'hy2':
      return readHysteria2(new Link(link));
    case 'socks':
    case 'socks5':
      return readSocks(new Link(link));
    default:
      throw new ImportError(`${scheme} links are not supported`);
  }
}

/** `scheme://user@host:port/path?query#name`; what stands before the `@` may be any text. */
class Link {
  readonly name: string;
  readonly user: string;
  readonly server: string;
  readonly query: URLSearchParams;
  readonly #port: string | undefined;

  constructor(link: string) {
    const body = link.slice(link.indexOf('://') + 3);
    const [before = '', ...name] = body.split('#');
    this.name = decoded(name.join('#'));
    const [place = '', ...query] = before.split('?');
    this.query = new URLSearchParams(query.join('?'));
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
      const value = this.query.get(key);
      if (value !== null && value !== '') return value;
    }
    return undefined;
  }

  flag(...keys: readonly string[]): boolean {
    const value = this.get(...keys);
    return value === '1' || value?.toLowerCase() === 'true';
  }

  get place(): Place {
    return { name: this.name, server: this.server, port: this.port };
  }

  needUser(what: string): string {
    if (this.user === '') throw new ImportError(`it has no ${what}`);
    return this.user;
  }

  /** The transport in the parameters that VLESS, VMess and Trojan links share. */
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
    if (security !== 'tls') throw new ImportError(`the security ${security} is not supported`);
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

/** Either base64 of JSON, as v2rayN writes it, or the form of VLESS links. */
function readVmess(text: string): Draft {
  const body = (text.slice(text.indexOf('://') + 3).split('#', 1)[0] ?? '').trim();
  const json = fromBase64(body);
  if (json === undefined || !json.trimStart().startsWith('{')) {
    const link = new Link(text);
    return vmessDraft(link.place, link.stream('none'), {
      id: link.needUser('id'),
      security: link.get('encryption', 'scy'),
      alterId: link.get('alterId', 'aid'),
    });
  }
  const fields = new Fields(parsed(json));
  const net = fields.text('net') ?? '';
  const header = fields.text('type') ?? '';
  if (net !== 'grpc' && header !== '' && header !== 'none') {
    throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
  }
  const tls = fields.text('tls') ?? '';
  if (tls !== '' && tls !== 'none' && tls !== 'tls') {
    throw new ImportError(`the security ${tls} is not supported`);
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

/** SIP002, and the older form that is base64 as a whole. */
function readShadowsocks(text: string): Draft {
  let link = text;
  if (!text.includes('@')) {
    const [body = '', ...name] = text.slice(text.indexOf('://') + 3).split('#');
    const plain = fromBase64(body.split(/[/?]/, 1)[0] ?? '');
    const at = plain?.lastIndexOf('@') ?? -1;
    if (plain === undefined || at < 0) throw new ImportError('neither SIP002 nor base64');
    const user = encodeURIComponent(plain.slice(0, at));
    link = `ss://${user}${plain.slice(at)}${name.length > 0 ? `#${name.join('#')}` : ''}`;
  }
  const parts = new Link(link);
  const credentials = parts.user.includes(':') ? parts.user : (fromBase64(parts.user) ?? '');
  const colon = credentials.indexOf(':');
  if (colon < 0) throw new ImportError('it has no method and password');
  return shadowsocksDraft(parts.place, undefined, {
    method: credentials.slice(0, colon),
    password: credentials.slice(colon + 1),
    plugin: parts.get('plugin'),
  });
}

function readHysteria2(link: Link): Draft {
  if (link.get('pinSHA256') !== undefined) {
    throw new ImportError('a pinned certificate is not supported');
  }
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

/** Percent-decoded where it is valid, otherwise as it stands. */
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
