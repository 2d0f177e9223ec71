import { test } from 'node:test';
import { Bbr } from '../../src/bbr/bbr.ts';
import { Brutal } from '../../src/brutal.ts';
import type { CongestionController } from '../../src/controller.ts';
import { Cubic } from '../../src/cubic.ts';
import { NewReno } from '../../src/classic-window.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';
import { matchSnapshot } from '../../../../test/support/congestion/snapshot.ts';
import { PACKET, ControllerRig } from '../../../../test/support/congestion/controller-rig.ts';

const RTT = 50;

/** What each round does to the window: scripts that all controllers play. */
const SCRIPTS: readonly {
  readonly name: string;
  readonly play: (rig: ControllerRig, show: (event?: string) => void) => void;
}[] = [
  {
    name: 'slow start, one loss, then avoidance',
    play(rig, show) {
      for (let i = 0; i < 5; i++) {
        rig.round(RTT);
        show();
      }
      rig.round(RTT, { lost: [3] });
      show('one packet lost');
      for (let i = 0; i < 8; i++) {
        rig.round(RTT);
        show();
      }
    },
  },
  {
    name: 'the application has little to send',
    play(rig, show) {
      for (let i = 0; i < 6; i++) {
        rig.round(RTT, { limit: 3 });
        show();
      }
      rig.round(RTT);
      show('the window is filled again');
    },
  },
  {
    name: 'a loss that was spurious',
    play(rig, show) {
      for (let i = 0; i < 3; i++) rig.round(RTT);
      show();
      const first = rig.send(8);
      rig.now += RTT;
      rig.acknowledge(first, 7, [first]);
      show('lost');
      rig.now += 5;
      rig.control.onSpuriousLoss(rig.now, rig.facts.sentAt(first));
      show('it arrived');
      rig.round(RTT);
      show();
    },
  },
  {
    name: 'persistent congestion',
    play(rig, show) {
      for (let i = 0; i < 4; i++) rig.round(RTT);
      show();
      const first = rig.send(10);
      rig.now += 1000;
      for (let number = first; number < first + 10; number++) rig.lose(number);
      rig.control.onPersistentCongestion(rig.now);
      show('nothing was delivered for a second');
      for (let i = 0; i < 5; i++) {
        rig.round(RTT);
        show();
      }
    },
  },
  {
    name: 'round trips grow before anything is lost',
    play(rig, show) {
      for (let i = 0; i < 3; i++) {
        rig.round(RTT);
        show();
      }
      for (let i = 0; i < 8; i++) {
        rig.round(RTT + 12);
        show('12 ms of queue');
      }
    },
  },
];

const CONTROLLERS: readonly (() => CongestionController)[] = [
  () => new NewReno(PACKET),
  () => new Cubic(PACKET),
  () => new Bbr(PACKET, new SeededRandom(1)),
  () => new Brutal(1000, PACKET),
];

for (const create of CONTROLLERS) {
  const { name } = create();
  test(`the window of ${name} by round is the recorded one`, () => {
    const lines: string[] = [];
    for (const script of SCRIPTS) {
      const rig = new ControllerRig(create());
      lines.push(`${script.name}:`);
      let round = 0;
      const show = (event = ''): void => {
        const { pacingRate } = rig.control.controller;
        const facts = `${rig.packets.toFixed(1).padStart(8)} packets ${pacingRate.toFixed(0).padStart(6)} B/ms`;
        lines.push(`${String(round++).padStart(4)} ${facts}  ${event}`.trimEnd());
      };
      show('start');
      script.play(rig, show);
      lines.push('');
    }
    matchSnapshot(`${name}.txt`, lines.join('\n'));
  });
}
