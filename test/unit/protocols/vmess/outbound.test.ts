import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError } from '../../../../src/net/errors.ts';
import type { ByteLink, PacketLink } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { MAX_LINKS } from '../../../../src/protocols/outbounds/destination-links.ts';
import { FIRST_PAYLOAD_MS } from '../../../../src/net/time/time-limits.ts';
import {
  inbound,
  neverAborted,
  OTHER_ID,
  outbound,
  serve,
  settled,
  type InboundFixture,
  type OutboundOptions,
  type Served,
} from '../../../support/protocols/vmess/harness.ts';
import { readAll } from '../../../support/read-link.ts';

const TARGET = { host: 'origin.example', port: 80 };

interface Pair {
  readonly connect: () => Promise<ByteLink>;
  readonly associate: () => Promise<PacketLink>;
  readonly server: InboundFixture;
  readonly served: Served[];
  readonly dialled: ByteLink[];
}

/** An outbound that dials an inbound, on one clock. */
function joined(options: OutboundOptions = {}): Pair {
  const server = inbound();
  const served: Served[] = [];
  const dialled: ByteLink[] = [];
  const dial = (): ByteLink => {
    const [near, far] = linkPair();
    served.push(serve(server, far));
    dialled.push(near);
    return near;
  };
  const { outbound: out } = outbound(dial, { clock: server.clock, ...options });
  return {
    connect: () => out.connect(TARGET, neverAborted()),
    associate: () => out.associate(neverAborted()),
    server,
    served,
    dialled,
  };
}

describe('a VMess outbound', () => {
  for (const security of ['aes-128-gcm', 'chacha20-poly1305'] as const) {
    test(`carries streams both ways: ${security}`, async () => {
      const { connect, server, served } = joined({ security });
      const link = await connect();
      const body = Buffer.alloc(300_000, 7);
      const heard = readAll(link);
      for (let at = 0; at < body.length; at += 50_000) {
        await link.write(body.subarray(at, at + 50_000));
      }
      await link.closeWrite();
      assert.deepEqual(await heard, body);
      assert.equal(await served[0], undefined);
      assert.equal(await link.closed, undefined);
      assert.deepEqual(server.dispatcher.streams[0]?.destination, TARGET);
    });
  }

  test('sends its request with the first payload, in one write', async () => {
    const [near, far] = linkPair();
    const { outbound: out, clock } = outbound(() => near);
    const link = await out.connect(TARGET, neverAborted());
    clock.advance(FIRST_PAYLOAD_MS - 1);
    await link.write(Buffer.from('hello'));
    const first = await far.read();
    // 16 + 18 + 8, a header of at least 38 + 18 + 4 with its tag, a chunk with its length.
    assert.ok(first && first.length > 42 + 60 + 16 + 2 + 16);
    clock.advance(1);
    assert.equal(clock.timers, 0);
  });

  test('sends its request alone when neither side has data', async () => {
    const [near, far] = linkPair();
    const { outbound: out, clock } = outbound(() => near);
    await out.connect(TARGET, neverAborted());
    clock.advance(FIRST_PAYLOAD_MS);
    const first = await far.read();
    assert.ok(first && first.length > 42 + 60 && first.length < 42 + 60 + 64);
  });

  test('forgets its request when the stream is destroyed', async () => {
    const [near, far] = linkPair();
    const { outbound: out, clock } = outbound(() => near);
    const link = await out.connect(TARGET, neverAborted());
    link.destroy();
    await settled();
    assert.equal(clock.timers, 0);
    await assert.rejects(far.read());
  });

  test('fails when the server is another, or has another account', async () => {
    const unknown = joined({ id: OTHER_ID });
    const link = await unknown.connect();
    await link.write(Buffer.from('hello'));
    const heard = assert.rejects(readAll(link));
    await settled();
    unknown.server.clock.advance(10_000);
    await heard;
    assert.match(String(await unknown.served[0]), /no user/);

    const [near, far] = linkPair();
    const { outbound: out } = outbound(() => near);
    const other = await out.connect(TARGET, neverAborted());
    await far.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await assert.rejects(other.read(), /under another key/);
    assert.match(String((await near.closed)?.message), /under another key/);
  });

  test('fails when the server ends before it has answered', async () => {
    const [near, far] = linkPair();
    const { outbound: out } = outbound(() => near);
    const link = await out.connect(TARGET, neverAborted());
    await far.closeWrite();
    await assert.rejects(link.read(), /middle of a message/);
  });

  test('refuses a name that does not fit, and lets the carrier go', async () => {
    const [near] = linkPair();
    const { outbound: out } = outbound(() => near);
    const connecting = out.connect({ host: 'a'.repeat(256), port: 1 }, neverAborted());
    await assert.rejects(connecting, (error: unknown) => error instanceof DialError);
    await near.closed;
  });

  test('passes on that its server is not reached', async () => {
    const failure = new DialError('refused', 'nothing listens');
    const { outbound: out } = outbound(() => Promise.reject(failure));
    await assert.rejects(out.connect(TARGET, neverAborted()), failure);
  });
});

