import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portOf, type Address } from './address.ts';
import { startPeer, type Peer } from './peers.ts';

/** Shadowsocks servers and clients of other people. */

export interface SsUser {
  readonly name: string;
  readonly password: string;
}

/** shadowsocks-libev as a server, TCP and UDP. */
export const startSsServer = (method: string, password: string): Promise<Peer> =>
  startPeer('ss-server', 1, ([port]) =>
    Promise.resolve(words(`-s 127.0.0.1 -p ${port} -u -t 60 -m ${method} -k`, password)),
  );

/** shadowsocks-libev as a client with a SOCKS5 listener, TCP and UDP. */
export const startSsLocal = (server: Address, method: string, password: string): Promise<Peer> =>
  startPeer('ss-local', 1, ([port]) => {
    const to = `-s 127.0.0.1 -p ${portOf(server)}`;
    return Promise.resolve(
      words(`${to} -b 127.0.0.1 -l ${port} -u -t 60 -m ${method} -k`, password),
    );
  });

/** Arguments, the last of which may have blanks in it. */
const words = (line: string, last: string): string[] => [...line.split(' '), last];

/** shadowsocks-rust as a server, TCP and UDP, with several users where the method has them. */
export const startRustServer = (
  method: string,
  password: string,
  users: readonly SsUser[] = [],
): Promise<Peer> =>
  startPeer('ssserver', 1, async ([port], folder) => {
    const file = join(folder, 'server.json');
    // Only the form with a list of servers has users.
    const server = { address: '127.0.0.1', port, method, password, mode: 'tcp_and_udp' };
    const config = { servers: [users.length > 0 ? { ...server, users } : server] };
    await writeFile(file, JSON.stringify(config));
    return ['-c', file];
  });

/** shadowsocks-rust as a client with a SOCKS5 listener, TCP and UDP. */
export const startRustLocal = (server: Address, method: string, password: string): Promise<Peer> =>
  startPeer('sslocal', 1, async ([port], folder) => {
    const file = join(folder, 'local.json');
    const config = {
      server: '127.0.0.1',
      server_port: portOf(server),
      local_address: '127.0.0.1',
      local_port: port,
      method,
      password,
      mode: 'tcp_and_udp',
    };
    await writeFile(file, JSON.stringify(config));
    return ['-c', file];
  });
