import { ForeignObject, ImportError, toPort } from '@weir/proxy/protocols/forms';
import { CLASH_LISTENER_KEYS } from '../keys/clash.ts';
import type { InboundDraft, InboundEntry, InboundValue } from '../routing.ts';
import { bounded } from '../targets.ts';
import { notesOn } from '../verdicts.ts';
import { networkOf } from '../values/networks.ts';
import { nameOf } from '../entry.ts';
import { mixedDrafts } from '../server-drafts.ts';

/** Settings that all ports of a document share. */
interface Shared {
  readonly listen: string;
  readonly accounts: readonly Account[];
  readonly sniffing: boolean | undefined;
  /** Ports of the document, and those assigned during the import. */
  readonly taken: Set<number>;
}

interface Account {
  readonly user: string;
  readonly pass: string;
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
      return [inboundOf(key, () => plain(name, kindOf(key), port, shared), notes)];
    }),
    ...tunOf(document),
    ...listeners.map((each, index) =>
      inboundOf(`listeners[${index}]`, () => listenerOf(each, shared)),
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

/** Creates an entry from the drafts of `work`; an ImportError becomes the reason for skipping it. */
function inboundOf(
  source: string,
  work: () => { readonly drafts: readonly InboundDraft[]; readonly notes: readonly string[] },
  shared: readonly string[] = [],
): InboundEntry {
  try {
    const { drafts, notes } = work();
    return { source, drafts, notes: [...shared, ...notes] };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { source, skipped: error.message };
  }
}

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
const accountsOf = (list: readonly unknown[]): readonly Account[] =>
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
  const settings = {
    socks: socksSettings(accounts, udp),
    http: accounts.length === 0 ? {} : { accounts: accounts.map((each) => ({ ...each })) },
  };
  const base = { name, tag: name.startsWith('DEFAULT-') ? kind : undefined, listen, sniffing };
  switch (kind) {
    case 'socks':
      return {
        drafts: [{ ...base, protocol: 'socks', port, settings: settings.socks }],
        notes: [],
      };
    case 'http':
      return { drafts: [{ ...base, protocol: 'http', port, settings: settings.http }], notes: [] };
    case 'mixed':
      return mixedDrafts(base, port, taken, settings);
    case 'redir':
    case 'tproxy':
      throw new ImportError('Weir takes redirected connections by a tun inbound only');
    default:
      throw new ImportError(`the type ${JSON.stringify(kind)} is not supported`);
  }
}

const socksSettings = (
  accounts: readonly Account[],
  udp: boolean,
): Readonly<Record<string, InboundValue | undefined>> => ({
  auth: accounts.length === 0 ? undefined : 'password',
  accounts: accounts.length === 0 ? undefined : accounts.map((each) => ({ ...each })),
  udp: udp ? undefined : false,
});

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

/** Two networks that cover all addresses and leave the default route unchanged. */
const EVERYWHERE = ['0.0.0.0/1', '128.0.0.0/1'];
const EVERYWHERE_6 = ['::/1', '8000::/1'];
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
    inboundOf('tun', () => {
      const given = routes.map((each) => networkOf(String(each)));
      const all = [...EVERYWHERE, ...(has6 ? EVERYWHERE_6 : [])];
      return {
        drafts: [
          {
            name: 'DEFAULT-TUN',
            tag: 'tun',
            protocol: 'tun',
            settings: {
              name: name === '' ? undefined : name.slice(0, 15),
              mtu,
              address: [
                TUN_ADDRESS,
                ...(has6 ? (own6.length > 0 ? own6.map(String) : [TUN_ADDRESS_6]) : []),
              ],
              routes: isRouted ? (given.length > 0 ? given : all) : undefined,
            },
          },
        ],
        notes: [TUN_NOTE],
      };
    }),
  ];
}

const TUN_NOTE =
  'names are read from TLS and HTTP, since Weir has no fake addresses; make the interface the name server of the system (docs/tun.md)';
