import { type ForeignObject, ImportError, toPort } from '@weir/proxy/protocols/forms';
import { transportOf } from '@weir/proxy/protocols/forms/xray';
import { XRAY_INBOUND_KEYS, XRAY_USER_KEYS } from '../keys/xray.ts';
import type { InboundDraft, InboundEntry } from '../routing.ts';
import {
  type CertificateFiles,
  httpServer,
  mixedDrafts,
  type NamedListener,
  type PasswordUser,
  type ProxyAccount,
  serverStream,
  shadowsocksServer,
  socksServer,
  trojanServer,
  tunDevice,
  uuidServer,
  vmessNotes,
} from '../server-drafts.ts';
import { notesOn } from '../verdicts.ts';
import { wordsOf } from './conditions.ts';
import { type InboundReading, objectsOf, readInbound } from '../entry.ts';

/** Reads one of `inbounds`. @param taken the ports of the document */
export const readInboundOf = (value: unknown, source: string, taken: Set<number>): InboundEntry =>
  readInbound(value, source, XRAY_INBOUND_KEYS, (fields) => inboundOf(fields, taken));

function inboundOf(fields: ForeignObject, taken: Set<number>): InboundReading {
  const protocol = (fields.text('protocol') ?? '').toLowerCase();
  const settings = fields.fields('settings');
  const sniffing = fields.fields('sniffing');
  const isSniffed = sniffing.flag('enabled');
  const notes: string[] = [];
  if (isSniffed && !sniffing.flag('routeOnly')) notes.push(NOT_REPLACED);
  const name = fields.text('tag') ?? '';
  if (protocol === 'tun') return { drafts: [tunOf(settings, name, isSniffed)], notes };
  const place: NamedListener = { name, ...listenerOf(fields), sniffing: isSniffed };
  const users = usersOf(settings);
  const done = (draft: InboundDraft): InboundReading => ({
    drafts: [draft],
    notes: [...notes, ...new Set(users.flatMap((user) => notesOn(user, XRAY_USER_KEYS)))],
  });
  switch (protocol) {
    case 'socks':
    case 'mixed': {
      refuseStream(fields);
      const isOpen = (settings.text('auth') ?? 'noauth') !== 'password';
      const accounts = accountsOf(users);
      if (!isOpen && accounts.length === 0) throw new ImportError('it has no accounts');
      const relay = settings.text('ip');
      const isUdp = settings.flag('udp');
      const socks = socksServer(place, isOpen ? [] : accounts, {
        udp: isUdp,
        udp_bind: isUdp ? relay : undefined,
      });
      if (protocol === 'socks' || place.port === undefined) {
        notes.push('SOCKS alone is served on this port, no HTTP');
        return done(socks);
      }
      const http = httpServer(place, undefined, isOpen ? [] : accounts);
      const mixed = mixedDrafts(place, place.port, taken, {
        socks: socks.settings,
        http: http.settings,
      });
      notes.push(...mixed.notes);
      return { ...done(socks), drafts: mixed.drafts };
    }
    case 'http': {
      const isTransparent = settings.flag('allowTransparent');
      return done(
        httpServer(place, streamFor(fields), accountsOf(users), {
          ...(isTransparent && { allow_transparent: true }),
        }),
      );
    }
    case 'vless': {
      const decryption = settings.text('decryption') ?? 'none';
      if (decryption !== 'none' && decryption !== '') {
        throw new ImportError('VLESS encryption is not supported');
      }
      const flow = settings.text('flow');
      const found = users.map((user) => ({
        id: user.needText('id'),
        flow: user.text('flow') || flow,
        name: user.text('email'),
      }));
      return done(uuidServer('vless', place, streamFor(fields), found));
    }
    case 'vmess': {
      const found = users.map((user) => ({
        id: user.needText('id'),
        alterId: user.text('alterId'),
        name: user.text('email'),
      }));
      const server = uuidServer('vmess', place, streamFor(fields), found);
      notes.push(...vmessNotes(server));
      return done(server);
    }
    case 'trojan':
      if (users.some((user) => (user.text('flow') ?? '') !== '')) {
        throw new ImportError('XTLS flows are not supported');
      }
      return done(trojanServer(place, streamFor(fields), passwordsOf(users)));
    case 'shadowsocks':
      refuseStream(fields);
      if (!isBoth(settings))
        notes.push('"settings.network" is not carried over: TCP and UDP are served');
      return done(
        shadowsocksServer(
          place,
          methodOf(settings, users),
          settings.text('password'),
          passwordsOf(users),
        ),
      );
    default:
      throw new ImportError(`the protocol ${JSON.stringify(protocol)} is not supported`);
  }
}

