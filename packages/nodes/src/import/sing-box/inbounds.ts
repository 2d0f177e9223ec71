import { type ForeignObject, ImportError } from '@weir/proxy/protocols/forms';
import { type InboundReading, objectsOf, readInbound } from '../entry.ts';
import { SING_BOX_INBOUND_KEYS, SING_BOX_USER_KEYS } from '../keys/sing-box.ts';
import type { InboundDraft, InboundEntry } from '../routing.ts';
import {
  ALL_ROUTES,
  type CertificateFiles,
  httpServer,
  hysteria2Server,
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
import { isVersion6, networkOf } from '../values/networks.ts';
import { notesOn } from '../verdicts.ts';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-9],
  ['us', 1e-6],
  ['µs', 1e-6],
  ['ms', 1e-3],
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
]);

const PART = /(?<amount>\d{1,9}(?:\.\d{1,9})?)(?<unit>[a-zµ]{1,2})/gy;

/**
 * Parses a duration in Go's syntax (`1m30s`), or a number of seconds, to whole seconds, at least 1; `undefined` for any
 * other text.
 */
export function secondsOf(text: string): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Math.max(1, Number(text));
  if (text.length > MAX_LENGTH) return undefined;
  let seconds = 0;
  let end = 0;
  for (const match of text.matchAll(PART)) {
    const { amount = '', unit = '' } = match.groups ?? {};
    const factor = UNITS.get(unit);
    if (factor === undefined) return undefined;
    seconds += Number(amount) * factor;
    end = match.index + match[0].length;
  }
  if (end === 0 || end !== text.length || seconds > 1e9) return undefined;
  return Math.max(1, Math.round(seconds));
}

const MAX_LENGTH = 40;

/** The context of a document's inbounds: its rules and ports. */
interface InboundScope {
  /** Whether an action of the rules sniffs the named inbound. */
  isSniffed(name: string): boolean;
  /** The ports of the document. */
  readonly taken: Set<number>;
}

export const readInboundOf = (value: unknown, source: string, scope: InboundScope): InboundEntry =>
  readInbound(value, source, SING_BOX_INBOUND_KEYS, (fields) => inboundOf(fields, scope));

function inboundOf(fields: ForeignObject, scope: InboundScope): InboundReading {
  const name = fields.text('tag') ?? '';
  const type = fields.text('type') ?? '';
  const sniffing = fields.flag('sniff') || scope.isSniffed(name);
  // Reported beside the rules: see `resolvingInbounds`.
  fields.text('domain_strategy');
  if (type === 'tun') return tunOf(fields, { name, sniffing });
  const place = {
    name,
    // sing-box too listens on loopback by default.
    listen: fields.text('listen'),
    port: portOf(fields),
    sniffing,
  };
  const users = usersOf(fields);
  const done = (draft: InboundDraft, notes: readonly string[] = []): InboundReading => ({
    drafts: [draft],
    notes: [...users.notes(), ...notes],
  });
  switch (type) {
    case 'socks':
      return done(socksServer(place, users.accounts()));
    case 'mixed': {
      refuseTls(fields);
      const accounts = users.accounts();
      const mixed = mixedDrafts(place, place.port, scope.taken, {
        socks: socksServer(place, accounts).settings,
        http: httpServer(place, undefined, accounts).settings,
      });
      return { drafts: mixed.drafts, notes: [...mixed.notes, ...users.notes()] };
    }
    case 'http':
      return done(httpServer(place, streamFor(fields), users.accounts()));
    case 'vless':
    case 'vmess': {
      const found = users.list.map((user) => ({
        id: user.needText('uuid'),
        flow: user.text('flow'),
        alterId: user.text('alterId'),
        name: user.text('name'),
      }));
      const server = uuidServer(type, place, streamFor(fields), found);
      return done(server, type === 'vmess' ? vmessNotes(server) : []);
    }
    case 'trojan':
      return done(trojanServer(place, streamFor(fields), users.passwords()));
    case 'shadowsocks': {
      const method = fields.needText('method');
      const password = fields.text('password');
      return done(shadowsocksServer(place, method, password, users.passwords()));
    }
    case 'hysteria2': {
      const tls = tlsOf(fields);
      if (!tls) throw new ImportError('it has no TLS');
      const obfs = fields.fields('obfs');
      return done(
        hysteria2Server(place, {
          tls,
          users: users.passwords(),
          obfs: obfs.text('type') || undefined,
          obfsPassword: obfs.text('password'),
        }),
      );
    }
    default:
      throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
  }
}

