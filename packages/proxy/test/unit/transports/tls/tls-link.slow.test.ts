import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ProtocolError } from '@weir/io';
import { type ByteLink, freeChunk, linkPair, MORE } from '@weir/io/links';
import { systemClock, TurnShare } from '@weir/io/time';
import { StreamTls, streamTls, StreamTlsContext } from '@weir/io/tls';
import { GRANT_UNITS, GRANTS_A_TURN, UnitCost } from '../../../../../io/src/net/bounds/units.ts';
import { OpensslClient, OpensslServer } from '../../../../src/transports/tls/openssl.ts';
import { TlsLink } from '../../../../src/transports/tls/tls-link.ts';
import { byteLinkConformance, readAll } from '../../../../../io/test/conformance/byte-link.ts';
import { TLS_CLIENT, TLS_SERVER } from '../../../../../../test/support/links/carriers.ts';
import { preferHttp1 } from '../../../../src/transports/acceptor.ts';

const probe = streamTls();
if (probe.kind === 'unavailable') throw new Error(probe.reason);
const { library } = probe;

/** Of 23 bytes each (RFC 8446 §5.2): about one read. */
const RECORDS = 2_500;
const SERVER = { host: 'server.test', port: 443 };
const never = new AbortController().signal;

/** Two ends with TLS, and the links below them. */
interface Ends {
  readonly client: ByteLink;
  readonly server: ByteLink;
  readonly belowClient: ByteLink;
  readonly belowServer: ByteLink;
}

class Authorities {
  readonly client = new OpensslClient(library, TLS_CLIENT, [], systemClock);
  readonly server = new OpensslServer(library, TLS_SERVER, preferHttp1, systemClock);

  async connect(): Promise<Ends> {
    const [belowClient, belowServer] = linkPair();
    const [client, server] = await Promise.all([
      this.client.connect(belowClient, SERVER, never),
      this.server.accept(belowServer),
    ]);
    return { client, server, belowClient, belowServer };
  }
}

const connect = (): Promise<Ends> => new Authorities().connect();

byteLinkConformance('TLS by OpenSSL, seen from the client,', async () => {
  const { client, server } = await connect();
  return { left: client, right: server };
});
byteLinkConformance('TLS by OpenSSL, seen from the server,', async () => {
  const { client, server } = await connect();
  return { left: server, right: client };
});

test('an end of the connection below without close_notify is a truncated stream', async () => {
  const { client, server, belowServer } = await connect();
  await server.write(Buffer.from('half'));
  assert.equal(String(await client.read()), 'half');
  await belowServer.closeWrite();
  await assert.rejects(client.read(), (error) => {
    assert.ok(error instanceof ProtocolError);
    assert.match(error.message, /without close_notify/);
    return true;
  });
  assert.ok((await client.closed) instanceof ProtocolError);
});

test('handshakes share turns: one that has none left waits for a later one', async () => {
  const turns: (() => void)[] = [];
  const share = new TurnShare(1, (task) => void turns.push(task));
  const context = StreamTlsContext.server(library, TLS_SERVER, preferHttp1);
  const authorities = new Authorities();
  const lower = Array.from({ length: 3 }, () => linkPair());
  const clients = lower.map(([left]) => authorities.client.connect(left, SERVER, never));
  const links = lower.map(([, right]) => new TlsLink(right, new StreamTls(context, undefined)));
  let done = 0;
  const all = links.map(async (link) => {
    await link.handshake('client', never, share);
    done++;
  });
  await turn();
  let rounds = 0;
  for (; done < links.length; rounds++) {
    const before = done;
    for (const task of turns.splice(0)) task();
    await turn();
    await turn();
    assert.ok(done <= before + 1, 'one flight a turn');
  }
  // A handshake has two flights of the client.
  assert.ok(rounds >= 2 * links.length - 1, `${rounds} turns`);
  await Promise.all([...all, ...clients]);
  for (const link of [...links, ...(await Promise.all(clients))]) link.destroy();
});

