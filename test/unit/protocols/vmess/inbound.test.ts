import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { WeirError } from '../../../../src/errors.ts';
import { DialError, LinkClosedError, ProtocolError } from '../../../../src/net/errors.ts';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { SocketLink } from '../../../../src/net/sockets/node/socket-link.ts';
import { requestKeys, responseKeys } from '../../../../src/protocols/vmess/body/body-keys.ts';
import { BodyOpener, BodySealer } from '../../../../src/protocols/vmess/body/body-chunks.ts';
import { HANDSHAKE_MS } from '../../../../src/net/time/time-limits.ts';
import { RequestSealer } from '../../../../src/protocols/vmess/header/request.ts';
import type { RequestHeader } from '../../../../src/protocols/vmess/wire.ts';
import { ResponseDecoder } from '../../../../src/protocols/vmess/header/response.ts';
import { userKey } from '../../../../src/protocols/vmess/header/auth-id.ts';
import {
  connectTo,
  ID,
  inbound,
  KnownRandom,
  OTHER_ID,
  serve,
  settled,
  type InboundFixture,
} from '../../../support/protocols/vmess/harness.ts';
import { readAll } from '../../../support/read-link.ts';

const TARGET = { host: 'origin.example', port: 80 };
const NOW = Date.UTC(2026, 0, 1) / 1000;

interface Asked {
  readonly options?: number;
  readonly security?: 3 | 4;
  readonly request?: RequestHeader['request'];
  readonly id?: string;
  readonly seconds?: number;
  readonly seed?: string;
}

/** A client as the protocol has it, piece by piece. */
class Client {
  readonly header: RequestHeader;
  readonly request: Buffer;
  readonly sealer: BodySealer;
  readonly decoder: ResponseDecoder;

  constructor({ options = 0x0d, security = 3, request, id = ID, ...rest }: Asked = {}) {
    const random = new KnownRandom(rest.seed);
    this.header = {
      iv: random.bytes(16),
      key: random.bytes(16),
      answer: 200,
      options,
      security,
      request: request ?? { command: 1, destination: TARGET },
    };
    const sealed = new RequestSealer(userKey(id), random).seal(this.header, rest.seconds ?? NOW);
    assert.ok(sealed);
    this.request = sealed;
    this.sealer = new BodySealer(requestKeys(this.header), random);
    this.decoder = new ResponseDecoder(this.header);
  }

  say(text: string): Uint8Array {
    return this.sealer.stream(Buffer.from(text));
  }

  async hear(link: ByteLink): Promise<string> {
    return Buffer.from(this.decoder.push(await readAll(link))).toString();
  }
}

