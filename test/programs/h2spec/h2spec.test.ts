import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { portOf } from '../../support/data/address.ts';
import { Child } from '../../support/process/child.ts';
import { scratch, Weir } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';
import { grpcConfig, TUNNEL_PATH } from '../support/grpc-config.ts';
import { programOrSkip } from '../support/program.ts';
import { EXPECTED_FAILURES } from './expected-failures.ts';
import { readReport, type Case } from './report.ts';

const h2spec = programOrSkip('h2spec');

/** Seconds that h2spec waits for what a case expects; an expected failure takes all of them. */
const CASE_TIMEOUT = 3;
const PATIENCE_MS = 300_000;

async function runCases(weir: Weir, options: readonly string[]): Promise<readonly Case[]> {
  await using folder = await scratch();
  const report = join(folder.path, 'report.xml');
  const port = String(portOf(weir.address('grpc')));
  const target = ['--host', '127.0.0.1', '--port', port, '--path', TUNNEL_PATH, ...options];
  const how = ['--strict', '--timeout', String(CASE_TIMEOUT), '--junit-report', report];
  await using child = new Child(h2spec.path, [...target, ...how]);
  await within(child.exited, () => `h2spec's end: ${child.stdout}`, PATIENCE_MS);
  return readReport(await readFile(report, 'utf8'));
}

const nameOf = ({ section, title }: Pick<Case, 'section' | 'title'>): string =>
  `${section}: ${title}`;

for (const security of ['plain', 'tls'] as const) {
  test(
    `h2spec finds no fault but the expected ones in the gRPC inbound, ${security}`,
    { skip: h2spec.skip },
    async (t) => {
      await using weir = await Weir.start(grpcConfig(security));
      const cases = await runCases(weir, security === 'tls' ? ['--tls', '--insecure'] : []);
      const count = (wanted: Case['result']): number =>
        cases.filter(({ result }) => result === wanted).length;
      t.diagnostic(
        `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`,
      );
      assert.ok(cases.length >= 140, `h2spec has run ${cases.length} cases`);
      const failed = cases.filter(({ result }) => result === 'failed');
      const expected = EXPECTED_FAILURES.map(nameOf);
      const unexpected = failed.filter((one) => !expected.includes(nameOf(one)));
      assert.deepEqual(
        unexpected.map((one) => `${nameOf(one)}: ${one.detail}`),
        [],
      );
      // One that passes is no expected failure any more, and its line in the table has to go.
      assert.deepEqual(failed.map(nameOf).sort(), expected.toSorted());
    },
  );
}
