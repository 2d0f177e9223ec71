import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { suite, test } from 'node:test';
import { loadConfigFile } from '@weir/server/loading';
import { OwnEngine } from '../../packages/nodes/src/fetch/open-flows.ts';
import { systemClock, type Clock } from '@weir/io/time';
import type {
  ProbePlan,
  ProbedOutbound,
  ProbeTry,
} from '../../packages/nodes/src/probe/contract.ts';
import { probeAll } from '@weir/nodes/probe';
import { probeCommand } from '../../packages/weir/src/cli/nodes/probe.ts';
import { fetchCommand } from '../../packages/weir/src/cli/nodes/fetch.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { CapturedIo } from '../support/process/captured-io.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { tcpServer, udpServer, webServer, type Origin } from '../support/peers/servers.ts';
import { freePort } from '../support/ports.ts';
import { Weir } from '../support/process/weir.ts';
import { eventually, within } from '../support/wait.ts';
import { isPlain, EVERY_KIND, wayTitle, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { shared } from '../support/shared.ts';

const WAYS: readonly Way[] = [
  { protocol: 'socks', login: true },
  ...EVERY_KIND,
  { protocol: 'trojan', carrier: { network: 'grpc' } },
  { protocol: 'vmess', cipher: 'auto', carrier: { network: 'ws', earlyData: true } },
];

const tagOf = (index: number): string => `way-${index}`;

let web: Origin;
let server: Weir;

shared(async (use) => {
  web = use(await webServer());
  const inbounds = WAYS.map((way, index) => weirIn(way, { tag: tagOf(index) }));
  server = use(await Weir.start(inbounds.join('') + freedom()));
});
const outTo = (way: Way, index: number): string =>
  weirOut(way, server.address(tagOf(index)), { tag: tagOf(index) });

const urlOf = (path: string): URL => new URL(`http://127.0.0.1:${web.port}${path}`);

const planOf = (over: Partial<ProbePlan> = {}): ProbePlan => ({
  url: urlOf('/hello'),
  tries: 1,
  bytes: 0,
  bytesUrl: urlOf('/bytes/600000'),
  timeoutMs: 20_000,
  totalMs: 100_000,
  ...over,
});

async function probe(
  config: string,
  over?: Partial<ProbePlan>,
  clock: Clock = systemClock,
): Promise<ProbedOutbound[]> {
  const { spec } = await loadConfigFile('probed', { bytes: Buffer.from(config) });
  await using flows = await OwnEngine.start(spec);
  return await Array.fromAsync(probeAll(spec.outbounds, planOf(over), { flows, clock }));
}

async function failed(config: string, over?: Partial<ProbePlan>, clock?: Clock): Promise<ProbeTry> {
  const [result] = await probe(config, over, clock);
  const [first] = result?.tries ?? [];
  assert.ok(first && result?.ok === false && result.succeeded === 0);
  return first;
}

suite('by an engine of its own', () => {
  test('every protocol and carrier is measured in its phases', async () => {
    const config = WAYS.map(outTo).join('') + freedom('straight');
    const results = await probe(config, { tries: 2, bytes: 200_000 });
    assert.equal(results.length, WAYS.length + 1);
    for (const [index, { outbound, tries, ok, median, throughput }] of results.entries()) {
      const way = WAYS[index];
      const what = way ? wayTitle(way) : outbound;
      assert.equal(outbound, way ? tagOf(index) : 'straight');
      assert.ok(ok, `${what}: ${JSON.stringify(tries)}`);
      assert.ok(throughput && throughput.bytes >= 200_000, what);
      for (const one of tries) {
        assert.deepEqual([one.status, one.error, one.phase, one.reused], [200, null, null, false]);
        const isQuic = way?.protocol === 'hysteria2';
        // Early data makes the upgrade a part of the first byte.
        const isBare = !way || (isPlain(way) && !isQuic) || way.carrier?.earlyData === true;
        assert.equal(one.dial_ms === null, isQuic, what);
        assert.equal(one.handshake_ms === null, isBare, what);
        assert.ok(one.resolve_ms !== null && one.first_byte_ms !== null, what);
        assert.ok(one.second_ms !== null && one.second_ms > 0, what);
      }
      assert.ok(median.second_ms !== null && median.first_byte_ms !== null, what);
    }
  });

  test('a failure has the phase and the cause', async (t) => {
    const ca = /ca_file = "[^"]*",? ?|, ca_file = "[^"]*"/;
    // What a peer that never answers has heard; the limit of a try passes then.
    let heard = Promise.withResolvers<void>();
    const silent = await tcpServer((socket) => void socket.once('data', () => heard.resolve()));
    const closing = await tcpServer((socket) => void socket.resume().end());
    const refusing = await tcpServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    // Hosts behind a server whose password is right.
    const withoutHead = await tcpServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 501 Not Implemented\r\n\r\n'));
    });
    const missing = await tcpServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
    });
    const once = await tcpServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
      socket.once('data', () => socket.once('data', () => socket.destroy()));
    });
    const mute = await udpServer(() => {
      heard.resolve();
      return undefined;
    });
    t.after(async () => {
      for (const each of [silent, closing, refusing, withoutHead, missing, once, mute])
        await each[Symbol.asyncDispose]();
    });
    const trojan = (to: Origin): string =>
      weirOut({ protocol: 'trojan' }, { host: to.host, port: to.port }, { tag: 'out' });
    const secure = (to: Origin): string =>
      weirOut({ protocol: 'trojan', carrier: { network: 'tcp', tls: true } }, to);
    const key = Buffer.alloc(32, 7).toString('base64');
    const tunnel = `[[outbound]]\ntag = "wg"\nprotocol = "wireguard"\n[outbound.settings]\nprivate_key = "${key}"\npeer_public_key = "${key}"\nendpoint = "127.0.0.1:${mute.port}"\naddress = ["10.9.9.2"]\n`;
    const wrong = (index: number): string => {
      const way = WAYS[index];
      assert.ok(way);
      return outTo({ ...way, credentials: 'wrong' }, index);
    };
    const short = { timeoutMs: 150 };
    const dead = proxyOut('dead', 'socks', { host: '127.0.0.1', port: await freePort() });
    const quic = WAYS.findIndex(({ protocol }) => protocol === 'hysteria2');
    const tls = WAYS.findIndex(({ protocol, carrier }) => protocol === 'trojan' && carrier?.tls);
    const untrusted = outTo({ protocol: 'trojan', carrier: { network: 'tcp', tls: true } }, tls);
    for (const [config, phase, cause, over] of [
      [dead, 'dial', /connection refused$/],
      [secure(silent), 'handshake', /took longer than 0\.15 s/, short],
      [secure(refusing), 'handshake', /TLS: the peer does not speak TLS/],
      [untrusted.replace(ca, ''), 'handshake', /TLS: unable to verify the first certificate/],
      [wrong(quic), 'handshake', /rejected the password/],
      [tunnel, 'handshake', /took longer than 0\.15 s/, short],
      [wrong(0), 'first_byte', /password|credentials|authentication/],
      [
        trojan(silent),
        'first_byte',
        /^the try took longer than 0\.15 s; a wrong password looks like this$/,
        short,
      ],
      [
        trojan(closing),
        'first_byte',
        /^the connection was closed without a response; a wrong password looks like this$/,
      ],
      [
        trojan(refusing),
        'first_byte',
        /^the response has the status 400; a wrong password looks like this$/,
      ],
      [
        trojan(withoutHead),
        'first_byte',
        /^the response has the status 501; the host of the URL refuses HEAD requests$/,
      ],
      [trojan(missing), 'first_byte', /^the response has the status 404$/],
      [freedom(), 'first_byte', /^the response has the status 404$/, { url: urlOf('/missing') }],
      [trojan(once), 'second', /^the connection was (closed|reset) without a response$/],
    ] as const) {
      const clock = over === short ? new ManualClock() : undefined;
      heard = Promise.withResolvers();
      const trying = failed(config, over, clock);
      if (clock) {
        await within(heard.promise, 'what is sent to the peer');
        clock.advance(short.timeoutMs);
      }
      const { error, ...one } = await trying;
      assert.equal(one.phase, phase, `${error}`);
      assert.match(error ?? '', cause);
      assert.equal(
        one.dial_ms === null,
        phase === 'dial' || config === tunnel || config === wrong(quic),
      );
    }
  });

  test('the limit of all ends what is left', async () => {
    await using silent = await tcpServer(() => undefined);
    const outs = ['a', 'b'].map((tag) =>
      weirOut({ protocol: 'trojan' }, { host: silent.host, port: silent.port }, { tag }),
    );
    const results = await probe(outs.join(''), { tries: 3, totalMs: 100 });
    for (const { tries } of results) {
      for (const { error } of tries) assert.match(error ?? '', /the probe of all took longer/);
    }
  });

  test('a document that is too short has no throughput', async () => {
    const [result] = await probe(freedom(), { bytes: 1000, bytesUrl: urlOf('/bytes/10') });
    assert.equal(result?.ok, false);
    assert.equal(result.throughput_error, 'the document is too short to be measured');
  });
});