describe('a VMess inbound', () => {
  test('carries a stream under every option and cipher', async () => {
    for (const options of [0x01, 0x05, 0x0d, 0x11, 0x15, 0x1d]) {
      for (const security of [3, 4] as const) {
        const fixture = inbound([OTHER_ID, ID]);
        const { client, served } = connectTo(fixture);
        const peer = new Client({ options, security });
        await client.writeOutput([peer.request, peer.say('hello '), peer.say('there')]);
        await client.write(peer.sealer.end());
        assert.equal(await peer.hear(client), 'hello there');
        assert.equal(peer.decoder.ended, true);
        assert.equal(await served, undefined);
        const [request] = fixture.dispatcher.streams;
        assert.deepEqual(request?.destination, TARGET);
        assert.equal(request?.sniff, true);
        assert.ok(request?.origin.standing?.stands);
        assert.deepEqual(request.origin, {
          inbound: 'vmess-in',
          source: '127.0.0.1',
          user: undefined,
          session: request.origin.session,
          standing: request.origin.standing,
        });
      }
    }
  });

  test('takes the end of the carrier between chunks for the end of the stream', async () => {
    const { client, served } = connectTo(inbound());
    const peer = new Client();
    await client.writeOutput([peer.request, peer.say('hello')]);
    await client.closeWrite();
    assert.equal(await peer.hear(client), 'hello');
    assert.equal(await served, undefined);
  });

  test('cuts a stream whose carrier ends within a chunk', async () => {
    const { client, served } = connectTo(inbound());
    const peer = new Client();
    await client.writeOutput([peer.request, peer.say('hello').subarray(0, -1)]);
    await client.closeWrite();
    await assert.rejects(readAll(client), /middle of a message/);
    assert.match(String(await served), /middle of a message/);
  });

  test('without the option of an end closes the carrier', async () => {
    const { client, served } = connectTo(inbound());
    const peer = new Client({ options: 0 });
    await client.writeOutput([peer.request, peer.say('hello')]);
    await client.closeWrite();
    assert.equal(await peer.hear(client), 'hello');
    assert.equal(peer.decoder.ended, false);
    assert.equal(await served, undefined);
  });

  test('says nothing before there is something to say', async () => {
    const { client, served } = connectTo(inbound());
    const peer = new Client();
    await client.write(peer.request);
    const read = client.read();
    const silent = await Promise.race([read.then(() => false), settled().then(() => true)]);
    assert.equal(silent, true);
    await client.write(peer.sealer.end());
    const bytes = await read;
    assert.ok(bytes);
    assert.equal(peer.decoder.push(bytes).length, 0);
    assert.equal(peer.decoder.ended, true);
    await served;
  });

  test('cuts the connection when the destination is not reached', async () => {
    const fixture = inbound();
    fixture.dispatcher.failure = new DialError('refused', 'nothing listens');
    const { client, served } = connectTo(fixture);
    await client.write(new Client().request);
    await assert.rejects(client.read(), /nothing listens/);
    assert.equal(await served, undefined);
  });

  test('carries datagrams of one peer', async () => {
    for (const security of [3, 4] as const) {
      const fixture = inbound();
      const { client, served } = connectTo(fixture);
      const peer = new Client({ security, request: { command: 2, destination: TARGET } });
      const sizes = [1, 500, 1400, 60_000];
      const data = sizes.map((size) => Buffer.alloc(size, size & 0xff));
      await client.write(peer.request);
      for (const each of data) await client.write(peer.sealer.datagram(each));
      const ends: number[] = [];
      let got = Buffer.alloc(0);
      while (ends.length < sizes.length) {
        const chunk = await client.read();
        assert.ok(chunk);
        const run: number[] = [];
        const payload = peer.decoder.push(chunk, run);
        ends.push(...run.map((end) => end + got.length));
        got = Buffer.concat([got, payload]);
      }
      assert.deepEqual(got, Buffer.concat(data));
      assert.deepEqual(
        ends.map((end, index) => end - (ends[index - 1] ?? 0)),
        sizes,
      );
      await client.write(peer.sealer.end());
      assert.equal(await served, undefined);
      assert.equal(fixture.dispatcher.associations.length, 1);
    }
  });

  test('passes on no datagram whose source it cannot name', async () => {
    for (const [destination, answerFrom, passed] of [
      [{ host: '192.0.2.1', port: 53 }, { host: '192.0.2.2', port: 53 }, false],
      [{ host: '192.0.2.1', port: 53 }, { host: '192.0.2.1', port: 54 }, false],
      [{ host: 'dns.example', port: 53 }, { host: '192.0.2.2', port: 54 }, false],
      [{ host: 'dns.example', port: 53 }, { host: '192.0.2.2', port: 53 }, true],
      [{ host: '192.0.2.1', port: 53 }, { host: '192.0.2.1', port: 53 }, true],
    ] as const) {
      const fixture = inbound();
      fixture.dispatcher.answerFrom = answerFrom;
      const { client, served } = connectTo(fixture);
      const peer = new Client({ request: { command: 2, destination } });
      await client.writeOutput([peer.request, peer.sealer.datagram(Buffer.of(1))]);
      await settled();
      const link = fixture.dispatcher.associations[0]?.client;
      assert.equal(link?.dropped, passed ? 0 : 1);
      await client.closeWrite();
      await served;
    }
  });
});

