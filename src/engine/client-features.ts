/*
 * Clients of other programs request features of their servers by destinations that are not hosts. They are
 * dialled like any other, since an upstream may have the feature; when the dial fails, its log line
 * explains what the client has requested.
 */

const SING_MUX = 'the client multiplexes (sing-mux: smux, yamux or h2mux)';
const MUX_COOL = 'the client multiplexes (Mux.Cool)';
const UDP_OVER_TCP = 'the client sends UDP over TCP as sing-box does';

const HINTS: ReadonlyMap<string, string> = new Map([
  // sing-mux, `client.go`: one name for its three protocols.
  [
    'sp.mux.sing-box.arpa',
    `${SING_MUX}, which Weir does not support: switch "multiplex" ("smux" in Clash) off in the client`,
  ],
  // Xray-core, `common/mux/client.go`. VMess and VLESS have a command for it.
  [
    'v1.mux.cool',
    `${MUX_COOL}, which Weir supports with VMess and VLESS alone: switch "mux" off in the client`,
  ],
  // sing, `common/uot`: versions 2 and 1.
  ...['sp.v2.udp-over-tcp.arpa', 'sp.udp-over-tcp.arpa'].map(
    (name) =>
      [
        name,
        `${UDP_OVER_TCP}, which Weir does not support: switch "udp_over_tcp" ("udp-over-tcp" in Clash) off in the client`,
      ] as const,
  ),
]);

/** Returns the feature that a destination stands for, and the change that the client needs; `undefined` for a host. */
export const clientFeatureHint = (host: string): string | undefined => HINTS.get(host);
