import { ForeignObject, ImportError, toPort } from '@weir/proxy/protocols/forms';
import { CLASH_LISTENER_KEYS } from '../keys/clash.ts';
import { type InboundDraft, type InboundEntry, bounded } from '../routing.ts';
import { notesOn } from '../verdicts.ts';
import { isVersion6, networkOf } from '../values/networks.ts';
import { inboundEntry, nameOf } from '../entry.ts';
import {
  accountSettings,
  ALL_ROUTES,
  mixedDrafts,
  socksServer,
  tunDevice,
  type ProxyAccount,
} from '../server-drafts.ts';

/** Settings that all ports of a document share. */
interface Shared {
  readonly listen: string;
  readonly accounts: readonly ProxyAccount[];
  readonly sniffing: boolean | undefined;
  /** Ports of the document, and those assigned during the import. */
  readonly taken: Set<number>;
}

/** The listeners of a document: ports at the top level, `tun` and `listeners`. */
export function readInbounds(document: ForeignObject): readonly InboundEntry[] {
  const listeners = bounded('inbounds', document.entries('listeners'));
  const { listen, notes } = addressOf(document);
  const ports = PORTS.flatMap(([key]) => portOf(document, key));
  const shared: Shared = {
    listen,
    accounts: accountsOf(document.list('authentication')),
    sniffing: document.fields('sniffer').flag('enable') ? undefined : false,
    taken: new Set([...ports, ...listeners.flatMap(portOfListener)]),
  };
  return [
    ...PORTS.flatMap(([key, name]) => {
      const [port] = portOf(document, key);
      if (port === undefined) return [];
      return [
        inboundEntry(key, () => {
          const read = plain(name, kindOf(key), port, shared);
          return { drafts: read.drafts, notes: [...notes, ...read.notes] };
        }),
      ];
    }),
    ...tunOf(document),
    ...listeners.map((each, index) =>
      inboundEntry(`listeners[${index}]`, () => listenerOf(each, shared)),
    ),
  ];
}

/** Keys of ports, and the names that mihomo gives their listeners. */
const PORTS = [
  ['port', 'DEFAULT-HTTP'],
  ['socks-port', 'DEFAULT-SOCKS'],
  ['mixed-port', 'DEFAULT-MIXED'],
  ['redir-port', 'DEFAULT-REDIR'],
  ['tproxy-port', 'DEFAULT-TPROXY'],
] as const;

const kindOf = (key: string): string => (key === 'port' ? 'http' : key.replace('-port', ''));

/** The port at a key; empty for 0, which disables the listener. */
function portOf(document: ForeignObject, key: string): readonly number[] {
  const port = document.number(key) ?? 0;
  return port > 0 && port < 65_536 ? [port] : [];
}

const portOfListener = (value: unknown): readonly number[] => {
  const port = Number(nameOf(value, 'port'));
  return Number.isInteger(port) ? [port] : [];
};

/** The address of the ports; loopback without `allow-lan`. */
function addressOf(document: ForeignObject): { listen: string; notes: readonly string[] } {
  const isOpen = document.flag('allow-lan');
  const address = document.text('bind-address') ?? '*';
  const allowed = document.entries('lan-allowed-ips');
  const limits = [
    ...document.entries('lan-disallowed-ips'),
    ...allowed.filter((each) => each !== '0.0.0.0/0' && each !== '::/0'),
  ];
  if (!isOpen) return { listen: '127.0.0.1', notes: [] };
  if (limits.length > 0) return { listen: '127.0.0.1', notes: [LIMITED] };
  return { listen: address === '*' ? '::' : address.replaceAll(/[[\]]/g, ''), notes: [] };
}

const LIMITED =
  'it listens on loopback alone: Weir cannot limit the addresses of clients as lan-allowed-ips does; change "listen" after you have set up a firewall';

