import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { open } from '../support/data/address.ts';
import { BoundSocket } from '../support/links/bound-socket.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { udpEcho } from '../support/peers/servers.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { within } from '../support/wait.ts';
import { passing } from '../support/process/passing.ts';
import { scratch, Weir } from '../support/process/weir.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

const socksAt = (tag: string, port: number): string =>
  socksIn(tag).replace('port = 0', `port = ${port}`);

/** Whether the other end is a SOCKS server: it chooses "no authentication". */
async function greet(socket: Socket): Promise<void> {
  socket.write(Buffer.from([5, 1, 0]));
  const [answer] = (await within(once(socket, 'data'), 'the answer')) as [Buffer];
  assert.deepEqual([...answer], [5, 0]);
  socket.destroy();
}

async function reload(weir: Weir, config: string): Promise<void> {
  const before = weir.child.stderr.length;
  writeFileSync(join(weir.folder, 'weir.toml'), config);
  weir.child.signal('SIGHUP');
  await weir.child.until('the reload', ({ stderr }) =>
    stderr.slice(before).includes('config reloaded') ? true : undefined,
  );
}

const warnings = (weir: Weir): string[] => weir.child.stderr.match(/WARN svc_app: .*$/gm) ?? [];

for (const io of ['kernel', 'node']) {
  suite(`a socket that is passed, with WEIR_IO=${io}`, () => {
    const env = { WEIR_IO: io };

    test('is what an inbound at its address listens on, and what has waited there is served', async () => {
      using passed = new BoundSocket('stream', LOOPBACK);
      const early = await open(passed.address);
      await using weir = await Weir.start(
        socksAt('in', passed.port) + freedom(),
        passing([passed], { env }),
      );
      await greet(early);
      await greet(await open(passed.address));
      assert.deepEqual(warnings(weir), []);
    });

    test('serves a unix path, datagrams and the API as well', async () => {
      await using folder = await scratch();
      const path = join(folder.path, 'socks.sock');
      using unix = new BoundSocket('stream', { path });
      using tcp = new BoundSocket('stream', LOOPBACK);
      using udp = new BoundSocket('datagram', { host: '127.0.0.1', port: tcp.port });
      using api = new BoundSocket('stream', { host: '::1', port: 0 });
      const config = `[api]\nlisten = "[::1]:${api.port}"
[[inbound]]\ntag = "unix"\nprotocol = "socks"\nlisten = "${path}"\n[inbound.settings]\nudp = false
[[inbound]]\ntag = "ss"\nprotocol = "shadowsocks"\nport = ${tcp.port}
[inbound.settings]\nmethod = "aes-128-gcm"\npassword = "x"\n${freedom()}`;
      await using weir = await Weir.start(config, passing([unix, tcp, udp, api], { env }));
      await greet(await open({ path }));
      assert.ok(weir.child.stderr.includes(`API listening on [::1]:${api.port}`));
      const health = await fetch(`http://[::1]:${api.port}/v1/health`);
      assert.equal(health.status, 200);
      assert.deepEqual(warnings(weir), []);
      await weir.stop();
      // Its file is the manager's.
      (await open({ path })).destroy();
    });

    test('is given up and taken again by reloads, and keeps what comes meanwhile', async () => {
      using passed = new BoundSocket('stream', LOOPBACK);
      const config = socksAt('in', passed.port) + freedom();
      await using weir = await Weir.start(config, passing([passed], { env }));
      await greet(await open(passed.address));
      await reload(weir, freedom());
      const meanwhile = await open(passed.address);
      await reload(weir, socksAt('again', passed.port) + freedom());
      await greet(meanwhile);
      await greet(await open(passed.address));
    });

    test('carries datagrams, before and after reloads that give it up and take it again', async () => {
      using tcp = new BoundSocket('stream', LOOPBACK);
      using udp = new BoundSocket('datagram', { host: '127.0.0.1', port: tcp.port });
      await using echo = await udpEcho();
      const settings = 'method = "aes-128-gcm"\npassword = "x"\n';
      const client = `${socksIn()}${freedom()}${proxyOut('ss', 'shadowsocks', tcp.address, settings)}
${rule('ss', 'inbound_tag = ["socks"]')}`;
      const server = `[[inbound]]\ntag = "server"\nprotocol = "shadowsocks"\nport = ${tcp.port}
[inbound.settings]\n${settings}`;
      await using weir = await Weir.start(client + server, passing([tcp, udp], { env }));
      const exchange = async (text: string): Promise<void> => {
        using association = await UdpAssociation.open(weir.address('socks'));
        association.send(echo.target, text);
        assert.equal((await association.receive()).data.toString(), text);
      };
      await exchange('before');
      await reload(weir, client);
      await reload(weir, client + server);
      await exchange('after');
    });

    test('keeps what comes between two processes', async () => {
      using passed = new BoundSocket('stream', LOOPBACK);
      const config = socksAt('in', passed.port) + freedom();
      const first = await Weir.start(config, passing([passed], { env }));
      await first.stop();
      await first[Symbol.asyncDispose]();
      const between = await open(passed.address);
      await using _second = await Weir.start(config, passing([passed], { env }));
      await greet(between);
    });

    test('serves one inbound: another one at its address is refused as in use', async () => {
      using passed = new BoundSocket('stream', LOOPBACK);
      await using weir = await Weir.launch(
        socksAt('one', passed.port) + socksAt('two', passed.port) + freedom(),
        passing([passed], { env }),
      );
      assert.equal((await within(weir.child.exited, 'the end')).code, 1);
      assert.match(weir.child.stderr, /inbound two: cannot listen on .*: address already in use/);
    });
  });
}

