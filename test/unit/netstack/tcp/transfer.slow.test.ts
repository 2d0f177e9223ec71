import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MSS, Transfer, type PathOptions } from '../../../support/netstack/tcp/transfer.ts';

const PATHS: readonly (readonly [name: string, options: Partial<PathOptions>])[] = [
  ['a clean path', {}],
  ['a short queue', { queue: 10_000 }],
  ['1 % loss', { loss: 0.01 }],
  ['10 % loss', { loss: 0.1 }],
  ['30 % loss both ways', { loss: 0.3, ackLoss: 0.3 }],
  ['reordering within a round trip', { late: 0.1, lateness: 15 }],
  ['reordering beyond a round trip', { late: 0.05, lateness: 60 }],
  ['duplication', { duplication: 0.2 }],
  ['acknowledgements lost', { ackLoss: 0.4 }],
  ['everything at once', { loss: 0.05, ackLoss: 0.1, late: 0.1, lateness: 30, duplication: 0.05 }],
];

const PEERS: readonly (readonly [name: string, options: Partial<PathOptions>])[] = [
  ['SACK and timestamps', {}],
  ['SACK alone', { timestamps: false }],
  ['timestamps alone', { sack: false }],
  ['no options', { sack: false, timestamps: false }],
];

for (const [path, pathOptions] of PATHS) {
  for (const [peer, peerOptions] of PEERS) {
    test(`all bytes arrive over ${path} with ${peer}`, () => {
      for (let seed = 1; seed <= 6; seed++) {
        for (const largest of [MSS, 16_000]) {
          const options = { ...pathOptions, ...peerOptions, largest, paced: seed % 2 === 0 };
          const transfer = new Transfer(options, seed);
          transfer.write(200_000);
          transfer.run(5);
          transfer.write(1);
          transfer.write(99_999);
          try {
            transfer.finish(600_000);
          } catch (cause) {
            throw new Error(`seed ${seed}, segments of ${largest}`, { cause });
          }
          assert.equal(transfer.control.inFlight, 0);
          assert.equal(transfer.recovery.segments, 0);
          assert.equal(transfer.recovery.timeout, Infinity);
        }
      }
    });
  }
}

test('after a pause a transfer goes on, paced or not, and no deadline repeats itself', () => {
  for (const paced of [false, true]) {
    const transfer = new Transfer({ paced, delay: 30 });
    transfer.write(200_000);
    transfer.finish();
    for (let i = 0; i < 5; i++) {
      transfer.run(5000);
      transfer.write(200_000);
      transfer.finish();
    }
    assert.equal(transfer.timeouts, 0);
    assert.equal(transfer.repeated, 0);
  }
});
