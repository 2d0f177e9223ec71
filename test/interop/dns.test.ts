import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import test, { type TestContext } from 'node:test';
import { type OwnedResolver, createResolver, loadExchange } from '@weir/proxy/dns';
import type { DnsSpec } from '@weir/proxy/spec';
import { systemClock } from '@weir/io/time';
import { portOf, type Address } from '../support/data/address.ts';
import {
  KEPT_REQUESTS,
  startDnsdist,
  startNginx,
  startUnbound,
} from '../support/peers/dns-peers.ts';
import { without } from '../support/programs/peers.ts';
import { silentLogger } from '@weir/base/log';
import { TestAuthority } from '../support/data/test-certificates.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['dns.example.test'] });
const ca = { file: 'ca.pem', certificates: [authority.cert] };
const otherAuthority = { file: 'ca.pem', certificates: [new TestAuthority('other').cert] };
const NAME = 'dns.example.test';

const loopback = (address: Address | undefined) => ({
  host: '127.0.0.1',
  port: address ? portOf(address) : 0,
});

/** What every backend has to get from the zone of `startUnbound`. */
async function resolvesTheZone(t: TestContext, spec: DnsSpec): Promise<void> {
  await loadExchange(spec);
  const resolver: OwnedResolver = createResolver(spec, { clock: systemClock, log: silentLogger });
  t.after(() => resolver.close());
  const resolve = (name: string, policy: Parameters<OwnedResolver['resolve']>[1] = 'auto') =>
    resolver.resolve(`${name}.example.test`, policy);
  assert.deepEqual(await resolve('both'), ['2001:db8::1', '192.0.2.1']);
  assert.deepEqual(await resolve('v4'), ['192.0.2.4']);
  // unbound leaves the aliases of its own data open, so they are asked on.
  assert.deepEqual(await resolve('www'), ['2001:db8::1', '192.0.2.1']);
  await assert.rejects(resolve('absent'), { code: 'not_found' });
  await assert.rejects(resolve('v4', 'ipv6_only'), { code: 'not_found' });
  // Too long for a datagram; of its addresses the cache keeps the first ones.
  assert.equal((await resolve('many', 'ipv6_only')).length, 16);
  // At once more than several connections of nginx or dnsdist carry here.
  for (let round = 0; round < 3; round++) {
    const names = Array.from({ length: 3 * KEPT_REQUESTS }, (_, index) => `n${round}-${index}`);
    await Promise.all(
      names.map((name) => assert.rejects(resolve(name, 'ipv4_only'), { code: 'not_found' })),
    );
  }
}

async function refuses(spec: DnsSpec): Promise<void> {
  await loadExchange(spec);
  const resolver = createResolver(spec, { clock: systemClock, log: silentLogger });
  await assert.rejects(resolver.resolve('both.example.test', 'auto'), { code: 'unresolved' });
  resolver.close();
}

test('unbound resolves a zone', { skip: without('unbound') }, async (t) => {
  await using unbound = await startUnbound(certificate);
  const [plain, tls, https] = unbound.addresses.map(loopback);
  assert.ok(plain && tls && https);
  await t.test('over UDP, and over TCP where a datagram is too small', async (t2) => {
    await resolvesTheZone(t2, { backend: 'udp', server: plain });
  });
  await t.test('over TLS', async (t2) => {
    await resolvesTheZone(t2, { backend: 'tls', server: tls, serverName: NAME, ca });
  });
  await t.test('over HTTPS', async (t2) => {
    await resolvesTheZone(t2, {
      backend: 'https',
      server: https,
      host: NAME,
      path: '/dns-query',
      ca,
    });
  });
  await t.test('rejects a certificate for another name or of an unknown authority', async () => {
    await refuses({ backend: 'tls', server: tls, serverName: 'other.test', ca });
    await refuses({ backend: 'tls', server: tls, serverName: NAME, ca: otherAuthority });
    await refuses({ backend: 'tls', server: tls, serverName: NAME, ca: undefined });
    const doh = { backend: 'https', server: https, path: '/dns-query' } as const;
    await refuses({ ...doh, host: 'other.test', ca });
    await refuses({ ...doh, host: NAME, ca: otherAuthority });
  });
});

test('nginx stands before a DNS server', { skip: without('nginx', 'unbound') }, async (t) => {
  await using unbound = await startUnbound(certificate);
  const bridge = await startBridge(t, portOf(unbound.address));
  for (const [version, name] of [
    ['h2', 'HTTP/2'],
    ['h1', 'HTTP/1.1'],
  ] as const) {
    await t.test(`with ${name}`, async (t2) => {
      await using nginx = await startNginx(certificate, bridge, version);
      const server = loopback(nginx.address);
      const doh = { backend: 'https', server, host: NAME, ca } as const;
      await resolvesTheZone(t2, { ...doh, path: '/dns-query' });
      // nginx has no such page and responds in HTML.
      await refuses({ ...doh, path: '/elsewhere' });
    });
  }
});

test(
  'dnsdist bounds the queries of a connection',
  { skip: without('dnsdist', 'unbound') },
  async (t) => {
    await using unbound = await startUnbound(certificate);
    for (const bound of [20, 2]) {
      await t.test(`with at most ${bound} on each`, async (t2) => {
        await using dnsdist = await startDnsdist(certificate, portOf(unbound.address), bound);
        const server = loopback(dnsdist.address);
        await resolvesTheZone(t2, { backend: 'tls', server, serverName: NAME, ca });
      });
    }
  },
);

/** An HTTP server that asks a DNS server over TCP what is posted to it. */
async function startBridge(t: TestContext, dnsPort: number): Promise<number> {
  const server = createServer((request, response) => {
    void bytesOf(request)
      .then((query) => askOverTcp(dnsPort, query))
      .then((message) => {
        response.writeHead(200, { 'content-type': 'application/dns-message' }).end(message);
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function askOverTcp(port: number, query: Buffer): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  socket.write(Buffer.concat([length, query]));
  let reply = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    reply = Buffer.concat([reply, chunk]);
    if (reply.length >= 2 && reply.length >= 2 + reply.readUInt16BE(0)) break;
  }
  return reply.subarray(2);
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
