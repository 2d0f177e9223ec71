import { runInOwnNetwork } from '../support/netns/own-network.ts';
import { sleepThrough } from '../support/roaming/sleep.ts';
import { RoamingStage } from '../support/roaming/stage.ts';
import { numbersOf, report } from './goal.ts';

const USAGE = `Usage: npm run sleep -- [OPTION]...

Stops a Weir with flows by every outbound (SIGSTOP) while most of their clients leave and its peers give up, lets
it run again, and prints how long each outbound takes to serve. It needs root.

  --seconds N  how long it is stopped (600)
  --flows N    flows by each outbound (20)
  --crash N    1: its servers crash and start again meanwhile (0)
  --help       this text
`;

await runInOwnNetwork(import.meta.url, async () => {
  const options = numbersOf(USAGE, { seconds: 600, flows: 20, crash: 0 });
  if (!options) return;
  const { seconds, flows, crash } = options;
  await using stage = await RoamingStage.make();
  const control = await stage.startWeir();
  // Associations and shared connections, which the process has when it is stopped.
  await stage.recoveries();
  const took = await sleepThrough(stage, control, { seconds, flows, crash: crash > 0 });
  report(new Map([[`stopped for ${seconds} s`, [took]]]));
});
