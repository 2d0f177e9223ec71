import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type ByteLink, linkPair } from '@weir/io/links';
import { WsClient } from '../../../../src/transports/ws/client.ts';
import {
  closePayload,
  Opcode,
  wholeFrame,
  WsFrameDecoder,
} from '../../../../src/transports/ws/frames.ts';
import { WsLink } from '../../../../src/transports/ws/link.ts';
import { isMarked, markedKey, markReply } from '../../../../src/transports/ws/upgrade.ts';
import { WsServer } from '../../../../src/transports/ws/server.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';
import { settle } from '../../../../../../test/support/settle.ts';

const KEY = Uint8Array.of(1, 2, 3, 4);
const data = (text: string, key?: Uint8Array): Buffer =>
  wholeFrame(Opcode.binary, [Buffer.from(text)], key);
const close = (code: number, key?: Uint8Array): Buffer =>
  wholeFrame(Opcode.close, [closePayload(code)], key);

interface Ends {
  readonly link: ByteLink;
  /** The foreign peer. */
  readonly far: ByteLink;
  readonly clock: ManualClock;
  /** Frames that the peer has received so far: opcodes, and the text of data. */
  readonly received: string[];
}

/** A WebSocket to a program other than Weir, whose frames are received as they come. */
function foreign(role: 'client' | 'server'): Ends {
  const [near, far] = linkPair();
  const clock = new ManualClock();
  const random = new SeededRandom(1);
  const link = new WsLink(near, role === 'client' ? { clock, random } : { clock });
  return { link, far, clock, received: frames(far, role === 'client') };
}

function frames(far: ByteLink, masked: boolean): string[] {
  const received: string[] = [];
  const decoder = new WsFrameDecoder(masked);
  void (async () => {
    for (let chunk; (chunk = await far.read()) !== undefined;) {
      for (const event of decoder.push(chunk)) {
        if (event.kind === 'close') received.push(`close ${event.code}`);
        else received.push(event.kind === 'data' ? String(Buffer.from(event.data)) : event.kind);
      }
    }
    received.push('end');
  })().catch((error: unknown) => received.push(String(error)));
  return received;
}

/** Reads to the end. */
async function all(link: ByteLink): Promise<string> {
  let text = '';
  for (let chunk; (chunk = await link.read()) !== undefined;) text += String(Buffer.from(chunk));
  return text;
}

