import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { ReloadOutcome } from '@weir/server/app/outcomes';
import { applyEdit } from '../../../src/client/apply-edit.ts';
import { WeirError } from '@weir/base';

interface Case {
  readonly changed?: boolean;
  /** `undefined`: no Weir is running. */
  readonly reload?: (() => Promise<ReloadOutcome>) | undefined;
  readonly undo?: () => Promise<void>;
}

/** The steps that were taken, what was written to standard error, and the result. */
async function run({ changed = true, reload, undo = () => Promise.resolve() }: Case) {
  const steps: string[] = [];
  const stderr = new PassThrough().setEncoding('utf8');
  const serving = reload && {
    socket: '/run/weir.sock',
    reload: (cause: string) => {
      steps.push(`reload ${cause.replace(/by .*/, 'by USER')}`);
      return reload();
    },
  };
  const result = await applyEdit(
    {
      config: 'weir.toml',
      what: 'user add "ann"',
      write: () => {
        steps.push('write');
        return Promise.resolve({
          changed,
          undo: () => {
            steps.push('undo');
            return undo();
          },
        });
      },
    },
    {
      socket: undefined,
      io: { stderr, env: {} },
      find: () => {
        steps.push('find');
        return Promise.resolve(serving);
      },
    },
  ).catch((error: unknown) => error);
  return { steps, text: String(stderr.read() ?? ''), result };
}

test('an edit is written and then in force in the Weir that was found before', async () => {
  const { steps, text, result } = await run({
    reload: () => Promise.resolve({ kind: 'applied', summary: 'built in' }),
  });
  assert.deepEqual(steps, ['find', 'write', 'reload user add "ann", by USER']);
  assert.match(
    text,
    /^\d{4}-\d\d-\d\dT[\d:.]+Z user add "ann", by \S+ \(uid \d+\): written; applied, built in\n$/,
  );
  assert.deepEqual((result as { kind: string }).kind, 'reloaded');
});

test('without a running Weir the edit is in the file alone, which is said', async () => {
  const { steps, text, result } = await run({});
  assert.deepEqual([steps, result], [['find', 'write'], { kind: 'written' }]);
  assert.match(text, /: written; no running Weir serves this file\n$/);
});

test('what the file had already is neither reloaded nor told', async () => {
  const { steps, text, result } = await run({ changed: false, reload: () => assert.fail() });
  assert.deepEqual([steps, text, result], [['find', 'write'], '', { kind: 'unchanged' }]);
});

test('an edit that the running Weir refuses is undone', async () => {
  const refuse = (): Promise<ReloadOutcome> => Promise.resolve({ kind: 'failed', line: 'no' });
  const { steps, result } = await run({ reload: refuse });
  assert.equal(steps.at(-1), 'undo');
  assert.match(String(result), /has refused the edit, and weir\.toml is as it was: no/);
  const stale = await run({
    reload: refuse,
    undo: () => Promise.reject(new WeirError('stale', 'it has changed')),
  });
  assert.match(String(stale.result), /and it is still in the file: no\nit has changed/);
});

test('an edit whose outcome is unknown stays in the file, which is said', async () => {
  const { steps, result } = await run({
    reload: () => Promise.reject(new WeirError('control_request', 'the process has gone')),
  });
  assert.ok(!steps.includes('undo'));
  assert.match(String(result), /is written, but whether .* is unknown: the process has gone/);
});
