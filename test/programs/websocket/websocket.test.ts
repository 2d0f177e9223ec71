import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DIRECT } from '../../support/config/support.ts';
import { portOf } from '../../support/data/address.ts';
import { echoServer } from '../../support/peers/servers.ts';
import { Child } from '../../support/process/child.ts';
import { Weir } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';
import { ID, PASSWORD } from '../../support/ways/secrets.ts';
import { programOrSkip } from '../support/program.ts';
import { CASES, WRONG_FRAMES, type WebSocketCase } from './cases.ts';

const { path: python, skip } = programOrSkip('wsproto');
const CLIENT = fileURLToPath(new URL('client.py', import.meta.url));
const PATIENCE_MS = 300_000;

const inbound = (protocol: string, users: string): string => `
[[inbound]]
tag = "${protocol}"
protocol = "${protocol}"
port = 0
[inbound.settings]
users = [{ ${users} }]
[inbound.stream]
network = "ws"
[inbound.stream.ws]
path = "/ws"
`;

const CONFIG =
  inbound('vless', `id = "${ID}"`) +
  inbound('trojan', `password = "${PASSWORD}"`) +
  inbound('vmess', `id = "${ID}"`) +
  DIRECT;

/** What a protocol's request to 127.0.0.1 begins with, and the response to it, in hex. */
interface Opening {
  readonly head: string;
  readonly replyHead: string;
}

const portHex = (port: number): string => port.toString(16).padStart(4, '0');

const OPENINGS: Readonly<Record<'vless' | 'trojan', (port: number) => Opening>> = {
  // Version, id, no addons, TCP, port, IPv4 address.
  vless: (port) => ({
    head: `00${ID.replaceAll('-', '')}0001${portHex(port)}017f000001`,
    replyHead: '0000',
  }),
  // The SHA-224 of the password as text, TCP, IPv4 address, port, each part ended by CRLF.
  trojan: (port) => {
    const hash = createHash('sha224').update(PASSWORD).digest('hex');
    return {
      head: `${Buffer.from(hash).toString('hex')}0d0a01017f000001${portHex(port)}0d0a`,
      replyHead: '',
    };
  },
};

interface Outcome {
  readonly id: string;
  readonly error?: string;
  readonly received: number;
  readonly same: boolean;
  readonly pongs: readonly string[];
  /** `null` without a Close frame. */
  readonly close: number | null;
  readonly extensions: number;
  readonly ended: 'end' | 'reset' | 'timeout';
}

async function runCases(
  port: number,
  opening: Opening,
  cases: readonly WebSocketCase[],
): Promise<readonly Outcome[]> {
  await using child = new Child(python, ['-B', CLIENT]);
  child.stdin.end(JSON.stringify({ port, path: '/ws', ...opening, cases }));
  const { code } = await within(child.exited, () => child.stdout.slice(-1000), PATIENCE_MS);
  assert.equal(code, 0, child.stderr);
  return child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Outcome);
}

/** What is wrong with the outcome of a case. */
function faultsOf(one: WebSocketCase, outcome: Outcome | undefined): string[] {
  if (!outcome) return ['it has no outcome'];
  if (outcome.error !== undefined) return [outcome.error];
  const { close, ended, same, pongs, extensions, received } = outcome;
  const faults: string[] = [];
  if (close !== one.code) faults.push(`the Close frame has ${close}, not ${one.code}`);
  if (one.echoes && !same) faults.push(`${received} bytes came back, not those that were sent`);
  if (one.echoes && ended !== 'end') faults.push(`the connection ended with ${ended}`);
  if (ended === 'timeout') faults.push('the connection did not end');
  if (one.lastPong !== undefined && pongs.at(-1) !== one.lastPong)
    faults.push(`Pongs: ${pongs.join(' ')}`);
  if (extensions !== 0) faults.push('an extension that the client did not offer');
  return faults;
}

function assertRight(cases: readonly WebSocketCase[], outcomes: readonly Outcome[]): void {
  const failures = cases.flatMap((one, i) =>
    faultsOf(one, outcomes[i]).map((fault) => `${one.id}: ${fault}`),
  );
  assert.deepEqual(failures, []);
}

for (const protocol of ['vless', 'trojan'] as const) {
  test(
    `frames of Autobahn's cases through ${protocol} over ws carry their data, or end with the right code`,
    {
      skip,
    },
    async (t) => {
      await using echo = await echoServer();
      await using weir = await Weir.start(CONFIG);
      const opening = OPENINGS[protocol](echo.port);
      const outcomes = await runCases(portOf(weir.address(protocol)), opening, CASES);
      t.diagnostic(`${CASES.length} cases`);
      assertRight(CASES, outcomes);
    },
  );
}

for (const protocol of ['vless', 'trojan', 'vmess'] as const) {
  test(
    `wrong frames before authentication end a ${protocol} connection with the right code`,
    {
      skip,
    },
    async (t) => {
      await using weir = await Weir.start(CONFIG);
      const none = { head: '', replyHead: '' };
      const outcomes = await runCases(portOf(weir.address(protocol)), none, WRONG_FRAMES);
      t.diagnostic(`${WRONG_FRAMES.length} cases`);
      assertRight(WRONG_FRAMES, outcomes);
    },
  );
}
