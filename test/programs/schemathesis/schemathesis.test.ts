import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { DIRECT } from '../../support/config/support.ts';
import { hostPort } from '../../support/data/address.ts';
import { API, Control } from '../../support/process/control.ts';
import { Weir } from '../../support/process/weir.ts';
import { programOrSkip } from '../support/program.ts';
import { runSchemathesis, type Exchange, type SchemathesisOptions } from './run.ts';

const { path, skip } = programOrSkip('schemathesis');

const SECRET = 's3cret';
const WITH_SECRET = `${API}secret = "${SECRET}"\n${DIRECT}`;
const WITHOUT_SECRET = `${API}${DIRECT}`;
const RIGHT = `Authorization: Bearer ${SECRET}`;

/** How many responses had each status, as `200: 12`. */
function countStatuses(exchanges: readonly Exchange[]): string {
  const counts = new Map<number, number>();
  for (const { status } of exchanges) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .toSorted(([left], [right]) => left - right)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ');
}

async function askAll(config: string, options: SchemathesisOptions): Promise<Asked> {
  await using weir = await Weir.start(config);
  const control = await Control.of(weir);
  const run = await runSchemathesis(path, `http://${hostPort(control.api.address)}`, options);
  assert.equal(await readFile(control.file, 'utf8'), config, 'the file is as it was');
  return { ...run, stderr: weir.child.stderr };
}

interface Asked {
  readonly code: number | null;
  readonly output: string;
  readonly exchanges: readonly Exchange[];
  readonly stderr: string;
}

/** Fails unless each response is one that the specification has and each check passes. */
async function assertConforms(
  t: TestContext,
  options: SchemathesisOptions,
  statuses: readonly number[],
): Promise<void> {
  const { code, output, exchanges, stderr } = await askAll(WITH_SECRET, options);
  t.diagnostic(`${exchanges.length} requests; ${countStatuses(exchanges)}`);
  assert.equal(code, 0, output);
  // The requests have reached what is behind the secret, and its errors.
  const seen = new Set(exchanges.map(({ status }) => status));
  assert.deepEqual(
    statuses.filter((status) => !seen.has(status)),
    [],
  );
  assert.doesNotMatch(stderr, /ERROR|Error:/);
}

test('every response to generated requests is one that docs/openapi.yaml has', { skip }, (t) =>
  assertConforms(
    t,
    { headers: [RIGHT], filters: ['--exclude-method=PUT'] },
    [200, 400, 401, 404, 405],
  ),
);

test('every response to generated picks is one that docs/openapi.yaml has', { skip }, (t) =>
  assertConforms(
    t,
    {
      headers: [RIGHT],
      filters: ['--include-method=PUT'],
      // schemathesis takes `If-Match: 0` for valid, whatever pattern the header's schema has.
      without: ['positive_data_acceptance'],
    },
    [400, 401, 404, 405],
  ),
);

test(
  'no generated request gets past a wrong secret, not even to learn which paths exist',
  { skip },
  async (t) => {
    const { code, output, exchanges } = await askAll(WITH_SECRET, {
      headers: ['Authorization: Bearer s3cre'],
      streams: true,
    });
    t.diagnostic(`${exchanges.length} requests; ${countStatuses(exchanges)}`);
    assert.equal(code, 0, output);
    assert.ok(exchanges.length >= 150, output);
    assert.deepEqual(
      exchanges.filter(({ status }) => status !== 401),
      [],
    );
  },
);

test(
  'without a secret, no generated request from the page of another origin is served',
  { skip },
  async (t) => {
    const { code, output, exchanges } = await askAll(WITHOUT_SECRET, {
      headers: ['Origin: http://page.example'],
      streams: true,
      // They expect 401 for a request without the header of the secret.
      without: ['ignored_auth', 'missing_required_header'],
    });
    t.diagnostic(`${exchanges.length} requests; ${countStatuses(exchanges)}`);
    assert.equal(code, 0, output);
    assert.deepEqual(
      exchanges.filter(({ status }) => status < 400),
      [],
    );
  },
);
