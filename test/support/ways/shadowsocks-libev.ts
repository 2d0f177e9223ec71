import { portOf } from '../data/address.ts';
import { startPeer, versionOf } from '../programs/peers.ts';
import { halfCloseLack } from './lack.ts';
import type { Program, Role } from './program.ts';
import { shadowsocksSecrets } from './secrets.ts';
import { isModern, isPlain, type Way } from './way.ts';

export const shadowsocksLibev: Program = {
  name: 'ss-libev',
  needs: { server: ['ss-server'], client: ['ss-local'] },
  version: () => versionOf('ss-server', ['-h'], /shadowsocks-libev (\S+)/),
  unable,
  lacks: () => halfCloseLack('shadowsocks-libev'),
  server: (way, { port } = {}) =>
    startPeer('ss-server', 1, ([own]) => words(`-s 127.0.0.1 -p ${own}`, way, 'server'), { port }),
  client: (way, server) =>
    startPeer('ss-local', 1, ([own]) =>
      words(`-s 127.0.0.1 -p ${portOf(server)} -b 127.0.0.1 -l ${own}`, way, 'client'),
    ),
};

function unable(way: Way, role: Role): string | undefined {
  if (way.protocol !== 'shadowsocks') return 'shadowsocks-libev has no other protocol';
  if (!isPlain(way)) return 'shadowsocks-libev has plain TCP only';
  if (isModern(way)) return 'shadowsocks-libev has no methods of 2022';
  return way.users === true && role === 'server'
    ? 'shadowsocks-libev has one user on a port'
    : undefined;
}

/** UDP included; the password may have blanks in it. */
function words(line: string, way: Way, role: Role): Promise<string[]> {
  const password = shadowsocksSecrets(way)[role];
  return Promise.resolve([...`${line} -u -t 60 -m ${way.cipher} -k`.split(' '), password]);
}
