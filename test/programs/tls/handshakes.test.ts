import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portOf, type Address } from '../../support/data/address.ts';
import { echoServer } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { socksIn } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { without } from '../../support/programs/peers.ts';
import { TLS } from '../../support/ways/way.ts';
import { weirOut } from '../../support/ways/weir-config.ts';
import { besideHonestClient, figuresOf } from '../support/honest-client.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { secureConfig } from '../support/secure-inbounds.ts';
import { trojanRequest } from '../support/trojan-request.ts';
import { startNginx } from '../support/web-servers.ts';
import { FLOODS, HANDSHAKES, NGINX_DIFFERS, type Outcome } from './handshake-outcomes.ts';

const tlslite = programOrSkip('tls-probes');
const SCRIPT = fileURLToPath(new URL('handshakes.py', import.meta.url));
const PATIENCE_MS = 120_000;
/** Records or messages of a flood: many more than OpenSSL's bounds, which are 5 and 32. */
const COUNT = 1000;

/** @param request what opens a tunnel to an echo server; empty for a server that has none. */
async function outcomeOf(what: string, server: Address, request = ''): Promise<Outcome> {
  const args = ['-B', SCRIPT, String(portOf(server)), request, String(COUNT), what];
  return JSON.parse(await outputOf(tlslite.path, args, PATIENCE_MS)) as Outcome;
}

test(
  'unusual clients of tlslite-ng are served or refused, and an honest client beside them is served',
  { skip: tlslite.skip },
  async (t) => {
    await using echo = await echoServer();
    await using weir = await Weir.start(secureConfig(), { control: true });
    const server = weir.address('trojan');
    const way = weirOut({ protocol: 'trojan', carrier: TLS }, server);
    await using client = await Weir.start(socksIn() + way);
    const connect = (): Promise<Socket> => socksConnect(client.address('socks'), echo.target);
    const request = trojanRequest(echo.target.port);
    const beside = async (what: string, t: TestContext): Promise<Outcome> => {
      const attack = (): Promise<Outcome> => outcomeOf(what, server, request);
      const outcome = await besideHonestClient(weir, connect, attack);
      const { version, alerts, ended } = outcome.result;
      t.diagnostic(`${version}, ${ended}, ${alerts.length} alerts; ${figuresOf(outcome)}`);
      return outcome.result;
    };
    for (const [what, expected] of HANDSHAKES) {
      await t.test(what, async (t) => assert.deepEqual(await beside(what, t), expected));
    }
    for (const [what, expected] of FLOODS) {
      await t.test(what, async (t) => {
        const { ended } = await beside(what, t);
        assert.equal(ended === 'end' || ended === 'reset' ? 'closed' : ended, expected);
      });
    }
  },
);

test(
  'unusual clients of tlslite-ng see of an inbound over TLS what they see of nginx',
  { skip: without('nginx') || tlslite.skip },
  async (t) => {
    await using weir = await Weir.start(secureConfig());
    await using nginx = await startNginx();
    for (const [what, expected] of HANDSHAKES) {
      await t.test(what, async () => {
        const seen = await outcomeOf(what, nginx.address);
        assert.deepEqual(seen, withoutTunnel(NGINX_DIFFERS[what] ?? expected), 'nginx');
        const own = await outcomeOf(what, weir.address('trojan'));
        assert.deepEqual(own, withoutTunnel(expected), 'Weir');
      });
    }
  },
);

/** The outcome of a client that opens no tunnel. */
const withoutTunnel = (outcome: Outcome): Outcome => ({
  ...outcome,
  ended: outcome.ended === 'served' ? 'open' : outcome.ended,
});
