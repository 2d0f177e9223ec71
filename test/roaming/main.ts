import { runInOwnNetwork } from '../support/netns/own-network.ts';
import type { Recoveries } from '../support/roaming/recovery.ts';
import {
  changeDefaultRoute,
  gainUplink,
  loseUplink,
  restoreDefaultRoute,
  RoamingStage,
} from '../support/roaming/stage.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { numbersOf, report } from './goal.ts';

const USAGE = `Usage: npm run roaming -- [OPTION]...

Changes the network of a Weir with every outbound, and prints how long each takes to serve again. It needs root.

  --rounds N  how often every change is made (3)
  --outage N  seconds for which the network is away when it goes (5)
  --help      this text
`;

/** What is done to the network; the time counts from its end. */
type Change = (stage: RoamingStage) => Promise<void> | void;

const changesOf = (outage: number): ReadonlyMap<string, Change> => {
  /** The last byte of the address, another one each time. */
  let last = 1;
  return new Map<string, Change>([
    [
      'network after the start',
      async (stage) => {
        loseUplink();
        await stage.startWeir();
        await sleep(outage * 1000);
        gainUplink(last);
      },
    ],
    [
      'another address',
      async () => {
        loseUplink();
        await sleep(outage * 1000);
        last = (last % 200) + 50;
        gainUplink(last);
      },
    ],
    ['another default route', (stage) => changeDefaultRoute(stage.site, last)],
    ['the first default route', () => restoreDefaultRoute(last)],
    ['servers crashed', (stage) => stage.restartServers()],
  ]);
};

await runInOwnNetwork(import.meta.url, async () => {
  const options = numbersOf(USAGE, { rounds: 3, outage: 5 });
  if (!options) return;
  await using stage = await RoamingStage.make();
  const changes = changesOf(options.outage);
  const found = new Map<string, Recoveries[]>(Array.from(changes.keys(), (name) => [name, []]));
  for (let i = 0; i < options.rounds; i++) {
    for (const [name, change] of changes) {
      await change(stage);
      found.get(name)?.push(await stage.recoveries());
    }
  }
  report(found);
});
