import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostPort, type Address } from '../../support/data/address.ts';
import { echoServer } from '../../support/peers/servers.ts';
import { freedom } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { without } from '../../support/programs/peers.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { PASSWORD } from '../../support/ways/secrets.ts';
import { hysteriaIn } from '../support/hysteria-in.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { startCaddy } from '../support/web-servers.ts';

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

async function seenBy(what: string, server: Address, echo: Address): Promise<unknown> {
  const secrets = [certificate().caFile, SERVER_NAME, PASSWORD];
  const args = [hostPort(server), ...secrets, hostPort(echo), what];
  return JSON.parse(await outputOf(quicGo.path, args, 60_000));
}

test('quic-go is a client of a Hysteria 2 inbound', { skip: quicGo.skip }, async (t) => {
  await using echo = await echoServer();
  await using weir = await Weir.start(hysteriaIn() + freedom());
  for (const [what, expected] of CASES) {
    await t.test(what, async () => {
      assert.deepEqual(await seenBy(what, weir.address('hy'), echo), expected);
    });
  }
});

test(
  'quic-go sends early data to Caddy, so that it would to a Hysteria 2 inbound that takes it',
  { skip: without('caddy') || quicGo.skip },
  async () => {
    await using caddy = await startCaddy();
    const seen = await seenBy('early data', caddy.address, caddy.address);
    assert.deepEqual(seen, { page: MASQUERADE, early: true, resumed: true });
  },
);
