import { describe } from 'node:test';
import { accounts } from './inbound/accounts.ts';
import { associations } from './inbound/datagrams.ts';
import { failures } from './inbound/failures.ts';
import type { InboundHarness } from './inbound/harness.ts';
import { requests } from './inbound/requests.ts';
import { payload, streams } from './inbound/streams.ts';
import { unfinished } from './inbound/unfinished.ts';
import { untrusted } from './inbound/untrusted.ts';

/**
 * The promises of an inbound to clients of its protocol and to the engine.
 *
 * @param only that of payload, for one of many ways in which a protocol seals it.
 */
export function inboundConformance(name: string, harness: InboundHarness, only?: 'payload'): void {
  describe(name, () => {
    payload(harness);
    if (only) return;
    streams(harness);
    requests(harness);
    unfinished(harness);
    if (harness.label) accounts(harness);
    failures(harness);
    untrusted(harness);
    if (harness.datagrams) associations(harness, harness.datagrams);
  });
}
