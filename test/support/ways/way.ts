/**
 * A way between a client and a server of any program: a protocol with its cipher on a carrier. The
 * files beside this one translate it into the configuration of each program.
 */
export interface Way {
  readonly protocol: Protocol;
  /** The cipher of VMess or the method of Shadowsocks, by the name that all programs use. */
  readonly cipher?: string;
  /** Absent: plain TCP. */
  readonly carrier?: Carrier;
  /** SOCKS and HTTP with a name and a password. */
  readonly login?: boolean;
  /** Shadowsocks with two users on the port, of which the client is the second. */
  readonly users?: boolean;
  /**
   * For clients that must be rejected: `wrong` is another key or password than the server's, `unknown
   * user` the server's key of Shadowsocks 2022 without one of its users.
   */
  readonly credentials?: 'wrong' | 'unknown user';
  /** Mux.Cool, with up to so many flows on a connection. */
  readonly mux?: number;
  /** Hysteria 2 under Salamander. */
  readonly obfuscated?: boolean;
  /** Datagrams over XUDP, and not as the protocol itself carries them. */
  readonly xudp?: boolean;
}

export type Protocol =
  | 'socks'
  | 'http'
  | 'trojan'
  | 'vless'
  | 'vmess'
  | 'shadowsocks'
  | 'hysteria2';

export interface Carrier {
  readonly network: 'tcp' | 'ws' | 'grpc';
  readonly tls?: boolean;
  /** WebSocket: the first bytes go with the upgrade request. */
  readonly earlyData?: boolean;
  /** gRPC: messages with several chunks each. */
  readonly multi?: boolean;
}

export const TCP: Carrier = { network: 'tcp' };
export const TLS: Carrier = { network: 'tcp', tls: true };
export const WS_TLS: Carrier = { network: 'ws', tls: true };
export const GRPC_TLS: Carrier = { network: 'grpc', tls: true };

/** Every carrier that Weir has, the plain one first. */
export const CARRIERS: readonly Carrier[] = [
  TCP,
  TLS,
  { network: 'ws' },
  WS_TLS,
  { network: 'ws', earlyData: true },
  { ...WS_TLS, earlyData: true },
  { network: 'grpc' },
  GRPC_TLS,
  { network: 'grpc', multi: true },
  { ...GRPC_TLS, multi: true },
];

export const carrierOf = ({ carrier = TCP }: Way): Carrier => carrier;

/** Whether nothing but the protocol itself is on the TCP connection. */
export const isPlain = (way: Way): boolean => {
  const { network, tls = false } = carrierOf(way);
  return network === 'tcp' && !tls;
};

/** Shadowsocks of 2022, which only recent programs have. */
export const isModern = ({ cipher = '' }: Way): boolean => cipher.startsWith('2022-');

/** Whether datagrams can go this way at all; SOCKS sends them beside its TCP connection. */
export const carriesDatagrams = (way: Way): boolean =>
  way.protocol === 'socks' ? isPlain(way) : way.protocol !== 'http';

/**
 * Whether Weir as the receiver can distinguish the end of the stream from the death of the sender: TLS, gRPC, QUIC
 * and a WebSocket of another Weir mark the end, the others leave it to TCP, which ends as well when a process is killed.
 * Node's own TLS, which serves without kernel sockets, does not report close_notify; VMess has an empty
 * last chunk, but not every peer sends it.
 *
 * @param sender the name of the program at the other end.
 */
export const tellsItsEnd = (way: Way, sender: string): boolean => {
  const { network, tls = false } = carrierOf(way);
  if (network === 'grpc' || way.protocol === 'hysteria2') return true;
  return (network === 'ws' && sender === 'weir') || (tls && process.env['WEIR_IO'] !== 'node');
};

/** `grpc multi over tls`. */
export function carrierTitle({ network, tls, earlyData, multi }: Carrier): string {
  if (network === 'tcp') return tls === true ? 'tls' : 'tcp';
  const what = `${network}${earlyData === true ? ' with early data' : ''}${multi === true ? ' multi' : ''}`;
  return tls === true ? `${what} over tls` : what;
}

/** What the way is without its carrier: `vmess aes-128-gcm, mux of 8`. */
export function protocolTitle({ protocol, cipher, login, users, mux, xudp }: Way): string {
  const more = [
    ...(login === true ? ['with a password'] : []),
    ...(users === true ? ['the second of two users'] : []),
    ...(mux === undefined ? [] : [`mux of ${mux}`]),
    ...(xudp === true ? ['XUDP'] : []),
  ];
  return [cipher === undefined ? protocol : `${protocol} ${cipher}`, ...more].join(', ');
}

export function wayTitle(way: Way): string {
  const below =
    way.protocol === 'hysteria2'
      ? `QUIC${way.obfuscated === true ? ' under Salamander' : ''}`
      : carrierTitle(carrierOf(way));
  return `${protocolTitle(way)} over ${below}`;
}

/** Each protocol once and each carrier once, with both kinds of Shadowsocks: all that a start may load. */
export const EVERY_KIND: readonly Way[] = [
  { protocol: 'http' },
  { protocol: 'trojan', carrier: TLS },
  { protocol: 'vless', carrier: WS_TLS },
  { protocol: 'vless', carrier: GRPC_TLS },
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' },
  { protocol: 'hysteria2' },
];
