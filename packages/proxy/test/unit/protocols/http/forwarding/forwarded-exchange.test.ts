import { HeadMemory, requestFraming, parseRequestHead } from '@weir/http/http1';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HALF_CLOSED_IDLE_MS } from '@weir/io/time';
import { linkPair } from '@weir/io/links';
import { INTERIM_BURST } from '../../../../../src/protocols/http/limits.ts';
import { ForwardedExchange } from '../../../../../src/protocols/http/forwarding/forwarded-exchange.ts';
import { SideError } from '../../../../../src/protocols/http/forwarding/transfer-body.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';
import { settle } from '../../../../../../../test/support/settle.ts';
import { Peer } from '../../../../../../../test/support/protocols/http/support.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

interface Options {
  readonly upgrade?: string;
  readonly version?: '1.0' | '1.1';
  readonly keep?: boolean;
}

/** An exchange under way; the test is the client, which has sent the head, and the origin. */
function exchange(lines: readonly string[] = [], more: Options = {}) {
  const { upgrade, version = '1.1', keep = true } = more;
  const [own, client] = linkPair();
  const [out, origin] = linkPair();
  const clock = new ManualClock();
  const text = [`POST http://a.example/ HTTP/${version}`, ...lines, '', ''].join('\r\n');
  const head = parseRequestHead(Buffer.from(text, 'latin1'));
  const run = (): ReturnType<ForwardedExchange['run']> =>
    new ForwardedExchange(
      own,
      out,
      {
        head,
        authority: 'a.example',
        path: '/',
        framing: requestFraming(head),
        upgrade,
        keep,
        pseudonym: 'proxy',
      },
      clock,
      new HeadMemory(),
    ).run();
  return { run, own, out, clock, client: new Peer(client), origin: new Peer(origin) };
}

const sideOf = (side: 'client' | 'origin') => (error: unknown) =>
  error instanceof SideError && error.side === side;

