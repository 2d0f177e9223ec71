/**
 * A part of `src` whose branch coverage and mutation score are kept: a router, decoders, codecs or a
 * pure core, with the tests that concern it.
 */
export interface Room {
  /** Globs below `src/`. */
  readonly files: readonly string[];
  /** Globs below `test/`. */
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
    files: ['engine/router/**/*.ts'],
    tests: [
      'unit/engine/{router,geo}/**/*.test.ts',
      'unit/explain/*.test.ts',
      'unit/config/geo.test.ts',
    ],
    branches: 89,
  },
  sniff: {
    files: ['engine/sniff/*.ts'],
    tests: ['unit/engine/sniff/*.test.ts'],
    branches: 97,
  },
  geo: {
    files: ['engine/geo/*.ts'],
    tests: ['unit/engine/geo/*.test.ts', 'unit/config/geo.test.ts', 'unit/cli/geo.test.ts'],
    branches: 96,
  },
  schema: {
    files: ['schema/*.ts'],
    tests: ['unit/schema/*.test.ts', 'unit/config/{values,hints}.test.ts'],
    branches: 95,
  },
  config: {
    files: ['config/{tables,toml}/*.ts', 'config/{merge,lower,api,route-targets,values}.ts'],
    tests: ['unit/config/*.test.ts'],
    branches: 97,
  },
  settings: {
    files: ['protocols/*/settings.ts', 'protocols/users/account-settings.ts'],
    tests: [
      'unit/protocols/**/settings.test.ts',
      'unit/config/{hysteria2,inbound,outbound,tun,own-sessions}.test.ts',
    ],
    branches: 97,
  },
  socks: {
    files: [
      'protocols/socks/{wire,address,udp-framing,relay-plan,outbound,server-handshake}.ts',
    ],
    tests: ['unit/protocols/socks/*.test.ts', 'conformance/{inbound,outbound-pair}.test.ts'],
    branches: 98,
  },
  trojan: {
    files: ['protocols/trojan/{wire,packet-framing,key}.ts'],
    tests: [
      'unit/protocols/trojan/*.test.ts',
      'conformance/{inbound,outbound-pair,packet-link}.test.ts',
    ],
    branches: 97,
  },
  vless: {
    files: ['protocols/vless/{wire,packet-framing,outbound}.ts', 'protocols/users/uuid.ts'],
    tests: [
      'unit/protocols/vless/*.test.ts',
      'conformance/{inbound,outbound-pair,packet-link}.test.ts',
    ],
    branches: 95,
  },
  vmess: {
    files: ['protocols/vmess/{wire,kdf}.ts', 'protocols/vmess/{body,header}/*.ts'],
    tests: [
      'unit/protocols/vmess/*.test.ts',
      'conformance/{inbound,outbound-pair,vmess-body}.test.ts',
    ],
    branches: 95,
  },
  shadowsocks: {
    files: [
      'protocols/shadowsocks/{chunks,keys,methods,packets,request,salts,stamped-entries}.ts',
      'protocols/shadowsocks/{edition-2022,legacy}/*.ts',
    ],
    tests: [
      'unit/protocols/shadowsocks/**/*.test.ts',
      'conformance/{inbound,outbound-pair,shadowsocks-link,shadowsocks-packets}.test.ts',
    ],
    branches: 96,
  },
  hysteria2: {
    files: [
      'protocols/hysteria2/{wire,salamander,authentication}.ts',
      'protocols/hysteria2/udp/fragments.ts',
    ],
    tests: ['unit/protocols/hysteria2/**/*.test.ts'],
    branches: 99,
  },
  wireguard: {
    files: [
      'protocols/wireguard/{wire,message-writer,peer-liveness,transport-session}.ts',
      'protocols/wireguard/{tunnel,deadlines,waiting-packets}.ts',
      'protocols/wireguard/handshake/*.ts',
    ],
    tests: ['unit/protocols/wireguard/**/*.test.ts'],
    branches: 97,
  },
  'http-proxy': {
    files: [
      'protocols/http/{credentials,request-target,max-forwards}.ts',
      'protocols/http/forwarding/*.ts',
    ],
    tests: ['unit/protocols/http/**/*.test.ts', 'conformance/{inbound,outbound-pair}.test.ts'],
    branches: 98,
  },
  'http-fields': {
    files: ['http/fields/*.ts'],
    tests: [
      'unit/http/{fields,http1,http2,http2/hpack}/*.test.ts',
      'unit/local-http/guard.test.ts',
    ],
    branches: 98,
  },
  http1: {
    files: ['http/http1/*.ts'],
    tests: [
      'unit/http/http1/*.test.ts',
      'unit/protocols/http/*.test.ts',
      'conformance/{inbound,outbound-pair}.test.ts',
    ],
    branches: 99,
  },
  http2: {
    files: ['http/http2/**/*.ts'],
    tests: ['unit/http/http2/**/*.test.ts', 'conformance/http2-node.test.ts'],
    branches: 98,
  },
  http3: {
    files: ['http/http3/**/*.ts'],
    tests: ['unit/http/http3/**/*.test.ts'],
    branches: 98,
  },
  'quic-wire': {
    files: ['quic/{wire,protection}/*.ts'],
    tests: ['unit/quic/{wire,protection}/*.test.ts', 'unit/quic/pair/{keys,violations}.test.ts'],
    branches: 98,
  },
  quic: {
    files: ['quic/{packets,path,recovery,streams}/*.ts'],
    tests: ['unit/quic/{wire,path,recovery,streams,pair}/!(*.slow).test.ts'],
    branches: 96,
  },
  congestion: {
    files: ['congestion/**/*.ts'],
    tests: ['unit/congestion/**/!(*.slow).test.ts'],
    branches: 93,
  },
  'ip-packets': {
    files: ['netstack/{wire,ip}/*.ts', 'ip/*.ts'],
    tests: [
      'unit/netstack/{wire,ip}/*.test.ts',
      'unit/netstack/!(*.slow).test.ts',
      'unit/ip/*.test.ts',
    ],
    branches: 98,
  },
  netstack: {
    files: ['netstack/{tcp,flows}/**/*.ts', 'netstack/*.ts'],
    tests: ['unit/netstack/**/!(*.slow).test.ts', 'conformance/netstack-link.test.ts'],
    branches: 94,
  },
  mux: {
    files: ['mux/*.ts'],
    tests: ['unit/mux/*.test.ts', 'unit/protocols/vless/*.test.ts'],
    branches: 91,
  },
  dns: {
    files: [
      'dns/{message,query,questions,responder,follow-aliases,policy,server-order}.ts',
      'dns/exchanges/{framing,doh-response}.ts',
      'dns/system/{hosts-file,name-switch,resolv-conf}.ts',
    ],
    tests: ['unit/dns/**/!(*.slow).test.ts'],
    branches: 92,
  },
  ws: {
    files: ['transports/ws/{frames,handshake,upgrade}.ts'],
    tests: ['unit/transports/ws/*.test.ts'],
    branches: 98,
  },
  grpc: {
    files: ['transports/grpc/{hunks,settings,wire-share,peer-watch}.ts'],
    tests: ['unit/transports/grpc/*.test.ts'],
    branches: 97,
  },
  crypto: {
    files: ['crypto/**/*.ts'],
    tests: ['unit/crypto/**/*.test.ts', 'conformance/{aead,packet-cipher}.test.ts'],
    branches: 95,
  },
  addresses: {
    files: ['net/addresses/*.ts', 'net/links/bounded-reader.ts'],
    tests: [
      'unit/net/addresses/*.test.ts',
      'unit/net/*.test.ts',
      'unit/net/links/bounded-reader.test.ts',
      'unit/protocols/{socks,vless,trojan}/*.test.ts',
      'conformance/{inbound,outbound-pair}.test.ts',
    ],
    branches: 97,
  },
  import: {
    files: ['import/**/*.ts', 'protocols/forms/*.ts', 'protocols/*/forms.ts'],
    tests: ['unit/import/*.test.ts', 'unit/share/round-trip.test.ts'],
    branches: 90,
  },
  subscribe: {
    files: ['subscribe/{answer,nodes}/*.ts'],
    tests: ['unit/subscribe/*.test.ts'],
    branches: 94,
  },
  'local-requests': {
    files: [
      'api/requests/*.ts',
      'api/http/{request-filter,api-router,raw-http}.ts',
      'clash-api/serve/router.ts',
      'client/event-reader.ts',
      'local-http/{guard,secret-check}.ts',
    ],
    tests: [
      'unit/api/**/*.test.ts',
      'unit/clash-api/{controller,delays,streams,translate}.test.ts',
      'unit/client/event-reader.test.ts',
      'unit/local-http/*.test.ts',
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
