import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../../support/process/child.ts';
import { scratch } from '../../support/process/weir.ts';
import { within } from '../../support/wait.ts';

const SPECIFICATION = fileURLToPath(new URL('../../../docs/openapi.yaml', import.meta.url));
/** Responses that never end; they are read by tests of Weir's own. */
const STREAMS = ['/v1/connections/events', '/v1/traffic'];
/** Generated requests for each operation. */
const EXAMPLES = 25;
const PATIENCE_MS = 400_000;

/** One request that was made, and its response. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly status: number;
}

export interface SchemathesisRun {
  readonly code: number | null;
  readonly output: string;
  readonly exchanges: readonly Exchange[];
}

interface Har {
  readonly log: {
    readonly entries: readonly {
      readonly request: { readonly method: string; readonly url: string };
      readonly response: { readonly status: number };
    }[];
  };
}

export interface SchemathesisOptions {
  /** Lines `Name: value` that each request has. */
  readonly headers: readonly string[];
  /** Whether the paths whose responses never end are asked for too. */
  readonly streams?: boolean;
  /** More options, which choose operations. */
  readonly filters?: readonly string[];
  /** Names of checks that do not apply. */
  readonly without?: readonly string[];
}

/** Runs schemathesis with the same requests every time, and all of its checks. */
export async function runSchemathesis(
  program: string,
  url: string,
  { headers, streams = false, filters = [], without = [] }: SchemathesisOptions,
): Promise<SchemathesisRun> {
  await using folder = await scratch();
  const har = join(folder.path, 'report.har');
  const args = [
    'run',
    SPECIFICATION,
    `--url=${url}`,
    '--no-color',
    '--checks=all',
    '--phases=examples,coverage,fuzzing',
    '--generation-deterministic',
    '--continue-on-failure',
    '--request-timeout=20',
    '--report=har',
    `--report-har-path=${har}`,
    `--max-examples=${EXAMPLES}`,
    ...(without.length > 0 ? [`--exclude-checks=${without.join(',')}`] : []),
    ...filters,
    ...headers.map((header) => `--header=${header}`),
    ...(streams ? [] : STREAMS.map((path) => `--exclude-path=${path}`)),
  ];
  // What it stores goes into the folder too. How fast examples are generated is no failure.
  const env = { HYPOTHESIS_STORAGE_DIRECTORY: folder.path };
  const options = { cwd: folder.path, env };
  await using child = new Child(program, [...args, '--suppress-health-check=all'], options);
  const { code } = await within(child.exited, () => child.stdout, PATIENCE_MS);
  if (code !== 0 && code !== 1)
    throw new Error(`schemathesis ended with ${code}:\n${child.stderr}`);
  const { log } = JSON.parse(await readFile(har, 'utf8')) as Har;
  const exchanges = log.entries.map(({ request, response }) => ({
    method: request.method,
    url: request.url,
    status: response.status,
  }));
  return { code, output: child.stdout + child.stderr, exchanges };
}
