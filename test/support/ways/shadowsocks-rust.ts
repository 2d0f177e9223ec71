import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portOf } from '../data/address.ts';
import { startPeer, versionOf } from '../programs/peers.ts';
import type { Program, Role } from './program.ts';
import { shadowsocksSecrets } from './secrets.ts';
import { isModern, isPlain, type Way } from './way.ts';

export const shadowsocksRust: Program = {
  name: 'ss-rust',
  needs: { server: ['ssserver'], client: ['sslocal'] },
  version: () => versionOf('ssserver', ['--version'], /shadowsocks (\S+)/),
  unable,
  lacks: () => [],
  server: (way, { port } = {}) =>
    startPeer(
      'ssserver',
      1,
      ([own], folder) => {
        const { server: password, users } = shadowsocksSecrets(way);
        const named = users.map((password, i) => ({ name: `user${i}`, password }));
        const server = { address: '127.0.0.1', port: own, method: way.cipher, password };
        const more = { mode: 'tcp_and_udp', ...(named.length > 0 ? { users: named } : {}) };
        // Only the form with a list of servers has users.
        return configured(folder, { servers: [{ ...server, ...more }] });
      },
      { port },
    ),
  client: (way, server) =>
    startPeer('sslocal', 1, ([own], folder) =>
      configured(folder, {
        server: '127.0.0.1',
        server_port: portOf(server),
        local_address: '127.0.0.1',
        local_port: own,
        method: way.cipher,
        password: shadowsocksSecrets(way).client,
        mode: 'tcp_and_udp',
      }),
    ),
};

function unable(way: Way, role: Role): string | undefined {
  if (way.protocol !== 'shadowsocks') return 'shadowsocks-rust has no other protocol';
  if (!isPlain(way)) return 'shadowsocks-rust has plain TCP only';
  if (way.cipher?.startsWith('xchacha20') === true) {
    return 'shadowsocks-rust is built without XChaCha20 unless asked';
  }
  return way.users === true && !isModern(way) && role === 'server'
    ? 'shadowsocks-rust has several users with the methods of 2022 only'
    : undefined;
}

async function configured(folder: string, config: object): Promise<string[]> {
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify(config));
  return ['-c', file];
}