/** A record that cannot be decrypted. */
const WRONG_RECORD = Buffer.from('1703030020'.padEnd(74, '0'), 'hex');

test('bytes that were changed on the way fail the stream', async () => {
  const { client, belowServer } = await connect();
  await belowServer.write(WRONG_RECORD);
  await assert.rejects(client.read(), /TLS: .*bad record/);
});

for (const [what, fail] of [
  ['sends a wrong record', (link: ByteLink) => link.write(WRONG_RECORD)],
  ['ends the connection without close_notify', (link: ByteLink) => link.closeWrite()],
] as const) {
  test(`a peer that ${what} sees the end of a web server, which is no reset`, async () => {
    const { server, belowClient } = await connect();
    await fail(belowClient);
    await assert.rejects(server.read(), ProtocolError);
    // As a relay does with both of its links.
    server.destroy(new Error('the flow has failed'));
    assert.equal(await belowClient.closed, undefined);
  });
}

test('a link that is destroyed for another reason resets the connection', async () => {
  const { server, belowClient } = await connect();
  server.destroy(new Error('killed'));
  assert.match(String(await belowClient.closed), /killed/);
});

test('records may arrive in single bytes and the handshakes of several connections interleave', async () => {
  const authorities = new Authorities();
  const COUNT = 4;
  const pairs = Array.from({ length: COUNT }, async (_, index) => {
    const [left, slowLeft] = linkPair();
    const [slowRight, right] = linkPair();
    void crawl(slowLeft, slowRight);
    void crawl(slowRight, slowLeft);
    const [client, server] = await Promise.all([
      authorities.client.connect(left, SERVER, never),
      authorities.server.accept(right),
    ]);
    const payload = Buffer.alloc(2000, index + 1);
    client.write(payload)?.catch(() => undefined);
    client.closeWrite().catch(() => undefined);
    assert.ok((await readAll(server)).equals(payload));
    client.destroy();
    server.destroy();
  });
  await Promise.all(pairs);
});

test('what is read is memory of its own, however records are spread over reads', async () => {
  const authorities = new Authorities();
  const [left, belowLeft] = linkPair();
  const [belowRight, right] = linkPair();
  const PIECE = 128 << 10;
  let pieceLength = 1;
  const passOn = async (from: ByteLink, to: ByteLink): Promise<void> => {
    let held = Buffer.alloc(0);
    for (let chunk = await from.read(); chunk; chunk = await from.read()) {
      held = Buffer.concat([held, chunk]);
      while (held.length >= pieceLength) {
        const length = pieceLength === 1 ? held.length : pieceLength;
        await to.write(new Uint8Array(held.subarray(0, length)));
        held = held.subarray(length);
      }
    }
    await to.write(new Uint8Array(held));
    await to.closeWrite();
  };
  void passOn(belowLeft, belowRight);
  void passOn(belowRight, belowLeft);
  const [client, server] = await Promise.all([
    authorities.client.connect(left, SERVER, never),
    authorities.server.accept(right),
  ]);
  pieceLength = PIECE;
  const COUNT = 32;
  const SIZE = 50_000;
  const sent = (async () => {
    for (let i = 0; i < COUNT; i++) await client.write(Buffer.alloc(SIZE, i));
    await client.closeWrite();
  })();
  let length = 0;
  let large = 0;
  for (let chunk = await server.read(); chunk; chunk = await server.read()) {
    for (const byte of chunk) assert.equal(byte, Math.floor(length++ / SIZE));
    if (chunk.length < 8 << 10) continue;
    large++;
    freeChunk(chunk);
    assert.equal(chunk.buffer.byteLength, 0, `${chunk.length} bytes are left to the collector`);
  }
  assert.equal(length, COUNT * SIZE);
  assert.ok(large > 0);
  await sent;
});

/** Passes bytes on one by one, in chunks of their own. */
async function crawl(from: ByteLink, to: ByteLink): Promise<void> {
  try {
    for (;;) {
      const chunk = await from.read();
      if (!chunk) return await to.closeWrite();
      for (const byte of chunk) await to.write(Uint8Array.of(byte));
    }
  } catch {
    // The test has destroyed it.
  }
}