describe('a WebSocket to another program', () => {
  for (const role of ['client', 'server'] as const) {
    const key = role === 'server' ? KEY : undefined;

    test(`that ends its connection between two frames is read to a clean end (${role})`, async () => {
      const { link, far, received } = foreign(role);
      await far.write(Buffer.concat([data('all ', key), data('of it', key)]));
      await far.closeWrite();
      assert.equal(await all(link), 'all of it');
      await link.write(Buffer.from('more'));
      await link.closeWrite();
      await settle();
      assert.deepEqual(received, ['more', 'close 1000', 'end']);
      assert.equal(await link.closed, undefined);
    });

    for (const cut of [1, 3, 5]) {
      test(`that ends ${cut} bytes into a frame has failed after its data (${role})`, async () => {
        const { link, far } = foreign(role);
        await far.write(Buffer.concat([data('all', key), data('lost', key).subarray(0, cut)]));
        await far.closeWrite();
        assert.ok(String(Buffer.from((await link.read()) ?? [])).startsWith('all'));
        await assert.rejects(all(link), /within a frame/);
      });
    }

    for (const code of [1001, 1002, 1011, 1012, 1013, 3000, 4999]) {
      test(`that closes with ${code} has given up after its data (${role})`, async () => {
        const { link, far, received } = foreign(role);
        await far.write(Buffer.concat([data('some', key), close(code, key)]));
        assert.equal(String(Buffer.from((await link.read()) ?? [])), 'some');
        await assert.rejects(link.read(), new RegExp(`the peer closed with code ${code}`));
        await settle();
        assert.deepEqual(received, [`close ${code}`, 'end']);
      });
    }

    test(`that closes with an impossible code has its data read first (${role})`, async () => {
      const { link, far, received } = foreign(role);
      await far.write(Buffer.concat([data('some', key), close(0x3130, key)]));
      assert.equal(String(Buffer.from((await link.read()) ?? [])), 'some');
      await assert.rejects(link.read(), /invalid code 12592/);
      await settle();
      assert.deepEqual(received, ['close 1002', 'end']);
    });

    test(`that ignores a Close frame is disconnected when it was silent for 10 s (${role})`, async () => {
      const { link, far, clock, received } = foreign(role);
      const reading = all(link);
      reading.catch(() => undefined);
      void link.closeWrite();
      clock.advance(2_000);
      await settle();
      assert.deepEqual(received, ['close 1000']);
      clock.advance(8_000);
      await far.write(data('still here', key));
      await settle();
      clock.advance(9_999);
      await settle();
      assert.deepEqual(received, ['close 1000'], 'it has sent something in the meantime');
      clock.advance(1_001);
      await assert.rejects(reading, /silent for 10 s after a Close frame/);
      await settle();
      assert.deepEqual(received, ['close 1000', 'end'], 'not reset');
    });
  }

  test('that is not read is not taken for silent', async () => {
    const { link, far, clock, received } = foreign('server');
    void link.closeWrite();
    await far.write(data('waits', KEY));
    clock.advance(60_000);
    await settle();
    assert.deepEqual(received, ['close 1000']);
    assert.equal(String(Buffer.from((await link.read()) ?? [])), 'waits');
    link.destroy();
  });

  test('has a response that comes after a half-close', async () => {
    const { link, far, clock, received } = foreign('client');
    await link.write(Buffer.from('request'));
    const closing = link.closeWrite();
    const reading = all(link);
    clock.advance(1_500);
    await far.write(data('the resp'));
    await settle();
    clock.advance(1_500);
    await far.write(data('onse'));
    await settle();
    assert.deepEqual(received, ['request']);
    await far.write(close(1000));
    assert.equal(await reading, 'the response');
    await closing;
    await settle();
    assert.deepEqual(received, ['request', 'close 1000', 'end']);
  });

  test('receives the Close frame of a half-close when it was silent for 2 s', async () => {
    const { link, clock, received } = foreign('client');
    const closing = link.closeWrite();
    clock.advance(1_999);
    await settle();
    assert.deepEqual(received, []);
    clock.advance(1);
    await closing;
    await settle();
    assert.deepEqual(received, ['close 1000']);
    link.destroy();
    assert.equal(clock.timers <= 1, true, 'none but that of the last frame');
  });

  test('receives a Close frame of a server 100 ms after the last data', async () => {
    const { link, clock, received } = foreign('server');
    await link.write(Buffer.from('the last data'));
    const closing = link.closeWrite();
    clock.advance(99);
    await settle();
    assert.deepEqual(received, ['the last data']);
    clock.advance(1);
    await closing;
    await settle();
    assert.deepEqual(received, ['the last data', 'close 1000']);
    link.destroy();
  });

  test('receives a Close frame that is held back when the link is destroyed without a cause', async () => {
    const { link, received } = foreign('client');
    const closing = link.closeWrite();
    link.destroy();
    await closing;
    await settle();
    assert.deepEqual(received, ['close 1000', 'end']);
  });
});

/** Two Weirs, upgraded over a pair of links; `pass` is what a proxy between makes of the server's bytes. */
async function weirs(pass?: (bytes: Buffer) => Buffer | undefined) {
  const [near, far] = linkPair();
  const clock = new ManualClock();
  const spec = { kind: 'ws', path: '/', host: undefined } as const;
  const where = { host: '192.0.2.1', port: 443 };
  const client = new WsClient(
    { ...spec, host: 'a.test', earlyData: 0 },
    where,
    clock,
    new SeededRandom(1),
  );
  const upgraded = new WsServer(spec, clock).upgrade(far);
  let lower = near;
  if (pass) {
    const [outer, inner] = linkPair();
    lower = outer;
    void pour(inner, near, (bytes) => bytes);
    void pour(near, inner, pass);
  }
  const left = await client.open(lower, new AbortController().signal);
  return { left, right: (await upgraded) ?? assert.fail('not upgraded'), far, clock };
}

