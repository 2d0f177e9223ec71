import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import {
  changeDefaultRoute,
  gainUplink,
  loseUplink,
  restoreDefaultRoute,
  RoamingStage,
} from '../support/roaming/stage.ts';
import { shared } from '../support/shared.ts';

inOwnNetwork(import.meta.url, () => {
  describe('without a restart, every outbound works again', () => {
    let stage: RoamingStage;

    shared(async (use) => {
      stage = use(await RoamingStage.make());
    });

    /** How long each outbound took; one that does not work again fails. */
    async function recover(t: TestContext): Promise<void> {
      const took = await stage.recoveries();
      assert.ok(took.size > 0);
      t.diagnostic([...took].map(([what, ms]) => `${what} ${(ms / 1000).toFixed(1)} s`).join(', '));
    }

    test('when the network comes only after the start', async (t) => {
      loseUplink();
      await stage.startWeir();
      gainUplink(1);
      await recover(t);
    });

    test('when an interface goes and comes back with another address', async (t) => {
      loseUplink();
      gainUplink(51);
      await recover(t);
    });

    test('when the default route changes, and what comes for the old address is lost', async (t) => {
      changeDefaultRoute(stage.site, 51);
      await recover(t);
      restoreDefaultRoute(51);
      await recover(t);
    });

    test('when its servers have crashed and started again', async (t) => {
      await stage.restartServers();
      await recover(t);
    });
  });
});