test('every connection resumes the session of one before, however that ended', async () => {
  const authorities = new Authorities();
  const sizes: number[] = [];
  for (const cause of [undefined, undefined, new Error('aborted'), undefined]) {
    const [left, right] = linkPair();
    let received = 0;
    const counted: ByteLink = {
      read: async (signal) => {
        const chunk = await left.read(signal);
        received += chunk?.length ?? 0;
        return chunk;
      },
      unread: (chunk) => left.unread(chunk),
      write: (chunk) => left.write(chunk),
      writeOutput: (chunks) => left.writeOutput(chunks),
      closeWrite: () => left.closeWrite(),
      destroy: (why) => left.destroy(why),
      resetAfterData: (why) => left.resetAfterData(why),
      closed: left.closed,
    };
    const [client, server] = await Promise.all([
      authorities.client.connect(counted, SERVER, never),
      authorities.server.accept(right),
    ]);
    await server.write(Buffer.from('x'));
    assert.equal(String(await client.read()), 'x');
    sizes.push(received);
    client.destroy(cause);
    server.destroy(cause);
  }
  const [first = 0, ...others] = sizes;
  for (const size of others) assert.ok(size < first - 300, `a certificate again: ${sizes.join()}`);
});

test('what one connection leaves is not sent by another', () => {
  const context = StreamTlsContext.client(library, undefined);
  using left = new StreamTls(context, 'left.test');
  using right = new StreamTls(context, 'right.test');
  left.start();
  right.start();
  const sent = Buffer.from(right.takeOutput() ?? assert.fail('no ClientHello'));
  assert.equal(sent.length, 5 + sent.readUInt16BE(3), 'one record');
  assert.ok(sent.includes('right.test') && !sent.includes('left.test'));
  assert.equal(left.takeOutput(), undefined);
});

test('any bytes of a client end in a handshake that is rejected, or waits for more', async () => {
  const server = new OpensslServer(library, TLS_SERVER, preferHttp1, systemClock);
  const [left, right] = linkPair();
  const hello: Uint8Array[] = [];
  const client = new OpensslClient(library, TLS_CLIENT, [], systemClock);
  const dialled = client.connect(left, SERVER, never).catch(() => undefined);
  hello.push((await right.read()) ?? assert.fail('no ClientHello'));
  right.destroy();
  await dialled;
  const bytes = Buffer.concat(hello);
  for (let at = 0; at < bytes.length; at += 13) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 0x55;
    const [near, far] = linkPair();
    const accepted = server.accept(far).then(
      () => assert.fail('accepted'),
      (error: unknown) => assert.ok(error instanceof ProtocolError, String(error)),
    );
    await near.write(changed);
    await near.closeWrite();
    await accepted;
    near.destroy();
  }
});

/** A link that records what is sent to it: `more` marks what may wait for the next write. */
function recorded(inner: ByteLink): { readonly link: ByteLink; readonly sent: string[] } {
  const sent: string[] = [];
  const link: ByteLink = {
    read: (signal) => inner.read(signal),
    unread: (chunk) => inner.unread(chunk),
    write: (chunk) => inner.write(chunk),
    writeOutput: (chunks) => inner.writeOutput(chunks),
    lend: (chunk, more) => {
      sent.push(more === MORE ? 'more' : 'sent');
      return inner.write(Buffer.from(chunk));
    },
    closeWrite: () => inner.closeWrite(),
    closeWith: async (chunk) => {
      sent.push('last');
      await inner.write(chunk);
      await inner.closeWrite();
    },
    destroy: (cause) => inner.destroy(cause),
    resetAfterData: (cause) => inner.resetAfterData(cause),
    closed: inner.closed,
  };
  return { link, sent };
}

