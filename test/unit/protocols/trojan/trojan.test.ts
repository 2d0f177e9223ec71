import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { atOnce } from '../../../../src/net/time/turns.ts';
import { WeirError } from '../../../../src/errors.ts';
import { DialError } from '../../../../src/net/errors.ts';
import { FIRST_PAYLOAD_MS, HANDSHAKE_MS } from '../../../../src/net/time/time-limits.ts';
import { createTrojanInbound } from '../../../../src/protocols/trojan/inbound.ts';
import { createTrojanOutbound } from '../../../../src/protocols/trojan/outbound.ts';
import { MAX_DATA, TrojanFraming } from '../../../../src/protocols/trojan/packet-framing.ts';
import type { TrojanUser } from '../../../../src/protocols/trojan/settings.ts';
import { trojanKey } from '../../../../src/protocols/trojan/key.ts';
import { until } from '../../../conformance/packet-link.ts';
import { chunksOf, cuts, nearly } from '../../../support/data/chunks.ts';
import {
  bytes,
  connectTo,
  neverAborted,
  onLoopback,
} from '../../../support/protocols/socks/harness.ts';
import { readAll, readExactly } from '../../../support/read-link.ts';
import { clientOf, serverOf, settle } from '../../../support/protocols/tunnel-harness.ts';

const PASSWORD = 'correct horse';
/** What v2ray 4.34 sends for that password. */
const KEY = 'be678ecb0e1e13fd0c1440995f43225ca83aeb66717e8ea790b867f2';
const CONNECT = bytes(`'${KEY}' 0d0a 01 03 09 'a.example' 0050 0d0a 'hello'`);
const ASSOCIATE = bytes(`'${KEY}' 0d0a 03 01 c0000207 0035 0d0a`);
const QUERY = bytes(`01 c0000207 0035 0005 0d0a 'query'`);
const SIX = bytes(`04 20010db8000000000000000000000007 0036 0003 0d0a 'six'`);

const server = (
  users: readonly TrojanUser[] = [{ password: PASSWORD, email: 'mia@example.com' }],
) => serverOf((context) => atOnce(createTrojanInbound({ users }, context)));
const client = () => clientOf((context) => createTrojanOutbound({ password: PASSWORD }, context));

