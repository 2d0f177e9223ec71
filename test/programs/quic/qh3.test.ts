import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portOf } from '../../support/data/address.ts';
import { freedom } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { PASSWORD } from '../../support/ways/secrets.ts';
import { hysteriaIn } from '../support/hysteria-in.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';

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
  ['a ping', { pings: 1 }],
  ['an unknown version', { negotiated: true, version: VERSION_1, page: MASQUERADE }],
  ['version 2', { negotiated: true, version: VERSION_1, page: MASQUERADE }],
  ['version negotiation', { versions: [VERSION_1] }],
  ['version negotiation for a small packet', { versions: null }],
  ['key updates', { changes: 19, followed: true, page: MASQUERADE }],
  ['other ports', { page: MASQUERADE }],
  ['other ports and connection ids', { page: MASQUERADE }],
  ['tickets', { tickets: 0, early: false }],
  ['early data', { tickets: 0 }],
  ['a packet of no connection', { reset: true, shorter: true }],
  ['a small packet of no connection', { reset: false, shorter: true }],
  // The last one: the server demands tokens for a while after it.
  ['a Retry', { retried: true, page: AUTHENTICATED }],
];

test('qh3 is a client of a Hysteria 2 inbound, and a prober', { skip: qh3.skip }, async (t) => {
  await using weir = await Weir.start(hysteriaIn() + freedom());
  const { caFile } = certificate();
  const target = [String(portOf(weir.address('hy'))), caFile, SERVER_NAME, PASSWORD];
  for (const [what, expected] of CASES) {
    await t.test(what, async () => {
      const text = await outputOf(qh3.path, ['-B', SCRIPT, ...target, what], 60_000);
      assert.deepEqual(JSON.parse(text), expected);
    });
  }
});
