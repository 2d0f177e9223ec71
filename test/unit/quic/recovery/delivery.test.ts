import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DeliveryFlag } from '../../../../src/quic/recovery/delivery.ts';
import { SentFrames } from '../../../../src/quic/recovery/sent-frames.ts';

describe('a frame that is sent until it is acknowledged (RFC 9000 §13.3)', () => {
  const log = new SentFrames();
  const send = (flag: DeliveryFlag): number => {
    flag.onSent(log);
    const { start } = log;
    log.take();
    return start;
  };

  test('is due when it is requested, and not once it was sent', () => {
    const flag = new DeliveryFlag();
    assert.equal(flag.isDue, false);
    flag.request();
    assert.equal(flag.isDue, true);
    send(flag);
    assert.equal(flag.isDue, false);
    flag.request();
    assert.equal(flag.isDue, false);
  });

  test('is due again after a loss, until it is acknowledged', () => {
    const flag = new DeliveryFlag();
    flag.request();
    const first = send(flag);
    log.lose(first, 1);
    assert.equal(flag.isDue, true);
    const second = send(flag);
    log.acknowledge(second, 1);
    assert.equal(flag.isDelivered, true);
    log.lose(first, 1);
    assert.deepEqual([flag.isDue, flag.isDelivered], [false, true]);
  });

  test('is not sent again when a packet that was declared lost is acknowledged after all', () => {
    const flag = new DeliveryFlag();
    flag.request();
    const first = send(flag);
    log.lose(first, 1);
    log.acknowledge(first, 1);
    assert.deepEqual([flag.isDue, flag.isDelivered], [false, true]);
  });

  test('notifies its owner when it is acknowledged or due again', () => {
    let calls = 0;
    const flag = new DeliveryFlag({ onDelivery: () => calls++ });
    flag.request();
    const first = send(flag);
    assert.equal(calls, 0);
    log.lose(first, 1);
    log.lose(first, 1);
    assert.equal(calls, 1);
    log.acknowledge(send(flag), 1);
    assert.equal(calls, 2);
  });
});