/** Parses accounts of the form `user:password`. */
const accountsOf = (list: readonly unknown[]): readonly ProxyAccount[] =>
  list.flatMap((each) => {
    if (typeof each !== 'string') return [];
    const colon = each.indexOf(':');
    return colon < 0 ? [] : [{ user: each.slice(0, colon), pass: each.slice(colon + 1) }];
  });

/** A listener of SOCKS, HTTP or both. @throws {ImportError} for another kind. */
function plain(
  name: string,
  kind: string,
  port: number,
  { listen, accounts, sniffing, taken }: Shared,
  udp = true,
): { drafts: readonly InboundDraft[]; notes: readonly string[] } {
  const base = { name, tag: name.startsWith('DEFAULT-') ? kind : undefined, listen, sniffing };
  const socks = socksServer({ ...base, port }, accounts, { udp: udp ? undefined : false });
  const http = { ...base, protocol: 'http', port, settings: accountSettings(accounts) };
  switch (kind) {
    case 'socks':
      return { drafts: [socks], notes: [] };
    case 'http':
      return { drafts: [http], notes: [] };
    case 'mixed':
      return mixedDrafts(base, port, taken, { socks: socks.settings, http: http.settings });
    case 'redir':
    case 'tproxy':
      throw new ImportError('Weir takes redirected connections by a tun inbound only');
    default:
      throw new ImportError(`the type ${JSON.stringify(kind)} is not supported`);
  }
}

function listenerOf(
  value: unknown,
  shared: Shared,
): { drafts: readonly InboundDraft[]; notes: readonly string[] } {
  const fields = new ForeignObject(value);
  const name = fields.text('name') ?? '';
  const kind = fields.text('type') ?? '';
  const listen = fields.text('listen') ?? '';
  for (const key of ['proxy', 'rule']) {
    if (fields.states(key))
      throw new ImportError(`"${key}": rules of a listener are not supported`);
  }
  const users = fields.entries('users').flatMap((each) => {
    const user = new ForeignObject(each);
    return [{ user: user.needText('username'), pass: user.needText('password') }];
  });
  const own: Shared = {
    ...shared,
    listen: listen === '' ? '0.0.0.0' : listen,
    accounts: fields.has('users') ? users : shared.accounts,
  };
  const port = toPort(fields.text('port'));
  const udp = !fields.states('udp') || fields.flag('udp');
  const { drafts, notes } = plain(name, kind, port, own, udp);
  return { drafts, notes: [...notes, ...notesOn(fields, CLASH_LISTENER_KEYS)] };
}

const TUN_ADDRESS = '198.18.0.1/30';
const TUN_ADDRESS_6 = 'fdfe:dcba:9876::1/126';

function tunOf(document: ForeignObject): readonly InboundEntry[] {
  const tun = document.fields('tun');
  const isOn = tun.flag('enable');
  const name = tun.text('device') ?? '';
  const mtu = tun.number('mtu');
  const has6 = !document.states('ipv6') || document.flag('ipv6');
  const routes = [
    ...tun.entries('route-address'),
    ...tun.entries('inet4-route-address'),
    ...tun.entries('inet6-route-address'),
  ];
  const own6 = tun.entries('inet6-address');
  const isRouted = !tun.states('auto-route') || tun.flag('auto-route');
  if (!isOn) return [];
  return [
    inboundEntry('tun', () => {
      const given = routes.map((each) => networkOf(String(each)));
      const all = ALL_ROUTES.filter((each) => has6 || !isVersion6(each));
      const device = tunDevice(
        { name: 'DEFAULT-TUN', tag: 'tun' },
        {
          name: name.slice(0, 15),
          mtu,
          address: [
            TUN_ADDRESS,
            ...(has6 ? (own6.length > 0 ? own6.map(String) : [TUN_ADDRESS_6]) : []),
          ],
          routes: isRouted ? (given.length > 0 ? given : all) : [],
        },
      );
      return { drafts: [device], notes: [TUN_NOTE] };
    }),
  ];
}

const TUN_NOTE =
  'names are read from TLS and HTTP, since Weir has no fake addresses; make the interface the name server of the system (docs/tun.md)';
