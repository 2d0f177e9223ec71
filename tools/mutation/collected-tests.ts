import { mock as nodeMock } from 'node:test';

/**
 * Takes the place of `node:test` in a process that runs the same tests again for each mutant: it
 * collects the tests of the files that are imported, and runs none.
 */

type Body = (context: TestContext) => unknown;
type Hook = () => unknown;

/** What tests get as `t`, as far as the tests of this project use it. */
export interface TestContext {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly mock: typeof nodeMock;
  after(hook: Hook): void;
  skip(): void;
  diagnostic(): void;
  test(name: string, ...rest: readonly unknown[]): Promise<void>;
}

export interface CollectedTest {
  readonly id: string;
  readonly body: Body;
  readonly beforeEach: readonly Hook[];
  readonly afterEach: readonly Hook[];
}

/** A file or a `describe`. */
interface Scope {
  readonly name: string;
  readonly beforeEach: Hook[];
  readonly afterEach: Hook[];
}

export const collected: CollectedTest[] = [];
const beforeAll: Hook[] = [];
const afterAll: Hook[] = [];
const scopes: Scope[] = [];

/** Begins a file; hooks outside of a `describe` are its own. */
export function beginFile(name: string): void {
  scopes.splice(0, scopes.length, { name, beforeEach: [], afterEach: [] });
}

/** The last argument: options may stand before it. */
const bodyOf = (rest: readonly unknown[]): Body | undefined =>
  rest.findLast((each) => typeof each === 'function') as Body | undefined;

const isSkipped = (rest: readonly unknown[]): boolean =>
  rest.some((each) => {
    const options = each as { readonly skip?: unknown; readonly todo?: unknown } | undefined;
    return typeof each === 'object' && Boolean(options?.skip ?? options?.todo);
  });

function test(name: string, ...rest: readonly unknown[]): Promise<void> {
  const body = bodyOf(rest);
  if (!body || isSkipped(rest)) return Promise.resolve();
  const path = scopes.map((scope) => scope.name);
  collected.push({
    id: `${[...path, name].join(' › ')} #${collected.length}`,
    body,
    beforeEach: scopes.flatMap((scope) => scope.beforeEach),
    afterEach: scopes.flatMap((scope) => scope.afterEach),
  });
  return Promise.resolve();
}

function describe(name: string, ...rest: readonly unknown[]): Promise<void> {
  if (isSkipped(rest)) return Promise.resolve();
  scopes.push({ name, beforeEach: [], afterEach: [] });
  try {
    (bodyOf(rest) as Hook | undefined)?.();
  } finally {
    scopes.pop();
  }
  return Promise.resolve();
}

const none = (): Promise<void> => Promise.resolve();
test.skip = describe.skip = none;
test.todo = describe.todo = none;

export default test;
export { describe, describe as suite, nodeMock as mock, test, test as it };
export const before = (hook: Hook): void => void beforeAll.push(hook);
export const after = (hook: Hook): void => void afterAll.push(hook);
export const beforeEach = (hook: Hook): void => void scopes.at(-1)?.beforeEach.push(hook);
export const afterEach = (hook: Hook): void => void scopes.at(-1)?.afterEach.push(hook);

export async function runBeforeAll(): Promise<void> {
  for (const hook of beforeAll.splice(0)) await hook();
}

export async function runAfterAll(): Promise<void> {
  for (const hook of afterAll.splice(0)) await hook();
}

/** Runs one test. @throws what it throws */
export async function runTest({ id, body, beforeEach, afterEach }: CollectedTest): Promise<void> {
  const ends: Hook[] = [...afterEach];
  const abort = new AbortController();
  const context: TestContext = {
    name: id,
    signal: abort.signal,
    mock: nodeMock,
    after: (hook) => void ends.unshift(hook),
    skip: () => undefined,
    diagnostic: () => undefined,
    test: async (_name, ...rest) => {
      await bodyOf(rest)?.(context);
    },
  };
  try {
    for (const hook of beforeEach) await hook();
    await body(context);
  } finally {
    abort.abort();
    for (const hook of ends) await hook();
    nodeMock.reset();
  }
}