describe('a rejected client', () => {
  const bad: readonly (readonly [string, RegExp, () => Uint8Array])[] = [
    ['an unknown user', /no user/, () => new Client({ id: OTHER_ID }).request],
    [
      'a client with another clock',
      /off by 121 s/,
      () => new Client({ seconds: NOW + 121 }).request,
    ],
    ['noise', /no user/, () => Buffer.alloc(500, 0x55)],
    [
      'a changed length',
      /not authentic, or too long/,
      () => {
        const { request } = new Client();
        request.writeUInt8((request[20] ?? 0) ^ 1, 20);
        return request;
      },
    ],
    [
      'a changed header',
      /header .* not authentic/,
      () => {
        const { request } = new Client();
        request.writeUInt8((request[60] ?? 0) ^ 1, 60);
        return request;
      },
    ],
    [
      'padding without masking',
      /padding without masking/,
      () => new Client({ options: 9 }).request,
    ],
    ['HTTP', /no user/, () => Buffer.from('GET / HTTP/1.1\r\nHost: example.com\r\n\r\n')],
  ];

  /** What the other end sees: the time until the connection ends, and what it receives. */
  async function watch(
    fixture: InboundFixture,
    pieces: readonly Uint8Array[],
  ): Promise<{ heard: number; after: number; error: Error | undefined }> {
    const { client, served } = connectTo(fixture);
    let heard = 0;
    let left = false;
    const reading = (async () => {
      for (let chunk = await client.read(); chunk; chunk = await client.read()) {
        heard += chunk.length;
      }
    })().catch(() => undefined);
    void served.then(() => (left = true));
    for (const piece of pieces) await client.write(piece);
    let after = 0;
    for (; !left && after <= 2 * HANDSHAKE_MS; after += 1000) {
      await settled();
      // oxlint-disable-next-line typescript/no-unnecessary-condition -- set by another task
      if (left) break;
      fixture.clock.advance(1000);
      await settled();
    }
    await reading;
    return { heard, after, error: await served };
  }

  for (const [name, reason, make] of bad) {
    test(`${name} hears nothing and is left when the time is over`, async () => {
      const seen = await watch(inbound(), [make()]);
      assert.deepEqual([seen.heard, seen.after], [0, HANDSHAKE_MS]);
      assert.match(String(seen.error), reason);
    });
  }

  test('cannot tell a bad request from one that is not complete', async () => {
    const { request } = new Client();
    for (const length of [0, 1, 15, 16, 17, 34, 42, 60, request.length - 1]) {
      const part = await watch(inbound(), [request.subarray(0, length)]);
      assert.deepEqual([part.heard, part.after], [0, HANDSHAKE_MS], `${length}`);
      assert.match(String(part.error), /took longer/);
    }
  });

  test('is read on, however much it says', async () => {
    const noise = Array.from({ length: 40 }, () => Buffer.alloc(16 * 1024, 0x55));
    const seen = await watch(inbound(), noise);
    assert.deepEqual([seen.heard, seen.after], [0, HANDSHAKE_MS]);
  });

  test('is left at once when it leaves', async () => {
    const { client, served } = connectTo(inbound());
    await client.write(Buffer.alloc(100, 0x55));
    await client.closeWrite();
    assert.match(String(await served), /no user/);
    await assert.rejects(readAll(client), LinkClosedError);
  });

  test('sees a plain end, not a reset, on a socket', async () => {
    const fixture = inbound();
    await using pair = await socketPair();
    const served = serve(fixture, new SocketLink(pair.accepted));
    pair.client.write(Buffer.alloc(100_000, 0x55));
    const ended = once(pair.client.resume(), 'end');
    // The handshake waits for the clock alone once it has read everything.
    while (pair.accepted.bytesRead < 100_000) await settled();
    fixture.clock.advance(HANDSHAKE_MS);
    await ended;
    assert.match(String(await served), /no user/);
  });

  test('said something before', async () => {
    const fixture = inbound();
    const peer = new Client();
    const first = connectTo(fixture);
    await first.client.writeOutput([peer.request, peer.sealer.end()]);
    await readAll(first.client);
    const again = await watch(fixture, [peer.request]);
    assert.deepEqual([again.heard, again.after], [0, HANDSHAKE_MS]);
    assert.match(String(again.error), /sent before/);
    assert.equal(fixture.dispatcher.streams.length, 1);
  });

  test('is every client when there are no users', async () => {
    const seen = await watch(inbound([]), [new Client().request]);
    assert.deepEqual([seen.heard, seen.after], [0, HANDSHAKE_MS]);
  });
});

async function socketPair(): Promise<
  AsyncDisposable & { readonly client: Socket; readonly accepted: Socket }
> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect({ host: '127.0.0.1', port: address.port });
  const [[socket]] = await Promise.all([accepted, once(client, 'connect')]);
  return {
    client,
    accepted: socket,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

test('an inbound survives any bytes after a good request', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200, size: 'max' }), fc.nat(), async (noise, n) => {
      const { client, served } = connectTo(inbound());
      const peer = new Client({
        options: [0x01, 0x05, 0x0d, 0x11, 0x1d][n % 5] ?? 1,
        request: n % 2 ? { command: 2, destination: TARGET } : { command: 1, destination: TARGET },
      });
      await client.writeOutput([peer.request, peer.say('x'), noise]);
      await client.closeWrite();
      await readAll(client).catch((error: unknown) => assert.ok(error instanceof WeirError));
      const error = await served;
      assert.ok(error === undefined || error instanceof ProtocolError, String(error));
    }),
    { numRuns: 60 },
  );
});

test('the answer of an inbound is that of the protocol', async () => {
  const { client, served } = connectTo(inbound());
  const peer = new Client();
  await client.writeOutput([peer.request, peer.say('hello'), peer.sealer.end()]);
  const bytes = await readAll(client);
  await served;
  // 18 bytes of length, 20 of header, then the body.
  using opener = new BodyOpener(responseKeys(peer.header));
  assert.equal(Buffer.from(opener.push(bytes.subarray(38))).toString(), 'hello');
});
