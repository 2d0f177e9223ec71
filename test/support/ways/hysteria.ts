import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostPort, type Address } from '../data/address.ts';
import { startPeer, versionOf, type Peer, type PeerOptions } from '../programs/peers.ts';
import { certificate, SERVER_NAME } from './certificate.ts';
import { halfCloseLack } from './lack.ts';
import type { Program } from './program.ts';
import { clientSecrets, OBFS_PASSWORD, PASSWORD } from './secrets.ts';
import type { Way } from './way.ts';

/** The reference program of Hysteria 2. */
export const hysteria: Program = {
  name: 'hysteria',
  needs: { server: ['hysteria'], client: ['hysteria'] },
  version: () => versionOf('hysteria', ['version'], /^Version:\s+v(\S+)/m),
  unable: ({ protocol }) =>
    protocol === 'hysteria2' ? undefined : 'hysteria has no other protocol',
  lacks: () => halfCloseLack('hysteria'),
  server(way, { port } = {}) {
    const { certFile: cert, keyFile: key } = certificate();
    const config = (listen: string): object => ({
      listen,
      tls: { cert, key },
      auth: { type: 'password', password: PASSWORD },
      ...obfuscation(way),
    });
    return start('server', config, { port, ready: /server up and running/ });
  },
  client(way, server) {
    const config = (listen: string): object => ({
      server: hostPort(server),
      auth: clientSecrets(way).password,
      tls: { sni: SERVER_NAME, ca: certificate().caFile },
      socks5: { listen },
      ...obfuscation(way),
    });
    return start('client', config);
  },
};

const obfuscation = ({ obfuscated = false }: Way): object =>
  obfuscated ? { obfs: { type: 'salamander', salamander: { password: OBFS_PASSWORD } } } : {};

function start(
  role: 'server' | 'client',
  config: (listen: string) => object,
  options: PeerOptions = {},
): Promise<Peer> {
  const command = async ([port = 0]: readonly number[], folder: string): Promise<string[]> => {
    const file = join(folder, 'config.json');
    const address: Address = { host: '127.0.0.1', port };
    await writeFile(file, JSON.stringify(config(hostPort(address))));
    return [role, '-c', file, '--disable-update-check'];
  };
  return startPeer('hysteria', 1, command, options);
}
