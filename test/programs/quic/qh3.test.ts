import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portOf, type Address } from '../../support/data/address.ts';
import { freedom } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { without } from '../../support/programs/peers.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { PASSWORD } from '../../support/ways/secrets.ts';
import { hysteriaIn } from '../support/hysteria-in.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { startCaddy } from '../support/web-servers.ts';

const qh3 = programOrSkip('qh3');
const SCRIPT = fileURLToPath(new URL('qh3-client.py', import.meta.url));

const MASQUERADE = '404 404 page not found';
const AUTHENTICATED = '233 ';
const VERSION_1 = 1;

/** What `qh3-client.py` sees in each of its cases. */
const CASES: readonly (readonly [what: string, seen: object])[] = [
  ['a page', { page: MASQUERADE }],
  ['a page by packets of 1,200 bytes', { page: MASQUERADE }],
  ['a page by packets of 1,452 bytes', { page: MASQUERADE }],
  ['a page by connection ids of 20 bytes', { page: MASQUERADE }],
  ['a wrong password', { page: MASQUERADE }],
  ['the password', { page: AUTHENTICATED }],
  ['a body of 1 MiB', { page: MASQUERADE }],
  ['pings', { pings: 100 }],
  ['an unknown version', { negotiated: true, version: VERSION_1, page: MASQUERADE }],
  ['version 2', { negotiated: true, version: VERSION_1, page: MASQUERADE }],
  ['version negotiation', { versions: [VERSION_1] }],
  ['version negotiation for a small packet', { versions: null }],
  ['key updates', { changes: 19, followed: true, page: MASQUERADE }],
  ['other ports', { page: MASQUERADE }],
  ['other ports and connection ids', { page: MASQUERADE }],
  ['tickets', { tickets: 0, early: false, token: true }],
  ['early data', { tickets: 0 }],
  ['a packet of no connection', { reset: true, shorter: true }],
  ['a small packet of no connection', { reset: false, shorter: true }],
  // The last ones: the server demands tokens for a while after them.
  ['a token', { retried: false, page: MASQUERADE }],
  ['a Retry', { retried: true, page: AUTHENTICATED }],
];

/**
 * What the same client sees of Caddy 2.6 of Debian: that it can see tickets and early data, and where a
 * Hysteria 2 inbound differs from it. Its quic-go is of 2022 and has drafts among its versions.
 */
const CADDY: readonly (readonly [what: string, seen: object])[] = [
  ['a page', { page: MASQUERADE }],
  ['key updates', { changes: 19, followed: true, page: MASQUERADE }],
  ['tickets', { tickets: 1, early: true, token: true }],
  ['early data', { attempted: true, accepted: true, page: MASQUERADE }],
  ['version negotiation', { versions: [VERSION_1, 0x709a50c4, 0xff00001d] }],
  ['a packet of no connection', { reset: false, shorter: true }],
];

async function seenBy(what: string, server: Address): Promise<unknown> {
  const target = [String(portOf(server)), certificate().caFile, SERVER_NAME, PASSWORD];
  return JSON.parse(await outputOf(qh3.path, ['-B', SCRIPT, ...target, what], 60_000));
}

test('qh3 is a client of a Hysteria 2 inbound, and a prober', { skip: qh3.skip }, async (t) => {
  await using weir = await Weir.start(hysteriaIn() + freedom());
  for (const [what, expected] of CASES) {
    await t.test(what, async () => {
      assert.deepEqual(await seenBy(what, weir.address('hy')), expected);
    });
  }
});

test(
  'qh3 sees of Caddy what a Hysteria 2 inbound does not have, such as early data',
  { skip: without('caddy') || qh3.skip },
  async (t) => {
    await using caddy = await startCaddy();
    for (const [what, expected] of CADDY) {
      await t.test(what, async () => {
        assert.deepEqual(await seenBy(what, caddy.address), expected);
      });
    }
  },
);
