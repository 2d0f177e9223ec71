/**
 * A part of the source whose branch coverage and mutation score are kept: a router, decoders, codecs or a
 * pure core, with the tests that concern it.
 */
export interface Room {
  /** Globs from the root. */
  readonly files: readonly string[];
  /** Globs from the root. */
  readonly tests: readonly string[];
  /** Least percentage of branches that `tests` reach: the measured one, rounded down to a whole number. */
  readonly branches: number;
}

/**
 * A branch is a block as V8 counts them. The types make every indexed access `T | undefined`, so the
 * side of `??` and `?.` that an invariant excludes is a branch that no test reaches.
 */
export const ROOMS = {
  router: {
    files: ['packages/proxy/src/engine/router/**/*.ts'],
    tests: [
      'packages/proxy/test/unit/engine/{router,geo}/**/*.test.ts',
      'packages/nodes/test/unit/explain/*.test.ts',
      'packages/config/test/unit/geo.test.ts',
    ],
    branches: 89,
  },
  sniff: {
    files: ['packages/proxy/src/engine/sniff.ts'],
    tests: ['packages/proxy/test/unit/engine/sniff/*.test.ts'],
    branches: 97,
  },
  geo: {
    files: ['packages/proxy/src/engine/geo/*.ts'],
    tests: [
      'packages/proxy/test/unit/engine/geo/*.test.ts',
      'packages/config/test/unit/geo.test.ts',
      'packages/weir/test/unit/cli/geo.test.ts',
    ],
    branches: 96,
  },
  schema: {
    files: ['packages/proxy/src/schema/*.ts'],
    tests: [
      'packages/proxy/test/unit/schema/*.test.ts',
      'packages/config/test/unit/{values,hints}.test.ts',
    ],
    branches: 95,
  },
  config: {
    files: [
      'packages/config/src/{tables,toml}/*.ts',
      'packages/config/src/{merge,load-config,api,route-targets,values}.ts',
    ],
    tests: ['packages/config/test/unit/*.test.ts'],
    branches: 97,
  },
  settings: {
    files: [
      'packages/proxy/src/protocols/*/settings.ts',
      'packages/proxy/src/protocols/users/account-settings.ts',
    ],
    tests: [
      'packages/proxy/test/unit/protocols/**/settings.test.ts',
      'packages/config/test/unit/{hysteria2,inbound,outbound,tun,own-sessions}.test.ts',
    ],
    branches: 97,
  },
  socks: {
    files: ['packages/proxy/src/protocols/socks/{wire,inbound,outbound}.ts'],
    tests: [
      'packages/proxy/test/unit/protocols/socks/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair}.test.ts',
    ],
    branches: 98,
  },
  trojan: {
    files: ['packages/proxy/src/protocols/trojan/{wire,settings}.ts'],
    tests: [
      'packages/proxy/test/unit/protocols/trojan/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair,packet-link}.test.ts',
    ],
    branches: 97,
  },
  vless: {
    files: [
      'packages/proxy/src/protocols/vless/{wire,outbound}.ts',
      'packages/proxy/src/protocols/users/uuid.ts',
    ],
    tests: [
      'packages/proxy/test/unit/protocols/vless/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair,packet-link}.test.ts',
    ],
    branches: 95,
  },
  vmess: {
    files: [
      'packages/proxy/src/protocols/vmess/{wire,kdf}.ts',
      'packages/proxy/src/protocols/vmess/{body,header}/*.ts',
    ],
    tests: [
      'packages/proxy/test/unit/protocols/vmess/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair,vmess-body}.test.ts',
    ],
    branches: 95,
  },
  shadowsocks: {
    files: [
      'packages/proxy/src/protocols/shadowsocks/{chunks,keys,methods,packets,request,salts}.ts',
      'packages/proxy/src/protocols/shadowsocks/{edition-2022,legacy}/*.ts',
    ],
    tests: [
      'packages/proxy/test/unit/protocols/shadowsocks/**/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair,shadowsocks-link,shadowsocks-packets}.test.ts',
    ],
    branches: 96,
  },
  hysteria2: {
    files: [
      'packages/proxy/src/protocols/hysteria2/{wire,salamander,authentication}.ts',
      'packages/proxy/src/protocols/hysteria2/udp-sessions.ts',
    ],
    tests: ['packages/proxy/test/unit/protocols/hysteria2/**/*.test.ts'],
    branches: 99,
  },
  wireguard: {
    files: [
      'packages/proxy/src/protocols/wireguard/{wire,transport-session}.ts',
      'packages/proxy/src/protocols/wireguard/{tunnel,deadlines}.ts',
      'packages/proxy/src/protocols/wireguard/handshake/*.ts',
    ],
    tests: ['packages/proxy/test/unit/protocols/wireguard/**/*.test.ts'],
    branches: 97,
  },
  'http-proxy': {
    files: [
      'packages/proxy/src/protocols/http/{responses,request-target}.ts',
      'packages/proxy/src/protocols/http/forwarding/*.ts',
    ],
    tests: [
      'packages/proxy/test/unit/protocols/http/**/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair}.test.ts',
    ],
    branches: 98,
  },
  'http-fields': {
    files: ['packages/http/src/fields/*.ts'],
    tests: [
      'packages/http/test/unit/{fields,http1,http2,http2/hpack}/*.test.ts',
      'packages/server/test/unit/local-http/guard.test.ts',
    ],
    branches: 98,
  },
  http1: {
    files: ['packages/http/src/http1/*.ts'],
    tests: [
      'packages/http/test/unit/http1/*.test.ts',
      'packages/proxy/test/unit/protocols/http/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair}.test.ts',
    ],
    branches: 99,
  },
  http2: {
    files: ['packages/http/src/http2/**/*.ts'],
    tests: [
      'packages/http/test/unit/http2/**/*.test.ts',
      'packages/http/test/conformance/http2-node.test.ts',
    ],
    branches: 98,
  },
  http3: {
    files: ['packages/http/src/http3/**/*.ts'],
    tests: ['packages/http/test/unit/http3/**/*.test.ts'],
    branches: 98,
  },
  'quic-wire': {
    files: ['packages/quic/src/{wire,protection}/*.ts'],
    tests: [
      'packages/quic/test/unit/{wire,protection}/*.test.ts',
      'packages/quic/test/unit/pair/{keys,violations}.test.ts',
    ],
    branches: 98,
  },
  quic: {
    files: ['packages/quic/src/{packets,path,recovery,streams}/*.ts'],
    tests: ['packages/quic/test/unit/{wire,path,recovery,streams,pair}/!(*.slow).test.ts'],
    branches: 96,
  },
  congestion: {
    files: ['packages/congestion/src/**/*.ts'],
    tests: ['packages/congestion/test/unit/**/!(*.slow).test.ts'],
    branches: 93,
  },
  'ip-packets': {
    files: ['packages/netstack/src/{wire,ip}/*.ts', 'packages/base/src/ip/*.ts'],
    tests: [
      'packages/netstack/test/unit/{wire,ip}/*.test.ts',
      'packages/netstack/test/unit/!(*.slow).test.ts',
      'packages/base/test/unit/ip/*.test.ts',
    ],
    branches: 98,
  },
  netstack: {
    files: ['packages/netstack/src/{tcp,flows}/**/*.ts', 'packages/netstack/src/*.ts'],
    tests: [
      'packages/netstack/test/unit/**/!(*.slow).test.ts',
      'packages/netstack/test/conformance/netstack-link.test.ts',
    ],
    branches: 94,
  },
  mux: {
    files: ['packages/proxy/src/mux/*.ts'],
    tests: [
      'packages/proxy/test/unit/mux/*.test.ts',
      'packages/proxy/test/unit/protocols/vless/*.test.ts',
    ],
    branches: 91,
  },
  dns: {
    files: [
      'packages/proxy/src/dns/{message,questions,responder,policy}.ts',
      'packages/proxy/src/dns/exchanges/{exchange,doh-response}.ts',
      'packages/proxy/src/dns/system/system-resolvers.ts',
    ],
    tests: ['packages/proxy/test/unit/dns/**/!(*.slow).test.ts'],
    branches: 92,
  },
  ws: {
    files: ['packages/proxy/src/transports/ws/{frames,handshake,upgrade}.ts'],
    tests: ['packages/proxy/test/unit/transports/ws/*.test.ts'],
    branches: 98,
  },
  grpc: {
    files: ['packages/proxy/src/transports/grpc/{hunks,settings,wire-share,peer-watch}.ts'],
    tests: ['packages/proxy/test/unit/transports/grpc/*.test.ts'],
    branches: 97,
  },
  crypto: {
    files: ['packages/crypto/src/**/*.ts'],
    tests: [
      'packages/crypto/test/unit/**/*.test.ts',
      'packages/crypto/test/conformance/{aead,packet-cipher}.test.ts',
    ],
    branches: 95,
  },
  addresses: {
    files: ['packages/io/src/net/addresses/*.ts', 'packages/io/src/net/links/bounded-reader.ts'],
    tests: [
      'packages/io/test/unit/net/addresses/*.test.ts',
      'packages/io/test/unit/net/*.test.ts',
      'packages/io/test/unit/net/links/bounded-reader.test.ts',
      'packages/proxy/test/unit/protocols/{socks,vless,trojan}/*.test.ts',
      'packages/proxy/test/conformance/{inbound,outbound-pair}.test.ts',
    ],
    branches: 97,
  },
  import: {
    files: [
      'packages/nodes/src/import/**/*.ts',
      'packages/proxy/src/protocols/forms/*.ts',
      'packages/proxy/src/protocols/*/forms.ts',
    ],
    tests: [
      'packages/nodes/test/unit/import/*.test.ts',
      'packages/nodes/test/unit/share/round-trip.test.ts',
    ],
    branches: 90,
  },
  subscribe: {
    files: ['packages/nodes/src/subscribe/{answer,nodes}/*.ts'],
    tests: ['packages/nodes/test/unit/subscribe/*.test.ts'],
    branches: 94,
  },
  'local-requests': {
    files: [
      'packages/server/src/api/requests.ts',
      'packages/server/src/api/http/request-filter.ts',
      'packages/watch/src/clash-api/serve/controller.ts',
      'packages/client/src/client/event-reader.ts',
      'packages/server/src/local-http/{guard,router,secret}.ts',
    ],
    tests: [
      'packages/server/test/unit/api/**/*.test.ts',
      'packages/watch/test/unit/clash-api/{controller,delays,streams,translate}.test.ts',
      'packages/client/test/unit/client/event-reader.test.ts',
      'packages/server/test/unit/local-http/*.test.ts',
    ],
    branches: 95,
  },
} as const satisfies Record<string, Room>;

export type RoomName = keyof typeof ROOMS;

/** The rooms named, or all; an unknown name is an error with the names there are. */
export function chosenRooms(names: readonly string[]): readonly (readonly [string, Room])[] {
  const rooms: ReadonlyMap<string, Room> = new Map(Object.entries(ROOMS));
  if (names.length === 0) return [...rooms];
  return names.map((name) => {
    const room = rooms.get(name);
    if (!room) throw new Error(`no room is called ${name}: ${[...rooms.keys()].join(', ')}`);
    return [name, room];
  });
}