const NOT_REPLACED =
  'rules see the sniffed name; the flow still goes to the address, as with `routeOnly`';

/** The address of an inbound; Xray listens on all addresses by default. */
function listenerOf(fields: ForeignObject): Pick<NamedListener, 'listen' | 'port'> {
  const listen = fields.text('listen') ?? '';
  if (listen.startsWith('/')) {
    if (listen.includes(',')) throw new ImportError('the mode of a socket file is not supported');
    fields.text('port');
    return { listen };
  }
  const port = fields.text('port') ?? '';
  if (port.includes('-') || port.includes(',')) {
    throw new ImportError('several ports are not supported');
  }
  return {
    listen: listen === '' ? '0.0.0.0' : listen === 'localhost' ? '127.0.0.1' : listen,
    port: toPort(port),
  };
}

/** Accounts or users, under their names in all protocols and versions. */
function usersOf(settings: ForeignObject): readonly ForeignObject[] {
  const key = ['users', 'clients', 'accounts'].find((each) => settings.states(each));
  return key === undefined ? [] : objectsOf(settings.entries(key));
}

const accountsOf = (users: readonly ForeignObject[]): readonly ProxyAccount[] =>
  users.map((user) => ({ user: user.needText('user'), pass: user.text('pass') ?? '' }));

const passwordsOf = (users: readonly ForeignObject[]): readonly PasswordUser[] =>
  users.map((user) => ({ password: user.needText('password'), label: user.text('email') }));

/** The method of a server. Each user of an older method may have another one; Weir has one for all. */
function methodOf(settings: ForeignObject, users: readonly ForeignObject[]): string {
  const methods = [settings, ...users].flatMap((each) => each.text('method') || []);
  const [method, ...others] = new Set(methods);
  if (method === undefined) throw new ImportError('it has no "method"');
  if (others.length > 0) throw new ImportError('its users have different methods');
  return method;
}

function isBoth(settings: ForeignObject): boolean {
  const networks = wordsOf(settings, 'network');
  return networks.includes('tcp') && networks.includes('udp');
}

/** Checks the stream of a protocol that has none in Weir. @throws {ImportError} for a transport */
function refuseStream(fields: ForeignObject): void {
  if (streamFor(fields)) throw new ImportError('a transport below this protocol is not supported');
}

function streamFor(fields: ForeignObject): ReturnType<typeof serverStream> {
  const stream = fields.fields('streamSettings');
  for (const key of ['tcpSettings', 'rawSettings']) {
    const header = stream.fields(key).fields('header').text('type') ?? 'none';
    if (header !== 'none') {
      throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
    }
  }
  const ws = stream.fields('wsSettings');
  return serverStream(
    {
      kind: transportOf(stream),
      path: ws.text('path'),
      host: ws.firstText('host') ?? ws.fields('headers').header('Host'),
      serviceName: stream.fields('grpcSettings').text('serviceName'),
    },
    tlsOf(stream),
  );
}

/** The certificate of a server. @throws {ImportError} if it is not in a file */
function tlsOf(stream: ForeignObject): CertificateFiles | undefined {
  const security = stream.text('security') ?? '';
  if (security === '' || security === 'none') return undefined;
  if (security === 'reality') throw new ImportError('REALITY is not supported');
  if (security !== 'tls') {
    throw new ImportError(`the security ${JSON.stringify(security)} is not supported`);
  }
  const [first, ...others] = objectsOf(stream.fields('tlsSettings').entries('certificates'));
  if (!first) throw new ImportError('it has no certificate');
  if (others.length > 0) throw new ImportError('several certificates are not supported');
  const usage = first.text('usage') ?? 'encipherment';
  if (usage !== 'encipherment') {
    throw new ImportError(`a certificate for the usage ${JSON.stringify(usage)} is not supported`);
  }
  if (!first.states('certificateFile') || !first.states('keyFile')) {
    throw new ImportError('write certificate and key to files, and name them');
  }
  return { certFile: first.needText('certificateFile'), keyFile: first.needText('keyFile') };
}

const tunOf = (
  settings: ForeignObject,
  name: string,
  sniffing: boolean,
): ReturnType<typeof tunDevice> =>
  tunDevice(
    { name, sniffing },
    {
      name: settings.text('name'),
      mtu: settings.number('MTU') ?? settings.number('mtu'),
      address: settings.list('gateway').map(String),
      routes: [],
    },
  );
