import { quoted } from '../../printable.ts';
import {
  bareHost,
  entryOf,
  ImportError,
  trimmedLines,
  streamOf,
  toPort,
  withNameOfHost,
  type Draft,
  type Reading,
  type Transport,
} from '../draft.ts';
import { ForeignObject } from '../foreign-object.ts';
import { LINK_KEYS } from '../keys/share-links.ts';
import {
  hysteria2Draft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
} from '../protocol-drafts.ts';
import { serversAlone, type Routing } from '../routing.ts';
import { bounded } from '../targets.ts';
import { notesOn } from '../verdicts.ts';
import { decodedName, fromBase64, looselyFromBase64 } from './encodings.ts';
import { Link } from './link.ts';
import {
  isHttpProxy,
  placeFromBase64,
  placeOf,
  readHttpLink,
  readSocksLink,
  withPlainPlace,
} from './proxies.ts';

const LINK = /^(?:vless|vmess|trojan|ss|hysteria2|hy2|socks|socks5|socks5h):\/\//i;
/** The separator before a further link on the same line. */
const BEFORE_NEXT = /\s(?=(?:vless|vmess|trojan|ss|hysteria2|hy2|socks|socks5|socks5h):\/\/)/i;
const URI = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Whether a document is a list of links: its first line is a URI, and one of its lines a link to a server. That may be
 * a later line: lists may begin with links of protocols that Weir lacks.
 */
export function isLinkList(text: string): boolean {
  const lines = linesOf(text);
  return URI.test(lines[0]?.line ?? '') && lines.some(({ line }) => isShareLink(line));
}

/**
 * Whether a text of no other format has a link among other lines, such as the status of a subscription. A URL within a
 * text does not count as a proxy.
 */
export const hasShareLink = (text: string): boolean =>
  linesOf(text).some(({ line }) => LINK.test(line));

const isShareLink = (line: string): boolean => LINK.test(line) || isHttpProxy(line);

interface NumberedLine {
  readonly line: string;
  /** Number of the line, from 1. */
  readonly number: number;
}

/** The numbered lines of a text without empty ones and comments. */
const linesOf = (text: string): readonly NumberedLine[] =>
  trimmedLines(text)
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line !== '' && !line.startsWith('#') && !line.startsWith('//'))
    .flatMap(({ line, number }) =>
      (URI.test(line) ? line.split(BEFORE_NEXT) : [line]).map((each) => ({
        line: each.trim(),
        number,
      })),
    );

/** Reads one server per line; empty lines and comments are skipped. */
export function readShareLinks(text: string): Routing {
  return serversAlone(
    bounded('servers', linesOf(text)).map(({ line, number }) =>
      entryOf(nameOf(line, number), () => readShareLink(line)),
    ),
  );
}

/**
 * The name of a link: the text after the `#`, or that of v2rayN's JSON; the line number for a line that is not a link.
 */
function nameOf(link: string, number: number): string {
  if (!URI.test(link)) return `line ${number}`;
  const at = link.indexOf('#');
  if (at >= 0) return decodedName(link.slice(at + 1));
  const json = looselyFromBase64(link.slice(link.indexOf('://') + 3)) ?? '';
  return json.trimStart().startsWith('{') ? nameInJson(json) : '';
}

function nameInJson(json: string): string {
  try {
    return new ForeignObject(parsed(json)).text('ps') ?? '';
  } catch (error) {
    if (error instanceof ImportError) return '';
    throw error;
  }
}

/** Reads a link of any supported scheme. @throws {ImportError} */
function readShareLink(link: string): Reading {
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
    case 'socks5h':
      return readLink(withPlainPlace(link), readSocksLink);
    case 'http':
    case 'https':
      if (!isHttpProxy(link)) {
        throw new ImportError('the address of a document, not of a server; import it by itself');
      }
      return readLink(link, readHttpLink);
    default:
      throw new ImportError(`${scheme} links are not supported`);
  }
}

function readLink(text: string, read: (link: Link) => Draft): Reading {
  const link = new Link(text);
  const draft = read(link);
  return { draft, notes: notesOn(link.query, LINK_KEYS) };
}

const readVless = (link: Link): Draft =>
  vlessDraft(link.place, link.stream('none'), {
    id: link.needUser('id'),
    flow: link.get('flow'),
    encryption: link.get('encryption'),
  });

const readTrojan = (link: Link): Draft =>
  trojanDraft(link.place, link.stream('tls'), link.needUser('password'));

/** Reads a VMess link: base64 of JSON, as in v2rayN, or the form of VLESS links. */
function readVmess(text: string): Reading {
  const body = text.slice(text.indexOf('://') + 3).split('#', 1)[0] ?? '';
  const json = looselyFromBase64(body);
  if (json === undefined || !json.trimStart().startsWith('{')) {
    return readLink(text, (link) =>
      vmessDraft(link.place, link.stream('none', withNameOfHost), {
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
  const tls = (fields.text('tls') ?? '').trim().toLowerCase();
  const isTls = tls === 'tls' || fields.flag('tls');
  if (!isTls && !['', 'none', 'false', '0'].includes(tls)) {
    throw new ImportError(`the security ${quoted(tls)} is not supported`);
  }
  const host = fields.header('host');
  const path = fields.text('path');
  const transport: Transport = {
    kind: net,
    path,
    host,
    serviceName: path,
    authority: fields.firstText('authority') ?? host,
  };
  const insecure = ['insecure', 'allowInsecure'].filter((key) => fields.flag(key));
  const named = withNameOfHost(
    {
      serverName: fields.text('sni'),
      allowInsecure: insecure.length > 0,
      pinnedBy: fields.firstText('pcs') === undefined ? undefined : 'pcs',
    },
    transport,
  );
  const stream = streamOf(transport, isTls ? named : undefined);
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

/** Reads a Shadowsocks link: SIP002, or the older form that is base64 as a whole. */
function readShadowsocks(text: string): Reading {
  let link = text;
  const { place, rest } = placeOf(text);
  if (!place.includes('@')) {
    const plain = placeFromBase64(place);
    const at = plain?.lastIndexOf('@') ?? -1;
    if (plain === undefined || at < 0) throw new ImportError('neither SIP002 nor base64');
    link = `ss://${encodeURIComponent(plain.slice(0, at))}${plain.slice(at)}${rest}`;
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
  return hysteria2Draft(link.placeOr(443), {
    password: link.needUser('password'),
    tls: link.tls,
    obfs: link.get('obfs'),
    obfsPassword: link.get('obfs-password'),
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ImportError('its JSON is invalid');
  }
}
