import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DialStep } from '@weir/io';
import { CarrierPair, CARRIERS } from '../../../../../test/support/links/carriers.ts';

/** What each carrier reports of its first dial, and of a second one. */
const REPORTED: Readonly<Record<string, readonly [string, string]>> = {
  tcp: ['resolved connected', 'resolved connected'],
  tls: ['resolved connected secured', 'resolved connected secured'],
  ws: ['resolved connected carried', 'resolved connected carried'],
  // The upgrade waits for the first write.
  'ws with early data': ['resolved connected', 'resolved connected'],
  'ws over tls': ['resolved connected secured carried', 'resolved connected secured carried'],
  grpc: ['resolved connected carried', 'reused'],
  'grpc over tls': ['resolved connected secured carried', 'reused'],
};

for (const [name, pair] of Object.entries(CARRIERS)) {
  test(`a dial reports its steps: ${name}`, async () => {
    await using carriers = await CarrierPair.open(pair);
    const seen: DialStep[] = [];
    for (const expected of REPORTED[name] ?? []) {
      const { signal } = new AbortController();
      const observe = (step: DialStep): void => void seen.push(step);
      const carrier = await carriers.dialer.dial({ signal, observe });
      assert.equal(seen.splice(0).join(' '), expected);
      // The first call of a gRPC connection proves that the server is there.
      if (name.startsWith('grpc')) {
        void carrier.link.write(Buffer.from('x'));
        (await carriers.accept()).link.destroy();
        continue;
      }
      carrier.link.destroy();
    }
  });
}
