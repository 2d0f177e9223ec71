import assert from 'node:assert/strict';
import * as linux from '../../../../src/platform/sockets/linux.ts';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { describe, test } from 'node:test';
import { toDialError } from '../../../../src/net/errors.ts';
import { openSystemCalls } from '../../../../src/platform/sockets/bindings.ts';
import {
  Descriptor,
  errorCode,
  errorText,
  SystemError,
} from '../../../../src/platform/sockets/errno.ts';
import { AF_INET, NONBLOCK_CLOEXEC, SOCK_DGRAM } from '../../../../src/platform/sockets/linux.ts';
import { checkCalls, DescriptorError } from '../../../../src/platform/sockets/probe.ts';
import { noKernelSockets } from '../../../../../../test/support/links/kernel-io.ts';

test('a system error has the fields and the text of the one that Node throws', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const socket = connect(port, '127.0.0.1');
  const [theirs] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  const ours = new SystemError('connect', constants.errno.ECONNREFUSED, {
    address: '127.0.0.1',
    port,
  });
  assert.equal(ours.message, theirs.message);
  assert.equal(ours.code, theirs.code);
  assert.equal(ours.errno, theirs.errno);
  assert.equal(ours.syscall, theirs.syscall);
  assert.equal(ours.name, theirs.name);
});

test('dials name the reason of a system error', () => {
  const target = { host: '192.0.2.1', port: 80 };
  const refused = toDialError(new SystemError('connect', constants.errno.ECONNREFUSED), target);
  assert.equal(refused.code, 'refused');
  const silent = toDialError(new SystemError('connect', constants.errno.ETIMEDOUT), target);
  assert.equal(silent.code, 'timed_out');
});

test('the error numbers of the layer are those of this machine', { skip: notLinux() }, () => {
  for (const [name, number] of Object.entries(linux)) {
    const known: unknown = Reflect.get(constants.errno, name);
    if (typeof known === 'number') assert.equal(number, known, name);
  }
});

test('a number without a name is shown as it is', () => {
  assert.equal(errorCode(3999), 'Unknown system error 3999');
  assert.equal(errorText(3999), 'unknown system error 3999');
});

function notLinux(): string | false {
  return process.platform === 'linux' ? false : 'the numbers are those of Linux';
}

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