/** Whether a promise is settled once everything under way has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await settle();
  return settled;
}

describe('an exchange', () => {
  test('has no response yet while nothing of it was sent: an invalid first chunk fails it with 502', async () => {
    const { run, origin, client } = exchange();
    const outcome = run();
    await origin.head();
    await origin.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
    const ended = await outcome;
    assert.equal(ended.kind === 'failed' && ended.status, 502);
    await client.send('its connection is still open');
  });

  test('takes a head as long as browsers do, and no longer', async () => {
    for (const [bytes, kind] of [
      [200_000, 'responded'],
      [300_000, 'failed'],
    ] as const) {
      const { run, origin, client } = exchange();
      const outcome = run();
      await origin.head();
      const line = `Set-Cookie: a=${'x'.repeat(984)}\r\n`;
      const lines = line.repeat(bytes / line.length);
      void origin
        .send(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${lines}\r\n`)
        .catch(() => undefined);
      if (kind === 'responded') await client.head();
      assert.equal((await outcome).kind, kind);
    }
  });

  test('ends with its response, and leaves both links and no timer', async () => {
    const { run, client, origin, clock } = exchange(['Content-Length: 4']);
    const outcome = run();
    await client.send('body');
    assert.match(await origin.head(), /^POST \/ HTTP\/1\.1/);
    await origin.send(OK);
    assert.deepEqual(await outcome, { kind: 'responded', keepClient: true, keepOrigin: true });
    assert.equal((await client.response()).text, 'ok');
    assert.equal(clock.timers, 0);
    await client.send('next');
    await origin.send('next');
  });

  test('ends when the rest of its body has arrived after the response', async () => {
    const { run, client, origin, clock } = exchange(['Content-Length: 4']);
    const outcome = run();
    await client.send('bo');
    await origin.until('bo');
    await origin.send(OK);
    assert.equal((await client.response()).text, 'ok');
    assert.equal(await isSettled(outcome), false);
    await client.send('dy');
    assert.equal(await origin.exactly(2), 'dy');
    // The client neither sends more nor closes.
    assert.deepEqual(await outcome, { kind: 'responded', keepClient: false, keepOrigin: true });
    assert.equal(clock.timers, 0);
  });

  test('gets the response of an origin that takes no more of the request', async (t) => {
    const { run, out, client, origin } = exchange(['Content-Length: 4']);
    t.mock.method(out, 'writeOutput', () => Promise.reject(new Error('EPIPE')));
    const outcome = run();
    await client.send('body');
    await origin.send(OK);
    assert.deepEqual(await outcome, { kind: 'responded', keepClient: false, keepOrigin: false });
    assert.equal((await client.response()).text, 'ok');
  });

  test('fails with an origin whose response is invalid, while its body is still sent', async () => {
    const { run, client, origin } = exchange(['Content-Length: 4']);
    const outcome = run();
    await client.send('bo');
    await origin.until('bo');
    await origin.send('nonsense\r\n\r\n');
    const failed = await outcome;
    assert.ok(failed.kind === 'failed');
    assert.deepEqual([failed.status, failed.stale, failed.drained], [502, false, false]);
    // The origin is reset, the client is not: it gets the 502.
    await assert.rejects(origin.link.read(), failed.error);
    assert.equal(await isSettled(client.link.closed), false);
  });

  test('is stale only when the origin has sent nothing', async () => {
    for (const [sent, stale] of [
      ['', true],
      ['HTTP/1.1 2', false],
    ] as const) {
      const { run, origin } = exchange();
      const outcome = run();
      await origin.head();
      if (sent !== '') await origin.send(sent);
      await origin.end();
      const failed = await outcome;
      assert.ok(failed.kind === 'failed');
      assert.deepEqual([failed.status, failed.stale, failed.drained], [502, stale, true]);
    }
  });

  test('gets 400 for a body that the client truncates, and is not drained', async () => {
    const { run, client, origin } = exchange(['Content-Length: 4']);
    const outcome = run();
    await client.send('bo');
    await origin.until('bo');
    await client.end();
    const failed = await outcome;
    assert.ok(failed.kind === 'failed');
    const { status, stale, drained } = failed;
    assert.deepEqual([status, stale, drained], [400, false, false]);
    await assert.rejects(origin.link.read(), failed.error);
  });

  test('ends with a client that is reset before its response', async () => {
    for (const lines of [[], ['Content-Length: 4']]) {
      const { run, own, client, origin, clock } = exchange(lines);
      const outcome = run();
      await origin.head();
      const cause = new Error('reset');
      client.link.destroy(cause);
      await assert.rejects(outcome, sideOf('client'));
      assert.equal(await own.closed, cause);
      await assert.rejects(origin.link.read(), cause);
      assert.equal(clock.timers, 0);
    }
  });

  test('resets the client of a response that is truncated, and names the side', async () => {
    const { run, client, origin } = exchange();
    const outcome = run();
    await origin.head();
    await origin.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel');
    await client.until('hel');
    await origin.end();
    await assert.rejects(outcome, sideOf('origin'));
    assert.ok(await client.link.closed);
  });

  test('resets the origin of a client that is gone amid its response', async (t) => {
    const { run, own, client, origin } = exchange();
    const outcome = run();
    await origin.head();
    t.mock.method(own, 'writeOutput', () => Promise.reject(new Error('EPIPE')));
    await origin.send(OK);
    await assert.rejects(outcome, sideOf('client'));
    assert.equal((await client.link.closed)?.message, 'EPIPE');
    await assert.rejects(origin.link.read(), /EPIPE/);
  });

  test('waits for an origin as long as it sends, after a client that half-closed', async () => {
    const { run, client, origin, clock } = exchange();
    const outcome = run();
    await origin.head();
    await client.end();
    await settle();
    for (let interim = 0; interim < 3; interim++) {
      clock.advance(HALF_CLOSED_IDLE_MS - 1);
      await origin.send('HTTP/1.1 103 Early\r\n\r\n');
      assert.match(await client.head(), /^HTTP\/1\.1 103 Early/);
    }
    clock.advance(HALF_CLOSED_IDLE_MS - 1);
    assert.equal(await isSettled(outcome), false);
    clock.advance(1);
    const failed = await outcome;
    assert.ok(failed.kind === 'failed');
    assert.deepEqual([failed.status, failed.stale], [504, false]);
    assert.equal(clock.timers, 0);
  });

  test('gives up the rest of a body that does not arrive after the response', async () => {
    const { run, client, origin, clock } = exchange(['Content-Length: 4']);
    const outcome = run();
    await origin.head();
    await origin.send(OK);
    await client.response();
    await settle();
    clock.advance(HALF_CLOSED_IDLE_MS - 1);
    assert.equal(await isSettled(outcome), false);
    clock.advance(1);
    assert.deepEqual(await outcome, { kind: 'responded', keepClient: false, keepOrigin: false });
    await assert.rejects(origin.link.read(), { name: 'DeadlineError' });
    assert.equal(clock.timers, 0);
  });

  test('leaves what follows its request to the next one', async () => {
    const { run, own, client, origin } = exchange();
    const outcome = run();
    await origin.head();
    await client.send('next');
    await settle();
    await origin.send(OK);
    assert.deepEqual(await outcome, { kind: 'responded', keepClient: true, keepOrigin: true });
    assert.equal(Buffer.from((await own.read()) ?? []).toString(), 'next');
  });

  test('keeps its origin when both sides and the framing of the response allow it', async () => {
    for (const [keep, rest, keepOrigin] of [
      [true, 'Content-Length: 0\r\n\r\n', true],
      [true, 'Content-Length: 0\r\nConnection: close\r\n\r\n', false],
      [false, 'Content-Length: 0\r\n\r\n', false],
      // Two framings: where the next response begins is uncertain.
      [true, 'Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n', false],
    ] as const) {
      const { run, origin } = exchange([], { keep });
      const outcome = run();
      await origin.head();
      await origin.send(`HTTP/1.1 200 OK\r\n${rest}`);
      const responded = await outcome;
      assert.ok(responded.kind === 'responded');
      assert.deepEqual([responded.keepClient, responded.keepOrigin], [keep, keepOrigin]);
    }
  });

  test('has a framing that its client can read, and no interim response for HTTP/1.0', async () => {
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
    for (const [version, sent, received] of [
      ['1.1', chunked, chunked],
      ['1.1', '\r\nok', chunked],
      ['1.1', 'Content-Length: 2\r\n\r\nok', 'Content-Length: 2\r\n\r\nok'],
      ['1.0', chunked, 'Connection: close\r\n\r\nok'],
      ['1.0', '\r\nok', 'Connection: close\r\n\r\nok'],
      ['1.0', 'Content-Length: 2\r\n\r\nok', 'Content-Length: 2\r\nConnection: close\r\n\r\nok'],
    ] as const) {
      const { run, own, client, origin } = exchange([], { version, keep: version === '1.1' });
      const outcome = run();
      await origin.head();
      await origin.send(`HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\n${sent}`);
      await origin.end();
      assert.equal((await outcome).kind, 'responded');
      await own.closeWrite();
      const early = version === '1.1' ? 'HTTP/1.1 103 Early\r\n\r\n' : '';
      assert.equal(await client.rest(), `${early}HTTP/1.1 200 OK\r\n${received}`);
    }
  });

  test('is a 502 after interim responses without end', async () => {
    const { run, client, origin } = exchange();
    const outcome = run();
    await origin.head();
    const interim = Buffer.from('HTTP/1.1 102 Processing\r\n\r\n');
    // A read of thousands of them, and the link takes more at once than a turn passes on.
    void origin.link.write(Buffer.concat(Array.from({ length: 5_000 }, () => interim)));
    const failed = await outcome;
    assert.ok(failed.kind === 'failed');
    assert.equal(failed.status, 502);
    assert.match(failed.error.message, /interim responses without end/);
    await assert.rejects(origin.link.read(), failed.error);
    for (let passed = 0; passed < INTERIM_BURST; passed++) {
      assert.match(await client.head(), /^HTTP\/1\.1 102/);
    }
  });

  test('waits for hours behind an origin that reports its progress', async () => {
    const { run, client, origin, clock } = exchange();
    const outcome = run();
    await origin.head();
    for (let sent = 0; sent < 20 * INTERIM_BURST; sent++) {
      clock.advance(10_000);
      await origin.send('HTTP/1.1 102 Processing\r\n\r\n');
      assert.match(await client.head(), /^HTTP\/1\.1 102/);
    }
    await origin.send(OK);
    assert.equal((await outcome).kind, 'responded');
  });

  test('reads no more interim responses than the client takes', async () => {
    const { run, origin } = exchange();
    void run().catch(() => undefined);
    await origin.head();
    const interim = Buffer.from(`HTTP/1.1 103 Early\r\nX: ${'x'.repeat(1000)}\r\n\r\n`);
    let full: Promise<void> | undefined;
    for (let sent = 0; sent < 400; sent++) full = origin.link.write(interim);
    assert.ok(full);
    for (let turn = 0; turn < 40; turn++) await settle();
    assert.equal(await isSettled(full), false);
    origin.link.destroy();
  });
});

describe('an upgrade', () => {
  const SWITCH = 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

  test('becomes a tunnel in which the origin may speak first', async () => {
    const { run, client, origin } = exchange([], { upgrade: 'x' });
    const outcome = run();
    await origin.head();
    await origin.send(`${SWITCH}hello`);
    assert.match(await client.head(), /^HTTP\/1\.1 101 Switching/);
    assert.equal(await client.exactly(5), 'hello');
    await client.send('world');
    assert.equal(await origin.exactly(5), 'world');
    await client.end();
    await origin.end();
    assert.deepEqual(await outcome, { kind: 'upgraded' });
  });

  test('becomes one behind the body of its request', async () => {
    const { run, client, origin } = exchange(['Content-Length: 4'], { upgrade: 'x' });
    const outcome = run();
    await origin.head();
    await origin.send(`${SWITCH}hello`);
    assert.match(await client.head(), /^HTTP\/1\.1 101 Switching/);
    await client.send('body');
    assert.equal(await origin.exactly(4), 'body');
    assert.equal(await client.exactly(5), 'hello');
    await client.end();
    await origin.end();
    assert.deepEqual(await outcome, { kind: 'upgraded' });
  });

  test('resets both sides when that is truncated', async () => {
    const { run, client, origin } = exchange(['Content-Length: 4'], { upgrade: 'x' });
    const outcome = run();
    await origin.head();
    await origin.send(SWITCH);
    await client.head();
    await client.send('bo');
    await origin.exactly(2);
    await client.end();
    await assert.rejects(outcome, sideOf('client'));
    assert.match((await client.link.closed)?.message ?? '', /closed 2 bytes before the end/);
    await assert.rejects(origin.link.read(), /closed 2 bytes before the end/);
  });

  test('that was not requested is a failure of the origin', async () => {
    const { run, origin } = exchange();
    const outcome = run();
    await origin.head();
    await origin.send(SWITCH);
    const failed = await outcome;
    assert.ok(failed.kind === 'failed');
    assert.deepEqual([failed.status, failed.drained], [502, true]);
  });
});