async function pour(
  from: ByteLink,
  to: ByteLink,
  pass: (bytes: Buffer) => Buffer | undefined,
): Promise<void> {
  for (let chunk; (chunk = await from.read()) !== undefined;) {
    const bytes = pass(Buffer.from(chunk));
    if (bytes) await to.write(bytes);
  }
  await to.closeWrite();
}

describe('a WebSocket between two Weirs', () => {
  test('has a half-close at once, in both directions', async () => {
    for (const direction of [0, 1]) {
      const { left, right } = await weirs();
      const [first, second] = direction === 0 ? [left, right] : [right, left];
      await first.write(Buffer.from('request'));
      await first.closeWrite();
      assert.equal(await all(second), 'request');
      await second.write(Buffer.from('response'));
      await second.closeWrite();
      assert.equal(await all(first), 'response');
    }
  });

  test('fails at an end without a Close frame: its process was killed', async () => {
    const { left, far } = await weirs();
    await far.closeWrite();
    await assert.rejects(all(left), /without a Close frame/);
  });

  test('is one to another program where a proxy drops the Pong of the server', async () => {
    const { left, right, clock } = await weirs((bytes) => {
      const end = bytes.indexOf('\r\n\r\n');
      return end < 0 ? bytes : bytes.subarray(0, end + 4);
    });
    let hasClosed = false;
    const closing = left.closeWrite().then(() => (hasClosed = true));
    await settle();
    assert.equal(hasClosed, false);
    clock.advance(2_000);
    await closing;
    assert.equal(await all(right), '');
  });

  test('is recognized where the Pong comes after the response', async () => {
    const [near, far] = linkPair();
    const clock = new ManualClock();
    const key = markedKey(new SeededRandom(3));
    const weirFrame = markReply(key);
    const link = new WsLink(near, { clock, random: new SeededRandom(4), weirFrame });
    const closing = link.closeWrite();
    const reading = link.read();
    await far.write(weirFrame);
    await closing;
    await far.write(data('x'));
    assert.equal(String(Buffer.from((await reading) ?? [])), 'x');
    link.destroy();
  });

  test('is agreed on by keys that look like those of others', () => {
    const random = new SeededRandom(5);
    const keys = Array.from({ length: 1000 }, () => markedKey(random));
    assert.ok(keys.every((key) => isMarked(key) && /^[+/0-9A-Za-z]{22}==$/.test(key)));
    assert.equal(new Set(keys).size, keys.length);
    for (let i = 0; i < 1000; i++) {
      assert.equal(isMarked(random.bytes(16).toString('base64')), false);
    }
    assert.equal(isMarked('dGhlIHNhbXBsZSBub25jZQ=='), false);
  });
});

