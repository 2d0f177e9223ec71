import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { suite, test } from 'node:test';
import { COMMANDS } from '../../packages/weir/src/cli/commands.ts';
import { CTL } from '../../packages/weir/src/cli/control/specs.ts';
import { commandLine } from '@weir/base/text/command-line';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { program, runWeir, scratch, Weir } from '../support/process/weir.ts';

/** Names as a provider may choose them; those of one line are offered as they are. */
const HOSTILE = [
  'a name',
  `it's "quoted"`,
  '$(touch x)',
  '`touch x`',
  'a:b',
  'a=b',
  '*',
  'back\\slash',
];
const UNPRINTABLE = ['two\nlines', 'red\u001b[31m', 'csi\u009b31m', 'bidi\u202e'];

const table = (head: string, name: string, rest = ''): string =>
  `[[${head}]]\nname = ${JSON.stringify(name)}\n${rest}`;

const SUBSCRIBE = [...HOSTILE, ...UNPRINTABLE]
  .map((name) => table('proxy_server', name, 'protocol = "freedom"\n') + table('route_group', name))
  .join('');

/** How a shell is asked what completes the last of the words `$@`, given the script as FILE. */
const SHELLS = {
  bash: {
    args: ['--norc', '-c'],
    script: `source FILE; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _weir
      printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  // zsh completes on a terminal only: what the script calls says what it found.
  zsh: {
    args: ['-f', '-c'],
    script: `compdef() { : }; _describe() { print -rl -- "\${(@P)2}" }; compadd() { print -rl -- "$@" }
      _files() { print -rl -- $words[CURRENT]*(N) }
      source FILE; words=("$@"); CURRENT=$#; _weir`,
  },
  fish: {
    args: ['--no-config', '-c'],
    script: `source FILE; complete -C "$(string join ' ' -- $argv)"`,
  },
};

/** How a shell is asked for the names that it offers: each is printed as a command would get it. */
const NAMED = {
  // What is offered is read again as a line, as it is when the user presses Enter.
  bash: `source FILE; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_LINE="$*"; _weir
    for offered in "\${COMPREPLY[@]}"; do eval "printf '%s\\n' $offered"; done`,
  zsh: `compdef() { : }; compadd() { shift; print -rl -- "$@" }
    source FILE; words=("$@"); CURRENT=$#; _weir`,
  // fish quotes what it inserts.
  fish: `source FILE; complete -C "$(string join ' ' -- $argv)" | string split -f1 \\t`,
};

for (const [shell, { args, script }] of Object.entries(SHELLS)) {
  const missing = spawnSync(shell, ['--version']).error && `there is no ${shell} here`;
  suite(`the completion of ${shell}`, { skip: missing ?? false }, () => {
    /** The words that complete the last one, in order. */
    async function complete(...words: string[]): Promise<string[]> {
      await using folder = await scratch();
      const file = join(folder.path, 'script');
      writeFileSync(file, (await runWeir(['completion', shell])).stdout);
      for (const name of ['one.toml', 'other.toml']) writeFileSync(join(folder.path, name), '');
      // fish has its arguments behind `-c`, the others the name of the shell first.
      const name = shell === 'fish' ? [] : [shell];
      const call = [...args, script.replace('FILE', file), ...name, 'weir', ...words];
      const { stdout, stderr } = spawnSync(shell, call, { cwd: folder.path, encoding: 'utf8' });
      assert.equal(stderr, '');
      const lines = stdout.split('\n').filter((line) => line !== '');
      return lines.map((line) => line.replace(/[\t:].*/, '')).toSorted();
    }

    /** The names that complete the last word, as a command would get them, where `weir` is this program. */
    async function names(...words: string[]): Promise<string[]> {
      await using folder = await scratch();
      const file = join(folder.path, 'script');
      writeFileSync(file, (await runWeir(['completion', shell])).stdout);
      const weir = `#!/bin/sh\nexec ${commandLine(program())} "$@"\n`;
      writeFileSync(join(folder.path, 'weir'), weir, { mode: 0o755 });
      const asked = NAMED[shell as keyof typeof NAMED].replace('FILE', file);
      const name = shell === 'fish' ? [] : [shell];
      const PATH = `${folder.path}${delimiter}${process.env['PATH'] ?? ''}`;
      const { stdout, stderr } = spawnSync(shell, [...args, asked, ...name, 'weir', ...words], {
        cwd: folder.path,
        encoding: 'utf8',
        env: { ...process.env, PATH },
      });
      assert.equal(stderr, '');
      assert.equal(existsSync(join(folder.path, 'x')), false);
      return stdout.split('\n').filter((line) => line !== '');
    }

    test('gives the groups and targets of the running Weir, and runs nothing of their names', async () => {
      await using weir = await Weir.start(
        `${API}${socksIn()}${freedom()}[subscribe]\npath = "sub.toml"\n`,
        { files: { 'sub.toml': SUBSCRIBE } },
      );
      const api = await weir.child.until(
        'the API',
        ({ stderr }) => /svc_app: API listening on (\S+)$/m.exec(stderr) ?? undefined,
      );
      const address = String(api[1]);
      const pick = ['ctl', '--api', address, 'pick'];
      assert.deepEqual((await names(...pick, '')).toSorted(), ['default', ...HOSTILE].toSorted());
      const targets = await names(...pick, 'default', '');
      for (const target of ['direct', ...HOSTILE]) assert.ok(targets.includes(target), target);
      for (const name of UNPRINTABLE) assert.equal(targets.includes(name), false);
      assert.deepEqual(await names(...pick, 'default', 'direct', ''), []);
    });

    test('gives no names and prints nothing where no Weir runs', async () => {
      assert.deepEqual(await names('ctl', '--api', '/nowhere/socket', 'pick', ''), []);
    });

    test('gives the commands, and those of ctl', async () => {
      assert.deepEqual(await complete(''), COMMANDS.map((command) => command.name).toSorted());
      assert.deepEqual(await complete('ctl', ''), CTL.commands.map(({ name }) => name).toSorted());
      assert.ok((await complete('ctl', 'rel')).includes('reload'));
    });

    test('gives the options of a command, and below ctl those of both', async () => {
      for (const words of [['--'], ['run', '--'], ['--watch', '--']]) {
        const options = await complete(...words);
        assert.ok(options.includes('--config') && options.includes('--test'), options.join(' '));
      }
      const options = await complete('ctl', '--json', 'close', '--');
      assert.ok(options.includes('--api') && options.includes('--outbound'), options.join(' '));
      assert.equal(options.includes('--if-match'), false);
    });

    test('gives the names of files behind an option for one', async () => {
      for (const words of [
        ['--config', 'o'],
        ['run', '-c', 'o'],
        ['reload', 'o'],
      ]) {
        assert.deepEqual(await complete(...words), ['one.toml', 'other.toml'], words.join(' '));
      }
    });

    test('gives the choices of an operand, and nothing for a value that it cannot know', async () => {
      assert.deepEqual(await complete('completion', ''), ['bash', 'fish', 'zsh']);
      assert.deepEqual(await complete('ctl', 'close', '--user', ''), []);
    });

    test('takes the value of an option for no command', async () => {
      assert.ok((await complete('--config', 'ctl', '')).includes('run'));
    });
  });
}