test('sockets that match nothing and descriptors that are none are warned of', async () => {
  await using folder = await scratch();
  const file = openSync(join(folder.path, 'file'), 'w');
  using passed = new BoundSocket('stream', LOOPBACK);
  using udp = new BoundSocket('datagram', LOOPBACK);
  await using weir = await Weir.start(
    socksIn() + freedom(),
    passing([passed, { fd: file }, udp], { env: { LISTEN_FDNAMES: 'web:log:dns' } }),
  );
  closeSync(file);
  // They are written after the lines of the inbounds.
  await weir.child.until('three warnings', () => (warnings(weir).length >= 3 ? true : undefined));
  await weir.stop();
  const reason = 'is the address of no inbound, and not of [api]';
  assert.deepEqual(warnings(weir), [
    'WARN svc_app: passed socket log (4): the descriptor is no socket; it is not used',
    `WARN svc_app: passed socket web (127.0.0.1 port ${passed.port}) ${reason}`,
    `WARN svc_app: passed socket dns (UDP 127.0.0.1 port ${udp.port}) ${reason}`,
  ]);
});

const missing = spawnSync('systemd-socket-activate', ['--version']).error;

test(
  'systemd passes a socket with the first client, which is served',
  {
    skip: missing ? 'there is no systemd-socket-activate here' : false,
  },
  async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'socks.sock');
    const config = `[[inbound]]\ntag = "in"\nprotocol = "socks"\nlisten = "${path}"
[inbound.settings]\nudp = false\n${freedom()}`;
    await using weir = await Weir.launch(config, {
      wrap: ['systemd-socket-activate', '--listen', path, '--fdname', 'socks'],
    });
    await weir.child.until('the manager listening', ({ stderr }) =>
      stderr.includes('Listening on') ? true : undefined,
    );
    await greet(await open({ path }));
    assert.deepEqual(warnings(weir), []);
  },
);

test('sockets for another process are left alone', async () => {
  using passed = new BoundSocket('stream', LOOPBACK);
  await using weir = await Weir.start(socksIn() + freedom(), {
    descriptors: [passed.fd],
    env: { LISTEN_FDS: '1', LISTEN_PID: '1' },
  });
  await weir.stop();
  assert.deepEqual(warnings(weir), []);
});
