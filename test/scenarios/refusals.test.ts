import assert from 'node:assert/strict';
import test from 'node:test';
import { open } from '../support/data/address.ts';
import { blackhole, freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { ask, httpConnect } from '../support/peers/http-client.ts';
import { freePort } from '../support/ports.ts';
import { socksReply } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

/** A multicast address: the kernel itself refuses to connect there and sends nothing. */
const UNREACHABLE = '224.0.0.1';
const BLOCKED = 'blocked.example';

const CONFIG = [
  socksIn(),
  httpIn(),
  freedom(),
  blackhole(),
  rule('block', `domain_suffix = ["${BLOCKED}"]`),
].join('\n');

test('SOCKS reply codes differ for refused, unreachable and blocked', async (t) => {
  // A flow to an address is granted before its first bytes are read when a name could matter, so
  // the plain refusals need an inbound that does not sniff.
  await using weir = await Weir.start(CONFIG.replaceAll('port = 0', 'port = 0\nsniffing = false'));
  const socks = weir.address('socks');
  const closed = await freePort();
  const replies = {
    refused: await socksReply(socks, { host: '127.0.0.1', port: closed }),
    unreachable: await socksReply(socks, { host: UNREACHABLE, port: 80 }),
    blocked: await socksReply(socks, { host: BLOCKED, port: 80 }),
  };
  await t.test('refused is 0x05', () => assert.equal(replies.refused, 0x05));
  await t.test('unreachable is 0x03 or 0x04', () =>
    assert.ok([0x03, 0x04].includes(replies.unreachable), `0x0${replies.unreachable}`),
  );
  await t.test('blocked is 0x02', () => assert.equal(replies.blocked, 0x02));
  await t.test('SOCKS4 has one refusal, 91', async () => {
    const target = { host: '127.0.0.1', port: closed };
    assert.equal(await socksReply(socks, target, { version: '4' }), 91);
    assert.equal(await socksReply(socks, { host: BLOCKED, port: 80 }, { version: '4a' }), 91);
  });
  await t.test('an HTTP client gets a gateway error or a refusal', async () => {
    const http = weir.address('http');
    assert.match(String(await connectStatus(weir, `127.0.0.1:${closed}`)), /^50[234]$/);
    assert.match(String(await connectStatus(weir, `${UNREACHABLE}:80`)), /^50[234]$/);
    assert.match(String(await connectStatus(weir, `${BLOCKED}:80`)), /^(403|50[234])$/);
    const socket = await open(http);
    const get = `GET http://127.0.0.1:${closed}/ HTTP/1.1\r\nHost: 127.0.0.1:${closed}\r\n\r\n`;
    assert.match(String((await ask(socket, get)).status), /^50[234]$/);
    socket.destroy();
  });
});

test('a resolver that fails is 0x04 over SOCKS and 502 over HTTP', async (t) => {
  // Nothing listens there, which the kernel reports at once.
  const dns = `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${await freePort()}"\n`;
  await using weir = await Weir.start(CONFIG + dns);
  const target = { host: 'origin.example', port: 80 };
  await t.test('SOCKS', async () =>
    assert.equal(await socksReply(weir.address('socks'), target), 0x04),
  );
  await t.test('HTTP', async () =>
    assert.equal(await connectStatus(weir, `${target.host}:${target.port}`), 502),
  );
});

async function connectStatus(weir: Weir, authority: string): Promise<number> {
  const { status, socket } = await httpConnect(weir.address('http'), authority);
  socket.destroy();
  return status;
}