const noBash = spawnSync('bash', ['--version']).error ? 'there is no bash here' : false;

test(
  'bash completes words that readline splits, and inside the quotes that were begun',
  { skip: noBash },
  async () => {
    await using folder = await scratch();
    const script = join(folder.path, 'script');
    writeFileSync(script, (await runWeir(['completion', 'bash'])).stdout);
    const names = HOSTILE.map((name) => `${name}\n`).join('');
    writeFileSync(join(folder.path, 'names'), names);
    writeFileSync(join(folder.path, 'weir'), '#!/bin/sh\nexec cat names\n', { mode: 0o755 });
    const PATH = `${folder.path}${delimiter}${process.env['PATH'] ?? ''}`;
    const cases: readonly (readonly [line: string, words: string[], offered: string[]])[] = [
      ['a:', ['a', ':'], ['b']],
      ['a=', ['a', '='], ['b']],
      ['a:', ['a:'], ['b']],
      ['"a', ['"a'], ['a name', 'a:b', 'a=b']],
      ["'$", ["'$"], ['$(touch x)']],
      ['"$', ['"$'], []],
      [String.raw`it\'`, [String.raw`it\'`], [String.raw`it\'s\ \"quoted\"`]],
      [String.raw`a:b `, ['a', ':', 'b', String.raw`\*`], [String.raw`\*`]],
    ];
    for (const [line, words, offered] of cases) {
      const shell = `source ${script}; COMP_LINE=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _weir
      printf '%s\\n' "\${COMPREPLY[@]}"`;
      const before = ['weir', 'ctl', '--api', '192.0.2.1', ':', '9090', 'pick'];
      const text = `weir ctl --api 192.0.2.1:9090 pick ${line}${line.endsWith(' ') ? words.at(-1) : ''}`;
      const call = ['--norc', '-c', shell, 'bash', text, ...before, ...words];
      const { stdout, stderr } = spawnSync('bash', call, {
        cwd: folder.path,
        encoding: 'utf8',
        env: { ...process.env, PATH },
      });
      assert.equal(stderr, '', line);
      assert.deepEqual(
        stdout.split('\n').filter((each) => each !== ''),
        offered,
        line,
      );
    }
    assert.equal(existsSync(join(folder.path, 'x')), false);
  },
);

test('another shell is refused', async () => {
  const child = await runWeir(['completion', 'tcsh']);
  assert.equal(child.ended?.code, 2);
  assert.match(child.stderr, /^weir: no completion for "tcsh"\n/);
  assert.equal((await runWeir(['completion'])).ended?.code, 2);
});
