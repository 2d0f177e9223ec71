import { portOf, type Address } from './address.ts';

/** The protocols that carry everything after one header, as pieces of configuration files. */

export const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
export const PASSWORD = 'correct horse';

export type Tunnel = 'trojan' | 'vless';

const USERS: Readonly<Record<Tunnel, string>> = {
  trojan: `users = [{ password = "${PASSWORD}", email = "mia@example.com" }]`,
  vless: `users = [{ id = "${ID}" }]`,
};

const CREDENTIALS: Readonly<Record<Tunnel, string>> = {
  trojan: `password = "${PASSWORD}"`,
  vless: `id = "${ID}"`,
};

/** An inbound of Weir with one user; `more` goes before its settings. */
export const tunnelIn = (protocol: Tunnel, tag: string = protocol, more = ''): string =>
  `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nport = 0\n${more}\n` +
  `[inbound.settings]\n${USERS[protocol]}\n`;

/** An outbound of Weir to a server that knows that user. */
export const tunnelOut = (
  protocol: Tunnel,
  server: Address,
  tag = 'out',
  settings = CREDENTIALS[protocol],
): string =>
  `[[outbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nserver = "127.0.0.1"\n` +
  `port = ${portOf(server)}\n[outbound.settings]\n${settings}\n`;

/** An inbound of v2ray with the same user. */
export const v2rayTunnelIn = (protocol: Tunnel): object => ({
  protocol,
  settings:
    protocol === 'vless'
      ? { clients: [{ id: ID }], decryption: 'none' }
      : { clients: [{ password: PASSWORD }] },
});

/** An outbound of v2ray as that user; with `mux` up to so many flows share a connection. */
export const v2rayTunnelOut = (protocol: Tunnel, to: Address, mux = 0): object => {
  const server = { address: '127.0.0.1', port: portOf(to) };
  return {
    protocol,
    settings:
      protocol === 'vless'
        ? { vnext: [{ ...server, users: [{ id: ID, encryption: 'none' }] }] }
        : { servers: [{ ...server, password: PASSWORD }] },
    mux: { enabled: mux > 0, concurrency: mux },
  };
};