describe('a Trojan server', () => {
  test('connects who knows a password, and labels the flow', async () => {
    const fixture = server();
    const { client, served } = connectTo(fixture);
    await client.write(CONNECT);
    await client.closeWrite();
    assert.equal(String(await readAll(client)), 'hello');
    assert.equal(await served, undefined);
    const [request] = fixture.dispatcher.streams;
    assert.deepEqual(request?.destination, { host: 'a.example', port: 80 });
    assert.equal(request?.sniff, true);
    assert.ok(request?.origin.standing?.stands);
    assert.deepEqual(request.origin, {
      inbound: 'in',
      source: onLoopback.remote?.host,
      user: 'mia@example.com',
      session: fixture.session,
      standing: request.origin.standing,
    });
    assert.equal(fixture.clock.timers, 0);
  });

  test('has no label for a user without one; of equal passwords the later counts', async () => {
    for (const [emails, label] of [
      [[''], undefined],
      [['first', 'second'], 'second'],
      [['first', ''], undefined],
    ] as const) {
      const fixture = server(emails.map((email) => ({ password: PASSWORD, email })));
      const { client, served } = connectTo(fixture);
      await client.write(CONNECT);
      await client.closeWrite();
      await served;
      assert.equal(fixture.dispatcher.streams[0]?.origin.user, label);
    }
  });

  test('takes any string for a password, the empty one too', async () => {
    for (const password of ['', 'ü€', 'x'.repeat(1000)]) {
      const fixture = server([{ password, email: password.slice(0, 3) }]);
      const { client, served } = connectTo(fixture);
      await client.write(Buffer.concat([trojanKey(password), CONNECT.subarray(56)]));
      await client.closeWrite();
      assert.equal(await served, undefined);
    }
  });

  test('carries datagrams with their peers', async () => {
    const fixture = server();
    const { client, served } = connectTo(fixture);
    await client.write(Buffer.concat([ASSOCIATE, QUERY, SIX]));
    assert.deepEqual(
      await readExactly(client, QUERY.length + SIX.length),
      Buffer.concat([QUERY, SIX]),
    );
    fixture.dispatcher.answerFrom = { host: '198.51.100.1', port: 7 };
    await client.write(QUERY);
    assert.deepEqual(
      await readExactly(client, 11 + 5),
      bytes(`01 c6336401 0007 0005 0d0a 'query'`),
    );
    await client.closeWrite();
    assert.equal(await served, undefined);
    assert.equal(fixture.dispatcher.associations[0]?.origin.user, 'mia@example.com');
  });

  test('closes unauthenticated connections without a response, whatever they sent', async () => {
    const rejected: [Buffer, RegExp][] = [
      [bytes(`'${KEY.replace('b', 'c')}' 0d0a`), /^trojan: invalid user$/],
      [bytes(`'${KEY.toUpperCase()}' 0d0a 01 01 7f000001 0050 0d0a`), /^trojan: invalid user$/],
      [
        Buffer.from(`GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: probe/1.0\r\n\r\n`),
        /invalid user/,
      ],
      [bytes(`'${KEY}' 0d0d 01 01 7f000001 0050 0d0a`), /CRLF/],
      [bytes(`'${KEY}' 0d0a 02 01 7f000001 0050 0d0a`), /unknown command 2/],
      [bytes(`'${KEY}' 0d0a 01 02 7f000001 0050 0d0a`), /unknown address type/],
      [bytes(`'${KEY}' 0d0a 01 03 00 0050 0d0a`), /an invalid host name/],
      [bytes(`'${KEY}' 0d0a 01 01 7f000001 0050 0a0a`), /CRLF/],
    ];
    for (const [first, reason] of rejected) {
      const fixture = server();
      const { client, served } = connectTo(fixture);
      await client.write(Buffer.concat([first, Buffer.alloc(3000)]));
      await client.closeWrite();
      assert.equal(await client.read(), undefined, 'a clean end, and nothing before it');
      assert.match(String((await served)?.message), reason);
      assert.equal(fixture.dispatcher.streams.length, 0);
      assert.equal(fixture.clock.timers, 0);
    }
  });

  test('rejects every client when it has no users', async () => {
    const { client, served } = connectTo(server([]));
    await client.write(CONNECT);
    await client.closeWrite();
    assert.equal(await client.read(), undefined);
    assert.match(String(await served), /trojan: invalid user/);
  });

  test('waits 10 s for a request, and 2 s for a rejected client to close', async () => {
    const fixture = server();
    const { client, served } = connectTo(fixture);
    await client.write(CONNECT.subarray(0, 70));
    await settle();
    fixture.clock.advance(HANDSHAKE_MS);
    assert.equal(await client.read(), undefined);
    await settle();
    fixture.clock.advance(2_000);
    assert.match(String(await served), /the Trojan handshake took longer than 10 s/);
    await client.closed;
    assert.equal(fixture.clock.timers, 0);
  });

  test('cuts a client whose destination is not reached', async () => {
    const fixture = server();
    fixture.dispatcher.failure = new DialError('refused', 'nothing listens');
    const { client, served } = connectTo(fixture);
    await client.write(CONNECT);
    await assert.rejects(client.read(), /nothing listens/);
    assert.equal(await served, undefined);
  });

  test('survives any bytes in any pieces, and connects only who it should', async () => {
    await fc.assert(
      fc.asyncProperty(nearly(CONNECT, ASSOCIATE, QUERY, SIX), cuts, async (all, at) => {
        const fixture = server();
        const { client, served } = connectTo(fixture);
        const heard = readAll(client).catch(() => undefined);
        for (const chunk of chunksOf(all, at)) {
          await (client.write(chunk) ?? Promise.resolve()).catch(() => undefined);
        }
        await client.closeWrite().catch(() => undefined);
        const error = await served;
        assert.ok(error === undefined || error instanceof WeirError, String(error));
        const known = all.subarray(0, 56).toString('latin1') === KEY;
        const requests = fixture.dispatcher.streams.length + fixture.dispatcher.associations.length;
        assert.ok(known || requests === 0);
        if (requests === 0) assert.equal((await heard)?.length, 0);
        client.destroy();
      }),
      { numRuns: 300 },
    );
  });
});