suite('the commands', () => {
  let client: Weir;
  let config: string;
  const grpc = WAYS.findIndex(({ carrier }) => carrier?.network === 'grpc' && carrier.tls === true);
  shared(async (use) => {
    const dead = proxyOut('dead', 'socks', { host: '127.0.0.1', port: await freePort() });
    const group = `[[balancer]]\ntag = "group"\noutbounds = ["dead", "${tagOf(grpc)}"]\n`;
    const outs = WAYS.map((way, index) => (index === grpc ? outTo(way, index) : '')).join('');
    const text = `${socksIn()}${freedom()}${dead}${outs}${group}`;
    client = use(await Weir.start(text, { control: true }));
    config = `${client.folder}/weir.toml`;
    await eventually('the control socket', () => existsSync(client.controlPath));
  });
  const probed = async (args: readonly string[], env = {}) => {
    const io = new CapturedIo(env);
    const status = await probeCommand(['--url', urlOf('/hello').href, ...args], io);
    return { status, out: io.out, err: io.err };
  };
  const viaSocket = (): { WEIR_SOCKET: string } => ({ WEIR_SOCKET: client.controlPath });

  test('probe the running Weir, whose connections are reused', async () => {
    const args = ['--json', '--tries', '2', tagOf(grpc), 'direct'];
    const { status, out, err } = await probed(args, viaSocket());
    assert.equal(status, 0, err);
    assert.match(err, /^weir probe: through the running Weir \(pid \d+, .*control\.sock\)\n$/);
    const [direct, shared] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ProbedOutbound);
    assert.equal(direct?.outbound, 'direct');
    assert.ok(direct.tries.every(({ reused, dial_ms: dial }) => !reused && dial !== null));
    assert.deepEqual(
      shared?.tries.map(({ reused, handshake_ms: handshake }) => [reused, handshake === null]),
      [
        [false, false],
        [true, true],
      ],
    );
  });

  test('probe the members of a balancer, and fail when one does', async () => {
    const { status, out } = await probed(['group', '--tries', '1'], viaSocket());
    assert.equal(status, 1);
    const [head, dead, best, empty, cause] = out.split('\n');
    assert.match(head ?? '', /^ +OUTBOUND +PROTOCOL +DIAL +HANDSHAKE +FIRST BYTE +SECOND +TRIES$/);
    assert.match(dead ?? '', /^ {3}dead +socks +- +- +- +- +0\/1$/);
    assert.match(best ?? '', /^\* {2}way-\d+ +vless .* 1\/1$/);
    assert.equal(empty, '');
    assert.match(cause ?? '', /^dead: dial: 127\.0\.0\.1:\d+: connection refused$/);
  });

  test('probe from a file that no running Weir serves', async () => {
    const folder = { XDG_RUNTIME_DIR: '/nonexistent' };
    const { status, err } = await probed(['--config', config, tagOf(grpc)], folder);
    assert.equal(status, 0);
    assert.equal(err, `weir probe: by a process of its own from ${config}\n`);
    const unknown = await probed(['--config', config, 'none'], folder);
    assert.equal(unknown.status, 1);
    assert.match(unknown.err, /no outbound or balancer has the tag "none"/);
    const nothing = await probed(['--all'], folder);
    assert.match(nothing.err, /no running Weir was found, and --config names no file\nhint: /);
  });

  test('fetch through an outbound, by either', async () => {
    for (const env of [viaSocket(), { XDG_RUNTIME_DIR: '/nonexistent' }]) {
      for (const outbound of [tagOf(grpc), 'group']) {
        const io = new CapturedIo(env);
        const args = ['--outbound', outbound, '--config', config, urlOf('/hello').href];
        assert.equal(await fetchCommand(args, io), 0, io.err);
        assert.equal(io.out, 'hello from the origin\n');
      }
      const io = new CapturedIo(env);
      const args = ['--outbound', 'dead', '--config', config, 'http://u:secret@a.example/secret'];
      assert.equal(await fetchCommand(args, io), 1);
      assert.match(
        io.err,
        /^weir fetch: .*\nweir fetch: a\.example: 127\.0\.0\.1:\d+: connection refused\n$/,
      );
    }
  });
});
