import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { constants } from 'node:os';
import { test } from 'node:test';
import { toDialError } from '../../../../src/net/errors.ts';
import { SystemError, errorCode, errorText } from '../../../../src/platform/sockets/errno.ts';
import * as linux from '../../../../src/platform/sockets/linux.ts';

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
