import { OnDemand } from '@weir/base';
import type { ProtocolForms } from './forms/contract.ts';
import type { InboundProtocol, OutboundProtocol, Protocol } from './protocol.ts';

/** The properties of a protocol that are available before it is loaded. */
interface Listing {
  readonly aliases?: readonly string[];
  readonly inbound?: true;
  readonly outbound?: true;
  /** The carrier of the outbound, where it is not TCP or a stream on it; QUIC has its TLS in the settings. */
  readonly carrier?: 'quic' | 'udp';
  readonly load: () => Promise<Protocol>;
  /** Its forms in other programs, and of its users in files: see `ProtocolForms`. */
  readonly forms?: () => Promise<ProtocolForms>;
}

/** All protocols. A new one needs a folder and an entry here. */
const LISTINGS = {
  blackhole: {
    aliases: ['block'],
    outbound: true,
    load: async () => (await import('./blackhole/index.ts')).blackhole,
    forms: async () => (await import('./blackhole/forms.ts')).blackholeForms,
  },
  freedom: {
    aliases: ['direct'],
    outbound: true,
    load: async () => (await import('./freedom/index.ts')).freedom,
    forms: async () => (await import('./freedom/forms.ts')).freedomForms,
  },
  http: {
    inbound: true,
    outbound: true,
    load: async () => (await import('./http/index.ts')).http,
    forms: async () => (await import('./http/forms.ts')).httpForms,
  },
  hysteria2: {
    aliases: ['hysteria', 'hy2'],
    inbound: true,
    outbound: true,
    carrier: 'quic',
    load: async () => (await import('./hysteria2/index.ts')).hysteria2,
    forms: async () => (await import('./hysteria2/forms.ts')).hysteria2Forms,
  },
  shadowsocks: {
    inbound: true,
    outbound: true,
    load: async () => (await import('./shadowsocks/index.ts')).shadowsocks,
    forms: async () => (await import('./shadowsocks/forms.ts')).shadowsocksForms,
  },
  socks: {
    inbound: true,
    outbound: true,
    load: async () => (await import('./socks/index.ts')).socks,
    forms: async () => (await import('./socks/forms.ts')).socksForms,
  },
  trojan: {
    inbound: true,
    outbound: true,
    load: async () => (await import('./trojan/index.ts')).trojan,
    forms: async () => (await import('./trojan/forms.ts')).trojanForms,
  },
  tun: {
    inbound: true,
    load: async () => (await import('./tun/index.ts')).tun,
    forms: async () => (await import('./tun/forms.ts')).tunForms,
  },
  vless: {
    inbound: true,
    outbound: true,
    load: async () => (await import('./vless/index.ts')).vless,
    forms: async () => (await import('./vless/forms.ts')).vlessForms,
  },
  vmess: {
    inbound: true,
    outbound: true,
    load: async () => (await import('./vmess/index.ts')).vmess,
    forms: async () => (await import('./vmess/forms.ts')).vmessForms,
  },
  wireguard: {
    outbound: true,
    carrier: 'udp',
    load: async () => (await import('./wireguard/index.ts')).wireguard,
    forms: async () => (await import('./wireguard/forms.ts')).wireguardForms,
  },
} satisfies Readonly<Record<string, Listing>>;

const ENTRIES: readonly (readonly [string, Listing])[] = Object.entries(LISTINGS);

const PROTOCOLS = new OnDemand(
  'protocol',
  Object.fromEntries(ENTRIES.map(([name, { load }]) => [name, load])),
);

const FORMS = new OnDemand(
  'forms of',
  Object.fromEntries(ENTRIES.flatMap(([name, { forms }]) => (forms ? [[name, forms]] : []))),
);

/** The canonical names, by name and alias. */
const NAMES: ReadonlyMap<string, string> = new Map(
  ENTRIES.flatMap(([name, { aliases = [] }]) => [name, ...aliases].map((each) => [each, name])),
);

/** Returns the canonical name of the protocol with this name or alias, which a Spec carries; case-sensitive. */
export const protocolName = (name: string): string | undefined => NAMES.get(name);

const CARRIERS: ReadonlyMap<string, Listing['carrier']> = new Map(
  ENTRIES.map(([name, { carrier }]) => [name, carrier]),
);

/** Returns what carries an outbound that uses UDP alone; `undefined` for any other protocol, by any of its names. */
export const udpCarrier = (protocol: string): Listing['carrier'] =>
  CARRIERS.get(NAMES.get(protocol) ?? protocol);

/** Returns the names and aliases of the protocols that have a side. */
export const protocolNames = (side: 'inbound' | 'outbound'): readonly string[] =>
  ENTRIES.filter(([, listing]) => listing[side]).flatMap(([name, { aliases = [] }]) => [
    name,
    ...aliases,
  ]);

/**
 * Loads protocols by their names or aliases, all by default. Unknown names are ignored: the decoder of the
 * configuration reports them.
 *
 * @throws {WeirError} `not_loadable`
 */
export const loadProtocols = (names: Iterable<string> = NAMES.values()): Promise<void> =>
  PROTOCOLS.load([...names].map((name) => NAMES.get(name)).filter((name) => name !== undefined));

/** Whether all protocols are loaded. */
export const allProtocolsLoaded = (): boolean => PROTOCOLS.isLoaded(NAMES.values());

/**
 * Returns the protocol with this name or alias; case-sensitive.
 * @throws {RangeError} when it has not been loaded
 */
export function findProtocol(name: string): Protocol | undefined {
  const canonical = NAMES.get(name);
  return canonical === undefined ? undefined : PROTOCOLS.get(canonical);
}

/** Returns the server side of the protocol of a Spec; see `findProtocol`. */
export function inboundProtocol(name: string): InboundProtocol<unknown> {
  const side = findProtocol(name)?.inbound;
  if (!side) throw new RangeError(`there is no inbound protocol ${name}`);
  return side;
}

/** Returns the client side of the protocol of a Spec; see `findProtocol`. */
export function outboundProtocol(name: string): OutboundProtocol<unknown> {
  const side = findProtocol(name)?.outbound;
  if (!side) throw new RangeError(`there is no outbound protocol ${name}`);
  return side;
}

/**
 * Loads the forms of all protocols, before anything that reads or writes them.
 * @throws {WeirError} `not_loadable`
 */
export const loadForms = (): Promise<void> => FORMS.load(FORMS.names);

/**
 * Returns the forms of a protocol by its name or alias; `undefined` for a protocol without.
 * @throws {RangeError} when they have not been loaded
 */
export function formsOf(name: string): ProtocolForms | undefined {
  const canonical = NAMES.get(name);
  return canonical !== undefined && FORMS.has(canonical) ? FORMS.get(canonical) : undefined;
}

/** Returns the forms of all protocols; see `formsOf`. */
export const allForms = (): readonly ProtocolForms[] => FORMS.names.map((name) => FORMS.get(name));