describe('datagrams through VMess', () => {
  const text = async (link: PacketLink): Promise<[string, string, number]> => {
    const packet = await link.receive();
    assert.ok(packet);
    return [Buffer.from(packet.data).toString(), packet.peer.host, packet.peer.port];
  };

  test('go to every peer by a connection of its own, and come back from it', async () => {
    const { associate, server, served, dialled } = joined();
    const link = await associate();
    const peers = ['192.0.2.1', '2001:db8::1', 'dns.example'].map((host) => ({ host, port: 53 }));
    for (const round of [1, 2]) {
      for (const peer of peers) {
        link.send({ data: Buffer.from(`${round} to ${peer.host}`), peer });
        assert.deepEqual(await text(link), [`${round} to ${peer.host}`, peer.host, 53]);
      }
    }
    assert.equal(dialled.length, 3);
    link.close();
    await Promise.all(served);
    assert.equal(server.dispatcher.associations.length, 3);
    assert.equal(await link.receive(), undefined);
    assert.equal(await link.closed, undefined);
  });

  test('that are empty or too long are dropped and counted', async () => {
    const { associate } = joined();
    const link = await associate();
    const peer = { host: '192.0.2.1', port: 7 };
    link.send({ data: Buffer.from('a'), peer });
    await text(link);
    for (const size of [0, 65_500]) link.send({ data: Buffer.alloc(size), peer });
    assert.equal(link.dropped, 2);
    link.send({ data: Buffer.from('b'), peer });
    assert.equal((await text(link))[0], 'b');
    link.close();
    link.send({ data: Buffer.from('c'), peer });
    assert.equal(link.dropped, 3);
  });

  test('leave a connection that is silent, and open it again', async () => {
    const { associate, server, dialled } = joined();
    const link = await associate();
    const peer = { host: '192.0.2.1', port: 7 };
    link.send({ data: Buffer.from('a'), peer });
    await text(link);
    server.clock.advance(310_000);
    await settled();
    assert.notEqual(await Promise.race([dialled[0]?.closed, settled().then(() => 'open')]), 'open');
    link.send({ data: Buffer.from('b'), peer });
    assert.equal((await text(link))[0], 'b');
    assert.equal(dialled.length, 2);
    link.close();
    assert.equal(server.clock.timers, 0);
  });

  test('have a bounded number of connections', async () => {
    const { associate, dialled } = joined();
    const link = await associate();
    for (let port = 1; port <= MAX_LINKS + 10; port++) {
      link.send({ data: Buffer.from('a'), peer: { host: '192.0.2.1', port } });
      await text(link);
    }
    await settled();
    const open = await Promise.all(
      dialled.map((carrier) =>
        Promise.race([carrier.closed.then(() => false), settled().then(() => true)]),
      ),
    );
    assert.equal(open.filter(Boolean).length, MAX_LINKS);
    link.close();
  });

  test('wait for a server that is not reached no longer than a second', async () => {
    let fails = 0;
    const { outbound: out, clock } = outbound(() => {
      fails++;
      return Promise.reject(new DialError('refused', 'nothing listens'));
    });
    const link = await out.associate(neverAborted());
    const peer = { host: '192.0.2.1', port: 7 };
    for (let i = 0; i < 5; i++) {
      link.send({ data: Buffer.from('a'), peer });
      await settled();
    }
    assert.equal(fails, 1);
    clock.advance(1000);
    link.send({ data: Buffer.from('a'), peer });
    await settled();
    assert.equal(fails, 2);
    assert.equal(link.dropped, 6);
    link.close();
  });
});
