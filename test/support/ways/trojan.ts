import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portOf, type Address } from '../data/address.ts';
import { startPeer, type Peer, versionOf } from '../programs/peers.ts';
import { certificate, SERVER_NAME } from './certificate.ts';
import { halfCloseLack } from './lack.ts';
import type { Program, Role, ServerOptions } from './program.ts';
import { clientSecrets, PASSWORD } from './secrets.ts';
import { carrierOf, type Way } from './way.ts';

/** Debian's trojan, without a fallback for unauthenticated clients. */
export const trojan: Program = {
  name: 'trojan',
  needs: { server: ['trojan'], client: ['trojan'] },
  version: () => versionOf('trojan', ['-v'], /trojan (\S+)/),
  unable,
  lacks: () => halfCloseLack('trojan'),
  server: (_way, options = {}) => start('server', PASSWORD, undefined, options),
  client: (way, server) => start('client', clientSecrets(way).password, server, {}),
};

function unable(way: Way): string | undefined {
  const { network, tls } = carrierOf(way);
  if (way.protocol !== 'trojan') return 'trojan has no other protocol';
  return network === 'tcp' && tls === true ? undefined : 'trojan has Trojan over TLS only';
}

function start(
  role: Role,
  password: string,
  upstream: Address | undefined,
  options: ServerOptions,
): Promise<Peer> {
  const { certFile, keyFile, caFile } = certificate();
  const shown = { cert: certFile, key: keyFile, key_password: '' };
  const wanted = { cert: caFile, verify: true, verify_hostname: true, sni: SERVER_NAME };
  const command = async ([port]: readonly number[], folder: string): Promise<string[]> => {
    const file = join(folder, 'trojan.json');
    const config = {
      run_type: role,
      local_addr: '127.0.0.1',
      local_port: port,
      remote_addr: '127.0.0.1',
      remote_port: upstream === undefined ? 9 : portOf(upstream),
      password: [password],
      log_level: 2,
      udp_timeout: 60,
      ssl: {
        ...(role === 'server' ? shown : wanted),
        alpn: ['http/1.1'],
        cipher: '',
        cipher_tls13: '',
        curves: '',
        dhparam: '',
        plain_http_response: '',
        reuse_session: true,
        session_ticket: false,
        session_timeout: 600,
      },
      tcp: { no_delay: true, keep_alive: true, reuse_port: false, fast_open: false },
    };
    await writeFile(file, JSON.stringify(config));
    return ['-c', file];
  };
  return startPeer('trojan', 1, command, options);
}
