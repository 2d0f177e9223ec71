import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, type SecureVersion } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { portOf, type Address } from '../../support/data/address.ts';
import { without } from '../../support/programs/peers.ts';
import { Weir } from '../../support/process/weir.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { SECURE_PROTOCOLS, secureConfig } from '../support/secure-inbounds.ts';
import { startNginx } from '../support/web-servers.ts';

const PATIENCE_MS = 120_000;
const aiojarm = programOrSkip('tls-probes');
const sslscan = programOrSkip('sslscan');
const testssl = programOrSkip('testssl');

test(
  'JARM finds the fingerprint of nginx in every inbound over TLS and WebSocket',
  { skip: without('nginx') || aiojarm.skip },
  async () => {
    await using weir = await Weir.start(secureConfig());
    await using nginx = await startNginx();
    const tags = [...SECURE_PROTOCOLS, 'ws'];
    const ports = [nginx.address, ...tags.map((tag) => weir.address(tag))].map(portOf);
    const script = fileURLToPath(new URL('jarm.py', import.meta.url));
    const text = await outputOf(aiojarm.path, ['-B', script, ...ports.map(String)], PATIENCE_MS);
    const [expected = '', ...seen] = text.trim().split('\n');
    assert.match(expected, /^(?=.*[1-9a-f])[0-9a-f]{62}$/, 'nginx has a fingerprint');
    assert.deepEqual(
      tags.map((tag, i) => [tag, seen[i]]),
      tags.map((tag) => [tag, expected]),
    );
  },
);

/** Bytes of a ticket that a client of Node's gets. */
async function ticketLength(server: Address, version: SecureVersion): Promise<number | undefined> {
  const { ca } = certificate();
  const versions = { minVersion: version, maxVersion: version };
  const port = portOf(server);
  const socket = connect({ host: '127.0.0.1', port, servername: SERVER_NAME, ca, ...versions });
  // In TLS 1.3 it comes after the handshake.
  await once(socket, 'session');
  const ticket = socket.getTLSTicket();
  socket.destroy();
  return ticket?.length;
}

test(
  "a client gets tickets as long as nginx's from an inbound over TLS",
  { skip: without('nginx') },
  async () => {
    await using weir = await Weir.start(secureConfig());
    await using nginx = await startNginx();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const expected = await ticketLength(nginx.address, version);
      assert.ok(expected);
      for (const tag of ['trojan', 'ws']) {
        assert.equal(await ticketLength(weir.address(tag), version), expected, `${tag} ${version}`);
      }
    }
  },
);

/**
 * What only the OpenSSL 3.0 of Debian's nginx has: the OpenSSL 3.5 in Node leaves these groups out of its
 * default list, and with it nginx does too; ciphers with a short tag are below its security level.
 */
const ONLY_OLDER_OPENSSL = /ffdhe(?:4096|6144|8192)|-CCM8 /;

/** The findings of sslscan, without what names the connection. */
async function scan(port: number): Promise<string[]> {
  const args = ['--no-colour', '--show-sigs', '--sni-name=server.test', `127.0.0.1:${port}`];
  const text = await outputOf(sslscan.path, args, PATIENCE_MS);
  const lines = text.split('\n').filter((line) => !/^(?:Testing|Connected)/.test(line));
  return lines.filter((line) => !ONLY_OLDER_OPENSSL.test(line));
}

test(
  'sslscan finds in an inbound over TLS what it finds in nginx',
  { skip: without('nginx') || sslscan.skip },
  async () => {
    await using weir = await Weir.start(secureConfig());
    await using nginx = await startNginx();
    const expected = await scan(portOf(nginx.address));
    assert.ok(expected.some((line) => line.startsWith('Preferred TLSv1.3')));
    for (const tag of ['trojan', 'ws']) {
      assert.deepEqual(await scan(portOf(weir.address(tag))), expected, tag);
    }
  },
);

test('testssl.sh finds no known hole in an inbound over TLS', { skip: testssl.skip }, async (t) => {
  await using weir = await Weir.start(secureConfig());
  const args = ['--color', '0', '--quiet', '--warnings', 'off', '--openssl-timeout', '5'];
  const checks = ['--protocols', '--std', '--vulnerable'];
  const target = `127.0.0.1:${portOf(weir.address('trojan'))}`;
  const text = await outputOf(
    testssl.path,
    [...args, ...checks, target],
    400_000,
    // The number of findings; its own failures are above.
    (status) => status < 50,
  );
  // CBC is among nginx's default ciphers; OpenSSL pads in constant time.
  const found = text.split('\n').filter((line) => /NOT ok|VULNERABLE/.test(line));
  t.diagnostic(found.join('\n'));
  assert.match(text, /Heartbleed \(CVE-2014-0160\)\s+not vulnerable/);
  assert.deepEqual(
    found.filter((line) => !line.includes('LUCKY13')),
    [],
  );
  // The names that no web server has; it was how testssl.sh recognised the inbound.
  assert.doesNotMatch(text, /spdy|webrtc|ftp/);
});
