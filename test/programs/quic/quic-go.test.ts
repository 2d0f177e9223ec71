import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostPort } from '../../support/data/address.ts';
import { echoServer } from '../../support/peers/servers.ts';
import { freedom } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { PASSWORD } from '../../support/ways/secrets.ts';
import { hysteriaIn } from '../support/hysteria-in.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';

const quicGo = programOrSkip('quic-go');
const MASQUERADE = '404 404 page not found';

/** What `go-client/main.go` sees in each of its cases. */
const CASES: readonly (readonly [what: string, seen: object])[] = [
  ['a page', { page: MASQUERADE }],
  ['a wrong password', { page: MASQUERADE }],
  ['another port', { page: MASQUERADE, moved: true }],
  ['key update', { same: true, updated: true }],
  ['early data', { page: MASQUERADE, early: false, resumed: false }],
];

test('quic-go is a client of a Hysteria 2 inbound', { skip: quicGo.skip }, async (t) => {
  await using echo = await echoServer();
  await using weir = await Weir.start(hysteriaIn() + freedom());
  const target = [hostPort(weir.address('hy')), certificate().caFile, SERVER_NAME, PASSWORD];
  for (const [what, expected] of CASES) {
    await t.test(what, async () => {
      const text = await outputOf(quicGo.path, [...target, hostPort(echo), what], 60_000);
      assert.deepEqual(JSON.parse(text), expected);
    });
  }
});
