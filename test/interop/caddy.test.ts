import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { portOf, type Address } from '../support/data/address.ts';
import { AioquicClient, withoutAioquic, type AioquicRequest } from '../support/programs/aioquic.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { startPeer, without, type Peer } from '../support/programs/peers.ts';
import { socksConnect, SocksRefused } from '../support/peers/socks-client.ts';
import { certificate, SERVER_NAME } from '../support/ways/certificate.ts';
import { Weir } from '../support/process/weir.ts';

const PAGE = '404 page not found\n';
const { certFile, keyFile, caFile } = certificate();

/** Caddy with one response to whatever is requested, over HTTP/3 too. */
function startCaddy(status: number): Promise<Peer> {
  const command = async ([port]: readonly number[], folder: string): Promise<string[]> => {
    const respond = {
      handler: 'static_response',
      status_code: status,
      headers: { 'Content-Type': ['text/plain; charset=utf-8'] },
      body: PAGE,
    };
    const server = {
      listen: [`127.0.0.1:${port}`],
      protocols: ['h1', 'h2', 'h3'],
      automatic_https: { disable: true },
      tls_connection_policies: [{}],
      routes: [{ handle: [respond] }],
    };
    const config = {
      admin: { disabled: true },
      storage: { module: 'file_system', root: folder },
      apps: {
        http: { servers: { only: server } },
        tls: { certificates: { load_files: [{ certificate: certFile, key: keyFile }] } },
      },
    };
    const file = join(folder, 'caddy.json');
    await writeFile(file, JSON.stringify(config));
    return ['run', '--config', file];
  };
  // It binds the TCP port first, and the UDP port of HTTP/3 after that.
  return startPeer('caddy', 1, command, { ready: /serving initial configuration/ });
}

test('a web server in place of a Hysteria server', { skip: without('caddy') }, async (t) => {
  for (const status of [200, 404]) {
    await t.test(`that responds with ${status} has rejected the password`, async () => {
      await using caddy = await startCaddy(status);
      const out =
        `[[outbound]]\ntag = "out"\nprotocol = "hysteria2"\nserver = "127.0.0.1"\n` +
        `port = ${portOf(caddy.address)}\n[outbound.settings]\npassword = "sesame"\n` +
        `server_name = "${SERVER_NAME}"\nca_file = "${caFile}"\n`;
      await using weir = await Weir.start(socksIn() + out, { env: { RUST_LOG: 'debug' } });
      const target = { host: '127.0.0.1', port: 1 };
      await assert.rejects(socksConnect(weir.address('socks'), target), SocksRefused);
      const text = `by out: 127\\.0\\.0\\.1:\\d+: the server rejected the password \\(HTTP status ${status}\\)`;
      const reason = new RegExp(text);
      await weir.child.until('the reason', ({ stderr }) => reason.test(stderr) || undefined);
    });
  }
});

const PROBES: readonly AioquicRequest[] = [
  {},
  { path: '/auth' },
  { method: 'POST', path: '/auth', body: 'x=1' },
  { method: 'POST', path: '/auth', authority: 'hysteria' },
  { method: 'PUT', path: '/a/../b', body: 'x' },
  { method: 'DELETE', path: '/%00?%ff' },
  { method: 'BREW', path: '/coffee' },
  { path: `/${'a'.repeat(8000)}` },
  { fields: { 'accept-encoding': 'gzip', range: 'bytes=0-3', 'if-none-match': '*' } },
  { before: '21036e6f69', streamType: 0x21 },
];

test(
  'a prober sees of Weir what it sees of Caddy with that page',
  { skip: without('caddy') || withoutAioquic },
  async () => {
    await using caddy = await startCaddy(404);
    const hysteriaIn =
      `[[inbound]]\ntag = "hy"\nprotocol = "hysteria2"\nport = 0\n[inbound.settings]\n` +
      `cert_file = "${certFile}"\nkey_file = "${keyFile}"\npassword = "sesame"\n`;
    await using weir = await Weir.start(hysteriaIn + freedom());
    const [expected, seen] = await Promise.all([probe(caddy.address), probe(weir.address('hy'))]);
    assert.deepEqual(seen, expected);
  },
);

/** Fields of only one of the two: its name, and what Caddy 2.6 leaves out over HTTP/3. */
const OWN = new Set(['server', 'alt-svc', 'date', 'content-length']);

async function probe(server: Address) {
  await using client = new AioquicClient(server);
  await client.connect();
  const responses = [];
  for (const request of PROBES) {
    const { headers, body, reset } = await client.request(request);
    responses.push({ fields: headers.filter(([name]) => !OWN.has(name)), body, reset });
  }
  await client.close();
  return responses;
}
