import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BoundedReader } from '../../src/net/links/bounded-reader.ts';
import { MORE, OWNED, type ByteLink } from '../../src/net/links/link.ts';

/** Two ends of one link: what one writes, the other reads. `dispose` releases what made them. */
export interface LinkEnds {
  readonly left: ByteLink;
  readonly right: ByteLink;
  dispose?(): Promise<void> | void;
}

const bytes = (text: string): Buffer => Buffer.from(text);

/** Reads to the end of the stream. */
export async function readAll(link: ByteLink): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = await link.read();
    if (chunk === undefined) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

/** Reads to a failure, or to the end of a stream whose carrier has no reset. */
async function readToFailure(link: ByteLink): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = await link.read().catch(() => undefined);
    if (chunk === undefined) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

export interface ConformanceOptions {
  /** Node destroys a socket to which a write fails, and with it what was not read. */
  readonly losesUnread?: boolean;
}

/** Runs the promise of ByteLink (packages/io/src/net/links/link.ts) against an implementation. */
export function byteLinkConformance(
  name: string,
  create: () => Promise<LinkEnds>,
  { losesUnread = false }: ConformanceOptions = {},
): void {
  const check = (title: string, body: (ends: LinkEnds) => Promise<void>): void => {
    test(title, async () => {
      const ends = await create();
      try {
        await body(ends);
      } finally {
        ends.left.destroy();
        ends.right.destroy();
        await ends.dispose?.();
      }
    });
  };

  describe(`${name} keeps the contract of a byte link`, () => {
    check('bytes arrive in order, in both directions at once', async ({ left, right }) => {
      await left.write(bytes('ping'));
      await right.write(bytes('pong'));
      await left.closeWrite();
      await right.closeWrite();
      const [atRight, atLeft] = await Promise.all([readAll(right), readAll(left)]);
      assert.equal(atRight.toString(), 'ping');
      assert.equal(atLeft.toString(), 'pong');
    });

    check('the pieces of one frame arrive as one run of bytes', async ({ left, right }) => {
      await left.writeOutput([bytes('he'), bytes(''), bytes('ll'), bytes('o')]);
      await left.closeWrite();
      assert.equal((await readAll(right)).toString(), 'hello');
    });

    check('what was put back can be taken without a wait', async ({ left, right }) => {
      if (!right.takeAhead) return;
      assert.equal(right.takeAhead(), undefined);
      right.unread(bytes('two'));
      right.unread(bytes('one '));
      assert.equal(String(Buffer.from(right.takeAhead() ?? [])), 'one ');
      right.unread(bytes('1 '));
      await left.write(bytes(' three'));
      await left.closeWrite();
      assert.equal((await readAll(right)).toString(), '1 two three');
      assert.equal(right.takeAhead(), undefined);
    });

    check('a link that was destroyed holds nothing', ({ right }) => {
      right.unread(bytes('put back'));
      right.destroy();
      assert.equal(right.takeAhead?.(), undefined);
      return Promise.resolve();
    });

    check('memory that is lent may be changed at once', async ({ left, right }) => {
      if (!left.lend) return;
      const [COUNT, SIZE] = [64, 64 << 10];
      const lent = new Uint8Array(SIZE);
      const waits: (Promise<void> | undefined)[] = [];
      for (let i = 0; i < COUNT; i++) waits.push(left.lend(lent.fill(i)));
      lent.fill(0xff);
      const received = readAll(right);
      for (const wait of waits) await wait;
      await left.closeWrite();
      const all = await received;
      assert.equal(all.length, COUNT * SIZE);
      for (let i = 0; i < COUNT; i++) {
        const part = all.subarray(i * SIZE, (i + 1) * SIZE);
        assert.ok(part.every((byte) => byte === i));
      }
    });

    for (const last of ['write', 'end', 'nothing'] as const) {
      check(
        `bytes before which more was announced arrive, with ${last} after them`,
        async (ends) => {
          const { left, right } = ends;
          if (!left.lend) return;
          const lent = bytes('first');
          await left.lend(lent, MORE);
          lent.fill(0);
          if (last === 'write') await left.write(bytes(', more'));
          if (last === 'end') await left.closeWrite();
          const wanted = last === 'write' ? 'first, more' : 'first';
          let received = '';
          while (received.length < wanted.length) received += String(await right.read());
          assert.equal(received, wanted);
        },
      );
    }

    check(
      'chunks that are given away arrive as those that are written',
      async ({ left, right }) => {
        const COUNT = 200;
        const received = readAll(right);
        for (let i = 0; i < COUNT; i++) {
          const chunk = new Uint8Array(64 << 10).fill(i);
          await left.write(chunk, OWNED);
        }
        await left.closeWrite();
        const all = await received;
        assert.equal(all.length, COUNT * (64 << 10));
        for (let i = 0; i < COUNT; i++) {
          const chunk = all.subarray(i * (64 << 10), (i + 1) * (64 << 10));
          assert.ok(chunk.every((byte) => byte === (i & 0xff)));
        }
      },
    );

    check(
      'frames that are given away arrive as those that are written',
      async ({ left, right }) => {
        const SIZES = [1, 5, 300, 9000, 16_384, 65_536, 100_000, 200_000];
        const received = readAll(right);
        const sent: Buffer[] = [];
        for (let round = 0; round < 8; round++) {
          for (const size of SIZES) {
            const frame = [
              bytes(`<${size}>`),
              bytes(''),
              new Uint8Array(size).fill(round),
              bytes('/'),
            ];
            sent.push(Buffer.concat(frame));
            await left.writeOutput(frame, OWNED);
          }
        }
        const many = Array.from({ length: 1000 }, (_, i) => Uint8Array.of(i));
        sent.push(Buffer.concat(many));
        await left.writeOutput(many, OWNED);
        await left.closeWrite();
        assert.ok(Buffer.concat(sent).equals(await received));
      },
    );

    check('the end of stream is read repeatedly once it was reached', async ({ left, right }) => {
      await left.closeWrite();
      assert.equal(await right.read(), undefined);
      assert.equal(await right.read(), undefined);
    });

    check('after a half-close the other direction stays open', async ({ left, right }) => {
      await left.write(bytes('request'));
      await left.closeWrite();
      assert.equal((await readAll(right)).toString(), 'request');
      await right.write(bytes('late '));
      await right.write(bytes('reply'));
      await right.closeWrite();
      assert.equal((await readAll(left)).toString(), 'late reply');
    });

    check('last bytes and the end of the stream arrive in that order', async ({ left, right }) => {
      if (!left.closeWith) return;
      await left.write(bytes('first, '));
      await left.closeWith(bytes('last'));
      assert.equal((await readAll(right)).toString(), 'first, last');
      await right.write(bytes('late reply'));
      await right.closeWrite();
      assert.equal((await readAll(left)).toString(), 'late reply');
      await assert.rejects(async () => left.closeWith?.(bytes('more')));
    });

    check('last bytes come after all that waits to be sent', async ({ left, right }) => {
      if (!left.closeWith) return;
      const SIZE = 16 << 20;
      const drained = left.write(new Uint8Array(SIZE).fill(1));
      const closed = left.closeWith(bytes('last'));
      const all = await readAll(right);
      await Promise.all([drained, closed]);
      assert.equal(all.length, SIZE + 4);
      assert.equal(all.subarray(SIZE).toString(), 'last');
    });

    check('half-closing twice is one half-close', async ({ left, right }) => {
      await Promise.all([left.closeWrite(), left.closeWrite()]);
      await left.closeWrite();
      assert.equal(await right.read(), undefined);
    });

    check('writing after a half-close is refused', async ({ left }) => {
      await left.closeWrite();
      await assert.rejects(async () => left.write(bytes('more')));
    });

    check('unread bytes are read first', async ({ left, right }) => {
      await left.write(bytes('GET /'));
      const reader = new BoundedReader(right, 64);
      assert.equal((await reader.bytes(1)).toString(), 'G');
      reader.release();
      await left.closeWrite();
      assert.equal((await readAll(right)).toString(), 'ET /');
    });

    check('bytes can be unread after the end as well', async ({ left, right }) => {
      await left.write(bytes('x'));
      await left.closeWrite();
      const all = await readAll(right);
      right.unread(all);
      assert.equal((await right.read())?.length, 1);
      assert.equal(await right.read(), undefined);
    });

    check('an aborted read loses nothing', async ({ left, right }) => {
      const abort = new AbortController();
      const waiting = assert.rejects(right.read(abort.signal), /enough waiting/);
      abort.abort(new Error('enough waiting'));
      await waiting;
      await assert.rejects(right.read(abort.signal), /enough waiting/);
      await left.write(bytes('still here'));
      await left.closeWrite();
      assert.equal((await readAll(right)).toString(), 'still here');
    });

    check('a second read while one waits is refused', async ({ left, right }) => {
      const first = right.read();
      await assert.rejects(right.read());
      await left.write(bytes('a'));
      assert.equal((await first)?.length, 1);
    });

    check(
      'a writer that outruns its reader is asked to wait, and continues',
      async ({ left, right }) => {
        const chunk = Buffer.alloc(64 * 1024, 7);
        const total = 512;
        let waited = 0;
        const writing = (async () => {
          for (let i = 0; i < total; i++) {
            const full = left.write(Buffer.from(chunk));
            if (full) {
              waited++;
              await full;
            }
          }
          await left.closeWrite();
        })();
        let received = 0;
        for (;;) {
          const read = await right.read();
          if (!read) break;
          received += read.length;
          assert.ok(read.every((byte) => byte === 7));
        }
        await writing;
        assert.equal(received, total * chunk.length);
        assert.ok(waited > 0, 'it was never asked to wait');
      },
    );

    check('bytes before a half-close arrive although their writer is gone', async (ends) => {
      await ends.left.write(bytes('last words'));
      await ends.left.closeWrite();
      ends.left.destroy();
      assert.equal((await readAll(ends.right)).toString(), 'last words');
    });

    check(
      'bytes before a half-close arrive although their writer has unread bytes',
      async ({ left, right }) => {
        await right.write(bytes('unread'));
        await nextTurn();
        const words = Buffer.alloc(48 << 10, 'last words');
        await left.write(Buffer.from(words));
        await left.closeWrite();
        left.destroy();
        // A link without a kernel in between may have noticed already that its peer is gone.
        right.write(bytes('nor this'))?.catch(() => undefined);
        await nextTurn();
        assert.ok((await readAll(right)).equals(words));
        right.destroy();
      },
    );

    check('destroying ends reads, writes and the peer', async ({ left, right }) => {
      const reading = assert.rejects(left.read(), /aborted here/);
      left.destroy(new Error('aborted here'));
      await reading;
      await assert.rejects(left.read(), /aborted here/);
      await assert.rejects(async () => left.write(bytes('x')));
      assert.match(String((await left.closed)?.message), /aborted here/);
      // The peer reads a failure or the end, and never waits for ever.
      await readAll(right).catch(() => undefined);
      left.destroy(new Error('again'));
    });

    check('destroying while a half-close is under way leaves nothing behind', async (ends) => {
      const { left, right } = ends;
      // Carriers that send more once they are open have sent it.
      await left.write(bytes('a'));
      await right.read();
      await right.write(bytes('b'));
      await left.read();
      left.closeWrite().catch(() => undefined);
      left.destroy(new Error('aborted here'));
      assert.match(String((await left.closed)?.message), /aborted here/);
      await readAll(right).catch(() => undefined);
      // A writer that is left fails as well, sooner or later.
      for (;;) {
        try {
          await right.write(bytes('x'));
          await nextTurn();
        } catch {
          break;
        }
      }
    });

    check('destroying releases a writer that waits for room', async ({ left }) => {
      const chunk = Buffer.alloc(256 * 1024);
      let full: Promise<void> | undefined;
      for (let i = 0; i < 200 && !full; i++) full = left.write(chunk);
      assert.ok(full, 'the link never filled up');
      // A carrier may count a chunk as taken once its kernel has it; only then is there no wait.
      for (let i = 0; i < 200; i++) {
        const settled = await Promise.race([full.then(() => true), nextTurn().then(() => false)]);
        if (!settled) break;
        full = left.write(chunk) ?? full;
      }
      const released = assert.rejects(full, /no more/);
      left.destroy(new Error('no more'));
      await released;
    });

    for (const size of [48 << 10, 4 << 20]) {
      check(`the ${size} bytes before a reset are read before it`, async ({ left, right }) => {
        // Until the kernel has a window for it, a large write waits.
        left.write(Buffer.alloc(size, 'last words'))?.catch(() => undefined);
        left.resetAfterData(new Error('cut here'));
        left.destroy();
        await assert.rejects(left.read(), /cut here/);
        await assert.rejects(async () => left.write(bytes('x')));
        assert.ok((await readToFailure(right)).equals(Buffer.alloc(size, 'last words')));
        right.destroy();
        assert.match(String(await left.closed), /cut here/);
      });
    }

    check('what came before a reset can be read after a write has failed', async (ends) => {
      const { left, right } = ends;
      if (losesUnread) return;
      // Within every window: a peer that reads nothing is not waited for.
      const words = Buffer.alloc(8 << 10, 'last words');
      await left.write(Buffer.from(words));
      left.resetAfterData(new Error('cut here'));
      for (;;) {
        try {
          await right.write(bytes('x'));
          await nextTurn();
        } catch {
          break;
        }
      }
      assert.ok((await readToFailure(right)).equals(words));
    });

    check('closed resolves without a cause after a clean end', async ({ left, right }) => {
      await left.closeWrite();
      await right.closeWrite();
      await readAll(left);
      await readAll(right);
      assert.equal(await left.closed, undefined);
      assert.equal(await right.closed, undefined);
    });
  });
}

/** Lets input and output of the event loop happen once. */
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