describe('a silent WebSocket', () => {
  for (const [role, least, most] of [
    ['client', 15_000, 30_000],
    ['server', 30_000, 45_000],
  ] as const) {
    test(`of a ${role} has a Ping within ${most / 1000} s, and goes on having them`, async () => {
      const { link, far, clock, received } = foreign(role);
      void link.read().catch(() => undefined);
      await link.write(Buffer.from('x'));
      clock.advance(least - 1);
      await settle();
      assert.deepEqual(received, ['x']);
      clock.advance(most - least + 1);
      await settle();
      assert.ok(received.length > 1 && received.slice(1).every((each) => each === 'ping'));
      for (let i = 0; i < 4; i++) {
        received.length = 0;
        await far.write(wholeFrame(Opcode.pong, [], role === 'server' ? KEY : undefined));
        await settle();
        clock.advance(most);
        await settle();
        assert.ok(received.includes('ping'));
      }
      link.destroy();
    });
  }

  test('that moves something has none, and one that is over leaves no timer', async () => {
    const { link, clock, received } = foreign('client');
    for (let i = 0; i < 40; i++) {
      clock.advance(5_000);
      await link.write(Buffer.from('x'));
    }
    await settle();
    assert.deepEqual(new Set(received), new Set(['x']));
    assert.equal(clock.timers, 1);
    link.destroy(new Error('killed'));
    await settle();
    assert.equal(clock.timers, 0);
  });

  test('shares one timer with all others, and they do not send in one turn', async () => {
    const all = Array.from({ length: 300 }, () => linkPair());
    const clock = new ManualClock();
    const links = all.map(([near], i) => {
      if (i % 10 === 0) clock.advance(500);
      return new WsLink(near, { clock, random: new SeededRandom(1) });
    });
    assert.equal(clock.timers, 1);
    const seen = all.map(([, far]) => frames(far, true));
    let most = 0;
    for (let i = 0; i < 60; i++) {
      const before = seen.reduce((sum, { length }) => sum + length, 0);
      clock.advance(500);
      await settle();
      most = Math.max(most, seen.reduce((sum, { length }) => sum + length, 0) - before);
    }
    assert.ok(most > 0 && most <= 20, `${most} at once`);
    for (const link of links) link.destroy(new Error('over'));
  });
});

describe('many small frames', () => {
  for (const [what, frame, count] of [
    ['Pings', wholeFrame(Opcode.ping, [], KEY), 1_900],
    ['Pongs', wholeFrame(Opcode.pong, [], KEY), 1_900],
    ['empty messages', wholeFrame(Opcode.binary, [], KEY), 1_900],
    ['messages of a byte', data('x', KEY), 9_000],
  ] as const) {
    test(`${what} of one read are decoded in pieces, between which others have their turn`, async () => {
      // All connections of a process share its turns.
      const many = Array.from({ length: 8 }, () => foreign('server'));
      let over = 0;
      let turns = 0;
      const chunk = Buffer.concat([...Array<Buffer>(count).fill(frame), data('end', KEY)]);
      const read = many.map(({ link, far }) => {
        far.write(Buffer.from(chunk))?.catch(() => undefined);
        far.write(close(1000, KEY))?.catch(() => undefined);
        return all(link).finally(() => over++);
      });
      for (; over < many.length; turns++) await turn();
      for (const text of await Promise.all(read)) assert.ok(text.endsWith('end'));
      // A turn has 8 grants of 512 frames at most.
      assert.ok(turns >= Math.floor((8 * count) / (8 * 512)), `${turns} turns`);
    });
  }

  for (const [what, frame] of [
    ['Pings', wholeFrame(Opcode.ping, [], KEY)],
    ['Pongs', wholeFrame(Opcode.pong, [], KEY)],
    ['empty messages', wholeFrame(Opcode.binary, [], KEY)],
  ] as const) {
    test(`more than 2,000 ${what} at once, or 20 a second, end the connection after its data`, async () => {
      const { link, far, clock, received } = foreign('server');
      await far.write(Buffer.concat([data('data', KEY), ...Array<Buffer>(1_999).fill(frame)]));
      assert.equal(String(Buffer.from((await link.read()) ?? [])), 'data');
      const reading = link.read();
      reading.catch(() => undefined);
      for (let second = 0; second < 5; second++) {
        await settle();
        clock.advance(1_000);
        await far.write(Buffer.concat(Array<Buffer>(20).fill(frame)));
      }
      await settle();
      assert.ok(!received.includes('close 1008'));
      await far.write(Buffer.concat(Array<Buffer>(30).fill(frame)));
      await assert.rejects(reading, /too many frames without data/);
      await settle();
      assert.ok(received.includes('close 1008'));
    });
  }
});
