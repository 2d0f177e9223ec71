import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BindError } from '../../../../src/transports/listeners/bind.ts';

const bindError = (where: string, code: string): BindError =>
  new BindError(where, Object.assign(new Error(code), { code }));

test(
  'a port below 1024 without permission names the capability and how it is given',
  {
    skip: process.platform !== 'linux',
  },
  () => {
    const { message, hint = '' } = bindError('[::]:443', 'EACCES');
    assert.equal(message, 'cannot listen on [::]:443: permission denied');
    for (const part of [
      'AmbientCapabilities=CAP_NET_BIND_SERVICE',
      'setcap',
      'ip_unprivileged_port_start=443',
    ]) {
      assert.ok(hint.includes(part), part);
    }
    assert.equal(bindError('127.0.0.1:1080', 'EACCES').hint, undefined);
    assert.equal(bindError('/run/weir.sock', 'EACCES').hint, undefined);
  },
);

test('a taken port has the command that shows its owner', () => {
  assert.match(bindError('127.0.0.1:1080', 'EADDRINUSE').hint ?? '', /ss -lntup 'sport = :1080'/);
  assert.equal(bindError('/run/weir.sock', 'EADDRINUSE').hint, undefined);
});
