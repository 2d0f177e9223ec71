import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DecodedLink } from '../../../../src/net/links/decoded-link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';

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
