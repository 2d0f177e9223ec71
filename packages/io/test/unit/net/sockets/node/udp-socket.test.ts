import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UdpLink } from '../../../../../src/net/sockets/node/udp-socket.ts';
import { until } from '../../../../conformance/packet-link.ts';
import { hasIPv6 } from '../../../../../../../test/support/ports.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const loopback = (): Promise<UdpLink> => UdpLink.bind({ family: 4, address: '127.0.0.1' });

describe('a UDP link', () => {
  test('binds to the given address and knows the port that the kernel chose', async () => {
    const link = await loopback();
    assert.equal(link.local.host, '127.0.0.1');
    assert.ok(link.local.port > 0);
    link.close();
    await link.closed;
    const again = await UdpLink.bind({ family: 4, address: '127.0.0.1', port: link.local.port });
    assert.deepEqual(again.local, link.local, 'the port was free again once closed had resolved');
    again.close();
  });

  test('a port in use rejects the bind with the system error', async () => {
    const link = await loopback();
    await assert.rejects(UdpLink.bind({ family: 4, address: '127.0.0.1', port: link.local.port }), {
      code: 'EADDRINUSE',
    });
    link.close();
  });

  test('an address that is not local rejects the bind with the system error', async () => {
    await assert.rejects(UdpLink.bind({ family: 4, address: '192.0.2.1' }), {
      code: 'EADDRNOTAVAIL',
    });
  });

  test('a peer without a socket does not end the link', async () => {
    const [link, gone, peer] = await Promise.all([loopback(), loopback(), loopback()]);
    gone.close();
    await gone.closed;
    for (let round = 0; round < 3; round++) {
      link.send({ data: bytes('anyone?'), peer: gone.local });
      await new Promise((resolve) => setImmediate(resolve));
    }
    link.send({ data: bytes('hello'), peer: peer.local });
    assert.deepEqual(Buffer.from((await peer.receive())?.data ?? []).toString(), 'hello');
    link.close();
    peer.close();
    assert.equal(await link.closed, undefined);
  });

  test('names, port 0, the other family and oversize datagrams are dropped and counted', async () => {
    const link = await loopback();
    const data = bytes('x');
    link.send({ data, peer: { host: 'localhost', port: 53 } });
    link.send({ data, peer: { host: '127.0.0.1', port: 0 } });
    link.send({ data, peer: { host: '127.0.0.1', port: 65_536 } });
    link.send({ data, peer: { host: '::1', port: 53 } });
    link.send({ data: new Uint8Array(65_508), peer: link.local });
    assert.equal(link.dropped, 5);
    assert.equal(link.bytesWritten, 0);
    link.close();
  });

  test('a socket of one IPv6 address takes no IPv4 peers', { skip: !hasIPv6 }, async () => {
    const link = await UdpLink.bind({ family: 6, address: '::1' });
    link.send({ data: bytes('x'), peer: { host: '127.0.0.1', port: 53 } });
    assert.equal(link.dropped, 1);
    link.close();
  });

  test('an IPv4-mapped peer is the IPv4 peer', async () => {
    const [link, peer] = await Promise.all([loopback(), loopback()]);
    link.send({ data: bytes('mapped'), peer: { host: '::ffff:127.0.0.1', port: peer.local.port } });
    const packet = await peer.receive();
    assert.equal(Buffer.from(packet?.data ?? []).toString(), 'mapped');
    link.close();
    peer.close();
  });

  test('peers that take turns are each reached and each named', async () => {
    const [link, a, b] = await Promise.all([loopback(), loopback(), loopback()]);
    for (const text of ['1', '2', '3']) {
      link.send({ data: bytes(`a${text}`), peer: a.local });
      link.send({ data: bytes(`b${text}`), peer: b.local });
      for (const [peer, name] of [
        [a, 'a'],
        [b, 'b'],
      ] as const) {
        assert.equal(Buffer.from((await peer.receive())?.data ?? []).toString(), name + text);
        peer.send({ data: bytes('ok'), peer: link.local });
        assert.deepEqual((await link.receive())?.peer, peer.local);
      }
    }
    for (const each of [link, a, b]) each.close();
  });

  test('payload bytes are counted both ways', async () => {
    const [link, peer] = await Promise.all([loopback(), loopback()]);
    link.send({ data: new Uint8Array(100), peer: peer.local });
    await peer.receive();
    peer.send({ data: new Uint8Array(7), peer: link.local });
    await link.receive();
    link.close();
    await link.closed;
    assert.deepEqual([link.bytesWritten, link.bytesRead], [100, 7]);
    peer.close();
  });

  test('what the incoming hook drops neither waits in the queue nor counts as traffic', async () => {
    const [friend, outsider] = await Promise.all([loopback(), loopback()]);
    const link = await UdpLink.bind({
      family: 4,
      address: '127.0.0.1',
      queue: 1,
      incoming: (data, host, port) =>
        port === friend.local.port
          ? { data: data.subarray(1), peer: { host: `from ${host}`, port: 1 } }
          : undefined,
    });
    for (let round = 0; round < 3; round++) outsider.send({ data: bytes('no'), peer: link.local });
    await until(() => link.dropped === 3);
    friend.send({ data: bytes('yes'), peer: link.local });
    const packet = await link.receive();
    assert.equal(Buffer.from(packet?.data ?? []).toString(), 'es');
    assert.deepEqual(packet?.peer, { host: 'from 127.0.0.1', port: 1 });
    assert.equal(link.bytesRead, 3);
    for (const each of [link, friend, outsider]) each.close();
  });

  test('the queue is bounded in bytes as well as in datagrams', async () => {
    const [link, peer] = await Promise.all([loopback(), loopback()]);
    const large = new Uint8Array(60_000);
    for (let round = 1; round <= 20; round++) {
      peer.send({ data: large, peer: link.local });
      // The buffer of the kernel has room for three.
      await until(() => link.bytesRead === round * large.length);
    }
    assert.equal(link.dropped, 20 - Math.floor((1024 * 1024) / large.length));
    link.close();
    peer.close();
  });
});
