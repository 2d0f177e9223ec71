import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fromJson, writesOf, type Attack } from '../../../../../test/cost/attack.ts';
import { STREAM_INBOUNDS } from '../../../../../test/cost/way-targets.ts';
import type { WorstInputs } from '../../../../../test/cost/worst-inputs.ts';
import { REQUESTS_A_TURN } from '../../../../proxy/src/protocols/http/limits.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { ReplayedInbound } from '../../../../../test/support/engine/replayed-inbound.ts';

/** What `npm run cost -- --worst test/cost/worst` has found. */
const FOLDER = new URL('../../../../../test/cost/worst/', import.meta.url);

const FILES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as WorstInputs);

const CLIENTS = 8;
/** Longer than every time limit of a client without a password: a rejected one of Shadowsocks 2022 has 40 s. */
const LONGEST_S = 75;
/** Writes of one turn by an inbound that responds to each request, and a few frames of each connection. */
const MOST_WRITES_A_TURN = 2 * REQUESTS_A_TURN + 4 * CLIENTS;

/** Sends an attack by several clients in turns. @returns the most writes of the inbound in one turn. */
async function replay(attack: Attack, inbound: ReplayedInbound): Promise<number> {
  const clients = Array.from({ length: CLIENTS }, (_, client) => inbound.connect(client));
  let most = 0;
  const passTurn = async (): Promise<number> => {
    const before = inbound.writes;
    await turn();
    const written = inbound.writes - before;
    most = Math.max(most, written);
    return written;
  };
  await passTurn();
  for (const bytes of writesOf(attack)) {
    // The inbound may have closed already, and takes ownership of what it reads.
    for (const client of clients) client.write(Buffer.from(bytes))?.catch(() => undefined);
    await passTurn();
  }
  if (attack.end === 'half-close') {
    for (const client of clients) client.closeWrite().catch(() => undefined);
  }
  if (attack.end === 'reset') for (const client of clients) client.destroy(new Error('reset'));
  for (let idle = 0; idle < 5;) idle = (await passTurn()) === 0 ? idle + 1 : 0;
  return most;
}

for (const { target, inputs } of FILES) {
  const config = STREAM_INBOUNDS.get(target);
  // QUIC, datagrams and the steering interfaces have tests of their own bounds.
  if (config === undefined) continue;
  describe(`the costliest inputs of ${target}`, () => {
    for (const { objectives, attack } of inputs) {
      // What is sent in place of TLS is not for the inbound behind it.
      if (target.includes('tls') && !attack.insideTls) continue;
      test(`for the ${objectives.join(', ')} (${attack.story[0]}) take bounded turns, and leave nothing`, async () => {
        const inbound = await ReplayedInbound.of(config);
        const writes = await replay(fromJson(attack), inbound);
        assert.ok(writes <= MOST_WRITES_A_TURN, `${writes} writes in one turn`);
        for (let second = 0; second < LONGEST_S; second++) {
          inbound.clock.advance(1000);
          await turn();
        }
        if (!target.includes('without a password')) {
          assert.equal(inbound.dispatcher.streams.length, 0);
        }
        assert.equal(inbound.unauthenticated.count, 0, 'places of unauthenticated clients');
        assert.equal(inbound.tracker.sessionCount, 0, 'sessions');
        assert.equal(inbound.clock.timers, 0, 'timers');
      });
    }
  });
}
