import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EcnValidation } from '../../../../src/quic/recovery/ecn-validation.ts';
import { Space } from '../../../../src/quic/recovery/space.ts';
import { type Counts, RecoveryRig } from '../../../support/quic/recovery-rig.ts';

const SPACE = Space.APPLICATION;

describe('ECN validation (RFC 9000 §13.4.2)', () => {
  const tested = (packets: number): EcnValidation => {
    const ecn = new EcnValidation();
    for (let i = 0; i < packets; i++) ecn.onSent(SPACE);
    return ecn;
  };

  test('ten packets are marked, then none until the counts are right (§A.4)', () => {
    const ecn = tested(9);
    assert.equal(ecn.marks, true);
    ecn.onSent(SPACE);
    assert.equal(ecn.marks, false);
    ecn.onAck(SPACE, 2, true, 2, 0, 0);
    assert.equal(ecn.marks, true);
    assert.equal(ecn.state, 'capable');
  });

  test('a path that drops all marked packets gets no more of them', () => {
    const ecn = tested(10);
    for (let i = 0; i < 10; i++) ecn.onLost();
    assert.equal(ecn.state, 'failed');
  });

  test('a few lost packets prove nothing', () => {
    const ecn = tested(10);
    for (let i = 0; i < 9; i++) ecn.onLost();
    assert.equal(ecn.state, 'unknown');
  });

  for (const { name, hasEcn = true, ect0 = 0, ect1 = 0, ce = 0 } of [
    { name: 'no counts although marked packets are acknowledged', hasEcn: false },
    { name: 'fewer marks than marked packets', ect0: 1, ce: 1 },
    { name: 'more marks than packets', ect0: 11 },
    { name: 'marks of the other codepoint', ect0: 3, ect1: 1 },
  ]) {
    test(`${name}: validation fails (§13.4.2.1)`, () => {
      const ecn = tested(10);
      assert.equal(ecn.onAck(SPACE, 3, hasEcn, ect0, ect1, ce), false);
      assert.equal(ecn.state, 'failed');
      assert.equal(ecn.marks, false);
    });
  }

  test('counts that go back fail it', () => {
    const ecn = tested(10);
    ecn.onAck(SPACE, 3, true, 3, 0, 1);
    ecn.onAck(SPACE, 0, true, 4, 0, 0);
    assert.equal(ecn.state, 'failed');
  });

  test('a new path is tested again, with the counts so far', () => {
    const ecn = tested(10);
    ecn.onAck(SPACE, 10, true, 10, 0, 0);
    ecn.restart();
    assert.equal(ecn.state, 'testing');
    ecn.onSent(SPACE);
    ecn.onAck(SPACE, 1, true, 11, 0, 0);
    assert.equal(ecn.state, 'capable');
  });

  test('once it has failed it stays so', () => {
    const ecn = new EcnValidation();
    ecn.onSent(SPACE);
    ecn.onAck(SPACE, 1, false, 0, 0, 0);
    ecn.restart();
    ecn.onSent(SPACE);
    assert.equal(ecn.onAck(SPACE, 1, true, 1, 0, 1), false);
    assert.equal(ecn.state, 'failed');
  });
});

describe('congestion that routers mark (RFC 9002 §7.1)', () => {
  const run = (first: Counts, second: Counts): RecoveryRig => {
    const rig = new RecoveryRig();
    rig.sendMany(2, { ect0: true });
    rig.now += 50;
    rig.ack([[0, 1]], { ecn: first });
    rig.sendMany(2, { ect0: true });
    rig.now += 50;
    rig.ack([[2, 3]], { ecn: second });
    return rig;
  };

  test('more marks reduce the window', () => {
    const quiet = run({ ect0: 2 }, { ect0: 4 });
    const marked = run({ ect0: 2 }, { ect0: 3, ce: 1 });
    assert.equal(quiet.loss.ecn.state, 'capable');
    assert.ok(marked.control.controller.window < quiet.control.controller.window);
  });

  test('the same marks do not do so twice', () => {
    const rig = run({ ect0: 1, ce: 1 }, { ect0: 3, ce: 1 });
    const { window } = rig.control.controller;
    rig.send({ ect0: true });
    rig.now += 50;
    rig.ack([4], { ecn: { ect0: 4, ce: 1 } });
    assert.ok(rig.control.controller.window >= window);
  });

  test('a frame that arrives out of order fails nothing (RFC 9000 §13.4.2.1)', () => {
    const rig = new RecoveryRig();
    rig.sendMany(3, { ect0: true });
    rig.now += 50;
    rig.ack([2], { ecn: { ect0: 1 } });
    // It was sent before the other, when nothing had been counted.
    rig.ack([[0, 0]]);
    assert.equal(rig.loss.ecn.state, 'capable');
  });
});
