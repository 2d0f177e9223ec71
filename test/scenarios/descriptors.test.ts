import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { requestStatus } from '@weir/server/control';
import { open, type Address } from '../support/data/address.ts';
import { noKernelSockets } from '../support/links/kernel-io.ts';
import { addressed, frame, NEW } from '../support/peers/mux-client.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect, type Target } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { Weir } from '../support/process/weir.ts';
import { readExactly } from '../support/read.ts';
import { eventually } from '../support/wait.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const MUX = `[[inbound]]\ntag = "mux"\nprotocol = "vless"\nport = 0\n[inbound.settings]\nusers = [{ id = "${ID}" }]\n`;
const CONFIG = API + socksIn() + MUX + freedom();

/** The most that a process may open. */
const LIMIT = 256;
const FEW = { wrap: ['sh', '-c', `ulimit -n ${LIMIT}; exec "$@"`, 'sh'], control: true };

const GREEDY = '127.0.0.66';
const OTHER = '127.0.0.2';

class Sockets implements Disposable {
  readonly #all: Socket[] = [];

  add(socket: Socket): Socket {
    this.#all.push(socket.on('error', () => undefined));
    return socket;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#all) socket.destroy();
  }
}

/** Opens flows until one is refused. Returns how many there are. */
async function fill(sockets: Sockets, proxy: Address, origin: Target): Promise<number> {
  for (let held = 0; ; held++) {
    try {
      sockets.add(await socksConnect(proxy, origin, { localAddress: GREEDY }));
    } catch {
      return held;
    }
  }
}

describe('one source that takes all descriptors', { skip: noKernelSockets }, () => {
  test('leaves some to other sources, to the API and to the control socket', async () => {
    await using origin = await echoServer();
    await using weir = await Weir.start(CONFIG, FEW);
    using sockets = new Sockets();
    const control = await Control.of(weir);
    const proxy = weir.address('socks');
    const held = await fill(sockets, proxy, origin);
    assert.ok(held > LIMIT / 4 && held < LIMIT / 2, `${held} flows`);

    for (let i = 0; i < 10; i++) {
      const other = sockets.add(await socksConnect(proxy, origin, { localAddress: OTHER }));
      other.write('hello');
      assert.equal(String(await readExactly(other, 5)), 'hello');
    }
    assert.equal((await control.api.ask('GET', '/v1/health')).status, 200);
    assert.ok((await requestStatus(weir.controlPath)).memory.resident > 0);
    const closed = await control.api.ask('DELETE', '/v1/connections');
    assert.equal(closed.status, 200);
    const again = sockets.add(await socksConnect(proxy, origin, { localAddress: GREEDY }));
    again.write('again');
    assert.equal(String(await readExactly(again, 5)), 'again');
    assert.doesNotMatch(weir.child.stderr, /internal error/);
    assert.equal(
      weir.child.stderr.match(/WARN .*too many open files/g)?.length,
      1,
      weir.child.stderr,
    );
  });

  test('and that waits with hundreds of connections does not keep others waiting behind them', async () => {
    await using origin = await echoServer();
    await using weir = await Weir.start(CONFIG, FEW);
    using sockets = new Sockets();
    const proxy = weir.address('socks');
    await fill(sockets, proxy, origin);
    const greedy = Array.from({ length: 600 }, () =>
      socksConnect(proxy, origin, { localAddress: GREEDY }).then(
        (socket) => sockets.add(socket),
        () => undefined,
      ),
    );
    const other = sockets.add(await socksConnect(proxy, origin, { localAddress: OTHER }));
    other.write('hello');
    assert.equal(String(await readExactly(other, 5)), 'hello');
    await Promise.all(greedy);
  });

  test('by flows on one connection gives way to others', async () => {
    await using origin = await echoServer();
    await using weir = await Weir.start(CONFIG, FEW);
    using sockets = new Sockets();
    const carrier = sockets.add(await open(weir.address('mux'), { localAddress: GREEDY }));
    carrier.resume();
    const head = Buffer.from(`00${ID.replaceAll('-', '')}0003`, 'hex');
    const flows = Array.from({ length: 2 * LIMIT }, (_, id) =>
      frame(id + 1, NEW, 'x', addressed('tcp', origin)),
    );
    carrier.write(Buffer.concat([head, ...flows]));
    await weir.child.until('a flow is refused', ({ stderr }) =>
      stderr.includes('too many open files') ? true : undefined,
    );
    const proxy = weir.address('socks');
    for (let i = 0; i < 10; i++) {
      const other = sockets.add(
        await socksConnect(proxy, origin, { localAddress: OTHER }).catch((e) => {
          console.log(weir.child.stderr.slice(0, 6000));
          throw e;
        }),
      );
      other.write('hello');
      assert.equal(String(await readExactly(other, 5)), 'hello');
    }
    assert.ok((await requestStatus(weir.controlPath)).flows > 20);
  });

  test('and leaves is forgotten: the next one has as many', async () => {
    await using origin = await echoServer();
    await using weir = await Weir.start(CONFIG, FEW);
    const proxy = weir.address('socks');
    for (const source of [GREEDY, OTHER]) {
      const all: Socket[] = [];
      for (let i = 0; i < 90; i++) {
        all.push(await socksConnect(proxy, origin, { localAddress: source }));
      }
      for (const socket of all) socket.destroy();
      await Promise.all(all.map((socket) => once(socket, 'close')));
      await eventually(
        'no flow is left',
        async () => (await requestStatus(weir.controlPath)).flows === 0,
      );
    }
  });
});