describe('a Trojan client', () => {
  test('sends its request in one piece with the first payload', async () => {
    const { outbound, clock, dialled } = client();
    const link = await outbound.connect({ host: 'a.example', port: 80 }, neverAborted());
    await link.write(Buffer.from('hello'));
    const [far] = dialled;
    assert.ok(far);
    assert.deepEqual(await readExactly(far, CONNECT.length), CONNECT);
    await far.write(Buffer.from('answer'));
    await far.closeWrite();
    assert.equal(String(await readAll(link)), 'answer');
    assert.equal(clock.timers, 0);
  });

  test('sends its request alone when the server is to speak first', async () => {
    const { outbound, clock, dialled } = client();
    await outbound.connect({ host: 'a.example', port: 80 }, neverAborted());
    clock.advance(FIRST_PAYLOAD_MS);
    const [far] = dialled;
    assert.ok(far);
    const request = CONNECT.subarray(0, -5);
    assert.deepEqual(await readExactly(far, request.length), request);
  });

  test('names the peer of the first datagram that it sends in the request of an association', async () => {
    const { outbound, clock, dialled } = client();
    const link = await outbound.associate(neverAborted());
    const [far] = dialled;
    assert.ok(far);
    // Until then the response is not known, and what cannot be sent is not named.
    clock.advance(HANDSHAKE_MS);
    link.send({ data: Buffer.alloc(MAX_DATA + 1), peer: { host: '198.51.100.1', port: 1 } });
    link.send({ data: Buffer.alloc(1), peer: { host: 'x'.repeat(256), port: 1 } });
    link.send({ data: Buffer.from('q'), peer: { host: 'a.example', port: 53 } });
    const peer = `03 09 'a.example' 0035`;
    const expected = bytes(`'${KEY}' 0d0a 03 ${peer} 0d0a ${peer} 0001 0d0a 'q'`);
    assert.deepEqual(await readExactly(far, expected.length), expected);
    assert.equal(link.dropped, 2);
  });

  test('says nothing on a connection on which no datagram is sent', async () => {
    const { outbound, clock, dialled } = client();
    const link = await outbound.associate(neverAborted());
    const [far] = dialled;
    assert.ok(far);
    const heard = readAll(far).catch(() => Buffer.alloc(0));
    await settle();
    link.close();
    assert.equal((await heard).length, 0);
    assert.equal(clock.timers, 0);
  });

  test('sends datagrams to any peer on one connection', async () => {
    const { outbound, dialled } = client();
    const link = await outbound.associate(neverAborted());
    link.send({ data: Buffer.from('query'), peer: { host: '192.0.2.7', port: 53 } });
    link.send({ data: Buffer.from('six'), peer: { host: '2001:db8::7', port: 54 } });
    const [far] = dialled;
    assert.ok(far);
    const expected = Buffer.concat([ASSOCIATE, QUERY, SIX]);
    assert.deepEqual(await readExactly(far, expected.length), expected);
    await far.write(bytes(`03 09 'a.example' 0035 0002 0d0a 'ok'`));
    const answer = await link.receive();
    assert.deepEqual([String(answer?.data), answer?.peer], ['ok', { host: 'a.example', port: 53 }]);
    far.destroy(new Error('gone'));
    await assert.rejects(link.receive(), /gone/);
  });

  test('does not dial for a name that does not fit', async () => {
    const { outbound, dialled } = client();
    await assert.rejects(
      outbound.connect({ host: 'x'.repeat(256), port: 1 }, neverAborted()),
      DialError,
    );
    assert.equal(dialled.length, 0);
  });

  test('passes on why its server was not reached', async () => {
    const { outbound } = clientOf(
      (context) => createTrojanOutbound({ password: PASSWORD }, context),
      () => Promise.reject(new DialError('timed_out', 'no answer')),
    );
    const failed = { code: 'timed_out' };
    await assert.rejects(outbound.connect({ host: 'a.example', port: 1 }, neverAborted()), failed);
    await assert.rejects(outbound.associate(neverAborted()), failed);
  });

  test('is understood by the server', async () => {
    const fixture = server();
    const { outbound } = clientOf(
      (context) => createTrojanOutbound({ password: PASSWORD }, context),
      () => {
        const { client: link } = connectTo(fixture);
        return Promise.resolve({ link, wire: { bytesRead: 0, bytesWritten: 0 }, ...onLoopback });
      },
    );
    const link = await outbound.connect({ host: '192.0.2.7', port: 80 }, neverAborted());
    await link.write(Buffer.from('there and back'));
    await link.closeWrite();
    assert.equal(String(await readAll(link)), 'there and back');
    const packets = await outbound.associate(neverAborted());
    const peer = { host: 'b.example', port: 53 };
    packets.send({ data: Buffer.from('q'), peer });
    assert.deepEqual((await packets.receive())?.peer, peer);
    packets.close();
    await until(() => fixture.dispatcher.associations.length === 1);
  });
});

