import type { UdpAssociation as Association } from '../../support/peers/socks-udp.ts';
import { udpEcho } from '../../support/peers/servers.ts';
import type { Target } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import { freedom, socksIn } from '../../support/process/config.ts';
import { guarded } from '../exchange.ts';
import {
  SERVED,
  unserved,
  Violation,
  type Outcome,
  type Scenario,
  type Stage,
} from '../scenario.ts';
import { Victim } from '../victim.ts';
import { BASE } from './relays.ts';

/** Datagrams that have to come back, by their sizes. */
const SIZES = [1, 700, 1400];
/** A datagram may be lost: it is sent again, as DNS clients do. */
const ATTEMPTS = 20;
const PATIENCE_MS = 250;

/** A datagram until it comes back; false when that does not happen. */
async function echoed(association: Association, to: Target, data: Buffer): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (association.control.destroyed || association.control.readableEnded) return false;
    association.send(to, data);
    const received = await association.receive(PATIENCE_MS).catch(() => undefined);
    if (!received) continue;
    if (!SIZES.includes(received.data.length) || received.data.some((byte) => byte !== 0x5a)) {
      throw new Violation('a datagram came back changed');
    }
    // One that was sent twice may come late.
    if (received.data.length === data.length) return true;
  }
  return false;
}

export const DATAGRAMS: readonly Scenario[] = [
  {
    name: 'udp',
    start: async (): Promise<Stage> => {
      const echo = await udpEcho();
      const victim = await Victim.start(`${BASE}${socksIn()}${freedom()}`);
      const use = async (): Promise<Outcome> => {
        using association = await UdpAssociation.open(victim.weir.address('socks'));
        association.control.resume();
        for (const size of SIZES) {
          const data = Buffer.alloc(size, 0x5a);
          if (!(await echoed(association, echo.target, data))) {
            return unserved(`no echo of ${size} bytes`);
          }
        }
        return SERVED;
      };
      return {
        victim,
        use: () => guarded(use),
        async [Symbol.asyncDispose]() {
          await victim[Symbol.asyncDispose]();
          await echo[Symbol.asyncDispose]();
        },
      };
    },
  },
];
