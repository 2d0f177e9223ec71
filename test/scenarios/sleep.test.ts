import { describe, test } from 'node:test';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import type { Control } from '../support/process/control.ts';
import { sleepThrough } from '../support/roaming/sleep.ts';
import { RoamingStage } from '../support/roaming/stage.ts';
import { shared } from '../support/shared.ts';

inOwnNetwork(import.meta.url, () => {
  describe('a process that is stopped while clients leave', () => {
    let stage: RoamingStage;
    let control: Control;

    shared(async (use) => {
      stage = use(await RoamingStage.make());
      control = await stage.startWeir();
    });

    test('serves by every outbound afterwards, and has no flow of a client that has left', async () => {
      await sleepThrough(stage, control, { seconds: 2, flows: 8, crash: false });
    });

    test('does so too when its servers have crashed and started again meanwhile', async () => {
      await sleepThrough(stage, control, { seconds: 1, flows: 8, crash: true });
    });
  });
});
