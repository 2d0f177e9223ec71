/**
 * A test that cuts the network in the middle of a response, to see what a program makes of it.
 *
 *     node --test cut-network.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Weir, type FetchDispatcher } from 'weir-engine';
import { startOrigin } from './origin.ts';

/** The program under test: it downloads, and says how far it came. */
async function download(url: string, dispatcher: FetchDispatcher): Promise<string> {
  let bytes = 0;
  try {
    const { body } = await fetch(url, { dispatcher });
    for await (const chunk of body ?? []) bytes += chunk.length;
    return `complete after ${bytes} bytes`;
  } catch {
    return `interrupted after ${bytes} bytes`;
  }
}

await test('a download that is cut off is not taken for a complete one', async () => {
  await using origin = await startOrigin((_, response) => {
    // The rest never comes.
    response.write('first half');
  });
  await using weir = await Weir.start({
    config: { outbound: [{ tag: 'direct', protocol: 'freedom' }] },
  });
  const result = download(origin.url, weir.dispatcher());
  for await (const { down } of samples(weir)) if (down > 0) break;
  weir.closeFlows();
  assert.equal(await result, 'interrupted after 10 bytes');
});

/** The flows of each moment. */
async function* samples(weir: Weir): AsyncGenerator<{ readonly down: number }> {
  for (;;) {
    yield* weir.connections().flows;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