/** The port of an inbound; 0, as well as no key, lets the kernel choose. */
function portOf(fields: ForeignObject): number {
  const port = fields.number('listen_port') ?? 0;
  if (port >= 0 && port < 65_536) return port;
  throw new ImportError('its port is not a number up to 65535');
}

/** The `users` of an inbound, of which each protocol reads its own keys. */
interface Users {
  readonly list: readonly ForeignObject[];
  accounts(): readonly ProxyAccount[];
  passwords(): readonly PasswordUser[];
  /** Notes on unread keys; call it last. */
  notes(): readonly string[];
}

function usersOf(fields: ForeignObject): Users {
  const list = objectsOf(fields.list('users'));
  return {
    list,
    accounts: () =>
      list.map((user) => ({ user: user.needText('username'), pass: user.text('password') ?? '' })),
    passwords: () =>
      list.map((user) => ({ password: user.needText('password'), label: user.text('name') })),
    notes: () => [...new Set(list.flatMap((user) => notesOn(user, SING_BOX_USER_KEYS)))],
  };
}

function refuseTls(fields: ForeignObject): void {
  if (fields.fields('tls').flag('enabled')) {
    throw new ImportError('TLS before SOCKS is not supported');
  }
}

/** The certificate of a server. @throws {ImportError} if it is not in a file */
function tlsOf(fields: ForeignObject): CertificateFiles | undefined {
  const tls = fields.fields('tls');
  if (!tls.flag('enabled')) return undefined;
  if (tls.fields('reality').flag('enabled')) throw new ImportError('REALITY is not supported');
  if (tls.states('acme')) {
    throw new ImportError('certificates by ACME are not supported; get one by certbot or the like');
  }
  if (tls.list('certificate').length > 0 || tls.list('key').length > 0) {
    throw new ImportError('write certificate and key to files, and name them');
  }
  return { certFile: tls.needText('certificate_path'), keyFile: tls.needText('key_path') };
}

function streamFor(fields: ForeignObject): ReturnType<typeof serverStream> {
  const transport = fields.fields('transport');
  if ((transport.number('max_early_data') ?? 0) > 0 && !transport.text('early_data_header_name')) {
    throw new ImportError('early data in the path of a WebSocket is not supported');
  }
  return serverStream(
    {
      kind: transport.text('type') ?? '',
      path: transport.text('path'),
      serviceName: transport.text('service_name'),
    },
    tlsOf(fields),
  );
}

function tunOf(
  fields: ForeignObject,
  place: Pick<NamedListener, 'name' | 'sniffing'>,
): InboundReading {
  const address = ['address', 'inet4_address', 'inet6_address']
    .flatMap((key) => fields.list(key))
    .map(String);
  const wanted = ['route_address', 'inet4_route_address', 'inet6_route_address']
    .flatMap((key) => fields.list(key))
    .map((each) => networkOf(String(each)));
  const isRouted = fields.flag('auto_route');
  const versions = new Set(address.map(isVersion6));
  const routes =
    wanted.length > 0 ? wanted : ALL_ROUTES.filter((each) => versions.has(isVersion6(each)));
  const timeout = fields.text('udp_timeout') ?? '';
  const idleSeconds = timeout === '' ? undefined : secondsOf(timeout);
  if (timeout !== '' && idleSeconds === undefined) {
    throw new ImportError('"udp_timeout" is not a duration');
  }
  return {
    drafts: [
      tunDevice(place, {
        name: fields.text('interface_name'),
        mtu: fields.number('mtu'),
        address,
        routes: isRouted ? routes : [],
        idleSeconds,
      }),
    ],
    notes: isRouted
      ? ['the routes are in the main table, and name servers are not set: see docs/tun.md']
      : [],
  };
}