describe('the framing of Trojan datagrams', () => {
  const outcome = (chunks: readonly Uint8Array[]): unknown[] => {
    const framing = new TrojanFraming();
    const seen: unknown[] = [];
    try {
      for (const chunk of chunks) {
        for (const packet of framing.decode(chunk)) {
          seen.push(
            packet && { data: Buffer.from(packet.data).toString('hex'), peer: packet.peer },
          );
        }
      }
    } catch (error) {
      assert.ok(error instanceof WeirError, String(error));
      seen.push(error.message);
    }
    return seen;
  };

  test('reads the same of any bytes in any pieces', () => {
    const bad = bytes(`03 03 'a b' 0035 0001 0d0a 'x'`);
    fc.assert(
      fc.property(nearly(QUERY, SIX, bad), cuts, (all, at) => {
        assert.deepEqual(outcome(chunksOf(all, at)), outcome([all]));
      }),
      { numRuns: 2_000 },
    );
  });

  test('rejects a datagram header that does not end in CR LF', () => {
    for (const end of ['0d0d', '0a0a', '0a0d', '0000']) {
      const header = bytes(`01 c0000207 0035 0005 ${end} 'query'`);
      assert.throws(() => [...new TrojanFraming().decode(header)], /without CRLF/, end);
    }
  });

  test('skips a datagram for a name that is none', () => {
    assert.deepEqual(outcome([Buffer.concat([bytes(`03 03 'a b' 0035 0001 0d0a 'x'`), QUERY])]), [
      undefined,
      { data: Buffer.from('query').toString('hex'), peer: { host: '192.0.2.7', port: 53 } },
    ]);
  });

  test('writes nothing longer than v2ray reads', () => {
    const framing = new TrojanFraming();
    const peer = { host: '192.0.2.7', port: 53 };
    assert.ok(framing.encode({ data: Buffer.alloc(MAX_DATA), peer }));
    assert.equal(framing.encode({ data: Buffer.alloc(MAX_DATA + 1), peer }), undefined);
    assert.equal(framing.encode({ data: Buffer.alloc(1), peer: { host: '', port: 1 } }), undefined);
  });
});
