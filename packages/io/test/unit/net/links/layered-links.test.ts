import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DecodedLink, GreetingLink } from '../../../../src/net/links/layered-links.ts';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { FIRST_PAYLOAD_MS } from '../../../../src/net/time/clock.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

/** Decodes nothing; an exclamation mark ends the stream. */
class EchoLink extends DecodedLink {
  readonly calls: string[] = [];
  #hasEnded = false;

  respond(sent: Promise<void>): void {
    this.responding = sent.then(() => {
      this.responding = undefined;
    });
  }

  failBy(error: Error): void {
    this.endBoth(error, error);
  }

  override destroy(cause?: Error): void {
    this.endBoth(cause ?? new Error('destroyed'), cause);
  }

  protected override get hasEnded(): boolean {
    return this.#hasEnded;
  }

  protected override decode(chunk: Uint8Array | undefined): void {
    this.calls.push('decode');
    if (!chunk) this.failWith(new Error('truncated'));
    else if (String(chunk) === '!') this.#hasEnded = true;
    else this.items.push(chunk);
  }

  protected override sendEnd(): Promise<void> {
    this.calls.push('end');
    return Promise.resolve();
  }

  protected override closeLower(cause: Error | undefined): void {
    this.calls.push(`shut: ${cause?.message}`);
    this.lower.destroy(cause);
  }
}

interface Ends {
  readonly link: EchoLink;
  readonly write: (text: string) => Promise<void>;
  readonly end: () => Promise<void>;
}

function pair(): Ends {
  const [left, right] = linkPair();
  return {
    link: new EchoLink(left),
    write: async (text) => right.write(Buffer.from(text)),
    end: () => right.closeWrite(),
  };
}

describe('a link that decodes', () => {
  test('returns decoded chunks, those that were put back first, and then the end', async () => {
    const { link, write } = pair();
    await write('a');
    const chunk = (await link.read()) ?? assert.fail('no chunk');
    link.unread(chunk);
    await write('!');
    assert.equal(String(await link.read()), 'a');
    assert.equal(await link.read(), undefined);
    assert.equal(await link.read(), undefined);
  });

  test('rejects reads after a failure of the decoder, and shuts the link below', async () => {
    const { link, end } = pair();
    await end();
    await assert.rejects(link.read(), /truncated/);
    await assert.rejects(link.read(), /truncated/);
    assert.deepEqual(link.calls, ['decode', 'shut: truncated']);
    await assert.rejects(link.closeWrite(), /truncated/);
  });

  test('reads no more while a response of the decoder is queued', async () => {
    const { link, write } = pair();
    const sent = Promise.withResolvers<void>();
    link.respond(sent.promise);
    await write('a');
    const reading = link.read();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(link.calls, []);
    sent.resolve();
    assert.equal(String(await reading), 'a');
  });

  test('does not decode what arrives during a failure', async () => {
    const { link, write } = pair();
    const reading = assert.rejects(link.read(), /no/);
    const arrived = write('a');
    link.failBy(new Error('no'));
    await reading;
    await arrived.catch(() => undefined);
    assert.deepEqual(link.calls, ['shut: no']);
  });

  test('half-closes once', async () => {
    const { link } = pair();
    await Promise.all([link.closeWrite(), link.closeWrite()]);
    assert.deepEqual(link.calls, ['end']);
  });
});

const hello = Buffer.from('hello ');

const next = async (link: ByteLink): Promise<string> =>
  String(Buffer.from((await link.read()) ?? Buffer.from('<end>')));

function start(clock?: ManualClock): { link: ByteLink; far: ByteLink; writes: number[] } {
  const [near, far] = linkPair();
  const writes: number[] = [];
  const writeOutput = near.writeOutput.bind(near);
  near.writeOutput = (chunks) => {
    writes.push(chunks.length);
    return writeOutput(chunks);
  };
  return { link: new GreetingLink(near, hello, clock), far, writes };
}

describe('a link with a greeting', () => {
  test('sends it in one write with the first payload, and once', async () => {
    const { link, far, writes } = start();
    await link.write(Buffer.from('world'));
    assert.deepEqual(writes, [2]);
    assert.equal((await next(far)) + (await next(far)), 'hello world');
    await link.write(Buffer.from('!'));
    await link.closeWrite();
    assert.equal((await next(far)) + (await next(far)), '!<end>');
  });

  test('takes what the link below holds', () => {
    const [near] = linkPair();
    const link = new GreetingLink(near, hello);
    assert.equal(link.takeAhead(), undefined);
    near.takeAhead = () => Buffer.from('held');
    assert.equal(String(link.takeAhead()), 'held');
  });

  test('sends it alone when there is no payload in time', async () => {
    const clock = new ManualClock();
    const { link, far } = start(clock);
    clock.advance(FIRST_PAYLOAD_MS - 1);
    const greeting = next(far);
    clock.advance(1);
    assert.equal(await greeting, 'hello ');
    await link.write(Buffer.from('world'));
    assert.equal(await next(far), 'world');
    assert.equal(clock.timers, 0);
  });

  test('sends it before a half-close', async () => {
    const clock = new ManualClock();
    const { link, far } = start(clock);
    await link.closeWrite();
    assert.equal((await next(far)) + (await next(far)), 'hello <end>');
    assert.equal(clock.timers, 0);
  });

  test('does not send it when it is destroyed, or its peer has closed', async () => {
    for (const end of ['link', 'far'] as const) {
      const clock = new ManualClock();
      const ends = start(clock);
      ends[end].destroy(new Error('gone'));
      await ends.link.closed;
      clock.advance(FIRST_PAYLOAD_MS);
      assert.equal(clock.timers, 0);
      await assert.rejects(async () => ends.link.write(Buffer.from('x')));
    }
  });
});
