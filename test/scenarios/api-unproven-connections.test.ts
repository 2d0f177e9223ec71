import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { UNPROVEN_CONNECTIONS } from '../../src/api/http/server.ts';
import { DIRECT } from '../support/config/support.ts';
import { disposable, open } from '../support/data/address.ts';
import { API, Control } from '../support/process/control.ts';
import { Weir } from '../support/process/weir.ts';
import { readExactly, readHead } from '../support/read.ts';
import { within } from '../support/wait.ts';

async function get(socket: Socket, secret: string): Promise<string> {
  socket.write(
    `GET /v1/health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
  );
  const head = await readHead(socket);
  const [, length = ''] = /^content-length: (\d+)/im.exec(head) ?? [];
  await readExactly(socket, Number(length));
  return head;
}

test('a flood of connections to the API closes the oldest of those that have shown no secret', async () => {
  await using weir = await Weir.start(`${API}secret = "s3cret"\n${DIRECT}`);
  const { api } = await Control.of(weir);
  using stack = new DisposableStack();
  const connect = async (): Promise<Socket> => stack.use(disposable(await open(api.address)));
  const proven = await connect();
  assert.match(await get(proven, 's3cret'), /^HTTP\/1\.1 200 /);
  const wrong = await connect();
  assert.match(await get(wrong, 'wrong'), /^HTTP\/1\.1 401 /);
  const closed = once(wrong.resume(), 'end');
  for (let i = 0; i < UNPROVEN_CONNECTIONS; i++) await connect();
  await within(closed, 'the end of the connection with a wrong secret');
  assert.match(await get(proven, 's3cret'), /^HTTP\/1\.1 200 /);
});
