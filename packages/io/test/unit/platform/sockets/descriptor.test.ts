import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openSystemCalls } from '../../../../src/platform/sockets/bindings.ts';
import { checkCalls, DescriptorError } from '../../../../src/platform/sockets/probe.ts';
import { Descriptor } from '../../../../src/platform/sockets/errno.ts';
import { AF_INET, NONBLOCK_CLOEXEC, SOCK_DGRAM } from '../../../../src/platform/sockets/linux.ts';
import { noKernelSockets } from '../../../../../../test/support/links/kernel-io.ts';

describe('the owner of a descriptor', { skip: noKernelSockets }, () => {
  const open = () => {
    const calls = checkCalls(openSystemCalls());
    const fd = calls.socket(AF_INET, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
    return { calls, fd, descriptor: new Descriptor(calls, fd) };
  };

  test('closes once, and its number is -1 from then on', () => {
    const { calls, fd, descriptor } = open();
    assert.equal(descriptor.number, fd);
    descriptor.close();
    assert.equal(descriptor.number, -1);
    // The same number belongs to the next one.
    const next = calls.socket(AF_INET, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
    assert.equal(next, fd);
    descriptor.close();
    assert.deepEqual(calls.debug.open(), [next]);
    calls.close(next);
  });

  test('does not close what it has handed over', () => {
    const { calls, fd, descriptor } = open();
    assert.equal(descriptor.take(), fd);
    assert.equal(descriptor.take(), -1);
    descriptor.close();
    // The raw calls: the debug mode no longer knows the descriptor as ours.
    assert.equal(openSystemCalls().close(fd), 0);
    assert.deepEqual(calls.debug.open(), []);
  });

  test('is caught in the debug mode when its number is used after the close, with its history', () => {
    const { calls, fd, descriptor } = open();
    calls.listen(fd, 1);
    descriptor.close();
    assert.throws(
      () => calls.recv(fd, 0, 0, 0),
      (error) =>
        error instanceof DescriptorError &&
        /recv with the descriptor \d+, which is not open: socket, listen -1, close/.test(
          error.message,
        ),
    );
    assert.throws(() => calls.close(fd), DescriptorError);
    assert.throws(() => calls.send(-1, 0, 0, 0), DescriptorError);
  });

  test('keeps a bounded history', () => {
    const { calls, fd, descriptor } = open();
    for (let i = 0; i < 100; i++) calls.listen(fd, 1);
    assert.equal(calls.debug.historyOf(fd).length, 24);
    descriptor.close();
  });
});
