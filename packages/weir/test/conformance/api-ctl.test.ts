import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import type { CommandIo } from '../../src/cli/command.ts';
import { UsageError } from '@weir/base';
import { CTL_HELP, ctl, NAMES_MS } from '../../src/cli/control/ctl.ts';
import { parsePlace } from '@weir/client/api';
import { age, bytes } from '@weir/base/text/amounts';
import { textTable } from '@weir/base/tables';
import { ControlError } from '@weir/server/api/contract';
import { printable } from '@weir/base/printable';
import { eventLine } from '../../src/cli/control/ctl-views.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { tcpServer } from '../../../../test/support/peers/servers.ts';
import { eventually } from '../../../../test/support/wait.ts';
import { APPLIED, openFlow, openSlowFlow } from '../../../server/test/conformance/api-fake.ts';
import { serve, type Served } from '../../../server/test/conformance/api-harness.ts';

/** A command's output as text. */
class Sink extends Writable {
  text = '';
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

function streams(isTTY: boolean, env: Record<string, string> = {}) {
  const [stdout, stderr] = [new Sink(isTTY), new Sink(isTTY)];
  const io: CommandIo = { stdout, stderr, env };
  return { io, stdout, stderr };
}

/** On a clock that stands still, so that no response is late. */
async function run(
  argv: readonly string[],
  isTTY = false,
  env?: Record<string, string>,
  clock = new ManualClock(),
): Promise<Ran> {
  const { io, stdout, stderr } = streams(isTTY, env);
  const status = await ctl(argv, io, clock);
  return { status, out: stdout.text, err: stderr.text };
}

const at = (api: Served): string[] => ['--api', api.server.address];

for (const carrier of ['tcp', 'unix'] as const) {
  describe(`weir ctl over ${carrier}`, () => {
    test('prints the response of the API as a line of JSON in a pipe', async () => {
      await using api = await serve(carrier);
      const version = await run(['version', ...at(api)]);
      assert.deepEqual(version, { status: 0, out: '{"version":"9.8.7-test"}\n', err: '' });
      const routes = await run(['routes', ...at(api)]);
      assert.deepEqual(JSON.parse(routes.out), await api.client.json('GET', '/v1/routes'));
      assert.equal(routes.out.split('\n').length, 2);
      const reload = await run(['reload', ...at(api)]);
      assert.deepEqual(JSON.parse(reload.out), APPLIED);
    });

    test('prints a line for each flow, or for each session', async () => {
      await using api = await serve(carrier);
      const { tracker } = api.app;
      const session = tracker.openSession('socks', '10.0.0.1', { bytesRead: 1, bytesWritten: 2 });
      openFlow(api.app, { session });
      openFlow(api.app);
      const { flows, sessions } = (await api.client.json('GET', '/v1/connections')) as Record<
        string,
        unknown[]
      >;
      const lines = async (...argv: string[]): Promise<unknown[]> =>
        (await run([...argv, ...at(api)])).out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown);
      assert.deepEqual(await lines('connections'), flows);
      assert.deepEqual(await lines('connections', '--sessions'), sessions);
    });

    test('picks, with names of any kind and with a condition', async () => {
      await using api = await serve(carrier);
      const picked = await run(['pick', 'Video Streaming', 'osaka', ...at(api)]);
      assert.equal(picked.status, 0);
      assert.equal(api.app.pickOf('Video Streaming'), 'osaka');
      assert.equal(
        (await run(['pick', 'a/b', 'osaka', '--if-match', api.app.etag, ...at(api)])).status,
        0,
      );
      const stale = await run(['pick', 'default', 'osaka', '--if-match', '"x"', ...at(api)]);
      assert.equal(stale.status, 1);
      assert.match(stale.err, /the config file has changed since it was read/);
    });

    test('ends with status 1 and the text of the API when that refuses', async () => {
      await using api = await serve(carrier);
      for (const [argv, text] of [
        [['pick', 'absent', 'osaka'], 'no route group named "absent"'],
        [['close', '99'], 'no live flow 99'],
        [['close', 'x'], 'Invalid URL: Cannot parse `x` to a `u64`'],
        [
          ['close', '--session', 'x'],
          'Failed to deserialize query string: session: invalid digit found in string',
        ],
      ] as const) {
        assert.deepEqual(await run([...argv, ...at(api)]), {
          status: 1,
          out: '',
          err: `weir ctl: ${text}\n`,
        });
      }
    });

    test('shows where the reason for a refused reload is, below the text of the API', async () => {
      await using api = await serve(carrier);
      api.app.reloadError = new ControlError('invalid', 'outbound x: no\u001b[2J\u202e');
      assert.deepEqual(await run(['reload', ...at(api)]), {
        status: 1,
        out: '',
        err:
          String.raw`weir ctl: outbound x: no\u{1b}[2J\u{202e}` +
          '\nhint: the log of Weir has the file and the line, and further hints\n',
      });
    });

    test('closes flows by id, by selector, or all', async () => {
      await using api = await serve(carrier);
      const flow = openFlow(api.app);
      openFlow(api.app, { outbound: 'a b', inbound: 'x' });
      openSlowFlow(api.app);
      openSlowFlow(api.app);
      const close = async (...argv: string[]): Promise<string> =>
        (await run(['close', ...argv, ...at(api)])).out;
      assert.equal(await close(String(flow.id)), '{"closed":1}\n');
      assert.equal(await close('--outbound', 'a b', '--inbound', 'y'), '{"closed":0}\n');
      assert.equal(await close('--outbound', 'a b', '--inbound', 'x'), '{"closed":1}\n');
      assert.equal(await close('--all'), '{"closed":2}\n');
    });

    test('takes the secret from a file', async () => {
      await using api = await serve(carrier, 'sesame');
      const folder = await mkdtemp(join(tmpdir(), 'weir-ctl-'));
      try {
        const file = join(folder, 'secret');
        await writeFile(file, 'sesame\n');
        assert.equal((await run(['version', '--secret-file', file, ...at(api)])).status, 0);
        const without = await run(['version', ...at(api)]);
        assert.match(
          without.err,
          /^weir ctl: a valid bearer token is required\nhint: .*--secret-file.*\n$/,
        );
        const wrong = join(folder, 'wrong');
        await writeFile(wrong, 'other\n');
        const refused = await run(['version', '--secret-file', wrong, ...at(api)]);
        assert.match(refused.err, /^weir ctl: a valid .*\nhint: the secret of --secret-file, /);
        const missing = await run(['version', '--secret-file', join(folder, 'none'), ...at(api)]);
        assert.match(
          missing.err,
          /^weir ctl: cannot read the secret in .*none: no such file or directory$/m,
        );
        assert.equal(missing.status, 1);
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    test('follows traffic until the program stops', async () => {
      await using api = await serve(carrier);
      const { io, stdout } = streams(true);
      const done = ctl(['traffic', ...at(api)], io);
      await eventually('the head', () => stdout.text.includes('FLOWS'));
      await eventually('a line', () => {
        api.app.clock.advance(1_000);
        return stdout.text.split('\n').length > 2;
      });
      assert.match(stdout.text, /^ +UP\/s .*\n +0 B +0 B +0 +0 B +0 B\n/);
      api.app.tracker.traffic.stop();
      assert.equal(await done, 0);
    });

    test('follows events, and ends quietly when the output is closed', async () => {
      await using api = await serve(carrier);
      const { io, stdout } = streams(false);
      const done = ctl(['events', ...at(api)], io);
      await eventually('an event', () => {
        openFlow(api.app).close();
        return stdout.text.includes('"event":"closed"');
      });
      for (const line of stdout.text.trim().split('\n')) {
        assert.deepEqual(Object.keys(JSON.parse(line) as object), ['event', 'data']);
      }
      stdout.destroy(new Error('EPIPE'));
      await eventually('the end', () => {
        openFlow(api.app).close();
        return stdout.closed;
      });
      openFlow(api.app).close();
      assert.equal(await done, 0);
    });

    test('ends with status 1 when the API stops in the middle of a stream', async () => {
      await using api = await serve(carrier);
      const { io, stderr } = streams(false);
      const done = ctl(['events', ...at(api)], io);
      await eventually('the subscription', () => api.app.clock.timers > 1);
      const stopped = api.server.stop();
      api.app.clock.advance(5_000);
      await stopped;
      assert.equal(await done, 1);
      assert.match(stderr.text, /^weir ctl: (the API ended the stream|cannot reach the API)/);
    });

    test('reports a server that is not the API', async () => {
      const bodies = ['<html>', '', '{"x":1}'];
      await using other = await tcpServer((socket) => {
        socket.once('data', () => {
          const status = bodies.length > 1 ? '200 OK' : '502 Bad Gateway';
          socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n${bodies.shift() ?? ''}`);
        });
      });
      const where = ['--api', `127.0.0.1:${other.port}`];
      const html = await run(['version', ...where]);
      assert.match(
        html.err,
        /^weir ctl: the server on 127\.0\.0\.1:\d+ is not the API\nhint: .* see listen of \[api\]\n$/,
      );
      const none = await run(['close', '1', ...where]);
      assert.equal(none.status, 0);
      const gateway = await run(['version', ...where]);
      assert.match(gateway.err, /^weir ctl: GET \/v1\/version: status 502\nhint: .*\n$/);
    });

    for (const [what, reason, hint] of [
      [
        'says what a pick needs that Weir may not write',
        'EROFS: read-only file system',
        /^hint: the user of the running Weir has to .*\n$/,
      ],
      ['has no hint about rights for a disk that is full', 'ENOSPC: no space left on device', /^$/],
    ] as const) {
      test(what, async () => {
        const error = `writing /etc/weir/weir.toml: ${reason}`;
        await using api = await tcpServer((socket) => {
          socket.once('data', () =>
            socket.end(
              `HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n${JSON.stringify({ error })}`,
            ),
          );
        });
        const { status, err } = await run(['pick', 'a', 'b', '--api', `127.0.0.1:${api.port}`]);
        assert.equal(status, 1);
        const line = `weir ctl: ${error}\n`;
        assert.equal(err.slice(0, line.length), line);
        assert.match(err.slice(line.length), hint);
      });
    }

    test('reports that no server listens', async () => {
      const api = await serve(carrier);
      await api[Symbol.asyncDispose]();
      const { status, err } = await run(['version', ...at(api)]);
      assert.equal(status, 1);
      assert.match(
        err,
        /^weir ctl: cannot reach the API on .*: (connection refused|no such socket)\nhint: nothing listens on .* A service of another user needs sudo\n$/,
      );
    });
  });
}

describe('weir ctl on a terminal', () => {
  test('shows tables', async () => {
    await using api = await serve('tcp');
    await api.client.pick('a/b', 'auto');
    const routes = await run(['routes', ...at(api)], true);
    assert.match(
      routes.out,
      /^ROUTE +TARGET +PICK +INHERITS\nVideo Streaming +tokyo +- +default\na\/b +auto +auto +group Video Streaming\n/,
    );
    assert.match(routes.out, /\ndefault +tokyo +- +-\n\nCAN BE PICKED +KIND\ntokyo +outbound\n/);
    openFlow(api.app, {
      user: 'ann',
      rule: 7,
      destination: { network: 'udp', host: '::1', port: 53 },
    }).addUp(1_500);
    const flows = await run(['connections', ...at(api)], true);
    assert.match(
      flows.out,
      /^ID +AGE +NET .*\n 1 .*udp +socks +ann +127\.0\.0\.1 +\[::1\]:53 +- +tokyo +7 +1\.5 kB +0 B\n$/,
    );
    const sessions = await run(['connections', '--sessions', ...at(api)], true);
    assert.match(sessions.out, /^ID +AGE +INBOUND/);
    assert.equal((await run(['version', ...at(api)], true)).out, '9.8.7-test\n');
    assert.equal((await run(['close', '1', ...at(api)], true)).out, 'closed 1 flow\n');
    assert.match(
      (await run(['pick', 'default', 'auto', ...at(api)], true)).out,
      /^applied\nbuilt +route\nreused +dns, /,
    );
    assert.equal((await run(['pick', 'default', 'auto', ...at(api)], true)).out, 'unchanged\n');
  });

  test('shows events as lines', async () => {
    await using api = await serve('tcp');
    const { io, stdout } = streams(true);
    const done = ctl(['events', ...at(api)], io);
    await eventually('an event', () => {
      openFlow(api.app, { user: 'ann' }).close();
      return stdout.text.includes('closed');
    });
    assert.match(
      stdout.text,
      /^opened {3}\d+ {2}socks \(ann\) -> tcp example\.com:443 by tokyo\nclosed {3}\d+ .* by tokyo {2}up 0 B, down 0 B\n/,
    );
    assert.equal(eventLine('lagged', { missed: 3 }), 'lagged   3 events were missed\n');
    const stopped = api.server.stop();
    api.app.clock.advance(5_000);
    await stopped;
    await done;
  });

  test('shows JSON when it is asked for', async () => {
    await using api = await serve('tcp');
    assert.equal(
      (await run(['version', '--json', ...at(api)], true)).out,
      '{"version":"9.8.7-test"}\n',
    );
  });

  test('escapes control characters in texts of clients', async () => {
    await using api = await serve('tcp');
    openFlow(api.app, {
      destination: { network: 'tcp', host: '\x1b[2Jevil\u009b\u202e\n', port: 1 },
    });
    const { out } = await run(['connections', ...at(api)], true);
    assert.ok(!out.includes('\x1b'));
    assert.equal(out.split('\n').length, 3);
    const asJson = await run(['connections', '--json', ...at(api)], true);
    assert.deepEqual(/[\u007f-\u009f\u202e]/.exec(asJson.out), null);
    assert.equal((JSON.parse(asJson.out) as { host: string }).host, '\x1b[2Jevil\u009b\u202e\n');
    assert.equal(printable('a\u202eb\u0007'), String.raw`a\u{202e}b\u{7}`);
  });
});

describe('weir ctl routes --names', () => {
  test('prints the names alone, those of one line', async () => {
    await using api = await serve('tcp');
    const groups = await run(['routes', '--names', 'groups', ...at(api)], true);
    assert.equal(groups.out, 'default\nVideo Streaming\na/b\ngröße\n日本\n');
    const targets = await run(['routes', '--names', 'targets', ...at(api)]);
    assert.equal(targets.out, 'tokyo\nauto\nosaka\ndirect\nblackhole\n');
    await assert.rejects(run(['routes', '--names', 'nodes', ...at(api)]), UsageError);
  });

  for (const [what, response] of [
    ['says nothing', ''],
    ['stops in the middle', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'],
  ] as const) {
    test(`gives up on a server that ${what}`, async () => {
      const asked = Promise.withResolvers<void>();
      await using server = await tcpServer((socket) => {
        socket.once('data', () => socket.write(response, () => asked.resolve()));
      });
      const clock = new ManualClock();
      const argv = ['routes', '--names', 'groups', '--api', `127.0.0.1:${server.port}`];
      const ran = run(argv, false, {}, clock);
      await asked.promise;
      clock.advance(NAMES_MS - 1);
      assert.equal(clock.timers, 1, 'it still waits');
      clock.advance(1);
      const { status, out } = await ran;
      assert.deepEqual([status, out, clock.timers], [1, '', 0]);
    });
  }
});

describe('the command line of weir ctl', () => {
  test('refuses invalid commands', async () => {
    for (const argv of [
      [],
      ['nonsense'],
      ['pick', 'default'],
      ['pick', '', 'x'],
      ['pick', 'a', 'b', 'c'],
      ['routes', 'x'],
      ['close'],
      ['close', '1', '--all'],
      ['close', '--all', '--user', 'x'],
      ['routes', '--all'],
      ['reload', '--if-match', 'x'],
      ['version', '--nonsense'],
      ['version', '--api', 'http://:::'],
    ]) {
      await assert.rejects(run(argv), UsageError, argv.join(' '));
    }
  });

  test('prints its help', async () => {
    assert.deepEqual(await run(['--help']), { status: 0, out: CTL_HELP, err: '' });
    assert.equal((await run(['pick', '-h'])).out, CTL_HELP);
  });

  test('finds the API by --api or the environment', async () => {
    assert.deepEqual(parsePlace('/run/weir.sock'), { kind: 'unix', path: '/run/weir.sock' });
    assert.deepEqual(parsePlace('unix:weir.sock'), { kind: 'unix', path: 'weir.sock' });
    assert.deepEqual(parsePlace('run/weir.sock'), { kind: 'unix', path: 'run/weir.sock' });
    for (const [text, href] of [
      [undefined, 'http://127.0.0.1:9090/'],
      ['[::1]:9090', 'http://[::1]:9090/'],
      ['https://panel.example/weir', 'https://panel.example/weir'],
    ] as const) {
      const place = parsePlace(text);
      assert.equal(place.kind === 'url' && place.url.href, href);
    }
    await using api = await serve('unix');
    assert.equal((await run(['version'], false, { WEIR_API: api.server.address })).status, 0);
  });
});

describe('tables', () => {
  test('have columns as wide as they need to be, numbers to the right', () => {
    assert.equal(
      textTable(
        ['A', 'LONG', 'N'],
        [
          ['x', null, 5],
          ['yyy', '', 12],
        ],
      ),
      'A    LONG   N\nx    -      5\nyyy  -     12\n',
    );
    assert.equal(textTable(['A', 'B'], []), 'A  B\n');
  });

  test('round bytes and times for display', () => {
    const counts = [0, 999, 1_000, 1_499, 99_400, 99_500, 999_499, 999_500, 1e12, 9e18];
    assert.deepEqual(counts.map(bytes), [
      '0 B',
      '999 B',
      '1.0 kB',
      '1.5 kB',
      '99.4 kB',
      '100 kB',
      '999 kB',
      '1.0 MB',
      '1.0 TB',
      '9000 PB',
    ]);
    const times = [
      -5,
      0,
      999,
      59_000,
      60_000,
      61_000,
      3_600_000,
      3_660_000,
      3_605_000,
      90_000_000,
      86_400_000 * 400,
    ];
    assert.deepEqual(times.map(age), [
      '0s',
      '0s',
      '0s',
      '59s',
      '1m',
      '1m 1s',
      '1h',
      '1h 1m',
      '1h',
      '1d 1h',
      '400d',
    ]);
  });
});
