import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { UsageError } from '@weir/base';
import { userCommand } from '../../../../src/cli/users/user.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const CONFIG = `[[inbound]]
tag = "trojan"
protocol = "trojan"
port = 8443
settings = { users = [{ password = "secret of ann", email = "ann" }] }

[[inbound]]
tag = "vless"
protocol = "vless"
port = 8444
settings = { users = [] }

[[outbound]]
tag = "direct"
protocol = "freedom"
`;

/** A configuration that no Weir runs, and a limits file that does not exist. */
class Files implements AsyncDisposable {
  readonly #folder: Awaited<ReturnType<typeof scratch>>;

  private constructor(folder: Awaited<ReturnType<typeof scratch>>) {
    this.#folder = folder;
  }

  static async make(): Promise<Files> {
    const files = new Files(await scratch());
    await writeFile(files.config, CONFIG);
    return files;
  }

  get config(): string {
    return join(this.#folder.path, 'weir.toml');
  }

  get path(): string {
    return join(this.#folder.path, 'limits.toml');
  }

  /** The limits; '' without the file, and without the comment at its beginning. */
  async limits(): Promise<string> {
    const text = await readFile(this.path, 'utf8').catch(() => '');
    return text.replace(/^#.*\n+/, '');
  }

  /** Runs `weir user` in this process; without a folder of sockets no running Weir is found. */
  async user(...args: readonly string[]) {
    const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
    const argv = [...args, '--config', this.config];
    const status = await userCommand(argv, io);
    const err = (io.stderr.setEncoding('utf8').read() as string | null) ?? '';
    return { status, err };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}

const BOB = ['bob', '--inbound', 'trojan'];

describe('weir user with limits', () => {
  test('makes the file, changes an entry of the user, and removes it with the last account', async () => {
    await using files = await Files.make();
    const at = ['--limits', files.path];
    const added = await files.user('add', ...BOB, ...at, '--limit', '100GB', '--reset', 'monthly');
    assert.equal(added.status, 0, added.err);
    assert.match(
      added.err,
      /^weir user: no running Weir obeys the limits in .*: start it with --limits/m,
    );
    assert.equal(
      await files.limits(),
      '[[limit]]\nuser = "bob"\nbytes = "100GB"\nreset = "monthly"\n',
    );
    await files.user('add', 'bob', '--inbound', 'vless', ...at, '--devices', '3', '--up', '1MB/s');
    assert.equal(
      await files.limits(),
      '[[limit]]\nuser = "bob"\nbytes = "100GB"\nreset = "monthly"\ndevices = 3\nup = "1MB/s"\n',
    );
    const first = await files.user('remove', ...BOB, ...at);
    assert.equal(first.status, 0, first.err);
    assert.match(await files.limits(), /"bob"/);
    const last = await files.user('remove', 'bob', '--inbound', 'vless', ...at);
    assert.match(last.err, /the limits of "bob" were removed/);
    assert.equal(await files.limits(), '');
  });

  test('leaves the limits as they were when the user is not added', async () => {
    await using files = await Files.make();
    await writeFile(files.path, '[[limit]]\nuser = "ann"\ndevices = 1\n');
    const before = await files.limits();
    const refused = await files.user(
      'add',
      'ann',
      '--inbound',
      'trojan',
      '--limits',
      files.path,
      '--devices',
      '2',
    );
    assert.equal(refused.status, 1);
    assert.match(refused.err, /has a user "ann" already/);
    assert.equal(await files.limits(), before);
  });

  test('adds no user whose limits cannot be written', async () => {
    await using files = await Files.make();
    await writeFile(files.path, '[[limit]]\nusers = ["bob", "carol"]\ndevices = 1\n');
    for (const [content, message] of [
      ['[[limit]]\nusers = ["bob", "carol"]\ndevices = 1\n', /in one entry with those of others/],
      ['[[limit', /cannot be edited/],
      ['[[limit]]\nuser = "ann"\ndevices = 0\n', /would be invalid: [^]*expected 1 to 1000/],
    ] as const) {
      await writeFile(files.path, content);
      const refused = await files.user('add', ...BOB, '--limits', files.path, '--devices', '2');
      assert.equal(refused.status, 1);
      assert.match(refused.err, message);
      assert.equal(await files.limits(), content);
      assert.equal(await readFile(files.config, 'utf8'), CONFIG);
    }
    const unnamed = await files.user('add', ...BOB, '--devices', '2');
    assert.equal(unnamed.status, 1);
    assert.match(unnamed.err, /no limits file is known\nhint: name it with --limits FILE/);
  });

  test('changes nothing in a dry run', async () => {
    await using files = await Files.make();
    const at = ['--limits', files.path, '--dry-run'];
    assert.equal((await files.user('add', ...BOB, ...at, '--devices', '2')).status, 0);
    await assert.rejects(stat(files.path), { code: 'ENOENT' });
    await writeFile(files.path, '[[limit]]\nuser = "ann"\ndevices = 1\n');
    const before = await files.limits();
    assert.equal((await files.user('remove', 'ann', '--inbound', 'trojan', ...at)).status, 0);
    assert.equal(await files.limits(), before);
  });

  test('refuses values that a limits file cannot have', async () => {
    await using files = await Files.make();
    const cases: readonly [readonly string[], RegExp][] = [
      [['--limit', '100'], /--limit "100" is not an amount of bytes such as "100 GB"/],
      [['--until', '2027-02-30'], /--until "2027-02-30" is not a date/],
      [['--devices', '0'], /--devices needs a number from 1 to 1000/],
      [['--up', '10'], /--up "10" is not a rate/],
      [['--down', '1 bit/s'], /--down "1 bit\/s" is less than \d+ kbit\/s/],
      [['--reset', 'daily'], /--reset goes with --limit/],
      [['--limit', '1GB', '--reset', 'yearly'], /--reset takes never, daily, weekly, monthly/],
      [['--limits', 'x'], /--limits goes with --limit/],
    ];
    for (const [args, message] of cases) {
      await assert.rejects(files.user('add', ...BOB, ...args), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      });
    }
  });
});