test('what no peer waits for may travel with the next write, and close_notify with the end', async () => {
  const authorities = new Authorities();
  const [left, right] = linkPair();
  const [below, under] = [recorded(left), recorded(right)];
  const [client, server] = await Promise.all([
    authorities.client.connect(below.link, SERVER, never),
    authorities.server.accept(under.link),
  ]);
  assert.deepEqual(below.sent, ['sent', 'more'], 'ClientHello, Finished');
  assert.deepEqual(under.sent, ['sent', 'more'], 'ServerHello to Finished, tickets');
  await client.write(Buffer.from('request'));
  await client.closeWrite();
  assert.deepEqual(below.sent, ['sent', 'more', 'sent', 'last']);
  assert.equal(String(await readAll(server)), 'request');
  await server.closeWrite();
  assert.deepEqual(under.sent, ['sent', 'more', 'last']);
});

test('a client of TLS 1.2 gets the last flight at once', async () => {
  const server = new OpensslServer(library, TLS_SERVER, preferHttp1, systemClock);
  const context = StreamTlsContext.client(library, undefined);
  const SET_MAX_PROTOCOL = 124;
  library.base.functions.SSL_CTX_ctrl(context.address, SET_MAX_PROTOCOL, 0x0303, 0);
  const [left, right] = linkPair();
  const under = recorded(right);
  const tls = new StreamTls(context, 'server.test');
  tls.start();
  const client = new TlsLink(left, tls);
  const [, accepted] = await Promise.all([
    client.handshake('server', never),
    server.accept(under.link),
  ]);
  assert.deepEqual(under.sent, ['sent', 'sent']);
  client.destroy();
  accepted.destroy();
});

test('a client sends the key share that its server has chosen, until a handshake fails', async () => {
  const authorities = new Authorities();
  const hello = async (): Promise<Buffer> => {
    const [left, right] = linkPair();
    const dialled = authorities.client.connect(left, SERVER, never).catch(() => undefined);
    const bytes = Buffer.from((await right.read()) ?? assert.fail('no ClientHello'));
    right.destroy();
    await dialled;
    return bytes;
  };
  // The extension key_share (RFC 8446 §4.2.8) up to its first share, that of X25519MLKEM768; the number
  // in between is the length of all shares, of which X25519 has 36 bytes.
  const first = '11ec04c0';
  const one = `003304c604c4${first}`;
  const two = `003304ea04e8${first}`;
  assert.ok((await hello()).includes(two, 0, 'hex'));
  const { client, server } = await authorities.connect();
  assert.ok((await hello()).includes(one, 0, 'hex'));
  assert.ok((await hello()).includes(two, 0, 'hex'), 'the last one has failed');
  client.destroy();
  server.destroy();
});

test('records of a byte of one read are opened in pieces, between which others have their turn', async () => {
  // All connections of a process share its turns.
  const authorities = new Authorities();
  const ends = await Promise.all(Array.from({ length: 8 }, () => authorities.connect()));
  let over = 0;
  let turns = 0;
  const read = ends.map(async ({ client, server, belowClient, belowServer }) => {
    const sent: Uint8Array[] = [];
    const original = belowClient.write.bind(belowClient);
    belowClient.write = (chunk) => void sent.push(Uint8Array.from(chunk));
    for (let i = 0; i < RECORDS; i++) void client.write(new Uint8Array(1));
    belowClient.write = original;
    original(Buffer.concat(sent))?.catch(() => undefined);
    const first = await server.read();
    assert.ok(first && first.length < RECORDS / 8, `${first?.length} at once`);
    server.unread(first);
    await client.closeWrite();
    const all = await readAll(server);
    over++;
    belowServer.destroy();
    return all.length;
  });
  for (; over < ends.length; turns++) await turn();
  assert.deepEqual(await Promise.all(read), Array(ends.length).fill(RECORDS));
  // The first of each piece is not counted, nor is one of each 512 bytes.
  const counted = ends.length * RECORDS * 0.9 * UnitCost.record;
  assert.ok(turns >= Math.floor(counted / (GRANTS_A_TURN * GRANT_UNITS)), `${turns} turns`);
});
