import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portOf, type Address } from '../../support/data/address.ts';
import { freedom } from '../../support/process/config.ts';
import { Weir } from '../../support/process/weir.ts';
import { without } from '../../support/programs/peers.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { hysteriaIn } from '../support/hysteria-in.ts';
import { outputOf } from '../support/program-output.ts';
import { programOrSkip } from '../support/program.ts';
import { startCaddy } from '../support/web-servers.ts';
import { RESPONSES, type CaddyDoes, type Response } from './http3-responses.ts';

const aioquic = programOrSkip('quic-probes');
const { caFile } = certificate();

async function responsesOf(server: Address): Promise<Readonly<Record<string, Response>>> {
  const script = fileURLToPath(new URL('illegal-http3.py', import.meta.url));
  const args = ['-B', script, String(portOf(server)), caFile, SERVER_NAME];
  const text = await outputOf(aioquic.path, args, 120_000);
  return JSON.parse(text) as Readonly<Record<string, Response>>;
}

function differenceOf(weir: Response, caddy: Response): CaddyDoes {
  if (JSON.stringify(weir) === JSON.stringify(caddy)) return 'same';
  if (caddy.status !== undefined) return 'passed';
  return Object.keys(caddy).length === 0 ? 'ignored' : 'other';
}

test(
  'a Hysteria 2 inbound responds to illegal HTTP/3 as the RFCs demand, or as Caddy does',
  { skip: without('caddy') || aioquic.skip },
  async () => {
    await using weir = await Weir.start(hysteriaIn() + freedom());
    await using caddy = await startCaddy();
    const seen = await responsesOf(weir.address('hy'));
    const expected = Object.fromEntries(RESPONSES.map(([what, response]) => [what, response]));
    assert.deepEqual(seen, expected);
    const reference = await responsesOf(caddy.address);
    assert.deepEqual(
      RESPONSES.map(([what, response]) => [what, differenceOf(response, reference[what] ?? {})]),
      RESPONSES.map(([what, , difference]) => [what, difference]),
    );
  },
);
